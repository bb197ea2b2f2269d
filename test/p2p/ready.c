// Ready sends: the receive is posted, in all ways that the standard allows.
#include "check.h"

enum { most = 300000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static unsigned char out[most], in[most];
  static const int sizes[] = {0, 1, 33, 4096, 5000, 65536, most};
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int round = 0; round < 35; round++) {
    int size = sizes[round % 7], source = round % 2 ? before : MPI_ANY_SOURCE;
    MPI_Request receive, send;
    MPI_Status s;
    memset(in, 0, (size_t)size);
    STEP("post");
    MPI_Irecv(in, BYTES(size), source, round, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
    fill(out, (size_t)size, (unsigned)(rank + round));
    STEP("ready");
    if (round % 3) {
      MPI_Rsend(out, BYTES(size), next, round, MPI_COMM_WORLD);
    } else {
      MPI_Irsend(out, BYTES(size), next, round, MPI_COMM_WORLD, &send);
      MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&receive, &s);
    CHECK_EQ(s.MPI_SOURCE, before);
    CHECK_EQ(s.MPI_TAG, round);
    CHECK_EQ(count_of(&s, MPI_BYTE), size);
    CHECK_EQ(first_wrong(in, (size_t)size, (unsigned)(before + round)), -1);
  }

  STEP("request and answer: the usual use");
  for (int i = 0; i < 500 && rank < 2 && ranks > 1; i++) {
    int question = i, answer = -1;
    if (rank == 0) {
      MPI_Request r;
      MPI_Irecv(&answer, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &r);
      MPI_Send(&question, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      CHECK_EQ(answer, i * 3);
    } else {
      MPI_Recv(&question, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      answer = question * 3;
      MPI_Rsend(&answer, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
  }
  return end();
}
