/* Maps over its own memory at fixed addresses, and over another rank's, once the MPI library is there: UCX replaces
   functions of libc, and what it replaces must not be what keeps tasks apart. */
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>

enum { kLength = 1 << 22, kPart = 1 << 20 };
typedef void* (*Map)(void*, size_t, int, int, int, off_t);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, refused = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const Map maps[2] = {mmap, mmap64};
  for (int i = 0; i < 4; i++) {
    char* at = maps[i / 2](NULL, kLength, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 2;
    void* over = maps[i % 2](at + kPart, kPart, PROT_READ | PROT_WRITE,
                             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    refused += over == MAP_FAILED;
    munmap(at, kLength);
  }
  int* mine = mmap(NULL, kLength, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mine == MAP_FAILED) return 3;
  *mine = rank + 1;
  int* theirs = mine;
  MPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, 0, MPI_COMM_WORLD);
  void* over = MAP_FAILED;
  if (rank != 0)
    over = mmap(theirs, kLength, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d: refused %d of its own, %s another's, %s\n", rank, refused,
         over == MAP_FAILED ? "none of" : "mapped over", *mine == rank + 1 ? "intact" : "LOST");
  MPI_Finalize();
  return 0;
}
