// MPI-4: MPI_Isendrecv and MPI_Isendrecv_replace, one request for both halves.
#include "check.h"

#if MPI_VERSION < 4
int main(int argc, char** argv) {
  begin(&argc, &argv);
  skip("this MPI library has no MPI_Isendrecv");
}
#else
enum { n = 100000 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, flag;
  static unsigned char out[n], in[n];
  static const int sizes[] = {0, 8, 1000, 5000, n};
  MPI_Request r[2];
  MPI_Status s;
  for (int i = 0; i < 50; i++) {
    int bytes = sizes[i % 5];
    fill(out, (size_t)bytes, (unsigned)(rank + i));
    STEP("MPI_Isendrecv");
    MPI_Isendrecv(out, BYTES(bytes), next, i, in, BYTES(n), i % 2 ? MPI_ANY_SOURCE : before, MPI_ANY_TAG,
                  MPI_COMM_WORLD, &r[0]);
    if (i % 3 == 0) {
      for (flag = 0; !flag;) MPI_Test(&r[0], &flag, &s);
    } else {
      MPI_Wait(&r[0], &s);
    }
    CHECK(r[0] == MPI_REQUEST_NULL);
    CHECK_EQ(s.MPI_SOURCE, before);
    CHECK_EQ(s.MPI_TAG, i);
    CHECK_EQ(count_of(&s, MPI_BYTE), bytes);
    CHECK_EQ(first_wrong(in, (size_t)bytes, (unsigned)(before + i)), -1);
    STEP("MPI_Isendrecv_replace");
    MPI_Isendrecv_replace(out, BYTES(bytes), next, i, before, i, MPI_COMM_WORLD, &r[0]);
    MPI_Waitall(1, r, &s);
    CHECK_EQ(s.MPI_SOURCE, before);
    CHECK_EQ(first_wrong(out, (size_t)bytes, (unsigned)(before + i)), -1);
  }

  STEP("two at once, freed and waited for");
  int a = rank, b = -1, c = -1;
  MPI_Isendrecv(&a, 1, MPI_INT, next, 1, &b, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &r[0]);
  MPI_Isendrecv(&a, 1, MPI_INT, before, 2, &c, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  CHECK_EQ(b, before);
  CHECK_EQ(c, next);

  STEP("nobody on one side");
  int ends = rank % 2 == 0 && rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  int begins = rank % 2 == 1 ? rank - 1 : MPI_PROC_NULL;
  b = -5;
  poison(&s);
  MPI_Isendrecv(&a, 1, MPI_INT, ends, 3, &b, 1, MPI_INT, begins, 3, MPI_COMM_WORLD, &r[0]);
  MPI_Wait(&r[0], &s);
  CHECK_EQ(b, begins == MPI_PROC_NULL ? -5 : begins);
  CHECK_EQ(s.MPI_SOURCE, begins);
  CHECK_EQ(s.MPI_TAG, begins == MPI_PROC_NULL ? MPI_ANY_TAG : 3);
  CHECK_EQ(count_of(&s, MPI_INT), begins == MPI_PROC_NULL ? 0 : 1);

  STEP("nobody on one side, replace");
  b = rank;
  MPI_Isendrecv_replace(&b, 1, MPI_INT, ends, 4, begins, 4, MPI_COMM_WORLD, &r[0]);
  MPI_Wait(&r[0], &s);
  CHECK_EQ(b, begins == MPI_PROC_NULL ? rank : begins);
  CHECK_EQ(s.MPI_SOURCE, begins);

  STEP("nobody on both sides");
  for (int way = 0; way < 4; way++) {
    b = -6;
    poison(&s);
    r[0] = r[1] = MPI_REQUEST_NULL;
    if (way % 2 == 0)
      MPI_Isendrecv(&a, 1, MPI_INT, MPI_PROC_NULL, 5, &b, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG,
                    MPI_COMM_WORLD, &r[0]);
    else
      MPI_Isendrecv_replace(&b, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &r[0]);
    CHECK(r[0] != MPI_REQUEST_NULL);
    if (way < 2) {
      MPI_Wait(&r[0], &s);
    } else {
      MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
      CHECK(flag);
      MPI_Cancel(&r[0]);
      MPI_Test(&r[0], &flag, &s);
      CHECK(flag);
      MPI_Test_cancelled(&s, &flag);
      CHECK(!flag);
    }
    CHECK(r[0] == MPI_REQUEST_NULL);
    CHECK_EQ(b, -6);
    CHECK_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(s.MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(count_of(&s, MPI_INT), 0);
  }
  MPI_Isendrecv(&a, 1, MPI_INT, MPI_PROC_NULL, 6, &b, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &r[0]);
  MPI_Request_free(&r[0]);
  CHECK(r[0] == MPI_REQUEST_NULL);

  STEP("nobody on both sides, invalid");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_EQ(error_class(MPI_Isendrecv(&a, -1, MPI_INT, MPI_PROC_NULL, 6, &b, 1, MPI_INT, MPI_PROC_NULL, 6,
                                     MPI_COMM_WORLD, &r[0])),
           MPI_ERR_COUNT);
  CHECK_EQ(error_class(MPI_Isendrecv(&a, 1, MPI_INT, MPI_PROC_NULL, -9, &b, 1, MPI_INT, MPI_PROC_NULL, 6,
                                     MPI_COMM_WORLD, &r[0])),
           MPI_ERR_TAG);
  return end();
}
#endif
