// A program that begins and ends MPI itself, and leaves it to MPI_Finalize to end cluster memory.
#include <dlm.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  dlm_startup(&argc, &argv);
  int* const a = dlm_alloc(1 << 22);
  for (int i = 0; i < 1 << 20; i += 512) a[i] = 1;
  MPI_Finalize();
  fprintf(stderr, "after MPI_Finalize\n");
  return 0;
}
