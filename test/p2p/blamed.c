// Which communicator's error handler hears of a truncated message, from each call that may tell of one: libraries differ, and a
// version of one from another. The test compares the lines with those of the plain library.
#include "check.h"

static const char* heard;
static MPI_Comm other;

static void tell(MPI_Comm* c, int* code, ...) {
  (void)code;
  heard = *c == other            ? "the request's"
          : *c == MPI_COMM_SELF  ? "MPI_COMM_SELF"
          : *c == MPI_COMM_WORLD ? "MPI_COMM_WORLD"
                                 : "none of them";
}

// MPICH since 4.3 returns no error once a handler of the program's has been told.
static void say(const char* call, int code) {
  printf("%s: handler of %s, %s\n", call, heard, code == MPI_SUCCESS ? "no error" : "an error");
  heard = "nobody";
}

// Each is sent eight bytes, and has room for four.
static void receive(void) {
  int room = 0, flag = 0, index, done, indices[1];
  MPI_Request request;
  MPI_Status statuses[1];
  MPI_Message message;
  say("MPI_Recv", MPI_Recv(&room, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE));
  MPI_Mprobe(0, 0, other, &message, MPI_STATUS_IGNORE);
  say("MPI_Mrecv", MPI_Mrecv(&room, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  MPI_Irecv(&room, 1, MPI_INT, 0, 0, other, &request);
  say("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Irecv(&room, 1, MPI_INT, 0, 0, other, &request);
  int code = MPI_SUCCESS;
  while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  say("MPI_Test", code);
  MPI_Irecv(&room, 1, MPI_INT, 0, 0, other, &request);
  say("MPI_Waitany", MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
  MPI_Irecv(&room, 1, MPI_INT, 0, 0, other, &request);
  say("MPI_Waitall", MPI_Waitall(1, &request, statuses));
  MPI_Irecv(&room, 1, MPI_INT, 0, 0, other, &request);
  say("MPI_Waitsome", MPI_Waitsome(1, &request, &done, indices, statuses));
  MPI_Recv_init(&room, 1, MPI_INT, 0, 0, other, &request);
  MPI_Start(&request);
  say("MPI_Wait of a persistent request", MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Request_free(&request);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  heard = "nobody";
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(tell, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_errhandler(other, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  // Without a handler of its own first.
  for (int self = 0; self < 2; self++) {
    if (self == 1) MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (rank == 1) printf("MPI_COMM_SELF has %s\n", self == 1 ? "a handler" : "no handler");
    for (int i = 0; i < 8 && rank == 0; i++) {
      const int sent[2] = {i, i};
      MPI_Send(sent, 2, MPI_INT, 1, 0, other);
    }
    if (rank == 1) receive();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&other);
  return end();
}
