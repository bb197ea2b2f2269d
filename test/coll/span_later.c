// Non-blocking collectives on communicators that span hosts: several at once, with messages between their
// start and their end, completed in every way, and with types and communicators that are freed before.
#include "check.h"

enum { elements = 20000, operations = 6, ways = 4 };

static long value(int from, int to, int i, int seed) {
  return 1000000L * from + 100000L * to + 7 * i + seed;
}

// Every second one of 2 * `elements` numbers.
static MPI_Datatype even_numbers(void) {
  MPI_Datatype vector, even;
  MPI_Type_vector(elements, 1, 2, MPI_LONG, &vector);
  MPI_Type_create_resized(vector, 0, 2 * elements * (MPI_Aint)sizeof(long), &even);
  MPI_Type_free(&vector);
  MPI_Type_commit(&even);
  return even;
}

static long* numbers(size_t count) {
  long* all = allocate(count * sizeof *all);
  for (size_t i = 0; i < count; i++) all[i] = -1;
  return all;
}

// How many elements rank `from` sends to rank `to`: nothing, little, much.
static int share(int from, int to, int seed) {
  static const int some[] = {0, 3, elements, 1000};
  return some[(from + 2 * to + seed) % 4];
}

struct exchange {
  int me, n, seed, root;
  int *out_counts, *out_places, *in_counts, *in_places, *ones, *out_bytes, *in_bytes;
  MPI_Datatype *dense, *types;
  long *send, *in_dense, *in_typed, *in_some, *in_root, *from_root;
};

static void fill_in(struct exchange* x, MPI_Comm comm, int seed) {
  MPI_Comm_rank(comm, &x->me);
  MPI_Comm_size(comm, &x->n);
  const size_t n = (size_t)x->n, whole = n * elements;
  x->seed = seed;
  x->root = seed % x->n;
  x->out_counts = allocate(7 * n * sizeof(int));
  x->out_places = x->out_counts + n;
  x->in_counts = x->out_places + n;
  x->in_places = x->in_counts + n;
  x->ones = x->in_places + n;
  x->out_bytes = x->ones + n;
  x->in_bytes = x->out_bytes + n;
  x->dense = allocate(2 * n * sizeof(MPI_Datatype));
  x->types = x->dense + n;
  x->send = numbers(whole);
  x->in_dense = numbers(whole);
  x->in_typed = numbers(2 * whole);
  x->in_some = numbers(whole);
  x->in_root = numbers(whole);
  x->from_root = numbers(elements);
  for (int to = 0; to < x->n; to++) {
    for (int i = 0; i < elements; i++) x->send[to * elements + i] = value(x->me, to, i, seed);
    x->out_counts[to] = share(x->me, to, seed);
    x->in_counts[to] = share(to, x->me, seed);
    x->out_places[to] = x->in_places[to] = to * elements;
    x->ones[to] = 1;
    x->out_bytes[to] = to * elements * (int)sizeof(long);
    x->in_bytes[to] = 2 * x->out_bytes[to];
  }
}

static void give_back(struct exchange* x) {
  void* const all[] = {x->out_counts, x->dense,   x->send,    x->in_dense,
                       x->in_typed,   x->in_some, x->in_root, x->from_root};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void begin_all(struct exchange* x, MPI_Comm comm, MPI_Request request[operations]) {
  MPI_Datatype even = even_numbers(), row;
  MPI_Type_contiguous(elements, MPI_LONG, &row);
  MPI_Type_commit(&row);
  for (int i = 0; i < x->n; i++) {
    x->dense[i] = row;
    x->types[i] = even;
  }
  MPI_Ialltoall(x->send, elements, MPI_LONG, x->in_dense, elements, MPI_LONG, comm, &request[0]);
  MPI_Ialltoallw(x->send, x->ones, x->out_bytes, x->dense, x->in_typed, x->ones, x->in_bytes, x->types, comm,
                 &request[1]);
  MPI_Ialltoallv(x->send, x->out_counts, x->out_places, MPI_LONG, x->in_some, x->in_counts, x->in_places,
                 MPI_LONG, comm, &request[2]);
  MPI_Igather(x->send, elements, MPI_LONG, x->in_root, elements, MPI_LONG, x->root, comm, &request[3]);
  MPI_Iscatter(x->send, elements, MPI_LONG, x->from_root, elements, MPI_LONG, x->root, comm, &request[4]);
  MPI_Ibarrier(comm, &request[5]);
  MPI_Type_free(&even);
  MPI_Type_free(&row);
}

static void check_all(const struct exchange* x) {
  for (int from = 0; from < x->n; from++)
    for (int i = 0; i < elements; i++) {
      const long sent = value(from, x->me, i, x->seed);
      const int k = from * elements + i;
      CHECK_EQ(x->in_dense[k], sent);
      CHECK_EQ(x->in_typed[2 * k], sent);
      CHECK_EQ(x->in_typed[2 * k + 1], -1);
      CHECK_EQ(x->in_some[k], i < x->in_counts[from] ? sent : -1);
      CHECK_EQ(x->in_root[k], x->me == x->root ? value(from, 0, i, x->seed) : -1);
    }
  for (int i = 0; i < elements; i++) CHECK_EQ(x->from_root[i], value(x->root, x->me, i, x->seed));
}

// A ring of messages that needs every rank.
static void pass_on(MPI_Comm comm, int me, int n) {
  int token = 0;
  MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 9, &token, 1, MPI_INT, (me + n - 1) % n, 9, comm,
               MPI_STATUS_IGNORE);
  CHECK_EQ(token, (me + n - 1) % n);
}

static void a_blocking_one(MPI_Comm comm, int n) {
  long *send = numbers((size_t)n * elements), *receive = numbers((size_t)n * elements);
  int me;
  MPI_Comm_rank(comm, &me);
  for (int i = 0; i < n * elements; i++) send[i] = value(me, i / elements, i % elements, 3);
  MPI_Alltoall(send, elements, MPI_LONG, receive, elements, MPI_LONG, comm);
  for (int i = 0; i < n * elements; i++) CHECK_EQ(receive[i], value(i / elements, me, i % elements, 3));
  free(send);
  free(receive);
}

static void complete(int way, MPI_Request list[], int n) {
  int index, done = 0;
  MPI_Status status[2 * operations];
  if (way == 0) MPI_Waitall(n, list, status);
  while (way == 1 && !done) MPI_Testall(n, list, &done, status);
  for (int i = 0; way == 2 && i < n; i++) MPI_Waitany(n, list, &index, MPI_STATUS_IGNORE);
  for (int i = n - 1; way == 3 && i >= 0; i--) {
    for (done = 0; !done;) MPI_Request_get_status(list[i], &done, MPI_STATUS_IGNORE);
    MPI_Wait(&list[i], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < n; i++) CHECK(list[i] == MPI_REQUEST_NULL);
}

static void on(MPI_Comm comm, int seed) {
  struct exchange x[2];
  for (int k = 0; k < 2; k++) fill_in(&x[k], comm, seed + k);
  // What comes later uses what this has made.
  MPI_Alltoall(x[0].send, elements, MPI_LONG, x[0].in_dense, elements, MPI_LONG, comm);
  for (int way = 0; way < ways; way++) {
    MPI_Request list[2 * operations];
    for (int k = 0; k < 2; k++) begin_all(&x[k], comm, list + k * operations);
    pass_on(comm, x[0].me, x[0].n);
    if (way == 1) a_blocking_one(comm, x[0].n);
    complete(way, list, 2 * operations);
    for (int k = 0; k < 2; k++) {
      check_all(&x[k]);
      give_back(&x[k]);
      fill_in(&x[k], comm, seed + k);
    }
  }
  for (int k = 0; k < 2; k++) give_back(&x[k]);
}

// The communicator goes when its operations are complete. (Plain Open MPI 4.1.4 crashes then.)
#if !defined(OPEN_MPI)
static void freed_communicator(void) {
  struct exchange x;
  MPI_Request list[operations];
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  fill_in(&x, other, 20);
  a_blocking_one(other, ranks);
  begin_all(&x, other, list);
  MPI_Comm_free(&other);
  pass_on(MPI_COMM_WORLD, rank, ranks);
  complete(0, list, operations);
  check_all(&x);
  give_back(&x);
}
#endif

static void neighbours(void) {
  MPI_Comm ring;
  const int around = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &around, 0, &ring);
  MPI_Datatype even = even_numbers();
  long *send = numbers(2 * elements), *receive = numbers(4 * elements);
  for (int i = 0; i < 2 * elements; i++) send[i] = value(rank, i / elements, i % elements, 0);
  const int counts[] = {elements, elements}, one[] = {1, 1};
  const MPI_Aint from[] = {0, elements * (MPI_Aint)sizeof(long)}, to[] = {0, 2 * from[1]};
  const MPI_Datatype out[] = {MPI_LONG, MPI_LONG}, in[] = {even, even};
  MPI_Request request;
  MPI_Neighbor_alltoallw(send, counts, from, out, receive, one, to, in, ring);
  for (int i = 0; i < 4 * elements; i++) receive[i] = -1;
  MPI_Ineighbor_alltoallw(send, counts, from, out, receive, one, to, in, ring, &request);
  pass_on(ring, rank, ranks);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const int before = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks;
  for (int i = 0; i < 2 * elements; i++) {
    CHECK_EQ(receive[2 * i + 1], -1);
    // What the one before sends to the right comes from the left.
    CHECK_EQ(receive[2 * i], i < elements ? value(before, 1, i, 0) : value(next, 0, i - elements, 0));
  }
  free(send);
  free(receive);
  MPI_Type_free(&even);
  MPI_Comm_free(&ring);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm most, turned;
  STEP("all ranks");
  on(MPI_COMM_WORLD, 0);
  STEP("all but the last");
  MPI_Comm_split(MPI_COMM_WORLD, rank == ranks - 1 ? MPI_UNDEFINED : 0, rank, &most);
  if (most != MPI_COMM_NULL) {
    on(most, 5);
    MPI_Comm_free(&most);
  }
  STEP("the other way round");
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  on(turned, 10);
  MPI_Comm_free(&turned);
#if !defined(OPEN_MPI)
  STEP("a freed communicator");
  freed_communicator();
#endif
  STEP("neighbours");
  neighbours();
  return end();
}
