// Every kind of communicator carries messages, and equal tags in different ones never meet.
#include "check.h"

// Each rank sends to all others of the communicator, or of the remote group of an intercommunicator.
static void exchange(MPI_Comm c, int salt) {
  int inter, peers, me;
  MPI_Comm_test_inter(c, &inter);
  MPI_Comm_rank(c, &me);
  if (inter) {
    MPI_Comm_remote_size(c, &peers);
  } else {
    MPI_Comm_size(c, &peers);
  }
  MPI_Request r[32];
  int out[16], in[16];
  CHECK(peers <= 16);
  for (int p = 0; p < peers; p++) {
    out[p] = salt * 10000 + me * 100 + p;
    in[p] = -1;
    MPI_Irecv(&in[p], 1, MPI_INT, p, 7, c, &r[p]);
    MPI_Isend(&out[p], 1, MPI_INT, p, 7, c, &r[peers + p]);
  }
  MPI_Status s[32];
  MPI_Waitall(2 * peers, r, s);
  for (int p = 0; p < peers; p++) {
    CHECK_EQ(in[p], salt * 10000 + p * 100 + me);
    CHECK_EQ(s[p].MPI_SOURCE, p);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm c[12];
  int n = 0;
  MPI_Group world, reversed;
  MPI_Request idup;
  STEP("create");
  MPI_Comm_dup(MPI_COMM_WORLD, &c[n++]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c[n++]);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &c[n++]);
  int order[16];
  for (int i = 0; i < ranks; i++) order[i] = ranks - 1 - i;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, ranks, order, &reversed);
  MPI_Comm_create(MPI_COMM_WORLD, reversed, &c[n++]);
  MPI_Comm_create_group(MPI_COMM_WORLD, reversed, 5, &c[n++]);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){1}, 1, &c[n++]);
  int next = (rank + 1) % ranks;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, (int[]){(rank + ranks - 1) % ranks}, MPI_UNWEIGHTED, 1,
                                 &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c[n++]);
  MPI_Comm_idup(MPI_COMM_WORLD, &c[n], &idup);
  MPI_Wait(&idup, MPI_STATUS_IGNORE);
  n++;
  if (ranks >= 2) {
    int half = rank % 2;
    MPI_Intercomm_create(c[1], 0, MPI_COMM_WORLD, half ? (ranks - 1) / 2 * 2 : (ranks / 2) * 2 - 1, 9,
                         &c[n++]);
    MPI_Intercomm_merge(c[n - 1], half, &c[n]);
    n++;
  }
  STEP("exchange in each");
  for (int round = 0; round < 20; round++)
    for (int i = 0; i < n; i++) exchange(c[i], i);

  STEP("equal source and tag, received in the opposite order of communicators");
  int before = (rank + ranks - 1) % ranks;
  MPI_Request r[2];
  for (int i = 0; i < 2; i++) {
    MPI_Comm one = i ? c[0] : MPI_COMM_WORLD;
    int value = 100 + i;
    MPI_Isend(&value, 1, MPI_INT, next, 3, one, &r[i]);
    MPI_Wait(&r[i], MPI_STATUS_IGNORE);
  }
  int x = -1, flag;
  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c[0], MPI_STATUS_IGNORE);
  CHECK_EQ(x, 101);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c[7], &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Recv(&x, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_EQ(x, 100);

  STEP("freed with a message under way");
  for (int i = 0; i < 50; i++) {
    MPI_Comm short_lived;
    static int out[20000], in[20000];
    MPI_Comm_dup(MPI_COMM_WORLD, &short_lived);
    out[19999] = i + rank;
    MPI_Irecv(in, 20000, MPI_INT, before, 1, short_lived, &r[0]);
    MPI_Isend(out, 20000, MPI_INT, next, 1, short_lived, &r[1]);
    MPI_Comm_free(&short_lived);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK_EQ(in[19999], i + before);
  }

  STEP("duplicates by MPI_Comm_idup, some of which overlap, are never used or are completed late");
  for (int i = 0; i < 40; i++) {
    MPI_Comm d[3];
    MPI_Request q[3];
    for (int k = 0; k < 3; k++) MPI_Comm_idup(k == 2 ? MPI_COMM_WORLD : c[i % 2], &d[k], &q[k]);
    // A message on the parent goes on meanwhile; ranks complete the requests in orders of their own.
    exchange(c[i % 2], 20 + i);
    for (int k = 0; k < 3; k++) MPI_Wait(&q[(k + rank) % 3], MPI_STATUS_IGNORE);
    exchange(d[0], 30 + i);
    if (i % 2) exchange(d[1], 40 + i);
    exchange(d[2], 50 + i);
    MPI_Comm e;
    MPI_Comm_dup(d[2], &e);
    exchange(e, 60 + i);
    MPI_Comm_free(&e);
    for (int k = 2; k >= 0; k--) MPI_Comm_free(&d[k]);
  }
  for (int i = 0; i < n; i++) MPI_Comm_free(&c[i]);
  MPI_Group_free(&world);
  MPI_Group_free(&reversed);
  return end();
}
