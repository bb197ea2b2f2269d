// Persistent collective operations (MPI-4.0, 6.13). All ranks make them in one order. Then each starts them
// in an order of its own, many at a time, and completes them in another one, again and again with other data;
// other operations of the same communicator come in between. Datatypes and communicators are freed before.
//
// For Tasuki only: plain MPICH 4.0.2 has wrong results, among others in the second start of MPI_Scatter_init.
#include "../p2p/check.h"

// Open MPI 5 says that it is MPI-3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

enum { kKinds = 21, kTwice = 2, kAll = kKinds * kTwice };
enum {
  kBarrier,
  kBcast,
  kAllreduce,
  kReduce,
  kScan,
  kExscan,
  kScatterBlock,
  kReduceScatter,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAlltoallInPlace,
  kAllreduceInPlace,
  kOwnOperation,
  kNeighbours
};

static int me, n;

// What a rank has for a rank in an epoch: whole numbers, whose sum does not depend on the order.
static double value(int from, int to, int i, int epoch) {
  return (double)(1000 * (from + 1) + 37 * to + i % 100 + 5 * epoch);
}

typedef struct {
  int kind, elements, root;
  double *send, *receive;
  int *counts, *places, *bytes;
  MPI_Datatype* types;
  MPI_Request request;
} Operation;

// a x + b, then c x + d: does not commute. The pairs are numbers modulo a prime.
static void then(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  long *first = in, *second = inout;
  for (int i = 0; i + 1 < 2 * *length; i += 2) {
    second[i + 1] = (second[i] * first[i + 1] + second[i + 1]) % 65521;
    second[i] = second[i] * first[i] % 65521;
  }
}

static MPI_Op own_operation;
static MPI_Datatype two_numbers;

// In some operations the place of each rank has a gap behind it.
static int places_of(const Operation* o) {
  return o->kind == kAllgatherv || o->kind == kAlltoallv || o->kind == kAlltoallw || o->kind == kGatherv ||
         o->kind == kScatterv;
}

static size_t step_of(const Operation* o) {
  return (size_t)o->elements + (places_of(o) ? 1 : 0);
}

static size_t room(const Operation* o) {
  return step_of(o) * (size_t)n;
}

// Two elements at a time, as a type that the program frees at once.
static MPI_Datatype pairs_of(int elements) {
  MPI_Datatype t;
  if (elements % 2 != 0) return MPI_DOUBLE;
  MPI_Type_vector(1, 2, 5, MPI_DOUBLE, &t);
  MPI_Type_commit(&t);
  return t;
}

static void make_one(Operation* o, MPI_Comm comm, MPI_Comm ring) {
  o->send = malloc(room(o) * sizeof(double));
  o->receive = malloc(room(o) * sizeof(double));
  o->counts = malloc(3 * (size_t)n * sizeof(int));
  o->places = o->counts + n;
  o->bytes = o->places + n;
  o->types = malloc((size_t)n * sizeof(MPI_Datatype));
  for (int i = 0; i < n; i++) {
    o->counts[i] = o->elements;
    o->places[i] = i * (int)step_of(o);
    o->bytes[i] = o->places[i] * (int)sizeof(double);
    o->types[i] = MPI_DOUBLE;
  }
  const int e = o->elements, root = o->root;
  double *s = o->send, *r = o->receive;
  MPI_Datatype pairs = pairs_of(e);
  const int count = e % 2 == 0 ? e / 2 : e;
  MPI_Request* q = &o->request;
  const MPI_Info none = MPI_INFO_NULL;
  const MPI_Datatype real = MPI_DOUBLE;
  switch (o->kind) {
    case kBarrier:
      MPI_Barrier_init(comm, none, q);
      break;
    case kBcast:
      MPI_Bcast_init(r, count, pairs, root, comm, none, q);
      break;
    case kAllreduce:
      MPI_Allreduce_init(s, r, e, real, MPI_SUM, comm, none, q);
      break;
    case kReduce:
      MPI_Reduce_init(s, r, e, real, MPI_SUM, root, comm, none, q);
      break;
    case kScan:
      MPI_Scan_init(s, r, e, real, MPI_SUM, comm, none, q);
      break;
    case kExscan:
      MPI_Exscan_init(s, r, e, real, MPI_SUM, comm, none, q);
      break;
    case kScatterBlock:
      MPI_Reduce_scatter_block_init(s, r, e, real, MPI_SUM, comm, none, q);
      break;
    case kReduceScatter:
      MPI_Reduce_scatter_init(s, r, o->counts, real, MPI_SUM, comm, none, q);
      break;
    case kAllgather:
      MPI_Allgather_init(s, e, real, r, count, pairs, comm, none, q);
      break;
    case kAllgatherv:
      MPI_Allgatherv_init(s, e, real, r, o->counts, o->places, real, comm, none, q);
      break;
    case kAlltoall:
      MPI_Alltoall_init(s, count, pairs, r, e, real, comm, none, q);
      break;
    case kAlltoallv:
      MPI_Alltoallv_init(s, o->counts, o->places, real, r, o->counts, o->places, real, comm, none, q);
      break;
    case kAlltoallw:
      MPI_Alltoallw_init(s, o->counts, o->bytes, o->types, r, o->counts, o->bytes, o->types, comm, none, q);
      break;
    case kGather:
      MPI_Gather_init(s, e, real, r, count, pairs, root, comm, none, q);
      break;
    case kGatherv:
      MPI_Gatherv_init(s, e, real, r, o->counts, o->places, real, root, comm, none, q);
      break;
    case kScatter:
      MPI_Scatter_init(s, e, real, r, count, pairs, root, comm, none, q);
      break;
    case kScatterv:
      MPI_Scatterv_init(s, o->counts, o->places, real, r, e, real, root, comm, none, q);
      break;
    case kAlltoallInPlace:
      MPI_Alltoall_init(MPI_IN_PLACE, 0, real, r, e, real, comm, none, q);
      break;
    case kAllreduceInPlace:
      MPI_Allreduce_init(MPI_IN_PLACE, r, e, real, MPI_SUM, comm, none, q);
      break;
    case kOwnOperation:
      MPI_Allreduce_init(s, r, e / 2, two_numbers, own_operation, comm, none, q);
      break;
    default:
      MPI_Neighbor_allgather_init(s, e, real, r, e, real, ring, none, q);
  }
  if (pairs != MPI_DOUBLE) MPI_Type_free(&pairs);
  CHECK(*q != MPI_REQUEST_NULL);
}

static void fill_in(Operation* o, int epoch) {
  const int in_place =
      o->kind == kAlltoallInPlace || o->kind == kAllreduceInPlace || (o->kind == kBcast && me == o->root);
  for (size_t i = 0; i < room(o); i++) {
    const int to = (int)(i / step_of(o)), k = (int)(i % step_of(o));
    o->send[i] = value(me, to, k, epoch);
    o->receive[i] = in_place ? o->send[i] : -1;
  }
  if (o->kind != kOwnOperation) return;
  long* maps = (long*)o->send;
  for (int i = 0; i < o->elements; i++) maps[i] = 7 * me + 3 * i + epoch + 2;
}

static double sum(int of, int to, int i, int epoch) {
  double all = 0;
  for (int r = 0; r < of; r++) all += value(r, to, i, epoch);
  return all;
}

static void check(const Operation* o, int epoch) {
  const double* r = o->receive;
  const int e = o->elements, at_root = me == o->root;
  if (o->kind == kBarrier) return;
  if (o->kind == kOwnOperation) {
    long all[2], next[2];
    const long* got = (const long*)o->receive;
    for (int i = 0; i + 1 < e; i += 2) {
      for (int from = 0, one = 1; from < n; from++) {
        next[0] = 7 * from + 3 * i + epoch + 2;
        next[1] = next[0] + 3;
        if (from > 0) then(all, next, &one, NULL);
        memcpy(all, next, sizeof all);
      }
      CHECK_EQ(got[i], all[0]);
      CHECK_EQ(got[i + 1], all[1]);
    }
    return;
  }
  for (int i = 0; i < e; i++) switch (o->kind) {
      case kBcast:
        CHECK_EQ(r[i], value(o->root, 0, i, epoch));
        break;
      case kAllreduce:
      case kAllreduceInPlace:
        CHECK_EQ(r[i], sum(n, 0, i, epoch));
        break;
      case kReduce:
        CHECK_EQ(r[i], at_root ? sum(n, 0, i, epoch) : -1);
        break;
      case kScan:
        CHECK_EQ(r[i], sum(me + 1, 0, i, epoch));
        break;
      case kExscan:
        if (me > 0) CHECK_EQ(r[i], sum(me, 0, i, epoch));
        break;
      case kScatterBlock:
      case kReduceScatter:
        CHECK_EQ(r[i], sum(n, me, i, epoch));
        break;
      case kScatter:
      case kScatterv:
        CHECK_EQ(r[i], value(o->root, me, i, epoch));
        break;
      default:
        break;
    }
  const int neighbours = o->kind == kNeighbours, to_all = o->kind >= kAlltoall && o->kind <= kAlltoallw;
  const int gets_all = o->kind == kAllgather || o->kind == kAllgatherv || o->kind == kAlltoallInPlace ||
                       to_all || ((o->kind == kGather || o->kind == kGatherv) && at_root);
  const int to = to_all || o->kind == kAlltoallInPlace ? me : 0;
  for (int from = 0; gets_all && from < n; from++) {
    for (int i = 0; i < e; i++) CHECK_EQ(r[(size_t)from * step_of(o) + (size_t)i], value(from, to, i, epoch));
    if (places_of(o)) CHECK_EQ(r[(size_t)from * step_of(o) + (size_t)e], -1);
  }
  for (int i = 0; neighbours && i < e; i++) CHECK_EQ(r[i], value((me + n - 1) % n, 0, i, epoch));
}

static void shuffle(int* order, int count, unsigned* seed) {
  for (int i = 0; i < count; i++) order[i] = i;
  for (int i = count - 1; i > 0; i--) {
    const int k = rand_r(seed) % (i + 1), was = order[i];
    order[i] = order[k];
    order[k] = was;
  }
}

// Whether Tasuki carries it out. Plain MPICH 4.0.2 waits for ever for one that is not started, and leaves statuses as they are.
static int is_tasukis(const Operation* o) {
  return under_tasuki() && n > 1 && o->kind != kOwnOperation;
}

static void is_empty(const Operation* o, const MPI_Status* status) {
  if (!is_tasukis(o)) return;
  CHECK_EQ(status->MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
}

// One that is not started is complete at once, and stays.
static void inactive(const Operation* o) {
  if (!is_tasukis(o)) return;
  MPI_Request waits = o->request, *const request = &waits;
  const MPI_Request was = *request;
  MPI_Status status = {.MPI_SOURCE = 3, .MPI_TAG = 4};
  int flag = 0, index = 3, count = 3;
  MPI_Wait(request, &status);
  is_empty(o, &status);
  MPI_Test(request, &flag, &status);
  CHECK_EQ(flag, 1);
  flag = 0;
  MPI_Request_get_status(*request, &flag, &status);
  CHECK_EQ(flag, 1);
  is_empty(o, &status);
  MPI_Waitany(1, request, &index, &status);
  CHECK_EQ(index, MPI_UNDEFINED);
  MPI_Waitsome(1, request, &count, &index, &status);
  CHECK_EQ(count, MPI_UNDEFINED);
  MPI_Waitall(1, request, &status);
  is_empty(o, &status);
  flag = 0;
  MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE);
  CHECK_EQ(flag, 1);
  CHECK(*request == was);
}

static void complete(Operation** list, int count, unsigned* seed) {
  MPI_Request requests[kAll];
  MPI_Status statuses[kAll];
  int indices[kAll], index, done = 0, left = count;
  // MPICH 4.0.2 finds what is not started in a list.
  for (int i = 0; i < count;)
    if (is_tasukis(list[i])) {
      requests[i] = list[i]->request;
      i++;
    } else {
      MPI_Wait(&list[i]->request, MPI_STATUS_IGNORE);
      Operation* const was = list[i];
      list[i] = list[--count];
      list[count] = was;
    }
  left = count;
  switch (rand_r(seed) % 6) {
    case 0:
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
      break;
    case 1:
      while (!done) MPI_Testall(count, requests, &done, statuses);
      break;
    case 2:
      for (; left > 0; left--) {
        MPI_Waitany(count, requests, &index, statuses);
        CHECK(index >= 0 && index < count);
        is_empty(list[index], statuses);
      }
      break;
    case 3:
      while (left > 0) {
        MPI_Waitsome(count, requests, &done, indices, statuses);
        left -= done;
      }
      break;
    case 4:
      for (int i = 0; i < count; i++, done = 0) {
        while (!done) MPI_Request_get_status(requests[i], &done, statuses);
        MPI_Wait(&requests[i], statuses);
        is_empty(list[i], statuses);
      }
      break;
    default:
      for (int i = 0; i < count; i++, done = 0)
        while (!done) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < count; i++) CHECK(requests[i] == list[i]->request);
  inactive(list[0]);
}

// Several starts in an order of each rank's own. Those of the library have all ranks in one order (start_rest):
// Intel MPI 2021.18 needs that.
static void start(Operation** wanted, int wants, unsigned* seed) {
  Operation* list[kAll];
  int count = 0;
  for (int i = 0; i < wants; i++)
    if (is_tasukis(wanted[i])) list[count++] = wanted[i];
  MPI_Request requests[kAll];
  for (int i = 0; i < count;) {
    const int some = 1 + rand_r(seed) % (count - i);
    if (some == 1) {
      MPI_Start(&list[i]->request);
    } else {
      for (int k = 0; k < some; k++) requests[k] = list[i + k]->request;
      MPI_Startall(some, requests);
    }
    i += some;
  }
}

static void start_rest(Operation** list, int count, Operation* all) {
  for (int k = 0; k < kAll; k++)
    for (int i = 0; i < count; i++)
      if (list[i] == &all[k] && !is_tasukis(list[i])) MPI_Start(&all[k].request);
}

static void on(MPI_Comm comm, int elements, int frees) {
  static Operation all[kAll];
  MPI_Comm ring, used;
  unsigned seed = (unsigned)(100 * rank + elements);
  MPI_Comm_dup(comm, &used);
  MPI_Comm_rank(used, &me);
  MPI_Comm_size(used, &n);
  if (n == 1) {  // the library's
    MPI_Comm_free(&used);
    return;
  }
  const int before = (me + n - 1) % n, next = (me + 1) % n;
  MPI_Dist_graph_create_adjacent(used, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &ring);
  for (int i = 0; i < kAll; i++) {
    all[i] = (Operation){.kind = i % kKinds, .elements = elements + i / kKinds, .root = i % n};
    make_one(&all[i], used, ring);
    inactive(&all[i]);
  }
  MPI_Comm other = used;
  if (frees) {
    MPI_Comm_free(&ring);
    MPI_Comm_free(&used);
    other = comm;
  }
  for (int epoch = 0; epoch < 6; epoch++) {
    Operation* list[kAll];
    int order[kAll];
    shuffle(order, kAll, &seed);
    for (int i = 0; i < kAll; i++) {
      list[i] = &all[order[i]];
      fill_in(list[i], epoch);
    }
    // Some of them only in some epochs, and others of the communicator in between.
    int count = 0;
    for (int i = 0; i < kAll; i++)
      if (epoch == 0 || (list[i]->kind + epoch) % 3 != 0)
        // Open MPI 5 uses a communicator that is freed.
        if (!frees || is_tasukis(list[i])) list[count++] = list[i];
    const int first = count / 2;
    double mine = me, total = -1, later = -1;
    MPI_Request request;
    start_rest(list, count, all);
    start(list, first, &seed);
    MPI_Iallreduce(&mine, &later, 1, MPI_DOUBLE, MPI_SUM, other, &request);
    start(list + first, count - first, &seed);
    MPI_Allreduce(&mine, &total, 1, MPI_DOUBLE, MPI_SUM, other);
    CHECK_EQ(total, n * (n - 1) / 2);
    shuffle(order, count, &seed);
    Operation* ended[kAll];
    for (int i = 0; i < count; i++) ended[i] = list[order[i]];
    complete(ended, first, &seed);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(later, total);
    complete(ended + first, count - first, &seed);
    for (int i = 0; i < count; i++) check(ended[i], epoch);
  }
  for (int i = 0; i < kAll; i++) {
    MPI_Request_free(&all[i].request);
    CHECK(all[i].request == MPI_REQUEST_NULL);
    free(all[i].send);
    free(all[i].receive);
    free(all[i].counts);
    free(all[i].types);
  }
  if (!frees) {
    MPI_Comm_free(&ring);
    MPI_Comm_free(&used);
  }
}

// A rank that only gives may be several starts ahead of the others.
static void ahead(void) {
  enum { kStarts = 200 };
  int one = -1, all[64] = {0};
  MPI_Request from_root, to_root;
  MPI_Bcast_init(&one, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &from_root);
  MPI_Gather_init(&one, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &to_root);
  for (int i = 0; i < kStarts; i++) {
    if (rank == 0) one = i;
    if (i % 50 == 0 && rank == i / 50 % ranks) usleep(2000);
    MPI_Start(&from_root);
    MPI_Wait(&from_root, MPI_STATUS_IGNORE);
    CHECK_EQ(one, i);
  }
  for (int i = 0; i < kStarts; i++) {
    one = 1000 * rank + i;
    MPI_Start(&to_root);
    MPI_Wait(&to_root, MPI_STATUS_IGNORE);
    for (int r = 0; rank == 0 && r < ranks; r++) CHECK_EQ(all[r], 1000 * r + i);
  }
  MPI_Request_free(&from_root);
  MPI_Request_free(&to_root);
}

#if MPI_VERSION >= 4
// A type that the layer does not decode: each start sends what there is then.
static void undecoded(void) {
  enum { kElements = 3000 };
  MPI_Datatype even;
  const MPI_Count sizes[] = {2 * kElements};
  const int distributions[] = {MPI_DISTRIBUTE_CYCLIC}, arguments[] = {1}, processes[] = {2};
  MPI_Type_create_darray_c(2, 0, 1, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_LONG, &even);
  MPI_Type_commit(&even);
  const size_t room = 2 * kElements * (size_t)ranks;
  long *send = malloc(room * sizeof *send), *receive = malloc(room * sizeof *receive);
  MPI_Request request[2];
  MPI_Alltoall_init(send, 1, even, receive, 1, even, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
  MPI_Alltoall_init(MPI_IN_PLACE, 0, even, receive, 1, even, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]);
  MPI_Type_free(&even);
  for (int i = 0; i < 6; i++) {
    const int place = i % 2;
    for (size_t k = 0; k < room; k++) {
      send[k] = (long)(10000000 * (size_t)rank + 10 * k) + i;
      receive[k] = place ? send[k] : -1;
    }
    MPI_Start(&request[place]);
    MPI_Wait(&request[place], MPI_STATUS_IGNORE);
    for (size_t k = 0; k < room; k++) {
      const size_t from = k / (2 * kElements), at = k % (2 * kElements);
      const long sent = (long)(10000000 * from + 10 * ((size_t)rank * 2 * kElements + at)) + i;
      CHECK_EQ(receive[k], k % 2 == 0 ? sent : place ? send[k] : -1);
    }
  }
  MPI_Request_free(&request[0]);
  MPI_Request_free(&request[1]);
  free(send);
  free(receive);
}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Type_contiguous(2, MPI_LONG, &two_numbers);
  MPI_Type_commit(&two_numbers);
  MPI_Op_create(then, 0, &own_operation);
  MPI_Comm turned, some;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Comm_split(MPI_COMM_WORLD, rank == ranks / 2, rank, &some);
  static const int sizes[] = {1, 40, 2000, 30000};
  for (int i = 0; i < 4; i++) {
    STEP("all ranks");
    on(MPI_COMM_WORLD, sizes[i], 0);
    STEP("the other way round, freed");
    on(turned, sizes[i], 1);
    STEP("some");
    on(some, sizes[i], 0);
  }
  STEP("ahead");
  ahead();
#if MPI_VERSION >= 4
  STEP("undecoded");
  undecoded();
#endif
  MPI_Comm_free(&turned);
  MPI_Comm_free(&some);
  MPI_Op_free(&own_operation);
  MPI_Type_free(&two_numbers);
  return end();
}

#else

int main(int argc, char** argv) {
  begin(&argc, &argv);
  skip("this MPI library is older than persistent collective operations");
}

#endif
