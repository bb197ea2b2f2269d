// Collective operations between ranks of which some are alone on their host and others are not, where a
// decision from what only one rank sees would be another one elsewhere: addresses, roots, groups, errors.
#include "check.h"

enum { ints = 30000 };

// A rank that receives at absolute addresses, among others that do not.
static void absolute(void) {
  STEP("allgather to absolute addresses");
  int own[ints], *all = allocate(sizeof own * (size_t)ranks);
  for (int i = 0; i < ints; i++) own[i] = rank * ints + i;
  MPI_Aint at;
  MPI_Get_address(all, &at);
  MPI_Datatype there;
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &there);
  MPI_Type_create_resized(there, 0, sizeof(int), &there);
  MPI_Type_commit(&there);
  if (rank == 1)
    MPI_Allgather(own, ints, MPI_INT, MPI_BOTTOM, ints, there, MPI_COMM_WORLD);
  else
    MPI_Allgather(own, ints, MPI_INT, all, ints, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks * ints; i++) CHECK_EQ(all[i], i);
  MPI_Type_free(&there);
  free(all);
}

// A rank that gives nothing may name the place where nothing comes.
static void nothing_given(void) {
  STEP("allgatherv of nothing from its own place");
  int *all = allocate(sizeof(int) * (size_t)(ranks * ints)), *counts = allocate(sizeof(int) * (size_t)ranks),
      *places = allocate(sizeof(int) * (size_t)ranks), own[ints];
  for (int i = 0; i < ranks; i++) {
    counts[i] = i == 2 ? 0 : ints;
    places[i] = (ranks - 1 - i) * ints;
  }
  for (int i = 0; i < ints; i++) own[i] = rank * ints + i;
  MPI_Allgatherv(rank == 2 ? all + places[2] : own, counts[rank], MPI_INT, all, counts, places, MPI_INT,
                 MPI_COMM_WORLD);
  for (int from = 0; from < ranks; from++)
    for (int i = 0; i < counts[from]; i++) CHECK_EQ(all[places[from] + i], from * ints + i);
  free(all);
  free(counts);
  free(places);
}

// Two groups of different sizes. Arguments that mean nothing may be anything.
static void two_groups(void) {
  STEP("between groups");
  const int second = rank == ranks - 1;
  MPI_Comm group, between;
  MPI_Comm_split(MPI_COMM_WORLD, second, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, second ? 0 : ranks - 1, 0, &between);
  int own[ints], *all = allocate(sizeof own * (size_t)ranks);
  for (int i = 0; i < ints; i++) own[i] = rank * ints + i;
  if (second)
    MPI_Gather(NULL, 77, MPI_DATATYPE_NULL, all, ints, MPI_INT, MPI_ROOT, between);
  else
    MPI_Gather(own, ints, MPI_INT, NULL, 77, MPI_DATATYPE_NULL, 0, between);
  for (int i = 0; second && i < (ranks - 1) * ints; i++) CHECK_EQ(all[i], i);
  const int n = second ? ranks - 1 : 1;
  int *counts = allocate(sizeof(int) * (size_t)n), *places = allocate(sizeof(int) * (size_t)n);
  for (int i = 0; i < n; i++) {
    counts[i] = ints;
    places[i] = i * ints;
  }
  MPI_Allgatherv(own, ints, MPI_INT, all, counts, places, MPI_INT, between);
  for (int i = 0; i < n * ints; i++) CHECK_EQ(all[i], (second ? 0 : (ranks - 1) * ints) + i);
  MPI_Comm_free(&between);
  MPI_Comm_free(&group);
  free(all);
  free(counts);
  free(places);
}

static void exchange(MPI_Comm comm, int* send, int* receive, const int* out, const int* in, const int* places,
                     int fails) {
  for (int i = 0; i < ranks * ints; i++) {
    send[i] = rank * ranks * ints + i;
    receive[i] = -1;
  }
  // Open MPI's own says MPI_ERR_OTHER.
  CHECK_EQ(MPI_Alltoallv(send, out, places, MPI_INT, receive, in, places, MPI_INT, comm) != MPI_SUCCESS,
           fails);
  for (int from = 0; !fails && from < ranks; from++)
    for (int i = 0; i < ints; i++) CHECK_EQ(receive[from * ints + i], (from * ranks + rank) * ints + i);
}

// What is too long is an error where it is, and nowhere else; nothing of it meets what follows.
static void too_long(void) {
  STEP("truncated");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const size_t bytes = sizeof(int) * (size_t)(ranks * ints);
  int *send = allocate(bytes), *receive = allocate(bytes), *all = allocate(sizeof(int) * (size_t)ranks),
      *less = allocate(sizeof(int) * (size_t)ranks), *places = allocate(sizeof(int) * (size_t)ranks);
  for (int i = 0; i < ranks; i++) {
    all[i] = ints;
    less[i] = i == ranks - 1 ? ints - 100 : ints;
    places[i] = i * ints;
  }
  exchange(comm, send, receive, all, rank == 0 ? less : all, places, rank == 0);
  for (int i = 0; i < 3; i++) exchange(comm, send, receive, all, all, places, 0);
  // One rank's own mistakes do not wait for anybody.
  STEP("wrong arguments in one rank");
  if (rank == 0) {
    less[ranks - 1] = -1;
    CHECK_EQ(error_class(MPI_Alltoallv(send, all, places, MPI_INT, receive, less, places, MPI_INT, comm)),
             MPI_ERR_COUNT);
    CHECK_EQ(error_class(MPI_Gather(send, ints, MPI_INT, receive, ints, MPI_INT, ranks + 3, comm)),
             MPI_ERR_ROOT);
  }
  exchange(comm, send, receive, all, all, places, 0);
  MPI_Comm_free(&comm);
  free(send);
  free(receive);
  free(all);
  free(less);
  free(places);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  absolute();
  nothing_given();
  two_groups();
  too_long();
  return end();
}
