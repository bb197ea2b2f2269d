// What the random programs (random/, neighbours.cpp) leave out of non-blocking collectives: datatypes and
// communicators that the program frees before the operation is complete, absolute addresses on one rank only,
// ranks that need each other's messages between the start and the end, lists of requests of all kinds.
#include "../p2p/check.h"

enum { kElements = 3000 };

// The even ones of 2 * kElements numbers; where MPI-4 is there, as a type that the layer does not decode.
static MPI_Datatype even_numbers(void) {
  MPI_Datatype even;
#if MPI_VERSION >= 4
  const MPI_Count sizes[] = {2 * kElements};
  const int distributions[] = {MPI_DISTRIBUTE_CYCLIC}, arguments[] = {1}, processes[] = {2};
  MPI_Type_create_darray_c(2, 0, 1, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_LONG, &even);
#else
  MPI_Datatype vector;
  MPI_Type_vector(kElements, 1, 2, MPI_LONG, &vector);
  MPI_Type_create_resized(vector, 0, 2 * kElements * (MPI_Aint)sizeof(long), &even);
  MPI_Type_free(&vector);
#endif
  MPI_Type_commit(&even);
  return even;
}

static long value(int from, int to, int i) {
  return 1000000L * from + 10000L * to + i;
}

// The type is gone before the operation is complete; what MPI_Request_get_status calls complete can be read.
static void freed_types(void) {
  long* send = malloc(sizeof(long) * kElements * (size_t)ranks);
  long* receive = malloc(sizeof(long) * 2 * kElements * (size_t)ranks);
  for (int way = 0; way < 3; way++) {
    for (int i = 0; i < kElements * ranks; i++) send[i] = value(rank, i / kElements, i % kElements);
    for (int i = 0; i < 2 * kElements * ranks; i++) receive[i] = -1;
    MPI_Datatype even = even_numbers(), other;
    MPI_Request request;
    MPI_Ialltoall(send, kElements, MPI_LONG, receive, 1, even, MPI_COMM_WORLD, &request);
    MPI_Type_free(&even);
    other = even_numbers();
    int done = 0;
    if (way == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
    while (way == 1 && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (way == 2 && !done) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * kElements * ranks; i++) {
      const int from = i / (2 * kElements), k = i % (2 * kElements);
      CHECK_EQ(receive[i], k % 2 == 0 ? value(from, rank, k / 2) : -1);
    }
    if (way == 2) {
      receive[0] = 7;  // it is the program's again: nothing comes any more
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK_EQ(receive[0], 7);
    }
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Type_free(&other);
  }
  free(send);
  free(receive);
}

// At the ends of a row the place of the neighbour that is not there stays as it is.
static void ends_of_a_row(void) {
  const int ends = 0;
  MPI_Comm row;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &ends, 0, &row);
  MPI_Datatype even = even_numbers();
  static long send[kElements], receive[2][2 * kElements];
  for (int later = 0; later < 2; later++) {
    for (int i = 0; i < kElements; i++) send[i] = value(rank, later, i);
    for (int i = 0; i < 2 * kElements; i++) receive[0][i] = receive[1][i] = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (later)
      MPI_Ineighbor_allgather(send, kElements, MPI_LONG, receive, 1, even, row, &request);
    else
      MPI_Neighbor_allgather(send, kElements, MPI_LONG, receive, 1, even, row);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int side = 0; side < 2; side++) {
      const int from = side == 0 ? rank - 1 : rank + 1;
      for (int i = 0; i < 2 * kElements; i++)
        CHECK_EQ(receive[side][i], i % 2 == 0 && from >= 0 && from < ranks ? value(from, later, i / 2) : -1);
    }
  }
  MPI_Type_free(&even);
  MPI_Comm_free(&row);
}

// Rank 0 names absolute addresses, the others do not.
static void absolute_addresses(void) {
  static int send[64], receive[64];
  int counts[64], bytes[64];
  MPI_Aint from[64], to[64];
  MPI_Datatype types[64];
  for (int later = 0; later < 2; later++) {
    for (int i = 0; i < ranks; i++) {
      send[i] = 100 * rank + i + later;
      receive[i] = -1;
      counts[i] = 1;
      types[i] = MPI_INT;
      bytes[i] = i * (int)sizeof(int);
      from[i] = to[i] = bytes[i];
      if (rank != 0) continue;
      MPI_Get_address(&send[i], &from[i]);
      MPI_Get_address(&receive[i], &to[i]);
    }
    MPI_Comm all;
    int everyone[64], weights[64];
    for (int i = 0; i < ranks; i++) everyone[i] = i, weights[i] = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, everyone, weights, ranks, everyone, weights,
                                   MPI_INFO_NULL, 0, &all);
    MPI_Request request = MPI_REQUEST_NULL;
    void* const out = rank == 0 ? MPI_BOTTOM : send;
    void* const in = rank == 0 ? MPI_BOTTOM : receive;
    if (later)
      MPI_Ineighbor_alltoallw(out, counts, from, types, in, counts, to, types, all, &request);
    else
      MPI_Neighbor_alltoallw(out, counts, from, types, in, counts, to, types, all);
    MPI_Comm_free(&all);  // goes when the operation is complete
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ranks; i++) CHECK_EQ(receive[i], 100 * i + rank + later);
  }
}

// Each rank begins after it has got a message that the one before it sends after its own beginning.
static void one_after_the_other(void) {
  for (int elements = 1; elements <= 300000; elements *= 700) {
    int* send = malloc(sizeof(int) * (size_t)elements);
    int* receive = malloc(sizeof(int) * (size_t)elements * (size_t)ranks);
    for (int i = 0; i < elements; i++) send[i] = rank + i;
    MPI_Request request[2];
    if (rank > 0) MPI_Recv(NULL, 0, MPI_INT, rank - 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallgather(send, elements, MPI_INT, receive, elements, MPI_INT, MPI_COMM_WORLD, &request[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &request[1]);
    if (rank < ranks - 1) MPI_Send(NULL, 0, MPI_INT, rank + 1, 4, MPI_COMM_WORLD);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < elements * ranks; i++) CHECK_EQ(receive[i], i / elements + i % elements);
    free(send);
    free(receive);
  }
}

// Several operations and messages, some of them the library's, in one list.
static void mixed_list(void) {
  enum { kTimes = 20 };
  for (int way = 0; way < 3; way++) {
    int one = rank + 1, sum[kTimes] = {0}, all[kTimes][64], from_root[kTimes], message[kTimes];
    MPI_Request list[4 * kTimes + 1];
    int n = 0;
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int i = 0; i < kTimes; i++) {
      from_root[i] = rank == i % ranks ? 50 + i : -1;
      MPI_Iallreduce(&one, &sum[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &list[n++]);
      MPI_Iallgather(&one, 1, MPI_INT, all[i], 1, MPI_INT, MPI_COMM_WORLD, &list[n++]);
      MPI_Ibcast(&from_root[i], 1, MPI_INT, i % ranks, MPI_COMM_WORLD, &list[n++]);
      MPI_Irecv(&message[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &list[n++]);
    }
    list[n++] = MPI_REQUEST_NULL;
    for (int i = 0; i < kTimes; i++) MPI_Send(&one, 1, MPI_INT, next, i, MPI_COMM_WORLD);
    int index, done = 0;
    if (way == 0) MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
    for (int i = 1; way == 1 && i < n; i++) {
      MPI_Waitany(n, list, &index, MPI_STATUS_IGNORE);
      CHECK(index != MPI_UNDEFINED);
    }
    while (way == 2 && !done) MPI_Testall(n, list, &done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) CHECK(list[i] == MPI_REQUEST_NULL);
    for (int i = 0; i < kTimes; i++) {
      CHECK_EQ(sum[i], ranks * (ranks + 1) / 2);
      CHECK_EQ(from_root[i], 50 + i);
      CHECK_EQ(message[i], before + 1);
      for (int r = 0; r < ranks; r++) CHECK_EQ(all[i][r], r + 1);
    }
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  STEP("freed types");
  freed_types();
  STEP("ends of a row");
  ends_of_a_row();
  STEP("absolute addresses");
  absolute_addresses();
  STEP("one after the other");
  one_after_the_other();
  STEP("mixed list");
  mixed_list();
  return end();
}
