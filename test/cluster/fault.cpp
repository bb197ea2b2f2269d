// Preloaded by rank 0 of a test: from the moment that the file $DLM_FAULT_FLAG exists, every transfer with
// the ranks whose numbers are in it ("1 2") ends with an error, those that are under way too, and what they
// send reaches nobody.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#define INSTEAD extern "C" [[gnu::visibility("default")]]

namespace {

// The rank at the other side. Never destroyed: the pager's thread calls MPI until all other exit handlers
// have run.
std::map<MPI_Request, int>& pending = *new std::map<MPI_Request, int>;
unsigned dead;  // a bit for each rank
int error;

template <typename Function>
Function next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) abort();
  return reinterpret_cast<Function>(found);
}

void look(void) {
  const char* flag = getenv("DLM_FAULT_FLAG");
  FILE* file = flag == nullptr ? nullptr : fopen(flag, "re");
  if (file == nullptr) return;
  int rank;
  unsigned now = 0;
  while (fscanf(file, "%d", &rank) == 1) now |= 1u << rank;
  fclose(file);
  if (error == 0) {
    PMPI_Add_error_class(&error);
    PMPI_Add_error_string(error, "this process has ended, says the test");
  }
  dead = now;
}

int is_dead(int rank) {
  return rank >= 0 && rank < 32 && (dead >> rank & 1) != 0;
}

int started(int rc, int rank, MPI_Request request) {
  if (rc == MPI_SUCCESS) pending[request] = rank;
  return rc;
}

int find(MPI_Request request) {
  const auto found = pending.find(request);
  return found == pending.end() ? -1 : found->second;
}

}  // namespace

INSTEAD int PMPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                       MPI_Request* request) {
  if (is_dead(to)) return error;
  const int rc = next<decltype(&PMPI_Isend)>("PMPI_Isend")(data, n, type, to, tag, comm, request);
  return started(rc, to, *request);
}

INSTEAD int PMPI_Request_free(MPI_Request* request) {
  pending.erase(*request);
  return next<decltype(&PMPI_Request_free)>("PMPI_Request_free")(request);
}

INSTEAD int PMPI_Issend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                        MPI_Request* request) {
  if (is_dead(to)) return error;
  const int rc = next<decltype(&PMPI_Issend)>("PMPI_Issend")(data, n, type, to, tag, comm, request);
  return started(rc, to, *request);
}

INSTEAD int PMPI_Irecv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                       MPI_Request* request) {
  if (is_dead(from)) return error;
  const int rc = next<decltype(&PMPI_Irecv)>("PMPI_Irecv")(data, n, type, from, tag, comm, request);
  return started(rc, from, *request);
}

INSTEAD int PMPI_Testsome(int n, MPI_Request requests[], int* ended, int indices[], MPI_Status statuses[]) {
  static unsigned calls;
  if (calls++ % 64 == 0) look();
  *ended = 0;
  for (int i = 0; dead != 0 && i < n; i++) {
    if (!is_dead(find(requests[i]))) continue;
    pending.erase(requests[i]);
    requests[i] = MPI_REQUEST_NULL;  // MPI keeps it: what it refers to must not be used again
    indices[*ended] = i;
    statuses[(*ended)++].MPI_ERROR = error;
  }
  if (*ended > 0) return MPI_ERR_IN_STATUS;
  const std::vector<MPI_Request> before(requests, requests + n);
  const int rc = next<decltype(&PMPI_Testsome)>("PMPI_Testsome")(n, requests, ended, indices, statuses);
  for (int i = 0; i < *ended; i++) pending.erase(before[static_cast<size_t>(indices[i])]);
  return rc;
}
