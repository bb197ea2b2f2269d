/* NPB CG, MPI and OpenACC: one-sided gets (passive target). See cg.h.
 *
 *     mpicc -O3 -march=native -ffast-math -DCLASS=A -DPROWS=2 -DPCOLS=2 cg_mpi_get.c -o cg_mpi_get -lm
 *     mpirun -n 4 ./cg_mpi_get
 */
#include <mpi.h>

#include "cg.h"

static struct place me;
static MPI_Comm row;
static MPI_Win window; /* of w */
static double q[ROWS];
#pragma acc declare create(q)

static double* window_of(MPI_Aint bytes) {
  double* w;
#ifdef _OPENACC /* in the device's memory */
  w = need(malloc(bytes));
#pragma acc enter data create(w [0:ROWS])
#pragma acc host_data use_device(w)
  MPI_Win_create(w, bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
#else
  MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &w, &window);
#endif
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  return w;
}

static int rank_of(struct place at) {
  return at.row * PCOLS + at.col;
}

static double sum(double mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, row);
  return mine;
}

static void meet(int partner) {
  MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, 0, NULL, 0, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

/* COLS elements of the partner's w from `begin` on. First both have theirs ready, then both have got them. */
static void get(double* to, int partner, int begin) {
  MPI_Win_sync(window);
  meet(partner);
  MPI_Win_sync(window);
#pragma acc host_data use_device(to)
  MPI_Get(to, COLS, MPI_DOUBLE, partner, begin, COLS, MPI_DOUBLE, window);
  MPI_Win_flush(partner, window);
  meet(partner);
}

/* The sum of w over my row of processes by recursive doubling, of the COLS elements that I keep. Then
 * across the diagonal. */
static void assemble(double* w, double* q) {
  const int keep = kept(me);
  for (int bit = 1; bit < PCOLS; bit *= 2) {
    get(q, rank_of((struct place){me.row, me.col ^ bit}), keep);
#pragma acc parallel loop present(w [0:ROWS], q [0:ROWS])
    for (int i = 0; i < COLS; i++) w[keep + i] += q[i];
  }
  if (rank_of(across(me)) != rank_of(me)) {
    get(q, rank_of(across(me)), keep);
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
  double* w = window_of(sizeof(double[ROWS]));
  set_up(me);
  MPI_Barrier(MPI_COMM_WORLD);
  const double zeta = power_method(me, w, q, &rest);
  if (rank == 0) code = report("mpi_get", zeta, rest);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Comm_free(&row);
  MPI_Finalize();
  return code;
}
