// More small messages than a receiver has credit for. One that makes no call costs its senders a bounded
// amount of memory; one that is in any call, of whatever kind, gets all of them, as with the plain libraries.
#include "check.h"

enum { kMessage = 2, kDone = 3, kMany = 5000, kSome = 1200, kMost = 4000 };

static char *out, *in;

static void write_message(char* p, int n, int i) {
  for (int k = 0; k < n; k += 251) p[k] = (char)(i * 31 + k);
}
static void check_message(const char* p, int n, int i) {
  for (int k = 0; k < n; k += 251) CHECK_EQ(p[k], (char)(i * 31 + k));
}

// Of the address space, in bytes: all ranks' and their buffers.
static long resident(void) {
  long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  CHECK(f != NULL && fscanf(f, "%*d %ld", &pages) == 1);
  fclose(f);
  return pages * sysconf(_SC_PAGESIZE);
}

static void send_all(int count, int bytes) {
  for (int i = 0; i < count; i++) {
    write_message(out, bytes, i);
    MPI_Send(out, bytes, MPI_CHAR, 1, kMessage, MPI_COMM_WORLD);
  }
}

static void receive_all(int count, int bytes) {
  MPI_Status s;
  for (int i = 0; i < count; i++) {
    MPI_Recv(in, kMost, MPI_CHAR, 0, kMessage, MPI_COMM_WORLD, &s);
    int n;
    MPI_Get_count(&s, MPI_CHAR, &n);
    CHECK_EQ(n, bytes);
    check_message(in, bytes, i);
  }
}

// What rank 0 has sent while rank 1 was away takes little room.
static void absent(int bytes) {
  STEP("absent");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) send_all(kMany, bytes);
  if (rank == 1) {
    const long before = resident();
    usleep(400000);
    CHECK(resident() - before < 8 << 20);
    receive_all(kMany, bytes);
  }
}

// Nonblocking ones need not wait, and keep their order.
static void absent_nonblocking(int bytes) {
  STEP("absent, nonblocking");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Request* r = malloc(sizeof(MPI_Request) * kMany);
    char* all = malloc((size_t)kMany * (size_t)bytes);
    for (int i = 0; i < kMany; i++) {
      write_message(all + (size_t)i * (size_t)bytes, bytes, i);
      MPI_Isend(all + (size_t)i * (size_t)bytes, bytes, MPI_CHAR, 1, kMessage, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Waitall(kMany, r, MPI_STATUSES_IGNORE);
    free(all);
    free(r);
  }
  if (rank == 1) {
    usleep(200000);
    receive_all(kMany, bytes);
  }
}

// Rank 1 looks for a later message of another tag first.
static void wait_for_it(int* done) {
  MPI_Recv(done, 1, MPI_INT, 0, kDone, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void probe_for_it(int* done) {
  for (int flag = 0; !flag;) MPI_Iprobe(0, kDone, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  wait_for_it(done);
}
static void test_for_it(int* done) {
  MPI_Request r;
  MPI_Irecv(done, 1, MPI_INT, 0, kDone, MPI_COMM_WORLD, &r);
  for (int flag = 0; !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
}
static void behind_another(const char* how, void (*look)(int* done), int count, int bytes) {
  STEP(how);
  int done = 0;
  if (rank == 0) {
    send_all(count, bytes);
    MPI_Send(&done, 1, MPI_INT, 1, kDone, MPI_COMM_WORLD);
  }
  if (rank == 1) {
    look(&done);
    receive_all(count, bytes);
  }
}

// Both send before either receives.
static void each_other(int count, int bytes) {
  STEP("each other");
  const int other = 1 - rank;
  if (rank > 1) return;
  for (int i = 0; i < count; i++) {
    write_message(out, bytes, i);
    MPI_Send(out, bytes, MPI_CHAR, other, kMessage, MPI_COMM_WORLD);
  }
  for (int i = 0; i < count; i++) {
    MPI_Recv(in, kMost, MPI_CHAR, other, kMessage, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_message(in, bytes, i);
  }
}

// A call that the library carries out by itself.
static void reduces(int count, int bytes) {
  STEP("a reduction");
  if (rank == 0) send_all(count, bytes);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQ(sum, ranks);
  if (rank == 1) receive_all(count, bytes);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  out = malloc(kMost);
  in = malloc(kMost);
  static const int kSizes[] = {40, 400, 1000, 4000};
  for (int k = 0; k < 4; k++) {
    const int bytes = kSizes[k], beyond = bytes < 1000 ? kMany : bytes == 4000 ? kSome : 2600;
    absent(bytes);
    absent_nonblocking(bytes);
    behind_another("receive of another tag", wait_for_it, kMany, bytes);
    behind_another("probes of another tag", probe_for_it, kSome, bytes);
    behind_another("tests of another receive", test_for_it, kSome, bytes);
    each_other(kMany, bytes);
    reduces(beyond, bytes);
  }
  MPI_Finalize();
  return 0;
}
