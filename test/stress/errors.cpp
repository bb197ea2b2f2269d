// Calls that must fail, under MPI_ERRORS_RETURN: the class of the error, and that nothing else breaks by it.
#include <cstring>

#include "stress.h"

namespace stress {
namespace {

int class_of(int code) {
  int c;
  MPI_Error_class(code, &c);
  return c;
}

void expect(const char* call, int code, int wanted, int also = -1) {
  const int c = class_of(code);
  if (c == wanted || c == also) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(code, text, &length);
  fail(__FILE__, __LINE__,
       std::string(call) + ": class " + std::to_string(c) + " (" + text + "), expected " +
           std::to_string(wanted));
}

}  // namespace

void errors(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), next = (me + 1) % ranks,
            last = (me + ranks - 1) % ranks;
  MPI_Comm own_comm;
  step("errors: MPI_Comm_dup");
  MPI_Comm_dup(comm, &own_comm);
  MPI_Comm_set_errhandler(own_comm, MPI_ERRORS_RETURN);
  // MPICH 4.0 raises what a Wait finds on MPI_COMM_WORLD.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int x[64] = {0}, y[64];
  MPI_Request r;
  MPI_Status s;
  for (int n = draw(random, 4, 16); n > 0; n--) {
    figures.errors++;
    int kind = draw(random, 0, 9);
    // Plain Open MPI 4.1 waits for ever in MPI_Waitall when one of the messages is truncated while it waits.
    if (kind == 8 && kOpenMpi && !job.tasuki) kind = 6;
    switch (kind) {
      case 0:
        expect("MPI_Send to a rank that is not there", MPI_Send(x, 1, MPI_INT, ranks + 3, 1, own_comm),
               MPI_ERR_RANK);
        break;
      case 1:
        expect("MPI_Recv from a rank that is not there", MPI_Recv(x, 1, MPI_INT, ranks, 1, own_comm, &s),
               MPI_ERR_RANK);
        break;
      case 2:
        expect("MPI_Isend with a negative count", MPI_Isend(x, -1, MPI_INT, next, 1, own_comm, &r),
               MPI_ERR_COUNT);
        break;
      case 3:
        expect("MPI_Ssend with a negative tag", MPI_Ssend(x, 1, MPI_INT, next, -5, own_comm), MPI_ERR_TAG);
        break;
      case 4:
        expect("MPI_Irecv with no type", MPI_Irecv(x, 1, MPI_DATATYPE_NULL, last, 1, own_comm, &r),
               MPI_ERR_TYPE);
        break;
      case 5:
        expect("MPI_Bcast from a root that is not there", MPI_Bcast(x, 1, MPI_INT, ranks + 1, own_comm),
               MPI_ERR_ROOT, MPI_ERR_ARG);
        break;
      case 6:
      case 7: {
        // A message that does not fit: the bytes that fit may come, those behind them must not.
        const int sent = draw(random, 9, 64), room = draw(random, 0, 8);
        const bool later = random.chance(50);
        memset(y, 0x5a, sizeof y);
        step("errors: a truncated message");
        MPI_Isend(x, sent, MPI_INT, next, 2, own_comm, &r);
        int code;
        if (later) {
          MPI_Request q;
          MPI_Irecv(y, room, MPI_INT, last, 2, own_comm, &q);
          code = MPI_Wait(&q, &s);
        } else {
          code = MPI_Recv(y, room, MPI_INT, last, 2, own_comm, &s);
        }
        expect("a truncated message", code, MPI_ERR_TRUNCATE);
        for (int i = room; i < 64; i++) CHECK_EQ(y[i], 0x5a5a5a5a);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        break;
      }
      case 8: {
        // Some of several fail: the others are complete, and their statuses say which is which.
        MPI_Request q[4];
        MPI_Status statuses[4];
        const int bad = draw(random, 0, 1);
        step("errors: MPI_Waitall with a truncated message");
        memset(y, 0x5a, sizeof y);
        for (int k = 0; k < 2; k++)
          MPI_Irecv(y + 16 * k, k == bad ? 2 : 16, MPI_INT, last, 3 + k, own_comm, &q[k]);
        for (int k = 0; k < 2; k++) MPI_Isend(x, 10, MPI_INT, next, 3 + k, own_comm, &q[2 + k]);
        expect("MPI_Waitall", MPI_Waitall(4, q, statuses), MPI_ERR_IN_STATUS);
        expect("the status of the truncated one", statuses[bad].MPI_ERROR, MPI_ERR_TRUNCATE);
        for (int k = 0; k < 4; k++) {
          if (k == bad) continue;
          const int c = class_of(statuses[k].MPI_ERROR);
          CHECK(c == MPI_SUCCESS || c == MPI_ERR_PENDING);
          if (c == MPI_ERR_PENDING) MPI_Wait(&q[k], MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < 10; i++) CHECK_EQ(y[16 * (1 - bad) + i], 0);
        CHECK_EQ(y[16 * bad + 2], 0x5a5a5a5a);
        break;
      }
      default:
        expect("MPI_Send on no communicator", MPI_Comm_call_errhandler(own_comm, MPI_ERR_OTHER), MPI_SUCCESS);
    }
  }
  step("errors: barrier");
  MPI_Barrier(own_comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&own_comm);
}

}  // namespace stress
