/* NPB CG, MPI and OpenACC: sends and receives. See cg.h.
 *
 *     mpicc -O3 -march=native -ffast-math -DCLASS=A -DPROWS=2 -DPCOLS=2 cg_mpi.c -o cg_mpi -lm
 *     mpirun -n 4 ./cg_mpi
 *
 * With OpenACC (-fopenacc) the MPI library is given addresses of the device; with -DHOST_MPI, for libraries that
 * do not take them, the data go through the host.
 */
#include <mpi.h>

#include "../host_mpi.h"
#include "cg.h"

static struct place me;
static MPI_Comm row;
static double w[ROWS], q[ROWS];
#pragma acc declare create(w, q)

static int rank_of(struct place at) {
  return at.row * PCOLS + at.col;
}

static double sum(double mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, row);
  return mine;
}

static void swap(int partner, const double* give, double* take) {
  MPI_Request requests[2];
  TO_HOST(give [0:COLS])
  USE_DEVICE(give, take) {
    MPI_Irecv(take, COLS, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(give, COLS, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &requests[1]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  TO_DEVICE(take [0:COLS])
}

/* The sum of w over my row of processes by recursive doubling, of the COLS elements that I keep. Then
 * across the diagonal. */
static void assemble(double* w, double* q) {
  const int keep = kept(me);
  for (int bit = 1; bit < PCOLS; bit *= 2) {
    const struct place partner = {me.row, me.col ^ bit};
    swap(rank_of(partner), w + kept(partner), q);
#pragma acc parallel loop present(w [0:ROWS], q [0:ROWS])
    for (int i = 0; i < COLS; i++) w[keep + i] += q[i];
  }
  if (rank_of(across(me)) != rank_of(me)) {
    swap(rank_of(across(me)), w + keep, q);
  } else {
#pragma acc parallel loop present(w [0:ROWS], q [0:ROWS])
    for (int i = 0; i < COLS; i++) q[i] = w[keep + i];
  }
}

int main(int argc, char** argv) {
  int rank, size, code = 0;
  double rest;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_processes(argv[0], size, rank);
  me = place_of(rank);
  MPI_Comm_split(MPI_COMM_WORLD, me.row, me.col, &row);
  set_up(me);
  MPI_Barrier(MPI_COMM_WORLD);
  const double zeta = power_method(me, w, q, &rest);
  if (rank == 0) code = report("mpi", zeta, rest);
  MPI_Comm_free(&row);
  MPI_Finalize();
  return code;
}
