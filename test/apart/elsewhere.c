// Large messages whose other side is elsewhere: in a collective operation, in MPI_Finalize, or computing. In
// plain MPI all of these end. Each pair of ranks exchanges contiguous and strided messages of some sizes.
#include "../p2p/check.h"

enum { most = 70000, ways = 6 };

static int out[2 * most], in[2 * most];
static MPI_Datatype pairs;  // every other int

static void write_all(int n, int stride, int seed) {
  for (int i = 0; i < n; i++) out[i * stride] = seed + 3 * i;
}

static void check_all(int n, int stride, int seed) {
  for (int i = 0; i < n; i++) CHECK_EQ(in[i * stride], seed + 3 * i);
}

static void meet_all(void) {
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQ(all, ranks);
}

static void compute(void) {
  volatile double x = 1;
  for (int i = 0; i < 200000; i++) x = x * 1.0000001 + 1e-9;
}

// The lower rank of a pair sends, and either side is elsewhere between its start and its wait.
static void exchange(int peer, int way, int n, int stride, MPI_Datatype type, int seed) {
  MPI_Request r;
  if (rank < peer) {
    write_all(n, stride, seed);
    switch (way) {
      case 0:
        STEP("a send under way, a collective operation, the wait");
        MPI_Isend(out, n, type, peer, 1, MPI_COMM_WORLD, &r);
        meet_all();
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        break;
      case 1:
        STEP("a synchronous send under way, a collective operation, the wait");
        MPI_Issend(out, n, type, peer, 1, MPI_COMM_WORLD, &r);
        meet_all();
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        break;
      case 2:
        STEP("a send, a collective operation");
        MPI_Send(out, n, type, peer, 1, MPI_COMM_WORLD);
        meet_all();
        break;
      case 3:
        STEP("a synchronous send, a collective operation");
        MPI_Ssend(out, n, type, peer, 1, MPI_COMM_WORLD);
        meet_all();
        break;
      case 4:
        STEP("a send under way, its wait, a collective operation");
        MPI_Isend(out, n, type, peer, 1, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        meet_all();
        break;
      default:
        STEP("a send under way, computing, tests");
        MPI_Isend(out, n, type, peer, 1, MPI_COMM_WORLD, &r);
        compute();
        for (int done = 0; !done;) MPI_Test(&r, &done, MPI_STATUS_IGNORE);
        meet_all();
    }
    return;
  }
  memset(in, 0, sizeof in);
  switch (way) {
    case 0:
    case 1:
      STEP("a receive, a collective operation");
      MPI_Recv(in, n, type, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      meet_all();
      break;
    case 5:
      STEP("a receive under way, computing, a collective operation, the wait");
      MPI_Irecv(in, n, type, peer, 1, MPI_COMM_WORLD, &r);
      compute();
      meet_all();
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      break;
    default:
      STEP("a receive under way, a collective operation, the wait");
      MPI_Irecv(in, n, type, peer, 1, MPI_COMM_WORLD, &r);
      meet_all();
      MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  check_all(n, stride, seed);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int peer = rank ^ 1;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pairs);
  MPI_Type_commit(&pairs);
  static const int sizes[] = {10, 3000, 16000, 17000, most};
  for (int k = 0; k < 5; k++)
    for (int way = 0; way < ways; way++)
      for (int stride = 1; stride <= 2; stride++) {
        if (peer < ranks)
          exchange(peer, way, sizes[k], stride, stride == 1 ? MPI_INT : pairs, 100 * k + way);
        else
          meet_all();
      }
  // Nobody asks for these any more; their other sides come late. The sender's buffer stays as it is to the end.
  STEP("freed requests, MPI_Finalize");
  if (peer < ranks) {
    MPI_Request r;
    static int early[most], late[most];
    // Plain MPICH 4.0 does not carry on a receive in MPI_Finalize: the sender stays in its call.
    const int receives = argc > 1 && strcmp(argv[1], "receives") == 0;
    write_all(most, 1, 5);
    memcpy(late, out, sizeof late);
    if (rank < peer) {
      MPI_Isend(out, most, MPI_INT, peer, 2, MPI_COMM_WORLD, &r);
      MPI_Request_free(&r);
      usleep(200000);
      if (receives) MPI_Send(late, most, MPI_INT, peer, 3, MPI_COMM_WORLD);
    } else {
      if (receives) {
        MPI_Irecv(early, most, MPI_INT, peer, 3, MPI_COMM_WORLD, &r);
        MPI_Request_free(&r);
      }
      usleep(100000);
      MPI_Recv(in, most, MPI_INT, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check_all(most, 1, 5);
    }
  }
  MPI_Type_free(&pairs);
  MPI_Finalize();
  if (rank == 0) printf("passed\n");
  return 0;
}
