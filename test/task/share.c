/* MPI ranks check that they live in one address space: each reads a variable of every other one by its
   address. "apart": they must not. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int variable;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* address = &variable;
  int* addresses[512];
  if (size > 512) return 3;
  MPI_Allgather(&address, sizeof address, MPI_BYTE, addresses, sizeof address, MPI_BYTE, MPI_COMM_WORLD);
  variable = 1000 + rank;
  MPI_Barrier(MPI_COMM_WORLD);
  int shared = 0;
  for (int i = 0; i < size; i++) {
    int value = -1;
    /* A read that reports a bad address instead of dying of it. */
    struct iovec local = {&value, sizeof value}, remote = {addresses[i], sizeof value};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof value && value == 1000 + i) shared++;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d of %d shares with %d\n", rank, size, shared);
  MPI_Finalize();
  return 0;
}
