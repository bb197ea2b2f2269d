/* Himeno benchmark, MPI and OpenACC: halos by one-sided gets (passive target). See himeno.h.
 *
 *     mpicc -O3 -march=native -ffast-math -DSIZE=M -DNDI=2 -DNDJ=2 himeno_mpi_get.c -o himeno_mpi_get -lm
 *     mpirun -n 4 ./himeno_mpi_get 100
 */
#include <mpi.h>

#include "himeno.h"

/* What neighbours get from: p for planes of j and k; for those of i and k, which are rows far apart,
 * copies that are packed. */
typedef float (*planes)[BI][NK]; /* [0]: for the block before, [1]: behind */
static field p;
static planes packed;
static MPI_Win p_window, packed_window;
static float received[2][BI][NK];
#pragma acc declare create(received)

static void* window_of(MPI_Aint bytes, MPI_Win* window) {
  void* memory;
#ifdef _OPENACC /* in the device's memory */
  char* host = malloc(bytes);
#pragma acc enter data create(host [0:bytes])
#pragma acc host_data use_device(host)
  MPI_Win_create(host, bytes, sizeof(float), MPI_INFO_NULL, MPI_COMM_WORLD, window);
  memory = host;
#else
  MPI_Win_allocate(bytes, sizeof(float), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, window);
#endif
  MPI_Win_lock_all(MPI_MODE_NOCHECK, *window);
  return memory;
}

static int rank_of(int i, int j) {
  return i < 0 || i >= NDI || j < 0 || j >= NDJ ? MPI_PROC_NULL : i * NDJ + j;
}

/* My window holds what they will get, and theirs what I will. When they have got it is told by the sum of
 * gosa, which nobody has before everybody has given its part; and points change behind that. */
static void meet(int low, int high, MPI_Win window) {
  MPI_Request requests[4];
  MPI_Win_sync(window);
  MPI_Irecv(NULL, 0, MPI_BYTE, low, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(NULL, 0, MPI_BYTE, high, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(NULL, 0, MPI_BYTE, low, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(NULL, 0, MPI_BYTE, high, 0, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  MPI_Win_sync(window);
}

static void get(float* to, int count, int rank, MPI_Aint at, MPI_Win window) {
  MPI_Get(to, count, MPI_FLOAT, rank, at, count, MPI_FLOAT, window);
}

static void exchange_j(struct block me) {
  const int low = rank_of(me.i, me.j - 1), high = rank_of(me.i, me.j + 1);
  if (NDJ == 1) return;
#pragma acc parallel loop collapse(2) present(p [0:LI], packed [0:2])
  for (int i = 0; i < BI; i++)
    for (int k = 0; k < NK; k++) packed[0][i][k] = p[i + 1][1][k], packed[1][i][k] = p[i + 1][BJ][k];
  meet(low, high, packed_window);
#pragma acc host_data use_device(received)
  {
    get(received[0][0], BI * NK, low, BI * NK, packed_window);
    get(received[1][0], BI * NK, high, 0, packed_window);
  }
  MPI_Win_flush_all(packed_window);
#pragma acc parallel loop collapse(2) present(p [0:LI], received)
  for (int i = 0; i < BI; i++)
    for (int k = 0; k < NK; k++) p[i + 1][0][k] = received[0][i][k], p[i + 1][BJ + 1][k] = received[1][i][k];
}

/* Whole planes of j and k, with what exchange_j has just brought: so points at the block's edges get there
 * by two steps. */
static void exchange_i(struct block me) {
  const int low = rank_of(me.i - 1, me.j), high = rank_of(me.i + 1, me.j);
  if (NDI == 1) return;
  meet(low, high, p_window);
#pragma acc host_data use_device(p)
  {
    get(p[0][0], LJ * NK, low, BI * LJ * NK, p_window);
    get(p[BI + 1][0], LJ * NK, high, LJ * NK, p_window);
  }
  MPI_Win_flush_all(p_window);
}

int main(int argc, char** argv) {
  int rank, size, code = 0;
  double gosa = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct run run = run_of(argc, argv, size, rank);
  const struct block me = block_of(rank);
  p = window_of(sizeof(float[LI][LJ][NK]), &p_window);
  packed = window_of(sizeof(float[2][BI][NK]), &packed_window);
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
  if (rank == 0) code = report("mpi_get", run, gosa);
  MPI_Win_unlock_all(p_window);
  MPI_Win_unlock_all(packed_window);
  MPI_Win_free(&p_window);
  MPI_Win_free(&packed_window);
  MPI_Finalize();
  return code;
}
