// Invalid arguments of MPI_Bcast are reported by the MPI library itself, and the communicator stays usable.
#include "check.h"

static int handled;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  handled++;
}

static void expect(int code, int class_) {
  CHECK_EQ(error_class(code), class_);
  CHECK_EQ(handled, 1);
  handled = 0;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comm;
  MPI_Errhandler counts;
  MPI_Datatype uncommitted;
  int a[4] = {0};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handler, &counts);
  MPI_Comm_set_errhandler(comm, counts);
  STEP("root");
  expect(MPI_Bcast(a, 4, MPI_INT, -1, comm), MPI_ERR_ROOT);
  expect(MPI_Bcast(a, 4, MPI_INT, ranks, comm), MPI_ERR_ROOT);
  STEP("count");
  expect(MPI_Bcast(a, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
  STEP("type");
  expect(MPI_Bcast(a, 4, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  expect(MPI_Bcast(a, 2, uncommitted, 0, comm), MPI_ERR_TYPE);
  MPI_Type_free(&uncommitted);
  STEP("and then a good one");
  a[2] = rank == 0 ? 99 : 0;
  CHECK_EQ(MPI_Bcast(a, 4, MPI_INT, 0, comm), MPI_SUCCESS);
  CHECK_EQ(a[2], 99);
  MPI_Errhandler_free(&counts);
  MPI_Comm_free(&comm);
  return end();
}
