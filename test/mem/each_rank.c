// Each rank has arrays larger than its local memory, and moves them by many kinds of calls: one number of all that was seen, and of what
// the files held.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seen = 0;
static size_t count, bytes;

static void look(const uint64_t* words) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < count; i++) hash = (hash ^ words[i]) * 1099511628211u;
  seen = seen * 31 + hash;
}

static void messages(uint64_t* x, uint64_t* y, uint64_t* z, int rank, int ranks) {
  const int n = (int)count, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(x, n, MPI_UINT64_T, next, 1, y, n, MPI_UINT64_T, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  look(y);
  MPI_Alltoall(y, n / ranks, MPI_UINT64_T, z, n / ranks, MPI_UINT64_T, MPI_COMM_WORLD);
  look(z);
  MPI_Allreduce(z, y, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  look(y);
  MPI_Bcast(x, n, MPI_UINT64_T, ranks - 1, MPI_COMM_WORLD);
  look(x);
  MPI_Datatype columns;  // a quarter of each row
  MPI_Type_vector(1024, n / 4096, n / 1024, MPI_UINT64_T, &columns);
  MPI_Type_commit(&columns);
  for (int k = 0; k < 3; k++) {
    MPI_Request receive;
    MPI_Irecv(y + k * (n / 4096), 1, columns, next, k, MPI_COMM_WORLD, &receive);
    MPI_Send(z + k, 1, columns, before, k, MPI_COMM_WORLD);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&columns);
  look(y);
}

static void windows(uint64_t* x, uint64_t* y, const uint64_t* z, int rank, int ranks) {
  const int n = (int)count;
  MPI_Win window;
  MPI_Win_create(x, (MPI_Aint)bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(z, n / 2, MPI_UINT64_T, (rank + 1) % ranks, 0, n / 2, MPI_UINT64_T, window);
  MPI_Get(y, n / 3, MPI_UINT64_T, (rank + ranks - 1) % ranks, n / 2 + 1, n / 3, MPI_UINT64_T, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  look(x);
  look(y);
}

static void files(const uint64_t* x, uint64_t* y, int rank, int ranks) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, "each_rank.data",
                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                    &file) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_File_write_at_all(file, (MPI_Offset)((size_t)rank * bytes), x, (int)count, MPI_UINT64_T,
                        MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_read_at_all(file, (MPI_Offset)((size_t)((rank + 1) % ranks) * bytes), y, (int)count, MPI_UINT64_T,
                       MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  look(y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 12) << 20;
  count = bytes / 8;
  uint64_t *x = malloc(bytes), *y = malloc(bytes), *z = malloc(bytes), random = (uint64_t)rank + 1;
  if (x == NULL || y == NULL || z == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (size_t i = 0; i < count; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    x[i] = random;
    y[i] = 0;
    z[i] = i;
  }
  messages(x, y, z, rank, ranks);
  windows(x, y, z, rank, ranks);
  files(x, y, rank, ranks);
  uint64_t all = 0;
  MPI_Reduce(&seen, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("seen %016llx\n", (unsigned long long)all);
  free(x);
  free(y);
  free(z);
  MPI_Finalize();
  return 0;
}
