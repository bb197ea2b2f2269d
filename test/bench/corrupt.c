// Stands between a program and its MPI library and spoils what rank 1 receives, from the 20th message on:
// CORRUPT=data changes a byte in the middle of the buffer, CORRUPT=gap one before it, CORRUPT=die ends the
// rank.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source,
                                                    int tag, MPI_Comm communicator, MPI_Status* status) {
  static int calls;
  const int result = PMPI_Recv(buffer, count, type, source, tag, communicator, status);
  const char* what = getenv("CORRUPT");
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (what == NULL || rank != 1 || ++calls < 20) return result;
  char* bytes = buffer;
  if (strcmp(what, "data") == 0) bytes[count / 2] ^= 1;
  if (strcmp(what, "gap") == 0) bytes[-9] ^= 1;
  if (strcmp(what, "die") == 0) raise(SIGKILL);
  return result;
}
