// Typed receives, from any source and from a named one, of messages from elsewhere: one that is cancelled or
// gets too long a message leaves its buffer as it was, one that gets a short message leaves the rest and the
// gaps. Ranks 1 and 2 share a space, rank 0 has another one.
#include "../p2p/check.h"

enum { kCount = 3000, kSpan = 2 * kCount };

static int in[kSpan], out[2 * kCount];

static void check_filled(int elements) {
  for (int i = 0; i < kSpan; i++) CHECK_EQ(in[i], i % 2 == 0 && i / 2 < elements ? i / 2 : -7);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_EQ(ranks, 3);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Datatype gaps;
  MPI_Type_vector(kCount, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < 2 * kCount; i++) out[i] = i;
  static const int kElements[] = {kCount, kCount / 3, 0, 2 * kCount};
  for (int k = 0; k < 8; k++) {
    const int elements = kElements[k % 4], source = k < 4 ? MPI_ANY_SOURCE : 0;
    if (rank == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      CHECK_EQ(MPI_Send(out, elements, MPI_INT, 2, k, MPI_COMM_WORLD), MPI_SUCCESS);
    } else if (rank == 1) {
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Request r;
      MPI_Status s;
      int cancelled = 0, n = -1;
      for (int i = 0; i < kSpan; i++) in[i] = -7;
      STEP("cancel");
      MPI_Irecv(in, 1, gaps, source, 100, MPI_COMM_WORLD, &r);
      MPI_Cancel(&r);
      MPI_Wait(&r, &s);
      MPI_Test_cancelled(&s, &cancelled);
      CHECK(cancelled);
      check_filled(0);
      STEP("receive");
      MPI_Irecv(in, 1, gaps, source, k, MPI_COMM_WORLD, &r);
      MPI_Barrier(MPI_COMM_WORLD);
      const int error = MPI_Wait(&r, &s);
      int class = MPI_SUCCESS;
      if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
      CHECK_EQ(class, elements > kCount ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      if (class == MPI_SUCCESS) {
        MPI_Get_elements(&s, gaps, &n);
        CHECK_EQ(n, elements);
        CHECK_EQ(s.MPI_SOURCE, 0);
      }
      check_filled(class == MPI_SUCCESS ? elements : 0);
    }
  }
  MPI_Type_free(&gaps);
  MPI_Finalize();
  return 0;
}
