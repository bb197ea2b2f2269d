// Sendrecv and Sendrecv_replace: rings, pairs, self, nobody, different types on the two sides.
#include "check.h"

enum { most = 1 << 20 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  unsigned char *out = allocate(most), *in = allocate(most + 1);
  MPI_Status s;
  static const int sizes[] = {0, 1, 9, 1000, 4097, 66000, most};

  for (int k = 0; k < 7; k++) {
    size_t size = (size_t)sizes[k];
    STEP("ring");
    fill(out, size, (unsigned)(k + rank));
    memset(in, 3, size + 1);
    poison(&s);
    MPI_Sendrecv(out, BYTES(size), next, k, in, BYTES(size + 1), before, k, MPI_COMM_WORLD, &s);
    CHECK_EQ(first_wrong(in, size, (unsigned)(k + before)), -1);
    CHECK_EQ(in[size], 3);
    CHECK_EQ(s.MPI_SOURCE, before);
    CHECK_EQ(s.MPI_TAG, k);
    CHECK_EQ(count_of(&s, MPI_BYTE), size);

    STEP("replace ring");
    fill(in, size, (unsigned)(k * 3 + rank));
    poison(&s);
    MPI_Sendrecv_replace(in, BYTES(size), next, k, before, k, MPI_COMM_WORLD, &s);
    CHECK_EQ(first_wrong(in, size, (unsigned)(k * 3 + before)), -1);
    CHECK_EQ(in[size], 3);
    CHECK_EQ(s.MPI_SOURCE, before);

    STEP("self");
    memset(in, 3, size + 1);
    MPI_Sendrecv(out, BYTES(size), rank, 1, in, BYTES(size), rank, 1, MPI_COMM_WORLD, &s);
    CHECK_EQ(first_wrong(in, size, (unsigned)(k + rank)), -1);
    MPI_Sendrecv_replace(in, BYTES(size), rank, 2, rank, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    CHECK_EQ(first_wrong(in, size, (unsigned)(k + rank)), -1);
    CHECK_EQ(s.MPI_SOURCE, rank);
    CHECK_EQ(s.MPI_TAG, 2);
  }

  STEP("an open chain: nobody at the ends");
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  int mine = rank + 100, theirs = -1;
  MPI_Sendrecv(&mine, 1, MPI_INT, right, 0, &theirs, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &s);
  CHECK_EQ(theirs, left == MPI_PROC_NULL ? -1 : left + 100);
  CHECK_EQ(s.MPI_SOURCE, left);
  if (left == MPI_PROC_NULL) {
    CHECK_EQ(s.MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(count_of(&s, MPI_INT), 0);
  }
  MPI_Sendrecv_replace(&mine, 1, MPI_INT, right, 0, left, 0, MPI_COMM_WORLD, &s);
  CHECK_EQ(mine, left == MPI_PROC_NULL ? rank + 100 : left + 100);

  STEP("different types, a hole in the replaced buffer");
  MPI_Datatype column;
  int matrix[6][4], line[6];
  MPI_Type_vector(6, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < 24; i++) matrix[i / 4][i % 4] = rank * 100 + i;
  MPI_Sendrecv(&matrix[0][1], 1, column, next, 4, line, 6, MPI_INT, before, 4, MPI_COMM_WORLD, &s);
  for (int i = 0; i < 6; i++) CHECK_EQ(line[i], before * 100 + i * 4 + 1);
  MPI_Sendrecv_replace(&matrix[0][2], 1, column, next, 5, before, 5, MPI_COMM_WORLD, &s);
  for (int i = 0; i < 24; i++) CHECK_EQ(matrix[i / 4][i % 4], (i % 4 == 2 ? before : rank) * 100 + i);
  CHECK_EQ(count_of(&s, column), 1);
  MPI_Type_free(&column);

  STEP("a longer message to one side than the other");
  if (ranks >= 2 && rank < 2) {
    MPI_Sendrecv(out, BYTES(rank ? 100000 : 3), 1 - rank, 6, in, BYTES(most), 1 - rank, 6, MPI_COMM_WORLD,
                 &s);
    CHECK_EQ(count_of(&s, MPI_BYTE), rank ? 3 : 100000);
  }
  free(out);
  free(in);
  return end();
}
