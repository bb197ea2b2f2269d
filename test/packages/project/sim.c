#include <mpi.h>
#include <stdio.h>
#include <tasuki/sim.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int extents[2] = {0, 0};
  tasuki_sim_dimensions(2, extents);
  if (rank == 0) printf("sim: %d on %dx%d\n", sum, extents[0], extents[1]);
  MPI_Finalize();
  return 0;
}
