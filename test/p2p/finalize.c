// What MPI_Finalize owes to messages that are still under way. The first argument chooses:
//   buffered   buffered sends, not received yet, no MPI_Buffer_detach
//   freed      non-blocking sends whose requests were freed
//   callbacks  attribute callbacks of MPI_COMM_SELF that exchange messages inside MPI_Finalize
#include "check.h"

enum { n = 3000000, messages = 12 };

static unsigned char data[messages][n], in[n];

static int size_of(int i) {
  static const int sizes[] = {0, 10, 40, 900, 4096, 5000, 30000, 65536, 65537, 100000, 200000, n};
  return sizes[i];
}

static void receive_all(int from) {
  MPI_Status s;
  for (int i = 0; i < messages; i++) {
    MPI_Recv(in, BYTES(n), from, i, MPI_COMM_WORLD, &s);
    CHECK_EQ(count_of(&s, MPI_BYTE), size_of(i));
    CHECK_EQ(first_wrong(in, (size_t)size_of(i), (unsigned)(i + from)), -1);
  }
}

static void fill_all(void) {
  for (int i = 0; i < messages; i++) fill(data[i], (size_t)size_of(i), (unsigned)(i + rank));
}

// Even ranks are in MPI_Finalize long before their partner receives.
static void wait_a_while(void) {
  usleep(300000);
}

static void buffered(int peer) {
  static char space[messages * (n + MPI_BSEND_OVERHEAD)];
  if (rank % 2 == 0) {
    MPI_Buffer_attach(space, sizeof space);
    fill_all();
    for (int i = 0; i < messages; i++) MPI_Bsend(data[i], BYTES(size_of(i)), peer, i, MPI_COMM_WORLD);
    memset(data, 0, sizeof data);
  } else {
    wait_a_while();
    receive_all(peer);
  }
  MPI_Finalize();
  memset(space, 0, sizeof space);
}

static void freed(int peer) {
  if (rank % 2 == 0) {
    fill_all();
    for (int i = 0; i < messages; i++) {
      MPI_Request r;
      MPI_Isend(data[i], BYTES(size_of(i)), peer, i, MPI_COMM_WORLD, &r);
      MPI_Request_free(&r);
    }
  } else {
    wait_a_while();
    receive_all(peer);
  }
  MPI_Finalize();
  memset(data, 0, sizeof data);
}

static int called;
static int in_finalize(MPI_Comm comm, int keyval, void* attribute, void* extra) {
  (void)comm;
  (void)keyval;
  (void)extra;
  int order = (int)(intptr_t)attribute, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  STEP("in MPI_Finalize");
  // The youngest attribute goes first.
  CHECK_EQ(order, 3 - called);
  called++;
  MPI_Request r[2 * messages];
  MPI_Datatype pairs;
  fill_all();
  for (int i = 0; i < messages; i++) MPI_Isend(data[i], BYTES(size_of(i)), next, i, MPI_COMM_WORLD, &r[i]);
  receive_all(before);
  MPI_Waitall(messages, r, MPI_STATUSES_IGNORE);
  short out[200], back[200];
  for (int i = 0; i < 200; i++) {
    out[i] = (short)(i + rank);
    back[i] = -1;
  }
  MPI_Type_vector(100, 1, 2, MPI_SHORT, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Sendrecv(out, 1, pairs, next, 1, back, 1, pairs, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 200; i++) CHECK_EQ(back[i], i % 2 ? -1 : i + before);
  MPI_Type_free(&pairs);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  int x = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, next, 2, &x, 1, MPI_INT, MPI_ANY_SOURCE, 2, dup, MPI_STATUS_IGNORE);
  CHECK_EQ(x, before);
  MPI_Comm_free(&dup);
  return MPI_SUCCESS;
}

static void callbacks(void) {
  for (intptr_t i = 1; i <= 3; i++) {
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, in_finalize, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, (void*)i);
    MPI_Comm_free_keyval(&keyval);
  }
  // A persistent request, a type and a communicator that nobody frees, and no message for them.
  MPI_Request r;
  MPI_Datatype kept;
  MPI_Comm left;
  MPI_Recv_init(in, BYTES(n), 0, 99, MPI_COMM_WORLD, &r);
  MPI_Type_vector(10, 1, 2, MPI_INT, &kept);
  MPI_Type_commit(&kept);
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  static int grid[20];
  int peer = rank ^ 1;
  if (peer < ranks) MPI_Sendrecv(grid, 1, kept, peer, 1, in, 10, MPI_INT, peer, 1, left, MPI_STATUS_IGNORE);
  MPI_Finalize();
  if (called != 3) {
    fprintf(stderr, "FAIL rank %d: %d of 3 callbacks called\n", rank, called);
    exit(1);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* what = argc > 1 ? argv[1] : "";
  STEP(what);
  CHECK_EQ(ranks % 2, 0);
  if (strcmp(what, "buffered") == 0)
    buffered(rank ^ 1);
  else if (strcmp(what, "freed") == 0)
    freed(rank ^ 1);
  else if (strcmp(what, "callbacks") == 0)
    callbacks();
  else
    CHECK(!"known argument");
  if (rank == 0) printf("passed\n");
  return 0;
}
