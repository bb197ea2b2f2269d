// Some ranks of the job run under `tasuki run` and some do not: every communicator gives right results,
// whether its members share an address space or not.
#include "check.h"

enum { n = 100000 };

static unsigned char out[n], in[n];

static void talk(MPI_Comm comm) {
  int me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  static const int sizes[] = {0, 8, 1000, 5000, n};
  for (int round = 0; round < 10; round++)
    for (int k = 0; k < size; k++) {
      int to = (me + k) % size, from = (me + size - k) % size, bytes = sizes[(round + k) % 5];
      MPI_Status s;
      MPI_Request r;
      MPI_Irecv(in, BYTES(n), round % 2 ? from : MPI_ANY_SOURCE, round * 100 + k, comm, &r);
      fill(out, (size_t)bytes, (unsigned)(me * 100 + to + round));
      MPI_Send(out, BYTES(bytes), to, round * 100 + k, comm);
      MPI_Wait(&r, &s);
      CHECK_EQ(s.MPI_SOURCE, from);
      CHECK_EQ(count_of(&s, MPI_BYTE), bytes);
      CHECK_EQ(first_wrong(in, (size_t)bytes, (unsigned)(from * 100 + me + round)), -1);
    }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  STEP("world");
  talk(MPI_COMM_WORLD);
  STEP("self");
  talk(MPI_COMM_SELF);
  MPI_Comm c;
  for (int colours = 1; colours <= 3; colours++) {
    STEP("split");
    MPI_Comm_split(MPI_COMM_WORLD, rank % colours, -rank, &c);
    talk(c);
    MPI_Comm_free(&c);
    MPI_Comm_split(MPI_COMM_WORLD, rank / colours, rank, &c);
    talk(c);
    MPI_Comm_free(&c);
  }
  STEP("node");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
  talk(c);
  MPI_Comm_free(&c);
  STEP("merged intercommunicator");
  MPI_Comm inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &c);
  MPI_Intercomm_create(c, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
  MPI_Comm_free(&c);
  MPI_Intercomm_merge(inter, rank % 2, &c);
  talk(c);
  MPI_Comm_free(&c);
  MPI_Comm_free(&inter);
  return end();
}
