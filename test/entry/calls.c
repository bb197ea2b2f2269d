/* Every MPI function that Tasuki takes over, called from C and checked by what arrives. One text for four
 * programs: -DNAME_PREFIX=MPI_ or PMPI_, and with -DLARGE the large-count twins of the functions that have
 * one (MPI-4). Runs on two ranks; no function is called through anything but the macros F and C. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define F(name) JOIN(NAME_PREFIX, name, ) /* a function without large-count twin */
#ifdef LARGE
#define C(name) JOIN(NAME_PREFIX, name, _c)
typedef MPI_Count Count;
#else
#define C(name) F(name)
typedef int Count;
#endif

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      printf("rank %d, line %d: wrong: %s\n", g_rank, __LINE__, #condition); \
      fflush(stdout);                                                        \
      MPI_Abort(MPI_COMM_WORLD, 1);                                          \
    }                                                                        \
  } while (0)

enum { N = 1000 };
static int g_rank, g_peer;

static int* filled(int from, int tag) {
  static int a[N];
  for (int i = 0; i < N; ++i) a[i] = from * 1000003 + tag * 1009 + i;
  return a;
}

static int arrived(const int* a, int tag) {
  return memcmp(a, filled(g_peer, tag), sizeof(int) * N) == 0;
}

static void blocking(void) {
  int a[N];
  MPI_Status status;
  char* room = malloc(100000);
  F(Type_commit)(&(MPI_Datatype){MPI_INT}); /* legal, and without effect */
  C(Buffer_attach)(room, 100000);
  for (int turn = 0; turn < 2; ++turn) {
    if (g_rank == turn) {
      C(Send)(filled(g_rank, 1), N, MPI_INT, g_peer, 1, MPI_COMM_WORLD);
      C(Ssend)(filled(g_rank, 2), N, MPI_INT, g_peer, 2, MPI_COMM_WORLD);
      C(Bsend)(filled(g_rank, 3), N, MPI_INT, g_peer, 3, MPI_COMM_WORLD);
      C(Recv)
      (a, 0, MPI_INT, g_peer, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the receive for tag 4 is posted */
      C(Rsend)(filled(g_rank, 4), N, MPI_INT, g_peer, 4, MPI_COMM_WORLD);
    } else {
      MPI_Request request;
      for (int tag = 1; tag <= 3; ++tag) {
        C(Recv)(a, N, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        CHECK(arrived(a, tag) && status.MPI_SOURCE == g_peer && status.MPI_TAG == tag);
      }
      C(Irecv)(a, N, MPI_INT, g_peer, 4, MPI_COMM_WORLD, &request);
      C(Send)(a, 0, MPI_INT, g_peer, 40, MPI_COMM_WORLD);
      F(Wait)(&request, &status);
      CHECK(arrived(a, 4) && status.MPI_TAG == 4 && request == MPI_REQUEST_NULL);
    }
  }
  /* Every argument differs from its counterpart: tags, counts and types here, destination and source below.
   */
  const int bytes_in = N * (int)sizeof(int), to = g_rank ? MPI_PROC_NULL : g_peer,
            from = g_rank ? g_peer : MPI_PROC_NULL;
  C(Sendrecv)
  (filled(g_rank, 5), N, MPI_INT, g_peer, 50 + g_rank, a, bytes_in, MPI_BYTE, g_peer, 50 + g_peer,
   MPI_COMM_WORLD, &status);
  CHECK(arrived(a, 5) && status.MPI_SOURCE == g_peer && status.MPI_TAG == 50 + g_peer);
  memcpy(a, filled(g_rank, 6), sizeof a);
  C(Sendrecv_replace)(a, N, MPI_INT, g_peer, 60 + g_rank, g_peer, 60 + g_peer, MPI_COMM_WORLD, &status);
  CHECK(arrived(a, 6) && status.MPI_TAG == 60 + g_peer);
  C(Sendrecv)(filled(g_rank, 7), N, MPI_INT, to, 7, a, N, MPI_INT, from, 7, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == from && (g_rank == 0 || arrived(a, 7)));
  memcpy(a, filled(g_rank, 8), sizeof a);
  C(Sendrecv_replace)(a, N, MPI_INT, to, 8, from, 8, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == from && (g_rank == 0 || arrived(a, 8)));
  void* back = NULL;
  Count bytes = 0;
  C(Buffer_detach)(&back, &bytes);
  CHECK(back == room && bytes == 100000);
  free(room);
}

static void nonblocking(void) {
  int out[4][N], in[4][N];
  MPI_Request sends[4], receives[4];
  MPI_Status statuses[4];
  char* room = malloc(100000);
  void* back;
  Count bytes;
  C(Buffer_attach)(room, 100000);
  for (int i = 0; i < 4; ++i) {
    memcpy(out[i], filled(g_rank, 10 + i), sizeof out[i]);
    C(Irecv)(in[i], N, MPI_INT, g_peer, 10 + i, MPI_COMM_WORLD, &receives[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  C(Isend)(out[0], N, MPI_INT, g_peer, 10, MPI_COMM_WORLD, &sends[0]);
  C(Issend)(out[1], N, MPI_INT, g_peer, 11, MPI_COMM_WORLD, &sends[1]);
  C(Ibsend)(out[2], N, MPI_INT, g_peer, 12, MPI_COMM_WORLD, &sends[2]);
  C(Irsend)(out[3], N, MPI_INT, g_peer, 13, MPI_COMM_WORLD, &sends[3]);
  F(Waitall)(4, receives, statuses);
  F(Waitall)(4, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 4; ++i) CHECK(arrived(in[i], 10 + i) && statuses[i].MPI_TAG == 10 + i);
  C(Buffer_detach)(&back, &bytes);
  free(room);
#if MPI_VERSION >= 4
  /* Rank 1 answers with blocking calls, so that exchanged tags show (MPICH 4.0 gives no receive status here).
   */
  const int bytes_in = N * (int)sizeof(int), to = g_rank ? MPI_PROC_NULL : g_peer,
            from = g_rank ? g_peer : MPI_PROC_NULL;
  sends[0] = MPI_REQUEST_NULL;
  if (g_rank == 0)
    C(Isendrecv)(out[0], N, MPI_INT, 1, 50, in[0], bytes_in, MPI_BYTE, 1, 51, MPI_COMM_WORLD, &sends[0]);
  else
    C(Sendrecv)
  (out[0], N, MPI_INT, 0, 51, in[0], bytes_in, MPI_BYTE, 0, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  F(Wait)(&sends[0], MPI_STATUS_IGNORE);
  CHECK(arrived(in[0], 10));
  C(Isendrecv)(out[1], N, MPI_INT, to, 51, in[0], N, MPI_INT, from, 51, MPI_COMM_WORLD, &sends[0]);
  F(Wait)(&sends[0], MPI_STATUS_IGNORE);
  CHECK(g_rank == 0 || arrived(in[0], 11));
  if (g_rank == 0)
    C(Isendrecv_replace)(out[0], N, MPI_INT, 1, 60, 1, 61, MPI_COMM_WORLD, &sends[0]);
  else
    C(Sendrecv_replace)(out[0], N, MPI_INT, 0, 61, 0, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  F(Wait)(&sends[0], MPI_STATUS_IGNORE);
  CHECK(arrived(out[0], 10));
  C(Isendrecv_replace)(out[2], N, MPI_INT, to, 61, from, 61, MPI_COMM_WORLD, &sends[0]);
  F(Wait)(&sends[0], MPI_STATUS_IGNORE);
  CHECK(g_rank == 0 || arrived(out[2], 12));
#endif
}

static void completion(void) {
  int in[3][N], flag = 0, index, outcount, indices[3];
  MPI_Request receives[3];
  MPI_Status status, statuses[3];
  for (int i = 0; i < 3; ++i) C(Irecv)(in[i], N, MPI_INT, g_peer, 20 + i, MPI_COMM_WORLD, &receives[i]);
  F(Test)(&receives[0], &flag, &status);
  CHECK(!flag);
  F(Testall)(3, receives, &flag, statuses);
  CHECK(!flag);
  F(Testany)(3, receives, &index, &flag, &status);
  CHECK(!flag);
  F(Testsome)(3, receives, &outcount, indices, statuses);
  CHECK(outcount == 0);
  F(Request_get_status)(receives[0], &flag, &status);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  C(Send)(filled(g_rank, 21), N, MPI_INT, g_peer, 21, MPI_COMM_WORLD);
  F(Waitany)(3, receives, &index, &status);
  CHECK(index == 1 && status.MPI_TAG == 21 && arrived(in[1], 21));
  MPI_Barrier(MPI_COMM_WORLD);
  C(Send)(filled(g_rank, 22), N, MPI_INT, g_peer, 22, MPI_COMM_WORLD);
  F(Waitsome)(3, receives, &outcount, indices, statuses);
  CHECK(outcount == 1 && indices[0] == 2 && statuses[0].MPI_TAG == 22 && arrived(in[2], 22));
  F(Cancel)(&receives[0]);
  F(Wait)(&receives[0], &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag);
  F(Waitany)(3, receives, &index, MPI_STATUS_IGNORE);
  CHECK(index == MPI_UNDEFINED);
  MPI_Barrier(MPI_COMM_WORLD);
  C(Isend)(in[0], 0, MPI_INT, g_peer, 23, MPI_COMM_WORLD, &receives[0]);
  F(Request_free)(&receives[0]);
  CHECK(receives[0] == MPI_REQUEST_NULL);
  C(Recv)(in[0], 0, MPI_INT, g_peer, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persistent(void) {
  int out[4][N], in[4][N];
  MPI_Request sends[4], receives[4];
  char* room = malloc(100000);
  void* back;
  Count bytes;
  C(Buffer_attach)(room, 100000);
  C(Send_init)(out[0], N, MPI_INT, g_peer, 30, MPI_COMM_WORLD, &sends[0]);
  C(Ssend_init)(out[1], N, MPI_INT, g_peer, 31, MPI_COMM_WORLD, &sends[1]);
  C(Bsend_init)(out[2], N, MPI_INT, g_peer, 32, MPI_COMM_WORLD, &sends[2]);
  C(Rsend_init)(out[3], N, MPI_INT, g_peer, 33, MPI_COMM_WORLD, &sends[3]);
  for (int i = 0; i < 4; ++i) {
    memcpy(out[i], filled(g_rank, 30 + i), sizeof out[i]);
    C(Recv_init)(in[i], N, MPI_INT, g_peer, 30 + i, MPI_COMM_WORLD, &receives[i]);
  }
  F(Startall)(4, receives);
  MPI_Barrier(MPI_COMM_WORLD);
  F(Start)(&sends[0]);
  F(Startall)(3, sends + 1);
  F(Waitall)(4, sends, MPI_STATUSES_IGNORE);
  F(Waitall)(4, receives, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 4; ++i) {
    CHECK(arrived(in[i], 30 + i));
    F(Request_free)(&sends[i]);
    F(Request_free)(&receives[i]);
  }
  C(Buffer_detach)(&back, &bytes);
  free(room);
}

#if MPI_VERSION >= 4
static void in_partitions(void) {
  enum { SEND_PARTS = 4, RECEIVE_PARTS = 2 };
  static int out[SEND_PARTS * N], in[SEND_PARTS * N];
  int list[2] = {3, 0}, here = 0;
  MPI_Request requests[2];
  F(Psend_init)
  (out, SEND_PARTS, N, MPI_INT, g_peer, 70, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  F(Precv_init)
  (in, RECEIVE_PARTS, 2 * N * (int)sizeof(int), MPI_BYTE, g_peer, 70, MPI_COMM_WORLD, MPI_INFO_NULL,
   &requests[1]);
  F(Startall)(2, requests);
  for (int i = 0; i < SEND_PARTS; ++i) memcpy(out + i * N, filled(g_rank, 70 + i), N * sizeof(int));
  F(Pready)(2, requests[0]);
  F(Pready_range)(1, 1, requests[0]);
  F(Pready_list)(2, list, requests[0]);
  while (!here) F(Parrived)(requests[1], 1, &here);
  CHECK(arrived(in + 2 * N, 72) && arrived(in + 3 * N, 73));
  F(Waitall)(2, requests, MPI_STATUSES_IGNORE);
  CHECK(arrived(in, 70) && arrived(in + N, 71));
  for (int i = 0; i < 2; ++i) F(Request_free)(&requests[i]);
}
#endif

static void probing(void) {
  int a[N], flag = 0, out[2][N];
  MPI_Status status;
  MPI_Message message;
  MPI_Request request, sends[2];
  F(Iprobe)(g_peer, 40, MPI_COMM_WORLD, &flag, &status);
  CHECK(!flag);
  F(Improbe)(g_peer, 40, MPI_COMM_WORLD, &flag, &message, &status);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) {
    memcpy(out[i], filled(g_rank, 41 + i), sizeof out[i]);
    C(Isend)(out[i], N, MPI_INT, g_peer, 41 + i, MPI_COMM_WORLD, &sends[i]);
  }
  F(Probe)(MPI_ANY_SOURCE, 42, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == g_peer && status.MPI_TAG == 42);
  F(Mprobe)(g_peer, 42, MPI_COMM_WORLD, &message, &status);
  C(Imrecv)(a, N, MPI_INT, &message, &request);
  F(Wait)(&request, &status);
  CHECK(arrived(a, 42) && message == MPI_MESSAGE_NULL);
  F(Mprobe)(g_peer, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  C(Mrecv)(a, N, MPI_INT, &message, &status);
  CHECK(arrived(a, 41) && status.MPI_TAG == 41);
  F(Waitall)(2, sends, MPI_STATUSES_IGNORE);
}

static void packing(void) {
  int a[N];
  char packed[N * sizeof(int) + 3];
  Count position = 3;
  C(Pack)(filled(g_rank, 9), N, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
  CHECK(position == (Count)sizeof packed);
  position = 3;
  C(Unpack)(packed, sizeof packed, &position, a, N, MPI_INT, MPI_COMM_WORLD);
  CHECK(position == (Count)sizeof packed && memcmp(a, filled(g_rank, 9), sizeof a) == 0);
}

static void external(void) {
#ifdef LARGE
  MPI_Count position = 3;
#else
  MPI_Aint position = 3;
#endif
  int a[N];
  char packed[N * sizeof(int) + 3];
  C(Pack_external)("external32", filled(g_rank, 9), N, MPI_INT, packed, sizeof packed, &position);
  CHECK(position == sizeof packed && packed[3] == ((char*)filled(g_rank, 9))[3]);
  position = 3;
  C(Unpack_external)("external32", packed, sizeof packed, &position, a, N, MPI_INT);
  CHECK(position == sizeof packed && memcmp(a, filled(g_rank, 9), sizeof a) == 0);
}

static void collective(void) {
  int a[N];
  memcpy(a, filled(g_rank, 70), sizeof a);
  F(Barrier)(MPI_COMM_WORLD);
  C(Bcast)(a, N, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(memcmp(a, filled(1, 70), sizeof a) == 0);
}

#ifdef LARGE
typedef MPI_Aint Displacement;
#else
typedef int Displacement;
#endif

/* Of each rank: the numbers 2r, 2r + 1 for rank r. */
static int collected(const int* in, int stride, int own) {
  for (int r = 0; r < 2; r++)
    for (int i = 0; i < 2; i++)
      if (in[stride * r + i] != 1000 * (r + 1) + (own ? 2 * g_rank : 0) + i) return 0;
  return 1;
}

/* Twice, where it is persistent: the second time nothing changes. */
static void wait_for(MPI_Request* request, int persistent) {
  for (int i = 0; i < 1 + persistent; ++i) {
    if (persistent) F(Start)(request);
    F(Wait)(request, MPI_STATUS_IGNORE);
    CHECK((*request != MPI_REQUEST_NULL) == persistent);
  }
  if (persistent) F(Request_free)(request);
}

#if MPI_VERSION >= 4
#define LATER(form, later, now, ...)                          \
  do {                                                        \
    if (persistent)                                           \
      form(now##_init)(__VA_ARGS__, MPI_INFO_NULL, &request); \
    else                                                      \
      form(later)(__VA_ARGS__, &request);                     \
    wait_for(&request, persistent);                           \
  } while (0)
#else
#define LATER(form, later, now, ...)    \
  do {                                  \
    form(later)(__VA_ARGS__, &request); \
    wait_for(&request, persistent);     \
  } while (0)
#endif

/* The non-blocking forms, or the persistent ones. */
static void collective_requests(int persistent) {
  const int mine[4] = {1000 * (g_rank + 1), 1000 * (g_rank + 1) + 1, 1000 * (g_rank + 1) + 2,
                       1000 * (g_rank + 1) + 3};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const Count two[2] = {2, 2};
  const Displacement at[2] = {0, 2}, wide[2] = {0, 3};
  const Displacement bytes[2] = {0, 2 * sizeof(int)}, wide_bytes[2] = {0, 3 * sizeof(int)};
  const MPI_Aint from[2] = {0, 2 * sizeof(int)}, to[2] = {0, 3 * sizeof(int)};
  int in[6], a[N];
  MPI_Request request;
  MPI_Comm ring;
  memcpy(a, filled(g_rank, 71), sizeof a);
  LATER(F, Ibarrier, Barrier, MPI_COMM_WORLD);
  LATER(C, Ibcast, Bcast, a, N, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(memcmp(a, filled(1, 71), sizeof a) == 0);
#define CLEAR() memset(in, 0, sizeof in)
  CLEAR();
  LATER(C, Iallgather, Allgather, mine, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD);
  CHECK(collected(in, 2, 0));
  CLEAR();
  LATER(C, Iallgatherv, Allgatherv, mine, 2, MPI_INT, in, two, wide, MPI_INT, MPI_COMM_WORLD);
  CHECK(collected(in, 3, 0));
  CLEAR();
  LATER(C, Ialltoall, Alltoall, mine, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD);
  CHECK(collected(in, 2, 1));
  CLEAR();
  LATER(C, Ialltoallv, Alltoallv, mine, two, at, MPI_INT, in, two, wide, MPI_INT, MPI_COMM_WORLD);
  CHECK(collected(in, 3, 1));
  CLEAR();
  LATER(C, Ialltoallw, Alltoallw, mine, two, bytes, types, in, two, wide_bytes, types, MPI_COMM_WORLD);
  CHECK(collected(in, 3, 1));
  CLEAR();
  LATER(C, Igather, Gather, mine, 2, MPI_INT, in, 2, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(g_rank == 0 || collected(in, 2, 0));
  CLEAR();
  LATER(C, Igatherv, Gatherv, mine, 2, MPI_INT, in, two, wide, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(g_rank == 0 || collected(in, 3, 0));
  LATER(C, Iscatter, Scatter, mine, 2, MPI_INT, in, 2, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(in[0] == 2000 + 2 * g_rank && in[1] == in[0] + 1);
  LATER(C, Iscatterv, Scatterv, mine, two, at, MPI_INT, in + 2, 2, MPI_INT, 1, MPI_COMM_WORLD);
  CHECK(in[2] == 2000 + 2 * g_rank && in[3] == in[2] + 1);
  LATER(C, Iallreduce, Allreduce, mine, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(in[0] == 3000 && in[3] == 3006);
  CLEAR();
  LATER(C, Ireduce, Reduce, mine, in, 4, MPI_INT, MPI_MAX, 1, MPI_COMM_WORLD);
  CHECK(in[0] == (g_rank == 1 ? 2000 : 0) && in[3] == (g_rank == 1 ? 2003 : 0));
  CLEAR();
  LATER(C, Ireduce_scatter, Reduce_scatter, mine, in, two, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(in[0] == 3000 + 4 * g_rank && in[1] == in[0] + 2);
  CLEAR();
  LATER(C, Ireduce_scatter_block, Reduce_scatter_block, mine, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(in[0] == 3000 + 4 * g_rank && in[1] == in[0] + 2);
  LATER(C, Iscan, Scan, mine, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(in[0] == (g_rank == 1 ? 3000 : 1000) && in[3] == (g_rank == 1 ? 3006 : 1003));
  CLEAR();
  LATER(C, Iexscan, Exscan, mine, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(g_rank == 0 || (in[0] == 1000 && in[3] == 1003));
  /* Each has itself and the other one as neighbours. */
  F(Dist_graph_create_adjacent)
  (MPI_COMM_WORLD, 2, (int[]){0, 1}, (int[]){1, 1}, 2, (int[]){0, 1}, (int[]){1, 1}, MPI_INFO_NULL, 0, &ring);
  CLEAR();
  LATER(C, Ineighbor_allgather, Neighbor_allgather, mine, 2, MPI_INT, in, 2, MPI_INT, ring);
  CHECK(collected(in, 2, 0));
  CLEAR();
  LATER(C, Ineighbor_allgatherv, Neighbor_allgatherv, mine, 2, MPI_INT, in, two, wide, MPI_INT, ring);
  CHECK(collected(in, 3, 0));
  CLEAR();
  LATER(C, Ineighbor_alltoall, Neighbor_alltoall, mine, 2, MPI_INT, in, 2, MPI_INT, ring);
  CHECK(collected(in, 2, 1));
  CLEAR();
  LATER(C, Ineighbor_alltoallv, Neighbor_alltoallv, mine, two, at, MPI_INT, in, two, wide, MPI_INT, ring);
  CHECK(collected(in, 3, 1));
  CLEAR();
  LATER(C, Ineighbor_alltoallw, Neighbor_alltoallw, mine, two, from, types, in, two, to, types, ring);
  CHECK(collected(in, 3, 1));
  F(Comm_free)(&ring);
}

/* Both ranks exchange on the communicator, which holds both, and free it. */
static void use(MPI_Comm* comm, int line) {
  int me, size, in = -1, out;
  MPI_Comm_rank(*comm, &me);
  MPI_Comm_size(*comm, &size);
  out = 1000 * line + me;
  C(Sendrecv)
  (&out, 1, MPI_INT, (me + 1) % size, 1, &in, 1, MPI_INT, (me + 1) % size, 1, *comm, MPI_STATUS_IGNORE);
  CHECK(in == 1000 * line + (me + 1) % size);
  MPI_Comm_free(comm);
}

static void communicators(void) {
  MPI_Comm comm, grid, inter;
  MPI_Group group;
  F(Comm_dup)(MPI_COMM_WORLD, &comm);
  use(&comm, __LINE__);
  F(Comm_dup_with_info)(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
  use(&comm, __LINE__);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  F(Comm_create)(MPI_COMM_WORLD, group, &comm);
  use(&comm, __LINE__);
  F(Comm_create_group)(MPI_COMM_WORLD, group, 3, &comm);
  use(&comm, __LINE__);
  MPI_Group_free(&group);
  F(Comm_split)(MPI_COMM_WORLD, 5, -g_rank, &comm);
  use(&comm, __LINE__);
  F(Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, g_rank, MPI_INFO_NULL, &comm);
  use(&comm, __LINE__);
  F(Cart_create)(MPI_COMM_WORLD, 2, (int[]){2, 1}, (int[]){1, 0}, 0, &grid);
  F(Cart_sub)(grid, (int[]){1, 0}, &comm);
  use(&comm, __LINE__);
  use(&grid, __LINE__);
  F(Graph_create)(MPI_COMM_WORLD, 2, (int[]){1, 2}, (int[]){1, 0}, 0, &comm);
  use(&comm, __LINE__);
  F(Dist_graph_create)
  (MPI_COMM_WORLD, 1, &g_rank, (int[]){1}, &g_peer, (int[]){1}, MPI_INFO_NULL, 0, &comm);
  use(&comm, __LINE__);
  F(Dist_graph_create_adjacent)
  (MPI_COMM_WORLD, 1, &g_peer, (int[]){1}, 1, &g_peer, (int[]){1}, MPI_INFO_NULL, 0, &comm);
  use(&comm, __LINE__);
  F(Intercomm_create)(MPI_COMM_SELF, 0, MPI_COMM_WORLD, g_peer, 4, &inter);
  int in = -1;
  C(Sendrecv)(&g_rank, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
  CHECK(in == g_peer);
  F(Intercomm_merge)(inter, g_rank, &comm);
  use(&comm, __LINE__);
  MPI_Comm_free(&inter);
}

/* Window memory of the peer: `mine` is sent there, and comes back. */
static void one_sided(void) {
  int *memory, fetched[4], mine[4] = {g_rank + 10, g_rank + 20, g_rank + 30, g_rank + 40};
  MPI_Win win, other;
  MPI_Group world, peer;
  MPI_Request requests[4];
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &g_peer, &peer);
  F(Win_allocate)(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, 8 * sizeof(int));
  F(Win_fence)(0, win);
  C(Put)(mine, 4, MPI_INT, g_peer, 1, 4 * (int)sizeof(int), MPI_BYTE, win);
  F(Win_fence)(MPI_MODE_NOSUCCEED, win);
  CHECK(memory[0] == 0 && memory[1] == g_peer + 10 && memory[4] == g_peer + 40 && memory[5] == 0);

  F(Win_post)(peer, 0, win);
  F(Win_start)(peer, 0, win);
  C(Get)(fetched, 2 * (int)sizeof(int), MPI_BYTE, g_peer, 3, 2, MPI_INT, win);
  F(Win_complete)(win);
  F(Win_wait)(win);
  CHECK(fetched[0] == g_rank + 30 && fetched[1] == g_rank + 40);
  F(Win_post)(peer, 0, win);
  F(Win_start)(peer, 0, win);
  C(Accumulate)(mine, 2, MPI_INT, g_peer, 2, 2, MPI_INT, MPI_SUM, win);
  F(Win_complete)(win);
  for (int done = 0; !done;) F(Win_test)(win, &done);
  CHECK(memory[2] == 2 * g_peer + 30 && memory[3] == 2 * g_peer + 50);
  F(Barrier)(MPI_COMM_WORLD);

  F(Win_lock)(MPI_LOCK_EXCLUSIVE, g_peer, 0, win);
  C(Get_accumulate)(mine, 1, MPI_INT, fetched, 1, MPI_INT, g_peer, 5, 1, MPI_INT, MPI_REPLACE, win);
  F(Win_flush)(g_peer, win);
  F(Fetch_and_op)(mine, fetched + 1, MPI_INT, g_peer, 5, MPI_MAX, win);
  F(Win_flush_local)(g_peer, win);
  F(Win_unlock)(g_peer, win);
  CHECK(fetched[0] == 0 && fetched[1] == g_rank + 10);
  F(Win_lock)(MPI_LOCK_SHARED, g_peer, 0, win);
  F(Compare_and_swap)(mine + 3, mine, fetched, MPI_INT, g_peer, 5, win);
  F(Win_flush_all)(win);
  F(Win_flush_local_all)(win);
  F(Win_unlock)(g_peer, win);
  CHECK(fetched[0] == g_rank + 10);

  F(Win_lock_all)(0, win);
  C(Rget)(fetched, 1, MPI_INT, g_peer, 5, 1, MPI_INT, win, &requests[0]);
  C(Rput)(mine, 1, MPI_INT, g_peer, 6, 1, MPI_INT, win, &requests[1]);
  F(Waitall)(2, requests, MPI_STATUSES_IGNORE);
  CHECK(fetched[0] == g_rank + 40);
  F(Win_flush)(g_peer, win);
  C(Raccumulate)(mine, 1, MPI_INT, g_peer, 6, 1, MPI_INT, MPI_SUM, win, &requests[0]);
  C(Rget_accumulate)
  (NULL, 0, MPI_INT, fetched, 1, MPI_INT, g_peer, 6, 1, MPI_INT, MPI_NO_OP, win, &requests[1]);
  F(Waitall)(2, requests, MPI_STATUSES_IGNORE);
  F(Win_sync)(win);
  F(Win_unlock_all)(win);
  CHECK(fetched[0] == 2 * g_rank + 20);
  F(Win_free)(&win);

  F(Win_create)(mine, sizeof mine, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  F(Win_allocate_shared)(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &other);
  F(Win_free)(&other);
  F(Win_create_dynamic)(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  F(Win_free)(&other);
  F(Win_free)(&win);
  MPI_Group_free(&peer);
  MPI_Group_free(&world);
}

int main(int argc, char** argv) {
#ifdef LARGE
  int provided;
  F(Init_thread)(&argc, &argv, MPI_THREAD_SINGLE, &provided);
#else
  F(Init)(&argc, &argv);
#endif
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  g_peer = 1 - g_rank;
  blocking();
  nonblocking();
  completion();
  persistent();
#if MPI_VERSION >= 4
  in_partitions();
#endif
  probing();
  packing();
  external();
  collective();
  collective_requests(0);
#if MPI_VERSION >= 4
  collective_requests(1);
#endif
  communicators();
  one_sided();
  F(Finalize)();
  if (g_rank == 0) printf("ok\n");
  return 0;
}
