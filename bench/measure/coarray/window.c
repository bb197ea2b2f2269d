// By MPI_Put and MPI_Get on a window of MPI_Win_allocate, each followed by MPI_Win_flush; an empty message
// tells the other rank.
#include <mpi.h>

#include "measure/coarray/coarray.h"
#include "measure/common/rank.h"

enum { kTag = 8 };

static MPI_Win g_window;
static double* g_memory;  // NULL: there is no window

double* window_memory(size_t elements) {
  MPI_Win_allocate((MPI_Aint)(elements * sizeof(double)), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &g_memory, &g_window);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, g_window);
  return g_memory;
}

void window_end(void) {
  if (g_memory == NULL) return;
  MPI_Win_unlock_all(g_window);
  MPI_Win_free(&g_window);
  g_memory = NULL;
}

void window_meet(void) {
  MPI_Win_sync(g_window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(g_window);
}

static MPI_Aint offset(const double* p) {
  return p - g_memory;
}
static size_t first(void) {
  const struct section* s = &g_section;
  return (s->lower[0] * s->extent[1] + s->lower[1]) * s->extent[2] + s->lower[2];
}

static void put(const double* from) {
  const int n = (int)section_elements(), other = 1 - g_rank;
  MPI_Put(from + first(), n, MPI_DOUBLE, other, offset(g_target + first()), n, MPI_DOUBLE, g_window);
  MPI_Win_flush(other, g_window);
}
static void get(const double* from) {
  const int n = (int)section_elements(), other = 1 - g_rank;
  MPI_Get(g_target + first(), n, MPI_DOUBLE, other, offset(from + first()), n, MPI_DOUBLE, g_window);
  MPI_Win_flush(other, g_window);
}
static void tell(void) {
  MPI_Send(NULL, 0, MPI_BYTE, 1 - g_rank, kTag, MPI_COMM_WORLD);
}
static void hear(void) {
  MPI_Recv(NULL, 0, MPI_BYTE, 1 - g_rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_sync(g_window);
}

void window_put_round(void) {
  if (g_rank == 0) {
    put(g_source);
    tell();
  }
  hear();
  if (g_rank == 1) {
    put(g_target);
    tell();
  }
}

void window_get_round(void) {
  if (g_rank == 0) tell();
  hear();
  get(g_rank == 0 ? g_target : g_source);
  if (g_rank == 1) tell();
}

static void put_packed(const double* array) {
  const int n = (int)section_elements(), other = 1 - g_rank;
  pack(g_packed_out, array);
  MPI_Put(g_packed_out, n, MPI_DOUBLE, other, offset(g_packed_in), n, MPI_DOUBLE, g_window);
  MPI_Win_flush(other, g_window);
  tell();
}

void window_put_packed_round(void) {
  if (g_rank == 0) put_packed(g_source);
  hear();
  unpack(g_target, g_packed_in);
  if (g_rank == 1) put_packed(g_target);
}

void window_put_alone(void) {
  put(g_source);
}
void window_get_alone(void) {
  get(g_source);
}
