// Partitioned communication (MPI-4.0, chapter 4): partitions that become ready in any order, epoch after epoch.
#include <pthread.h>

#include "check.h"

#if MPI_VERSION >= 4

static int next, before;
static int library;  // some pairs of ranks are the MPI library's

// Repeatable on every rank.
static unsigned draw(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

static void shuffle(int* order, int n, unsigned seed) {
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int k = (int)draw(&seed, (unsigned)i + 1), at = order[i];
    order[i] = order[k];
    order[k] = at;
  }
}

static MPI_Request send_of(void* out, int partitions, MPI_Count count, MPI_Datatype type, int to, int tag) {
  MPI_Request r;
  MPI_Psend_init(out, partitions, count, type, to, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  return r;
}

static MPI_Request receive_of(void* in, int partitions, MPI_Count count, MPI_Datatype type, int from,
                              int tag) {
  MPI_Request r;
  MPI_Precv_init(in, partitions, count, type, from, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  return r;
}

static void free_both(MPI_Request r[2]) {
  for (int i = 0; i < 2; i++) {
    MPI_Request_free(&r[i]);
    CHECK(r[i] == MPI_REQUEST_NULL);
  }
}

static void wait_for_partition(MPI_Request r, int partition) {
  for (int here = 0; !here;) MPI_Parrived(r, partition, &here);
}

// ---- one pair of requests, many epochs: who starts first, and what is ready when, changes

enum { bytes = 24 << 10 };
static unsigned char out[bytes], in[bytes];

static void mark_in_order(MPI_Request send, int partitions, unsigned seed, unsigned content) {
  int order[64], each = bytes / partitions;
  shuffle(order, partitions, seed);
  for (int k = 0; k < partitions; k++) {
    int i = order[k];
    for (int b = i * each; b < (i + 1) * each; b++) out[b] = byte_of(content, (size_t)b);
    MPI_Pready(i, send);
  }
}

static void look_at_partitions(MPI_Request receive, int partitions, unsigned seed, unsigned content) {
  int order[64], each = bytes / partitions;
  shuffle(order, partitions, seed);
  for (int k = 0; k < partitions; k++) {
    wait_for_partition(receive, order[k]);
    for (int b = order[k] * each; b < (order[k] + 1) * each; b++)
      CHECK_EQ(in[b], byte_of(content, (size_t)b));
  }
}

static void epochs(int send_parts, int receive_parts, int rounds) {
  MPI_Request r[2];
  MPI_Status s;
  r[0] = send_of(out, send_parts, bytes / send_parts, MPI_BYTE, next, 1);
  r[1] = receive_of(in, receive_parts, bytes / receive_parts, MPI_BYTE, before, 1);
  for (int round = 0; round < rounds; round++) {
    unsigned content = (unsigned)(round * 31 + send_parts), seed = content * 7u + (unsigned)rank;
    int late = (round + rank) % 3 == 0;
    memset(in, 0, sizeof in);
    MPI_Start(&r[0]);
    if (!late) MPI_Start(&r[1]);
    mark_in_order(r[0], send_parts, seed, content + (unsigned)rank);
    if (late) MPI_Start(&r[1]);
    if (round % 2) look_at_partitions(r[1], receive_parts, seed, content + (unsigned)before);
    MPI_Wait(&r[1], &s);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
    CHECK_EQ(first_wrong(in, bytes, content + (unsigned)before), -1);
    CHECK_EQ(s.MPI_SOURCE, before);
    CHECK_EQ(s.MPI_TAG, 1);
    CHECK_EQ(count_of(&s, MPI_BYTE), bytes);
  }
  free_both(r);
}

static void ranges_and_lists(void) {
  MPI_Request r[2] = {send_of(out, 8, bytes / 8, MPI_BYTE, next, 2),
                      receive_of(in, 1, bytes, MPI_BYTE, before, 2)};
  int list[3] = {7, 0, 2};
  for (unsigned round = 0; round < 20; round++) {
    fill(out, bytes, round + (unsigned)rank);
    MPI_Startall(2, r);
    MPI_Pready_range(3, 6, r[0]);
    MPI_Pready_list(3, list, r[0]);
    int flag = 0;
    MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Pready(1, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK_EQ(first_wrong(in, bytes, round + (unsigned)before), -1);
  }
  free_both(r);
}

static void large(void) {
  enum { parts = 16, each = 256 << 10 };
  unsigned char *a = allocate(parts * each), *b = allocate(parts * each);
  MPI_Request r[2] = {send_of(a, parts, each, MPI_BYTE, next, 3),
                      receive_of(b, 4, parts / 4 * each, MPI_BYTE, before, 3)};
  for (unsigned round = 0; round < 3; round++) {
    MPI_Startall(2, r);
    fill(a, parts * each, round + (unsigned)rank);
    for (int i = 0; i < parts; i++) MPI_Pready((i * 5 + rank) % parts, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK_EQ(first_wrong(b, parts * each, round + (unsigned)before), -1);
  }
  free_both(r);
  free(a);
  free(b);
}

// ---- derived datatypes: columns of a matrix to rows of another one

static void derived(void) {
  enum { n = 60 };
  static int a[n][n], b[n][n];
  MPI_Datatype column, resized;
  MPI_Type_vector(n, 1, n, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &resized);
  MPI_Type_commit(&resized);
  MPI_Request r[2] = {send_of(a, 12, n / 12, resized, next, 4),
                      receive_of(b, 4, n * n / 4, MPI_INT, before, 4)};
  MPI_Type_free(&column);
  MPI_Type_free(&resized);
  for (int round = 0; round < 10; round++) {
    int order[12];
    shuffle(order, 12, (unsigned)(round + rank));
    memset(b, 0xff, sizeof b);
    MPI_Startall(2, r);
    for (int k = 0; k < 12; k++) {
      for (int c = order[k] * 5; c < order[k] * 5 + 5; c++)
        for (int i = 0; i < n; i++) a[i][c] = round * 1000000 + rank * 10000 + i * n + c;
      MPI_Pready(order[k], r[0]);
    }
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int c = 0; c < n; c++)
      for (int i = 0; i < n; i++) CHECK_EQ(b[c][i], round * 1000000 + before * 10000 + i * n + c);
  }
  free_both(r);
}

// ---- several threads

enum { threads = 4 };
static MPI_Request shared_requests[2];
static unsigned shared_round;

static void* half_of_a_thread(void* argument) {
  int lane = (int)(intptr_t)argument, each = bytes / threads;
  unsigned content = shared_round * 3;
  for (int b = lane * each; b < (lane + 1) * each; b++) out[b] = byte_of(content + (unsigned)rank, (size_t)b);
  MPI_Pready(lane, shared_requests[0]);
  wait_for_partition(shared_requests[1], lane);
  for (int b = lane * each; b < (lane + 1) * each; b++)
    CHECK_EQ(in[b], byte_of(content + (unsigned)before, (size_t)b));
  return NULL;
}

static void from_threads(void) {
  shared_requests[0] = send_of(out, threads, bytes / threads, MPI_BYTE, next, 5);
  shared_requests[1] = receive_of(in, threads, bytes / threads, MPI_BYTE, before, 5);
  for (shared_round = 0; shared_round < 30; shared_round++) {
    pthread_t t[threads];
    MPI_Startall(2, shared_requests);
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, half_of_a_thread, (void*)(intptr_t)i);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    MPI_Waitall(2, shared_requests, MPI_STATUSES_IGNORE);
  }
  free_both(shared_requests);
}

// ---- matching

// Requests with the same envelope meet in the order in which they are made, also beside other messages.
static void matching(void) {
  enum { n = 5 };
  int a[n][4], b[n][4], plain = -1;
  MPI_Request s[n], r[n], other;
  MPI_Irecv(&plain, 1, MPI_INT, before, 6, MPI_COMM_WORLD, &other);
  for (int i = 0; i < n; i++) {
    if (rank % 2) r[i] = receive_of(b[i], 2, 2, MPI_INT, before, 6);
    s[i] = send_of(a[i], 4, 1, MPI_INT, next, 6);
  }
  for (int i = 0; i < n && rank % 2 == 0; i++) r[i] = receive_of(b[i], 2, 2, MPI_INT, before, 6);
  for (int round = 0; round < 10; round++) {
    for (int i = n - 1; i >= 0; i--) {
      MPI_Start(&s[i]);
      for (int k = 0; k < 4; k++) {
        a[i][k] = rank * 1000 + i * 100 + round * 4 + k;
        MPI_Pready(k, s[i]);
      }
    }
    MPI_Startall(n, r);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    MPI_Waitall(n, s, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 4; k++) CHECK_EQ(b[i][k], before * 1000 + i * 100 + round * 4 + k);
  }
  int flag = 1;
  MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, next, 6, MPI_COMM_WORLD);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  CHECK_EQ(plain, before);
  for (int i = 0; i < n; i++) MPI_Request_free(&s[i]);
  for (int i = 0; i < n; i++) MPI_Request_free(&r[i]);
}

static void with_oneself(void) {
  MPI_Request r[2] = {send_of(out, 6, bytes / 6, MPI_BYTE, rank, 7),
                      receive_of(in, 4, bytes / 4, MPI_BYTE, rank, 7)};
  for (unsigned round = 0; round < 10; round++) {
    fill(out, bytes, round);
    MPI_Start(&r[0]);
    MPI_Pready_range(0, 2, r[0]);
    MPI_Start(&r[1]);
    MPI_Pready_range(3, 5, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK_EQ(first_wrong(in, bytes, round), -1);
  }
  free_both(r);
}

// ---- completion

// Beside ordinary requests, by every function that completes some of a list. MPI_Testall of plain MPICH 4.0
// calls each partitioned request that is complete an error.
static void completed_together(void) {
  enum { n = 4 };
  int numbers[2], flag, index, count, indices[n];
  MPI_Request r[n];
  MPI_Status s[n];
  r[0] = send_of(out, 3, bytes / 3, MPI_BYTE, next, 8);
  r[1] = receive_of(in, 2, bytes / 2, MPI_BYTE, before, 8);
  for (unsigned round = 0; round < 40; round++) {
    MPI_Startall(2, r);
    numbers[0] = (int)round;
    MPI_Irecv(&numbers[1], 1, MPI_INT, before, 9, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(&numbers[0], 1, MPI_INT, next, 9, MPI_COMM_WORLD, &r[3]);
    fill(out, bytes, round + (unsigned)rank);
    MPI_Pready_range(0, 1, r[0]);
    flag = 0;
    if (!library) MPI_Testall(n, r, &flag, s);
    CHECK(!flag);
    MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Pready(2, r[0]);
    int left = n;
    while (left > 0 && round % 4 != 0) {
      if (round % 4 == 1) {
        MPI_Waitany(n, r, &index, s);
        CHECK(index != MPI_UNDEFINED);
        left--;
      } else if (round % 4 == 2) {
        MPI_Testany(n, r, &index, &flag, s);
        CHECK(!flag || index != MPI_UNDEFINED);
        left -= flag;
      } else {
        MPI_Waitsome(n, r, &count, indices, s);
        CHECK(count != MPI_UNDEFINED);
        left -= count;
      }
    }
    MPI_Waitall(n, r, s);
    CHECK_EQ(first_wrong(in, bytes, round + (unsigned)before), -1);
    CHECK_EQ(numbers[1], round);
    CHECK(r[0] != MPI_REQUEST_NULL && r[2] == MPI_REQUEST_NULL && r[3] == MPI_REQUEST_NULL);
    MPI_Waitany(2, r, &index, s);  // inactive
    CHECK_EQ(index, MPI_UNDEFINED);
  }
  free_both(r);
}

// A receive that has started needs nothing more from its owner.
static void without_the_receiver(void) {
  if (rank > 1) return;
  int word = 0;
  if (rank == 0) {
    MPI_Request s = send_of(out, 4, bytes / 4, MPI_BYTE, 1, 10);
    MPI_Recv(&word, 1, MPI_INT, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fill(out, bytes, 77);
    MPI_Start(&s);
    MPI_Pready_range(0, 3, s);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Request_free(&s);
    MPI_Send(&word, 1, MPI_INT, 1, 11, MPI_COMM_WORLD);
  } else {
    MPI_Request r = receive_of(in, 4, bytes / 4, MPI_BYTE, 0, 10);
    MPI_Start(&r);
    MPI_Send(&word, 1, MPI_INT, 0, 11, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK_EQ(first_wrong(in, bytes, 77), -1);
    MPI_Request_free(&r);
  }
}

// Inactive ones, that were never started or were, and one that is still active. Plain MPICH 4.0 does not survive
// that any of these is freed that has not been used and completed.
static void freeing(void) {
  for (int round = 0; round < 50; round++) {
    MPI_Request r[2];
    if (round % 2) {
      r[0] = send_of(out, 4, bytes / 4, MPI_BYTE, next, 12);
      r[1] = receive_of(in, 2, bytes / 2, MPI_BYTE, before, 12);
    } else {
      r[1] = receive_of(in, 2, bytes / 2, MPI_BYTE, before, 12);
      r[0] = send_of(out, 4, bytes / 4, MPI_BYTE, next, 12);
    }
    if (library || round % 5 != 0) {
      fill(out, bytes, (unsigned)(round + rank));
      MPI_Startall(2, r);
      MPI_Pready_range(0, 3, r[0]);
      if (!library && round % 5 == 1) {
        MPI_Request_free(&r[0]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);  // now nobody reads `out`
      } else {
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      }
      CHECK_EQ(first_wrong(in, bytes, (unsigned)(round + before)), -1);
    }
    if (r[0] != MPI_REQUEST_NULL) MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
  }
}

// Nothing with MPI_PROC_NULL, which is the library's: MPICH 4.0 ends by SIGSEGV in MPI_Psend_init.

// "threads": those of several threads alone. On communicators with members elsewhere Tasuki leaves such programs
// to the library.
int main(int argc, char** argv) {
  const int several = argc > 1 && strcmp(argv[1], "threads") == 0;
  begin_threads(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  library = !under_tasuki() || getenv("TASUKI_MAPPINGS") != NULL;
  next = (rank + 1) % ranks;
  before = (rank + ranks - 1) % ranks;
  if (several) {
    STEP("threads");
    from_threads();
    return end();
  }
  STEP("as many partitions on both sides");
  epochs(8, 8, 40);
  STEP("fewer partitions on the receiver's side");
  epochs(16, 3, 40);
  STEP("more partitions on the receiver's side");
  epochs(2, 64, 40);
  epochs(12, 8, 40);
  STEP("ranges and lists");
  ranges_and_lists();
  STEP("large partitions");
  large();
  STEP("derived datatypes");
  derived();
  STEP("matching");
  matching();
  STEP("self");
  with_oneself();
  STEP("completion");
  completed_together();
  STEP("a receiver that is elsewhere");
  without_the_receiver();
  STEP("freeing");
  freeing();
  return end();
}

#else

int main(int argc, char** argv) {
  begin(&argc, &argv);
  skip("this MPI library has no partitioned communication (MPI-4.0)");
}

#endif
