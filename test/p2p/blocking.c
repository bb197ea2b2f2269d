// Blocking sends and receives: every size class, both directions, every byte, and nothing beyond the message.
#include "check.h"

enum { guard = 64, most = 4 << 20 };

static const int sizes[] = {0,      1,      2,      3,      4,      7,       8,       9,       15,      16,
                            31,     32,     63,     64,     65,     127,     255,     256,     257,     511,
                            512,    1000,   1023,   1024,   1025,   2048,    4000,    4095,    4096,    4097,
                            8191,   8192,   8193,   16384,  20000,  32767,   32768,   65535,   65536,   65537,
                            100000, 131072, 262144, 262145, 524288, 1000000, 1048576, 1048577, 3000001, most};

int main(int argc, char** argv) {
  begin(&argc, &argv);
  unsigned char* out = allocate(most);
  unsigned char* in = allocate(most + guard);
  int n = (int)(sizeof sizes / sizeof *sizes);

  for (int peer = 0; peer < ranks; peer++) {
    for (int s = 0; s < n; s++) {
      unsigned seed = (unsigned)(s * 100 + peer);
      int size = sizes[s];
      STEP("to every other rank and back");
      if (rank == peer) {
        fill(out, (size_t)size, seed);
        for (int to = 0; to < ranks; to++) {
          if (to == peer) continue;
          MPI_Send(out, BYTES(size), to, s, MPI_COMM_WORLD);
          memset(in, 0xee, (size_t)size + guard);
          MPI_Status status;
          poison(&status);
          MPI_Recv(in, BYTES(size), to, s + 1000, MPI_COMM_WORLD, &status);
          CHECK_EQ(first_wrong(in, (size_t)size, seed + 7), -1);
          CHECK_EQ(first_not(in + size, guard, 0xee), -1);
          CHECK_EQ(status.MPI_SOURCE, to);
          CHECK_EQ(status.MPI_TAG, s + 1000);
          CHECK_EQ(count_of(&status, MPI_BYTE), size);
        }
      } else {
        memset(in, 0xdd, (size_t)size + guard);
        MPI_Status status;
        poison(&status);
        // A longer buffer than the message: the count says what arrived.
        MPI_Recv(in, BYTES(size + guard), peer, s, MPI_COMM_WORLD, &status);
        CHECK_EQ(first_wrong(in, (size_t)size, seed), -1);
        CHECK_EQ(first_not(in + size, guard, 0xdd), -1);
        CHECK_EQ(status.MPI_SOURCE, peer);
        CHECK_EQ(status.MPI_TAG, s);
        CHECK_EQ(count_of(&status, MPI_BYTE), size);
        // MPI_Recv leaves the error field alone (MPI 3.1, section 3.2.5).
        CHECK_EQ(status.MPI_ERROR, -4713);
        fill(out, (size_t)size, seed + 7);
        MPI_Send(out, BYTES(size), peer, s + 1000, MPI_COMM_WORLD);
      }
    }
  }

  STEP("the send buffer may be reused at once");
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int i = 0; i < 300; i++) {
    size_t size = (size_t)(i * 37 % 3000);
    fill(out, size, (unsigned)(i + rank));
    MPI_Send(out, BYTES(size), next, 5, MPI_COMM_WORLD);
    memset(out, 0, size);
    memset(in, 1, size + 1);
    MPI_Recv(in, BYTES(size), before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(first_wrong(in, size, (unsigned)(i + before)), -1);
  }
  free(out);
  free(in);
  return end();
}
