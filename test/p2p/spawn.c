// MPI_Comm_spawn: a program under `tasuki run` starts children, talks to them over the intercommunicator and
// over the merged one, while its own ranks exchange messages as before. The children are plain processes.
#include "check.h"

enum { children = 2, n = 50000 };

static unsigned char out[n], in[n];

// With everybody of the merged communicator, in both directions, by name and by wildcard.
static void talk(MPI_Comm all) {
  int me, size;
  MPI_Comm_rank(all, &me);
  MPI_Comm_size(all, &size);
  for (int k = 1; k < size; k++) {
    int to = (me + k) % size, from = (me + size - k) % size;
    MPI_Status s;
    fill(out, n, (unsigned)(me * 100 + to));
    MPI_Sendrecv(out, BYTES(n), to, k, in, BYTES(n), k % 2 ? from : MPI_ANY_SOURCE, k, all, &s);
    CHECK_EQ(s.MPI_SOURCE, from);
    CHECK_EQ(first_wrong(in, n, (unsigned)(from * 100 + me)), -1);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm parent, inter, all;
  MPI_Comm_get_parent(&parent);
  int x = -1;
  if (parent == MPI_COMM_NULL) {
    STEP("spawn");
    int codes[children], before = (rank + ranks - 1) % ranks;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int rc =
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    if (rc != MPI_SUCCESS) {
      char text[MPI_MAX_ERROR_STRING];
      MPI_Error_string(rc, text, &x);
      if (rank == 0) printf("SKIP: MPI_Comm_spawn does not work here: %s\n", text);
      MPI_Abort(MPI_COMM_WORLD, 77);
    }
    STEP("parents");
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 1, &x, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(x, before);
    STEP("intercommunicator");
    if (rank == 0)
      for (int c = 0; c < children; c++) {
        MPI_Ssend(&c, 1, MPI_INT, c, 5, inter);
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 6, inter, MPI_STATUS_IGNORE);
        CHECK_EQ(x, c + 1000);
      }
    MPI_Intercomm_merge(inter, 0, &all);
  } else {
    STEP("child");
    MPI_Recv(&x, 1, MPI_INT, 0, 5, parent, MPI_STATUS_IGNORE);
    CHECK_EQ(x, rank);
    x += 1000;
    MPI_Send(&x, 1, MPI_INT, 0, 6, parent);
    MPI_Intercomm_merge(parent, 1, &all);
  }
  STEP("merged");
  talk(all);
  STEP("split again");
  // The parents' part is theirs alone; one that has both kinds of process in it must work too.
  MPI_Comm part;
  int me;
  MPI_Comm_rank(all, &me);
  for (int colours = 1; colours <= 2; colours++) {
    MPI_Comm_split(all, colours == 2 ? parent == MPI_COMM_NULL : 0, -me, &part);
    talk(part);
    MPI_Comm_free(&part);
  }
  MPI_Comm_free(&all);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_disconnect(&inter);
  else
    MPI_Comm_disconnect(&parent);
  return end();
}
