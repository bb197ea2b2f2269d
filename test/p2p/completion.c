// All forms of wait and test over lists that mix requests of all kinds: sends and receives, collectives,
// generalised requests, inactive persistent ones and null.
#include "check.h"

static int query(void* extra, MPI_Status* s) {
  MPI_Status_set_elements(s, MPI_INT, *(int*)extra);
  MPI_Status_set_cancelled(s, 0);
  s->MPI_SOURCE = 123;
  s->MPI_TAG = 456;
  return MPI_SUCCESS;
}
static int release(void* extra) {
  (void)extra;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra;
  (void)complete;
  return MPI_SUCCESS;
}

enum { n = 12, big = 120000 };
static int elements = 7;
static int next, before, sum, one = 1;
static unsigned char small_out[64], small_in[64], big_out[big], big_in[big];
static MPI_Comm other;

// 0,1 small; 2,3 large, synchronous; 4 barrier; 5 allreduce; 6 generalised; 7 null; 8 inactive persistent; 9
// to nobody; 10 self receive; 11 self send
static void post(MPI_Request* r, int round) {
  fill(small_out, 64, (unsigned)(round + rank));
  fill(big_out, big, (unsigned)(round * 3 + rank));
  memset(small_in, 0, 64);
  memset(big_in, 0, big);
  MPI_Irecv(small_in, BYTES(64), MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(small_out, BYTES(64), next, 1, MPI_COMM_WORLD, &r[1]);
  MPI_Irecv(big_in, BYTES(big), before, 2, other, &r[2]);
  MPI_Issend(big_out, BYTES(big), next, 2, other, &r[3]);
  MPI_Ibarrier(MPI_COMM_WORLD, &r[4]);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other, &r[5]);
  MPI_Grequest_start(query, release, cancel, &elements, &r[6]);
  r[7] = MPI_REQUEST_NULL;
  MPI_Recv_init(small_in, BYTES(1), before, 3, MPI_COMM_WORLD, &r[8]);
  MPI_Isend(small_out, BYTES(64), MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[9]);
  static int self_in, self_out;
  self_out = round;
  MPI_Irecv(&self_in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[10]);
  MPI_Isend(&self_out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[11]);
}

static void check_status(int i, const MPI_Status* s) {
  switch (i) {
    case 0:
      CHECK_EQ(s->MPI_SOURCE, before);
      CHECK_EQ(s->MPI_TAG, 1);
      CHECK_EQ(count_of(s, MPI_BYTE), 64);
      break;
    case 2:
      CHECK_EQ(s->MPI_SOURCE, before);
      CHECK_EQ(s->MPI_TAG, 2);
      CHECK_EQ(count_of(s, MPI_BYTE), big);
      break;
    case 6:
      CHECK_EQ(s->MPI_SOURCE, 123);
      CHECK_EQ(s->MPI_TAG, 456);
      CHECK_EQ(count_of(s, MPI_INT), 7);
      break;
    case 7:
    case 8:
      CHECK_EQ(s->MPI_SOURCE, MPI_ANY_SOURCE);
      CHECK_EQ(s->MPI_TAG, MPI_ANY_TAG);
      CHECK_EQ(count_of(s, MPI_BYTE), 0);
      break;
    case 10:
      CHECK_EQ(count_of(s, MPI_INT), 1);
      break;
    default:
      break;
  }
}

static void finish(MPI_Request* r, int round) {
  for (int i = 0; i < n; i++) {
    if (i == 8) {
      CHECK(r[i] != MPI_REQUEST_NULL);
      MPI_Request_free(&r[i]);
    } else {
      CHECK(r[i] == MPI_REQUEST_NULL);
    }
  }
  CHECK_EQ(first_wrong(small_in, 64, (unsigned)(round + before)), -1);
  CHECK_EQ(first_wrong(big_in, big, (unsigned)(round * 3 + before)), -1);
  CHECK_EQ(sum, ranks);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Request r[n];
  MPI_Status s, statuses[n];
  int flag, index, done, indices[n];

  for (int round = 0; round < 5; round++) {
    STEP("waitall");
    post(r, round);
    MPI_Grequest_complete(r[6]);
    MPI_Waitall(n, r, statuses);
    for (int i = 0; i < n; i++) check_status(i, &statuses[i]);
    finish(r, round);

    STEP("waitall, statuses ignored");
    post(r, round);
    MPI_Grequest_complete(r[6]);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    finish(r, round);

    STEP("waitany");
    post(r, round);
    MPI_Grequest_complete(r[6]);
    int seen[n] = {0};
    for (int k = 0; k < n - 2; k++) {
      MPI_Waitany(n, r, &index, &s);
      CHECK(index >= 0 && index < n);
      CHECK(!seen[index] && index != 7 && index != 8);
      seen[index] = 1;
      check_status(index, &s);
    }
    MPI_Waitany(n, r, &index, &s);
    CHECK_EQ(index, MPI_UNDEFINED);
    finish(r, round);

    STEP("waitsome");
    post(r, round);
    MPI_Grequest_complete(r[6]);
    memset(seen, 0, sizeof seen);
    for (int got = 0; got < n - 2; got += done) {
      MPI_Waitsome(n, r, &done, indices, statuses);
      CHECK(done > 0 && done <= n - 2);
      for (int k = 0; k < done; k++) {
        CHECK(!seen[indices[k]]);
        seen[indices[k]] = 1;
        check_status(indices[k], &statuses[k]);
      }
    }
    MPI_Waitsome(n, r, &done, indices, statuses);
    CHECK_EQ(done, MPI_UNDEFINED);
    finish(r, round);

    STEP("test, one by one");
    post(r, round);
    MPI_Test(&r[6], &flag, &s);
    CHECK(!flag);
    MPI_Grequest_complete(r[6]);
    for (int open = n; open > 0;) {
      open = n;
      for (int i = 0; i < n; i++) {
        poison(&s);
        int was_null = r[i] == MPI_REQUEST_NULL;
        MPI_Test(&r[i], &flag, &s);
        if (flag) open--;
        if (flag && !was_null) check_status(i, &s);
        if (was_null) CHECK(flag);
      }
    }
    finish(r, round);

    STEP("testall: all or nothing");
    post(r, round);
    for (int i = 0; i < 1000; i++) {
      MPI_Testall(n, r, &flag, statuses);
      CHECK(!flag);
      CHECK(r[0] != MPI_REQUEST_NULL && r[9] != MPI_REQUEST_NULL && r[11] != MPI_REQUEST_NULL);
    }
    MPI_Grequest_complete(r[6]);
    flag = 0;
    while (!flag) MPI_Testall(n, r, &flag, statuses);
    for (int i = 0; i < n; i++) check_status(i, &statuses[i]);
    finish(r, round);

    STEP("testany");
    post(r, round);
    MPI_Grequest_complete(r[6]);
    memset(seen, 0, sizeof seen);
    for (int k = 0; k < n - 2;) {
      MPI_Testany(n, r, &index, &flag, &s);
      if (!flag) {
        CHECK_EQ(index, MPI_UNDEFINED);
        continue;
      }
      CHECK(index >= 0 && index < n);
      CHECK(!seen[index]);
      seen[index] = 1;
      check_status(index, &s);
      k++;
    }
    MPI_Testany(n, r, &index, &flag, &s);
    CHECK(flag);
    CHECK_EQ(index, MPI_UNDEFINED);
    finish(r, round);

    STEP("testsome");
    post(r, round);
    MPI_Grequest_complete(r[6]);
    for (int got = 0; got < n - 2; got += done) {
      MPI_Testsome(n, r, &done, indices, statuses);
      CHECK(done >= 0 && done <= n - 2);
      for (int k = 0; k < done; k++) check_status(indices[k], &statuses[k]);
    }
    MPI_Testsome(n, r, &done, indices, statuses);
    CHECK_EQ(done, MPI_UNDEFINED);
    finish(r, round);

    STEP("wait, each; in reverse");
    post(r, round);
    MPI_Grequest_complete(r[6]);
    for (int i = n - 1; i >= 0; i--) {
      MPI_Wait(&r[i], &s);
      check_status(i, &s);
    }
    finish(r, round);
  }

  STEP("nothing at all");
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE);
  CHECK_EQ(index, MPI_UNDEFINED);
  MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
  CHECK(flag);

  STEP("a wait for a library's request lets messages move, and the other way round");
  // Everyone waits in a barrier of the library while its large message still has to be taken.
  for (int i = 0; i < 20; i++) {
    MPI_Request barrier;
    MPI_Irecv(big_in, BYTES(big), before, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(big_out, BYTES(big), next, 5, MPI_COMM_WORLD, &r[1]);
    MPI_Ibarrier(other, &barrier);
    if (i % 2) {
      MPI_Wait(&barrier, MPI_STATUS_IGNORE);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else {
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    }
  }
  MPI_Comm_free(&other);
  return end();
}
