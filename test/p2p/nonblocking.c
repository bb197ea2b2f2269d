// Isend/Irecv: windows of requests, completed out of order, posted before and after the partner.
#include "check.h"

enum { window = 64, biggest = 300000 };

static int size_of(int i) {
  static const int sizes[] = {0, 1, 8, 100, 1000, 4000, 5000, 40000, 65536, biggest};
  return sizes[i % 10];
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  unsigned char *out[window], *in[window];
  MPI_Request sends[window], receives[window];
  for (int i = 0; i < window; i++) {
    out[i] = allocate((size_t)size_of(i));
    in[i] = allocate((size_t)size_of(i) + 1);
  }
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

  for (int round = 0; round < 12; round++) {
    int receives_first = round & 1, late = round & 2, reversed = round & 4;
    STEP("post");
    for (int phase = 0; phase < 2; phase++) {
      if (phase == receives_first) {
        for (int i = 0; i < window; i++) {
          fill(out[i], (size_t)size_of(i), (unsigned)(round * window + i + rank * 9999));
          MPI_Isend(out[i], BYTES(size_of(i)), next, i, MPI_COMM_WORLD, &sends[i]);
        }
      } else {
        for (int k = 0; k < window; k++) {
          int i = reversed ? window - 1 - k : k;
          memset(in[i], 0xcc, (size_t)size_of(i) + 1);
          MPI_Irecv(in[i], BYTES(size_of(i)), before, i, MPI_COMM_WORLD, &receives[i]);
        }
      }
      if (late && phase == 0) MPI_Barrier(MPI_COMM_WORLD);
    }
    STEP("complete");
    if (round % 3 == 0) {
      MPI_Status statuses[window];
      MPI_Waitall(window, receives, statuses);
      MPI_Waitall(window, sends, MPI_STATUSES_IGNORE);
      for (int i = 0; i < window; i++) {
        CHECK_EQ(statuses[i].MPI_SOURCE, before);
        CHECK_EQ(statuses[i].MPI_TAG, i);
        CHECK_EQ(count_of(&statuses[i], MPI_BYTE), size_of(i));
      }
    } else if (round % 3 == 1) {
      for (int i = window - 1; i >= 0; i--) {
        MPI_Status status;
        MPI_Wait(&receives[i], &status);
        CHECK_EQ(status.MPI_TAG, i);
      }
      for (int i = 0; i < window; i++) MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
    } else {
      int open = 2 * window;
      while (open > 0) {
        for (int i = 0; i < 2 * window; i++) {
          MPI_Request* request = i < window ? &receives[i] : &sends[i - window];
          int done = 0;
          if (*request == MPI_REQUEST_NULL) continue;
          MPI_Test(request, &done, MPI_STATUS_IGNORE);
          if (done) open--;
        }
      }
    }
    for (int i = 0; i < window; i++) {
      CHECK(sends[i] == MPI_REQUEST_NULL);
      CHECK(receives[i] == MPI_REQUEST_NULL);
      CHECK_EQ(first_wrong(in[i], (size_t)size_of(i), (unsigned)(round * window + i + before * 9999)), -1);
      CHECK_EQ(in[i][size_of(i)], 0xcc);
    }
  }

  STEP("a receive posted long before, completed by any later call");
  int token = -1, got = 0;
  MPI_Request early;
  MPI_Irecv(&token, 1, MPI_INT, before, 77, MPI_COMM_WORLD, &early);
  for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, next, 77, MPI_COMM_WORLD);
  while (!got) MPI_Test(&early, &got, MPI_STATUS_IGNORE);
  CHECK_EQ(token, before);

  for (int i = 0; i < window; i++) {
    free(out[i]);
    free(in[i]);
  }
  return end();
}
