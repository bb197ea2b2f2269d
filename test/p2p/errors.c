// Invalid arguments go through the error handler of the communicator: right communicator, right class, call
// survives.
#include "check.h"

static MPI_Comm called_comm;
static int called_class, calls;

static void handler(MPI_Comm* comm, int* code, ...) {
  called_comm = *comm;
  called_class = error_class(*code);
  calls++;
}

#define EXPECT(call, class_, comm_)        \
  do {                                     \
    calls = 0;                             \
    int error_ = (call);                   \
    CHECK_EQ(error_class(error_), class_); \
    CHECK_EQ(calls, 1);                    \
    CHECK_EQ(called_class, class_);        \
    CHECK(called_comm == (comm_));         \
  } while (0)

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comms[2];
  MPI_Errhandler user;
  int x[4] = {0}, y[4] = {0};
  MPI_Request r;
  MPI_Message m;
  MPI_Status s;
  int flag;
  MPI_Datatype raw;
  MPI_Comm_create_errhandler(handler, &user);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[1]);
  MPI_Type_contiguous(2, MPI_INT, &raw);  // not committed

  for (int k = 0; k < 2; k++) {
    MPI_Comm c = comms[k];
    int size;
    MPI_Comm_size(c, &size);
    MPI_Comm_set_errhandler(c, user);
    STEP("rank");
    EXPECT(MPI_Send(x, 1, MPI_INT, size, 0, c), MPI_ERR_RANK, c);
    EXPECT(MPI_Send(x, 1, MPI_INT, -50, 0, c), MPI_ERR_RANK, c);
    EXPECT(MPI_Recv(x, 1, MPI_INT, size, 0, c, &s), MPI_ERR_RANK, c);
    EXPECT(MPI_Isend(x, 1, MPI_INT, size + 3, 0, c, &r), MPI_ERR_RANK, c);
    EXPECT(MPI_Irecv(x, 1, MPI_INT, size + 3, 0, c, &r), MPI_ERR_RANK, c);
    EXPECT(MPI_Ssend(x, 1, MPI_INT, MPI_ANY_SOURCE, 0, c), MPI_ERR_RANK, c);
    EXPECT(MPI_Sendrecv(x, 1, MPI_INT, size, 0, y, 1, MPI_INT, 0, 0, c, &s), MPI_ERR_RANK, c);
    EXPECT(MPI_Probe(size, 0, c, &s), MPI_ERR_RANK, c);
    EXPECT(MPI_Iprobe(size, 0, c, &flag, &s), MPI_ERR_RANK, c);
    EXPECT(MPI_Mprobe(size, 0, c, &m, &s), MPI_ERR_RANK, c);
    EXPECT(MPI_Send_init(x, 1, MPI_INT, size, 0, c, &r), MPI_ERR_RANK, c);
    EXPECT(MPI_Recv_init(x, 1, MPI_INT, size, 0, c, &r), MPI_ERR_RANK, c);
    STEP("tag");
    EXPECT(MPI_Send(x, 1, MPI_INT, 0, -7, c), MPI_ERR_TAG, c);
    EXPECT(MPI_Send(x, 1, MPI_INT, 0, MPI_ANY_TAG, c), MPI_ERR_TAG, c);
    EXPECT(MPI_Recv(x, 1, MPI_INT, 0, -7, c, &s), MPI_ERR_TAG, c);
    EXPECT(MPI_Isend(x, 1, MPI_INT, 0, -7, c, &r), MPI_ERR_TAG, c);
    EXPECT(MPI_Irecv(x, 1, MPI_INT, MPI_ANY_SOURCE, -7, c, &r), MPI_ERR_TAG, c);
    EXPECT(MPI_Iprobe(0, -7, c, &flag, &s), MPI_ERR_TAG, c);
    int *upper, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &found);
    CHECK(found);
    CHECK(*upper >= 32767);
    if (*upper < 0x7fffffff) EXPECT(MPI_Send(x, 1, MPI_INT, 0, *upper + 1, c), MPI_ERR_TAG, c);
    STEP("count");
    EXPECT(MPI_Send(x, -1, MPI_INT, 0, 0, c), MPI_ERR_COUNT, c);
    EXPECT(MPI_Recv(x, -1, MPI_INT, 0, 0, c, &s), MPI_ERR_COUNT, c);
    EXPECT(MPI_Isend(x, -1, MPI_INT, 0, 0, c, &r), MPI_ERR_COUNT, c);
    EXPECT(MPI_Irecv(x, -1, MPI_INT, 0, 0, c, &r), MPI_ERR_COUNT, c);
    EXPECT(MPI_Sendrecv(x, 1, MPI_INT, 0, 0, y, -1, MPI_INT, 0, 0, c, &s), MPI_ERR_COUNT, c);
    STEP("type");
    EXPECT(MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, c), MPI_ERR_TYPE, c);
    EXPECT(MPI_Recv(x, 1, MPI_DATATYPE_NULL, 0, 0, c, &s), MPI_ERR_TYPE, c);
    EXPECT(MPI_Isend(x, 1, raw, 0, 0, c, &r), MPI_ERR_TYPE, c);
    EXPECT(MPI_Recv(x, 1, raw, 0, 0, c, &s), MPI_ERR_TYPE, c);
    STEP("buffer");
    EXPECT(MPI_Send(NULL, 1, MPI_INT, 0, 0, c), MPI_ERR_BUFFER, c);

    STEP("it still works");
    int me;
    MPI_Comm_rank(c, &me);
    x[0] = me + 5;
    CHECK_EQ(MPI_Sendrecv(x, 1, MPI_INT, me, 0, y, 1, MPI_INT, me, 0, c, &s), MPI_SUCCESS);
    CHECK_EQ(y[0], me + 5);
    // The largest tag is a tag.
    CHECK_EQ(MPI_Sendrecv(x, 1, MPI_INT, me, *upper, y, 1, MPI_INT, me, *upper, c, &s), MPI_SUCCESS);
    CHECK_EQ(s.MPI_TAG, *upper);
  }

  STEP("no communicator, no request: the handler of MPI_COMM_WORLD");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_EQ(error_class(MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL)), MPI_ERR_COMM);
  CHECK_EQ(error_class(MPI_Irecv(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &r)), MPI_ERR_COMM);
  CHECK_EQ(error_class(MPI_Recv(x, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD, &s)), MPI_ERR_RANK);
  CHECK_EQ(error_class(MPI_Start(&(MPI_Request){MPI_REQUEST_NULL})), MPI_ERR_REQUEST);

  STEP("errors of a communicator do not use another one's handler");
  calls = 0;
  CHECK_EQ(error_class(MPI_Send(x, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD)), MPI_ERR_RANK);
  CHECK_EQ(calls, 0);
  MPI_Comm_set_errhandler(comms[0], MPI_ERRORS_RETURN);
  CHECK_EQ(error_class(MPI_Send(x, 1, MPI_INT, ranks, 0, comms[0])), MPI_ERR_RANK);
  CHECK_EQ(calls, 0);

  MPI_Type_free(&raw);
  MPI_Errhandler_free(&user);
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
  return end();
}
