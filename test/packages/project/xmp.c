#include <mpi.h>
#include <stdio.h>
#include <xmp.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  xmp_init(MPI_COMM_WORLD);
  const int me = xmp_this_image(), all = xmp_num_images();
  int* count = xmp_comalloc(sizeof *count);
  *count = me;
  xmp_sync_all(NULL);
  if (me == 1) printf("xmp: %d of %d\n", *count, all);
  xmp_finalize();
  MPI_Finalize();
  return 0;
}
