// More ranks than cores: all pairs at once, a ring, many small messages into one rank, with sizes of every
// kind.
#include "check.h"

enum { most = 70000 };

static int size_of(int from, int to, int i) {
  static const int sizes[] = {0, 1, 40, 41, 999, 1000, 1001, 4096, 4097, 12345, 65536, most};
  return sizes[(from * 5 + to * 3 + i) % 12];
}

static unsigned seed_of(int from, int to, int i) {
  return (unsigned)(from * 10007 + to * 101 + i);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  unsigned char **out = allocate((size_t)ranks * sizeof *out), **in = allocate((size_t)ranks * sizeof *in);
  MPI_Request* r = allocate(2 * (size_t)ranks * sizeof *r);
  MPI_Status* s = allocate(2 * (size_t)ranks * sizeof *s);
  for (int p = 0; p < ranks; p++) {
    out[p] = allocate(most);
    in[p] = allocate(most);
  }

  STEP("all pairs");
  for (int i = 0; i < 25; i++) {
    for (int k = 0; k < ranks; k++) {
      int p = (rank + k) % ranks;
      if (i % 2 == 0) MPI_Irecv(in[p], BYTES(most), p, i, MPI_COMM_WORLD, &r[p]);
      fill(out[p], (size_t)size_of(rank, p, i), seed_of(rank, p, i));
      MPI_Isend(out[p], BYTES(size_of(rank, p, i)), p, i, MPI_COMM_WORLD, &r[ranks + p]);
    }
    if (i % 2 == 1)
      for (int p = 0; p < ranks; p++) MPI_Irecv(in[p], BYTES(most), p, i, MPI_COMM_WORLD, &r[p]);
    MPI_Waitall(2 * ranks, r, s);
    for (int p = 0; p < ranks; p++) {
      CHECK_EQ(s[p].MPI_SOURCE, p);
      CHECK_EQ(count_of(&s[p], MPI_BYTE), size_of(p, rank, i));
      CHECK_EQ(first_wrong(in[p], (size_t)size_of(p, rank, i), seed_of(p, rank, i)), -1);
    }
  }

  STEP("ring");
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int i = 0; i < 60; i++) {
    int n = size_of(0, 0, i);
    if (rank == 0) {
      fill(out[0], (size_t)n, (unsigned)i);
      MPI_Send(out[0], BYTES(n), next, 1, MPI_COMM_WORLD);
      MPI_Recv(in[0], BYTES(most), before, 1, MPI_COMM_WORLD, s);
      CHECK_EQ(first_wrong(in[0], (size_t)n, (unsigned)i), -1);
    } else {
      MPI_Recv(in[0], BYTES(most), before, 1, MPI_COMM_WORLD, s);
      CHECK_EQ(count_of(s, MPI_BYTE), n);
      MPI_Send(in[0], BYTES(n), next, 1, MPI_COMM_WORLD);
    }
  }

  STEP("many small messages into one rank, by wildcard, in order for each sender");
  enum { many = 3000 };
  if (rank == 0) {
    int* expected = calloc((size_t)ranks, sizeof *expected);
    for (int i = 0; i < many * (ranks - 1); i++) {
      int x[2];
      MPI_Recv(x, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, s);
      CHECK_EQ(x[0], s->MPI_SOURCE);
      CHECK_EQ(x[1], expected[x[0]]++);
      CHECK_EQ(s->MPI_TAG, x[1] % 7);
    }
    free(expected);
  } else {
    for (int i = 0; i < many; i++) {
      int x[2] = {rank, i};
      MPI_Send(x, 2, MPI_INT, 0, i % 7, MPI_COMM_WORLD);
    }
  }

  MPI_Barrier(MPI_COMM_WORLD);  // the wildcard above must not take what follows

  STEP("a rank that answers everybody while all wait for it");
  for (int i = 0; i < 200; i++) {
    int x = i, y = -1;
    if (rank == 0) {
      for (int p = 1; p < ranks; p++) {
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, s);
        y = x + s->MPI_SOURCE;
        MPI_Ssend(&y, 1, MPI_INT, s->MPI_SOURCE, 3, MPI_COMM_WORLD);
      }
    } else {
      MPI_Sendrecv(&x, 1, MPI_INT, 0, 2, &y, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(y, i + rank);
    }
  }
  for (int p = 0; p < ranks; p++) {
    free(out[p]);
    free(in[p]);
  }
  free(out);
  free(in);
  free(r);
  free(s);
  return end();
}
