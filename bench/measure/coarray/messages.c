// By MPI_Send and MPI_Recv.
#include <mpi.h>

#include "measure/coarray/coarray.h"
#include "measure/common/rank.h"

enum { kTag = 7 };

void message_meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

static double* first(double* array) {
  const struct section* s = &g_section;
  return array + (s->lower[0] * s->extent[1] + s->lower[1]) * s->extent[2] + s->lower[2];
}

void send_round(void) {
  const int n = (int)section_elements();
  if (g_rank == 0) MPI_Send(first(g_source), n, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD);
  MPI_Recv(first(g_target), n, MPI_DOUBLE, 1 - g_rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (g_rank == 1) MPI_Send(first(g_target), n, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD);
}

static void send_packed(const double* array) {
  pack(g_packed_out, array);
  MPI_Send(g_packed_out, (int)section_elements(), MPI_DOUBLE, 1 - g_rank, kTag, MPI_COMM_WORLD);
}

void send_packed_round(void) {
  if (g_rank == 0) send_packed(g_source);
  MPI_Recv(g_packed_in, (int)section_elements(), MPI_DOUBLE, 1 - g_rank, kTag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  unpack(g_target, g_packed_in);
  if (g_rank == 1) send_packed(g_target);
}
