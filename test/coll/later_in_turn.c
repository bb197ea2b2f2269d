// Non-blocking operations in which all ranks get something of all, or the same: each rank begins some, and
// waits for them only when the rank before it has ended. Till then it is in a receive, so the first one ends
// although nobody else asks for the operations.
#include "check.h"

enum { kinds = 9, shapes = 5, slots = 2 };

static int me, n;

static double given(int from, int i, int seed) {
  return (double)((from + 1) * 1000 + i % 500 + 7 * seed);
}

// Whole numbers, whose sum does not depend on the order.
static double sum_of_first(int many, int i, int seed) {
  double all = 0;
  for (int from = 0; from < many; from++) all += given(from, i, seed);
  return all;
}
static double sum_of(int i, int seed) {
  return sum_of_first(n, i, seed);
}

struct operation {
  int kind, elements, seed, in_place, root;
  double *send, *receive;
  int *counts, *places;
  MPI_Request request;
};

static int elements_of(const struct operation* o, int who) {
  return o->kind == 3 || o->kind == 6 ? (who % 3 == 1 ? 0 : o->elements + who % 3) : o->elements;
}

static int all_of(const struct operation* o) {
  return o->places[n - 1] + o->counts[n - 1];
}

static void begin_one(struct operation* o, MPI_Comm comm) {
  o->root = o->seed % n;
  o->counts = malloc(2 * (size_t)n * sizeof *o->counts);
  o->places = o->counts + n;
  for (int i = 0, at = 0; i < n; at += o->counts[i++]) {
    o->counts[i] = elements_of(o, i);
    o->places[i] = at;
  }
  const size_t room = (size_t)all_of(o) + 1;
  o->send = malloc(room * sizeof *o->send);
  o->receive = malloc(room * sizeof *o->receive);
  for (size_t i = 0; i < room; i++) {
    o->send[i] = given(me, (int)i, o->seed);
    o->receive[i] = o->in_place ? o->send[i] : -1;
  }
  const void* const send = o->in_place ? MPI_IN_PLACE : o->send;
  const MPI_Datatype real = MPI_DOUBLE;
  switch (o->kind) {
    case 0:
      MPI_Iallreduce(send, o->receive, o->elements, real, MPI_SUM, comm, &o->request);
      break;
    case 1:
      MPI_Ireduce(me == o->root ? send : o->send, o->receive, o->elements, real, MPI_SUM, o->root, comm,
                  &o->request);
      break;
    case 2:
      MPI_Ireduce_scatter_block(send, o->receive, o->elements, real, MPI_SUM, comm, &o->request);
      break;
    case 3:
      MPI_Ireduce_scatter(send, o->receive, o->counts, real, MPI_SUM, comm, &o->request);
      break;
    case 4:
      if (me == o->root) memcpy(o->receive, o->send, (size_t)o->elements * sizeof *o->send);
      MPI_Ibcast(o->receive, o->elements, real, o->root, comm, &o->request);
      break;
    case 5:
      MPI_Iallgather(o->send, o->elements, real, o->receive, o->elements, real, comm, &o->request);
      break;
    case 6:
      MPI_Iallgatherv(o->send, o->counts[me], real, o->receive, o->counts, o->places, real, comm,
                      &o->request);
      break;
    case 7:
      MPI_Iscan(send, o->receive, o->elements, real, MPI_SUM, comm, &o->request);
      break;
    default:
      MPI_Iexscan(send, o->receive, o->elements, real, MPI_SUM, comm, &o->request);
  }
}

static void end_one(struct operation* o) {
  MPI_Wait(&o->request, MPI_STATUS_IGNORE);
  CHECK(o->request == MPI_REQUEST_NULL);
  if (o->kind == 0 || (o->kind == 1 && me == o->root))
    for (int i = 0; i < o->elements; i++) CHECK(o->receive[i] == sum_of(i, o->seed));
  if (o->kind == 2 || o->kind == 3)
    for (int i = 0; i < o->counts[me]; i++) CHECK(o->receive[i] == sum_of(o->places[me] + i, o->seed));
  if (o->kind == 4)
    for (int i = 0; i < o->elements; i++) CHECK(o->receive[i] == given(o->root, i, o->seed));
  if (o->kind >= 7 && o->kind - 7 <= me)
    for (int i = 0; i < o->elements; i++)
      CHECK(o->receive[i] == sum_of_first(me + (o->kind == 7 ? 1 : 0), i, o->seed));
  for (int from = 0; (o->kind == 5 || o->kind == 6) && from < n; from++)
    for (int i = 0; i < o->counts[from]; i++)
      CHECK(o->receive[o->places[from] + i] == given(from, i, o->seed));
  // Behind what a rank gets.
  const int gets_all = o->kind == 5 || o->kind == 6, gets_some = o->kind == 0 || o->kind == 4 || o->kind >= 7;
  const int last = gets_some ? o->elements : gets_all ? all_of(o) : -1;
  if (last >= 0 && !o->in_place) CHECK(o->receive[last] == -1);
  free(o->send);
  free(o->receive);
  free(o->counts);
}

static void on(MPI_Comm comm, int seed) {
  static const int sizes[shapes] = {1, 30, 1000, 5000, 60000};
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  double one = me;
  // What comes later uses what this has made.
  MPI_Bcast(&one, 1, MPI_DOUBLE, 0, comm);
  for (int shape = 0; shape < shapes; shape++) {
    struct operation all[slots * kinds];
    for (int i = 0; i < slots * kinds; i++) {
      all[i] = (struct operation){.kind = i % kinds, .elements = sizes[shape], .seed = seed + i};
      all[i].in_place = i >= kinds && (all[i].kind < 2 ||
                                       all[i].kind >= 7);  // plain MPICH 4.0.2 aborts in other reductions
      begin_one(&all[i], comm);
    }
    if (me > 0) MPI_Recv(NULL, 0, MPI_INT, me - 1, 4, comm, MPI_STATUS_IGNORE);
    // Backwards, too.
    for (int i = 0; i < slots * kinds; i++) end_one(&all[me % 2 == 0 ? i : slots * kinds - 1 - i]);
    if (me < n - 1) MPI_Send(NULL, 0, MPI_INT, me + 1, 4, comm);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  STEP("all ranks");
  on(MPI_COMM_WORLD, 0);
  STEP("the other way round");
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  on(turned, 3);
  MPI_Comm_free(&turned);
  return end();
}
