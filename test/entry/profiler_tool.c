/* A profiler: it defines some MPI functions, counts, and calls their PMPI_ names. The test links it into the
 * program, or as a shared library, or preloads it. */
#include <mpi.h>

#include "profiler_tool.h"

static int g_inits, g_sends, g_irecvs, g_waits;

__attribute__((visibility("default"))) void profiler_counts(int* inits, int* sends, int* irecvs, int* waits) {
  *inits = g_inits;
  *sends = g_sends;
  *irecvs = g_irecvs;
  *waits = g_waits;
}

__attribute__((visibility("default"))) int MPI_Init(int* argc, char*** argv) {
  ++g_inits;
  return PMPI_Init(argc, argv);
}

__attribute__((visibility("default"))) int MPI_Send(const void* buf, int count, MPI_Datatype type, int dest,
                                                    int tag, MPI_Comm comm) {
  ++g_sends;
  return PMPI_Send(buf, count, type, dest, tag, comm);
}

__attribute__((visibility("default"))) int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source,
                                                     int tag, MPI_Comm comm, MPI_Request* request) {
  ++g_irecvs;
  return PMPI_Irecv(buf, count, type, source, tag, comm, request);
}

__attribute__((visibility("default"))) int MPI_Waitany(int count, MPI_Request requests[], int* index,
                                                       MPI_Status* status) {
  ++g_waits;
  return PMPI_Waitany(count, requests, index, status);
}
