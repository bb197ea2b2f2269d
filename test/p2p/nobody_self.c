// MPI_PROC_NULL and messages to oneself, in all modes.
#include "check.h"

enum { most = 500000 };

#define CHECK_EMPTY(s)                       \
  do {                                       \
    CHECK_EQ((s).MPI_SOURCE, MPI_PROC_NULL); \
    CHECK_EQ((s).MPI_TAG, MPI_ANY_TAG);      \
    CHECK_EQ(count_of(&(s), MPI_INT), 0);    \
  } while (0)

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Status s;
  MPI_Request r, q;
  int x = 42;
  static char space[most + MPI_BSEND_OVERHEAD];
  MPI_Buffer_attach(space, sizeof space);
  STEP("nobody");
  MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Ssend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Rsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Bsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  poison(&s);
  MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &s);
  CHECK_EMPTY(s);
  CHECK_EQ(x, 42);
  MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
  CHECK(r == MPI_REQUEST_NULL);
  MPI_Issend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
  MPI_Irsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
  MPI_Ibsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
  poison(&s);
  MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
#ifndef OPEN_MPI  // MPICH 4.0 returns source and tag 0 here
  CHECK_EQ(count_of(&s, MPI_INT), 0);
#else
  CHECK_EMPTY(s);
#endif
  poison(&s);
  MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s);
  CHECK_EMPTY(s);
  poison(&s);
  MPI_Sendrecv_replace(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s);
  CHECK_EMPTY(s);
  CHECK_EQ(x, 42);

  STEP("self");
  static const int sizes[] = {0, 1, 100, 4096, 65537, most};
  static unsigned char out[most], in[most];
  for (int comm = 0; comm < 2; comm++) {
    MPI_Comm c = comm ? MPI_COMM_SELF : MPI_COMM_WORLD;
    int me = comm ? 0 : rank;
    for (int k = 0; k < 6 * 10; k++) {
      int size = sizes[k / 10], mode = k % 10;
      fill(out, (size_t)size, (unsigned)(k + rank));
      memset(in, 0, (size_t)size);
      int first = mode < 5;
      if (first) MPI_Irecv(in, BYTES(size), mode % 2 ? me : MPI_ANY_SOURCE, k, c, &r);
      q = MPI_REQUEST_NULL;
      switch (mode) {
        case 0:
          MPI_Send(out, BYTES(size), me, k, c);
          break;
        case 1:
          MPI_Ssend(out, BYTES(size), me, k, c);
          break;
        case 2:
          MPI_Rsend(out, BYTES(size), me, k, c);
          break;
        case 3:
          MPI_Irsend(out, BYTES(size), me, k, c, &q);
          break;
        case 4:
        case 5:
          MPI_Bsend(out, BYTES(size), me, k, c);
          break;
        case 6:
        case 7:
          MPI_Isend(out, BYTES(size), me, k, c, &q);
          break;
        case 8:
          MPI_Issend(out, BYTES(size), me, k, c, &q);
          break;
        case 9:
          MPI_Ibsend(out, BYTES(size), me, k, c, &q);
          break;
      }
      if (!first) {
        if (mode == 8) {
          int done;
          MPI_Test(&q, &done, MPI_STATUS_IGNORE);
          CHECK_EQ(done, 0);
        }
        MPI_Irecv(in, BYTES(size), mode % 2 ? me : MPI_ANY_SOURCE, k, c, &r);
      }
      MPI_Wait(&r, &s);
      MPI_Wait(&q, MPI_STATUS_IGNORE);
      CHECK_EQ(s.MPI_SOURCE, me);
      CHECK_EQ(s.MPI_TAG, k);
      CHECK_EQ(count_of(&s, MPI_BYTE), size);
      CHECK_EQ(first_wrong(in, (size_t)size, (unsigned)(k + rank)), -1);
    }
  }

  STEP("a transpose to oneself");
  enum { n = 40 };
  static int a[n][n], b[n][n];
  MPI_Datatype column, resized, transposed;
  MPI_Type_vector(n, 1, n, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &resized);
  MPI_Type_contiguous(n, resized, &transposed);
  MPI_Type_commit(&transposed);
  for (int i = 0; i < n * n; i++) a[i / n][i % n] = i;
  MPI_Sendrecv(a, n * n, MPI_INT, 0, 0, b, 1, transposed, 0, 0, MPI_COMM_SELF, &s);
  for (int i = 0; i < n * n; i++) CHECK_EQ(b[i % n][i / n], i);
  MPI_Type_free(&column);
  MPI_Type_free(&resized);
  MPI_Type_free(&transposed);
  void* back;
  int bytes;
  MPI_Buffer_detach(&back, &bytes);
  return end();
}
