#include "measure/sweep/collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/common/rank.h"

// Those that have a root are timed with a barrier, so that it is the time until the last rank is through.
enum {
  kAllreduce,
  kReduce,
  kReduceScatterBlock,
  kScan,
  kAllgather,
  kAlltoall,
  kAlltoallw,
  kNeighborAlltoallw,
  kGather,
  kScatter,
  kBarrier,
};
// One of them, or its non-blocking form, started and waited for.
static const struct {
  const char* name;
  int kind, later;
} kCollectives[] = {
    {"allreduce", kAllreduce, 0},
    {"reduce", kReduce, 0},
    {"reduce_scatter_block", kReduceScatterBlock, 0},
    {"scan", kScan, 0},
    {"allgather", kAllgather, 0},
    {"alltoall", kAlltoall, 0},
    {"alltoallw", kAlltoallw, 0},
    {"neighbor_alltoallw", kNeighborAlltoallw, 0},
    {"gather", kGather, 0},
    {"scatter", kScatter, 0},
    {"barrier", kBarrier, 0},
    {"iallreduce", kAllreduce, 1},
    {"iallgather", kAllgather, 1},
    {"ialltoall", kAlltoall, 1},
    {"ialltoallw", kAlltoallw, 1},
    {"ineighbor_alltoallw", kNeighborAlltoallw, 1},
    {"igather", kGather, 1},
    {"iscatter", kScatter, 1},
};

static struct shape g_shape;
static char *g_send, *g_receive;  // kMargin bytes on either side of the pieces
static int *g_ones, *g_places;    // of MPI_Alltoallw
static MPI_Datatype* g_types;
static int g_has_row;
static MPI_Comm g_row;  // all ranks in a row: neighbours are the one before and the one after
enum { kNeighbours = 2 };

int find_collective(const char* name) {
  for (int i = 0; i < (int)(sizeof kCollectives / sizeof kCollectives[0]); i++)
    if (strcmp(name, kCollectives[i].name) == 0) return i;
  return -1;
}

static int is_reduction(int o) {
  return o <= kScan;
}

static int has_root(int o) {
  return o == kReduce || o == kGather || o == kScatter;
}

int ends_for_all(int operation) {
  const int o = kCollectives[operation].kind;
  return has_root(o) || o == kBarrier;
}

static size_t all_pieces(void) {
  return g_shape.span * (size_t)g_ranks;
}

int need_pieces(const struct shape* shape) {
  if (g_send != NULL) return 1;
  const int no = 0;
  if (!g_has_row) MPI_Cart_create(MPI_COMM_WORLD, 1, &g_ranks, &no, 0, &g_row);
  g_has_row = 1;
  g_shape = *shape;
  g_send = new_buffer(all_pieces());
  g_receive = new_buffer(all_pieces());
  g_ones = malloc((size_t)g_ranks * sizeof *g_ones);
  g_places = malloc((size_t)g_ranks * sizeof *g_places);
  g_types = malloc((size_t)g_ranks * sizeof(MPI_Datatype));
  if (g_send == NULL || g_receive == NULL || g_ones == NULL || g_places == NULL || g_types == NULL) return 0;
  for (int i = 0; i < g_ranks; i++) {
    g_ones[i] = 1;
    g_places[i] = (int)(g_shape.span * (size_t)i);
    g_types[i] = g_shape.type;
  }
  return 1;
}

void drop_pieces(void) {
  free(g_send);
  free(g_receive);
  free(g_ones);
  free(g_places);
  free(g_types);
  g_send = g_receive = NULL;
  g_ones = g_places = NULL;
  g_types = NULL;
}

// Blocking, or with a request for it.
static void call(int kind, MPI_Request* request) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Datatype type = g_shape.type;
  const MPI_Aint places[kNeighbours] = {0, (MPI_Aint)g_shape.span};
  char *send = g_send + kMargin, *receive = g_receive + kMargin;
  const int numbers = (int)(g_shape.block * g_shape.count / sizeof(double));
#define EITHER(now, later, ...)    \
  do {                             \
    if (request == NULL)           \
      now(__VA_ARGS__);            \
    else                           \
      later(__VA_ARGS__, request); \
  } while (0)
  switch (kind) {
    case kAllreduce:
      EITHER(MPI_Allreduce, MPI_Iallreduce, send, receive, numbers, MPI_DOUBLE, MPI_SUM, world);
      break;
    case kReduce:
      MPI_Reduce(send, receive, numbers, MPI_DOUBLE, MPI_SUM, 0, world);
      break;
    case kReduceScatterBlock:
      MPI_Reduce_scatter_block(send, receive, numbers / g_ranks, MPI_DOUBLE, MPI_SUM, world);
      break;
    case kScan:
      MPI_Scan(send, receive, numbers, MPI_DOUBLE, MPI_SUM, world);
      break;
    case kAllgather:
      EITHER(MPI_Allgather, MPI_Iallgather, send, 1, type, receive, 1, type, world);
      break;
    case kAlltoall:
      EITHER(MPI_Alltoall, MPI_Ialltoall, send, 1, type, receive, 1, type, world);
      break;
    case kAlltoallw:
      EITHER(MPI_Alltoallw, MPI_Ialltoallw, send, g_ones, g_places, g_types, receive, g_ones, g_places,
             g_types, world);
      break;
    case kNeighborAlltoallw:
      EITHER(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, send, g_ones, places, g_types, receive, g_ones,
             places, g_types, g_row);
      break;
    case kGather:
      EITHER(MPI_Gather, MPI_Igather, send, 1, type, receive, 1, type, 0, world);
      break;
    case kBarrier:
      MPI_Barrier(world);
      break;
    default:
      EITHER(MPI_Scatter, MPI_Iscatter, send, 1, type, receive, 1, type, 0, world);
  }
}

void run_collective(int o) {
  const int kind = kCollectives[o].kind;
  MPI_Request request = MPI_REQUEST_NULL;
  call(kind, kCollectives[o].later ? &request : NULL);
  if (kCollectives[o].later) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (has_root(kind)) MPI_Barrier(MPI_COMM_WORLD);
}

// ---- verification

static uint64_t word_of(uint64_t seed, int from, int to, size_t at) {
  return mix(seed * 0x9e3779b97f4a7c15u + (uint64_t)from * 1000003u + (uint64_t)to * 7919u + at);
}

// Numbers whose sums are exact.
static double number_of(uint64_t seed, int rank, size_t i) {
  return (double)(word_of(seed, rank, 0, i) % 1000);
}

static void put_piece(char* base, int piece, uint64_t seed, int from, int to) {
  char* p = base + kMargin + g_shape.span * (size_t)piece;
  for (size_t b = 0; b < g_shape.count; b++)
    for (size_t i = 0; i < g_shape.block; i += 8) {
      const uint64_t word = word_of(seed, from, to, b * g_shape.block + i);
      memcpy(p + b * g_shape.stride + i, &word, g_shape.block - i < 8 ? g_shape.block - i : 8);
    }
}

// The rank before this one, and the one after; -1: there is none.
static int neighbour(int i) {
  const int rank = g_rank + (i == 0 ? -1 : 1);
  return rank < g_ranks ? rank : -1;
}

// The receive buffer as it must be: `g_send` has been sent, and serves as memory for it.
static void expect_pieces(int o, uint64_t seed) {
  for (int other = 0; other < g_ranks; other++) {
    if (o == kAllgather || (o == kGather && g_rank == 0)) put_piece(g_send, other, seed, other, 0);
    if (o == kAlltoall || o == kAlltoallw) put_piece(g_send, other, seed, other, g_rank);
  }
  for (int i = 0; o == kNeighborAlltoallw && i < kNeighbours; i++)
    if (neighbour(i) >= 0) put_piece(g_send, i, seed, neighbour(i), g_rank);
  if (o == kScatter) put_piece(g_send, 0, seed, 0, g_rank);
}

static void expect_numbers(int o, uint64_t seed) {
  size_t first = 0, n = g_shape.block * g_shape.count / sizeof(double);
  if (o == kReduceScatterBlock) {
    n /= (size_t)g_ranks;
    first = n * (size_t)g_rank;
  }
  if (o == kReduce && g_rank != 0) n = 0;
  const int last = o == kScan ? g_rank : g_ranks - 1;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (int r = 0; r <= last; r++) sum += number_of(seed, r, first + i);
    memcpy(g_send + kMargin + i * sizeof sum, &sum, sizeof sum);
  }
}

static void fill_send(int o, uint64_t seed) {
  const size_t n = g_shape.block * g_shape.count / sizeof(double);
  for (size_t i = 0; is_reduction(o) && i < n; i++) {
    const double x = number_of(seed, g_rank, i);
    memcpy(g_send + kMargin + i * sizeof x, &x, sizeof x);
  }
  if (o == kAllgather || o == kGather) put_piece(g_send, 0, seed, g_rank, 0);
  for (int i = 0; o == kNeighborAlltoallw && i < kNeighbours; i++)
    if (neighbour(i) >= 0) put_piece(g_send, i, seed, g_rank, neighbour(i));
  for (int other = 0; other < g_ranks; other++)
    if (o == kAlltoall || o == kAlltoallw || (o == kScatter && g_rank == 0))
      put_piece(g_send, other, seed, g_rank, other);
}

int verify_collective(int which, uint64_t seed, char* text, size_t room) {
  const int o = kCollectives[which].kind;
  const size_t bytes = all_pieces() + 2 * kMargin;
  memset(g_send, kGap, bytes);
  memset(g_receive, kGap, bytes);
  fill_send(o, seed);
  run_collective(which);
  memset(g_send, kGap, bytes);
  if (is_reduction(o))
    expect_numbers(o, seed);
  else
    expect_pieces(o, seed);
  for (size_t i = 0; i < bytes; i++)
    if (g_receive[i] != g_send[i]) {
      snprintf(text, room, "byte %ld of %zu is wrong", (long)i - kMargin, all_pieces());
      return 0;
    }
  return 1;
}
