/* A program that initialises MPI itself: initialised <thread level> -- settings. With MPI_THREAD_MULTIPLE cluster memory
 * works beside its own MPI calls; with less, dlm_startup ends it with exit code 1.
 *
 *     initialised 3 FILE -- settings
 *
 * swaps until the test has made the file, and ends with 5: a server is lost meanwhile, and MPI_Finalize must not wait for it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dlm.h"

int main(int argc, char** argv) {
  int provided = 0, rank = -1, n = 0;
  MPI_Init_thread(&argc, &argv, atoi(argv[1]), &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  dlm_startup(&argc, &argv);
  if (rank != 0) return 98; /* a server came back */
  if (provided < MPI_THREAD_MULTIPLE) return 97;
  const int count = 4 << 20;
  int* x = dlm_alloc((size_t)count * sizeof *x);
  if (x == NULL) return 96;
  const char* const file = argc > 2 ? argv[2] : NULL;
  if (file != NULL) {
    printf("swapping\n");
    fflush(stdout);
    while (access(file, F_OK) != 0)
      for (int i = 0; i < count; i += 512) x[i]++;
  }
  for (int i = 0; i < count; i++) {
    if (i % 65536 == 0)
      MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &n, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    x[i] = i + n;
  }
  for (int i = 0; i < count; i++)
    if (x[i] != i + i / 65536 * 65536) return 95;
  dlm_shutdown();
  MPI_Finalize();
  printf("verified\n");
  return file != NULL ? 5 : 0;
}
