/* Himeno benchmark, MPI and OpenACC: halos by sends and receives. See himeno.h.
 *
 *     mpicc -O3 -march=native -ffast-math -DSIZE=M -DNDI=2 -DNDJ=2 himeno_mpi.c -o himeno_mpi -lm
 *     mpirun -n 4 ./himeno_mpi 100
 *
 * With OpenACC (-fopenacc) the MPI library is given addresses of the device; with -DHOST_MPI, for libraries that
 * do not take them, the data go through the host.
 */
#include <mpi.h>

#include "../host_mpi.h"
#include "himeno.h"

static float p[LI][LJ][NK];
/* Planes of i and k are rows far apart, so they are packed. [0]: to or from the block before, [1]: behind. */
static float packed[2][BI][NK], received[2][BI][NK];
#pragma acc declare create(p, packed, received)

static int rank_of(int i, int j) {
  return i < 0 || i >= NDI || j < 0 || j >= NDJ ? MPI_PROC_NULL : i * NDJ + j;
}

static void exchange_j(struct block me) {
  const int low = rank_of(me.i, me.j - 1), high = rank_of(me.i, me.j + 1);
  MPI_Request requests[4];
  if (NDJ == 1) return;
  USE_DEVICE(packed, received) {
    MPI_Irecv(received[0], BI * NK, MPI_FLOAT, low, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(received[1], BI * NK, MPI_FLOAT, high, 0, MPI_COMM_WORLD, &requests[1]);
  }
#pragma acc parallel loop collapse(2) present(p, packed)
  for (int i = 0; i < BI; i++)
    for (int k = 0; k < NK; k++) packed[0][i][k] = p[i + 1][1][k], packed[1][i][k] = p[i + 1][BJ][k];
  TO_HOST(packed)
  USE_DEVICE(packed, received) {
    MPI_Isend(packed[0], BI * NK, MPI_FLOAT, low, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(packed[1], BI * NK, MPI_FLOAT, high, 0, MPI_COMM_WORLD, &requests[3]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  TO_DEVICE(received)
#pragma acc parallel loop collapse(2) present(p, received)
  for (int i = 0; i < BI; i++)
    for (int k = 0; k < NK; k++) p[i + 1][0][k] = received[0][i][k], p[i + 1][BJ + 1][k] = received[1][i][k];
}

/* Whole planes of j and k, with what exchange_j has just brought: so points at the block's edges get there
 * by two steps. */
static void exchange_i(struct block me) {
  const int low = rank_of(me.i - 1, me.j), high = rank_of(me.i + 1, me.j);
  MPI_Request requests[4];
  if (NDI == 1) return;
  TO_HOST(p [1:1])
  TO_HOST(p [BI:1])
  USE_DEVICE(p) {
    MPI_Irecv(p[0], LJ * NK, MPI_FLOAT, low, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(p[BI + 1], LJ * NK, MPI_FLOAT, high, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(p[1], LJ * NK, MPI_FLOAT, low, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(p[BI], LJ * NK, MPI_FLOAT, high, 1, MPI_COMM_WORLD, &requests[3]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  TO_DEVICE(p [0:1])
  TO_DEVICE(p [BI + 1:1])
}

int main(int argc, char** argv) {
  int rank, size, code = 0;
  double gosa = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct run run = run_of(argc, argv, size, rank);
  const struct block me = block_of(rank);
  set_up(p, me);
  MPI_Barrier(MPI_COMM_WORLD);
  start_clock();
  for (int n = 0; n < run.iterations; n++) {
    exchange_j(me);
    exchange_i(me);
    spent(&clock_.communication);
    gosa = jacobi(p, me);
    spent(&clock_.compute);
    MPI_Allreduce(MPI_IN_PLACE, &gosa, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    spent(&clock_.reduction);
    update(p, me);
    spent(&clock_.compute);
  }
  if (rank == 0) code = report("mpi", run, gosa);
  MPI_Finalize();
  return code;
}
