// Programs that count on small messages being buffered, as they are by every MPI library up to 4 KiB: all
// send first and receive then; all send in buffered mode, give the buffer back and receive then.
#include "check.h"

enum { most = 4096 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  static unsigned char out[most], in[most];
  static const int sizes[] = {0, 1, 40, 41, 100, 999, 1000, 1001, 1024, 2048, 4000, most};
  MPI_Datatype pairs;
  MPI_Type_vector(most / 4, 1, 2, MPI_SHORT, &pairs);
  MPI_Type_commit(&pairs);

  for (int k = 0; k < 12; k++) {
    int n = sizes[k];
    // Open MPI's 4 KiB include its header.
    if (n == most && !under_tasuki()) continue;
    for (int i = 0; i < 20; i++) {
      STEP("send, then receive");
      fill(out, (size_t)n, (unsigned)(i + rank));
      MPI_Send(out, BYTES(n), next, 1, MPI_COMM_WORLD);
      MPI_Recv(in, BYTES(most), before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(in, (size_t)n, (unsigned)(i + before)), -1);

      STEP("send, collective call, then receive");
      MPI_Send(out, BYTES(n), next, 2, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Recv(in, BYTES(most), before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(in, (size_t)n, (unsigned)(i + before)), -1);

      STEP("the buffer serves again at once after a non-blocking send is waited for");
      MPI_Request r;
      MPI_Isend(out, BYTES(n), next, 3, MPI_COMM_WORLD, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      memset(out, 0, most);
      MPI_Recv(in, BYTES(most), before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(in, (size_t)n, (unsigned)(i + before)), -1);

      // Open MPI buffers less than that when a rank sends to itself.
      if (n > 100 && !under_tasuki()) continue;
      STEP("to oneself");
      fill(out, (size_t)n, (unsigned)i);
      MPI_Send(out, BYTES(n), rank, 4, MPI_COMM_WORLD);
      MPI_Recv(in, BYTES(most), rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(first_wrong(in, (size_t)n, (unsigned)i), -1);
    }

    STEP("buffered, detach, then receive");
    int room = 3 * (most + MPI_BSEND_OVERHEAD), size;
    void *space = allocate((size_t)room), *back;
    for (int i = 0; i < 5; i++) {
      MPI_Buffer_attach(space, room);
      for (int j = 0; j < 3; j++) {
        fill(out, (size_t)n, (unsigned)(i + j + rank));
        MPI_Bsend(out, BYTES(n), next, 5, MPI_COMM_WORLD);
      }
      MPI_Buffer_detach(&back, &size);
      CHECK(back == space && size == room);
      memset(space, 0, (size_t)room);
      // A new buffer has all its room, whatever became of the messages of the old one.
      MPI_Buffer_attach(space, room);
      for (int j = 0; j < 3; j++) {
        fill(out, (size_t)n, (unsigned)(i + j + rank + 50));
        MPI_Bsend(out, BYTES(n), next, 6, MPI_COMM_WORLD);
      }
      for (int j = 0; j < 3; j++) {
        MPI_Recv(in, BYTES(most), before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(first_wrong(in, (size_t)n, (unsigned)(i + j + before + 50)), -1);
        MPI_Recv(in, BYTES(most), before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(first_wrong(in, (size_t)n, (unsigned)(i + j + before)), -1);
      }
      MPI_Buffer_detach(&back, &size);
    }
    free(space);
  }

  STEP("strided, send, then receive");
  static short grid[most], back[most];
  for (int i = 0; i < 50; i++) {
    for (int k = 0; k < most; k++) {
      grid[k] = (short)(i * 3 + k * 5 + rank);
      back[k] = -1;
    }
    MPI_Send(grid, 1, pairs, next, 7, MPI_COMM_WORLD);
    MPI_Recv(back, 1, pairs, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < most / 2; k++) CHECK_EQ(back[k], k % 2 ? -1 : (short)(i * 3 + k * 5 + before));
  }
  MPI_Type_free(&pairs);
  return end();
}
