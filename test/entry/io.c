/* MPI-IO: the library's parts for it (ROMIO) use point-to-point messages of their own, by PMPI_ names.
 * Collective writes and reads of interleaved blocks, so that the data has to be exchanged between ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  enum { BLOCK = 64, BLOCKS = 500 };
  static int data[BLOCK * BLOCKS];
  int rank, size, in = -1;
  char name[100] = "";
  MPI_File file;
  MPI_Info info;
  MPI_Datatype interleaved;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) snprintf(name, sizeof name, "io-%d.tmp", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable"); /* two phases, even if one would do */
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Type_vector(BLOCKS, BLOCK, BLOCK * size, MPI_INT, &interleaved);
  MPI_Type_commit(&interleaved);
  check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS,
        "open");
  MPI_File_set_view(file, (MPI_Offset)rank * BLOCK * (MPI_Offset)sizeof(int), MPI_INT, interleaved, "native",
                    info);
  for (int i = 0; i < BLOCK * BLOCKS; ++i) data[i] = rank * 1000000 + i;
  check(MPI_File_write_all(file, data, BLOCK * BLOCKS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "write");
  /* A message of the user's between the phases. */
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(in == (rank + size - 1) % size, "message");
  /* Each rank reads what the next one wrote. */
  const int next = (rank + 1) % size;
  MPI_File_set_view(file, (MPI_Offset)next * BLOCK * (MPI_Offset)sizeof(int), MPI_INT, interleaved, "native",
                    info);
  for (int i = 0; i < BLOCK * BLOCKS; ++i) data[i] = -1;
  check(MPI_File_read_all(file, data, BLOCK * BLOCKS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read");
  for (int i = 0; i < BLOCK * BLOCKS; ++i) check(data[i] == next * 1000000 + i, "data read back");
  MPI_File_close(&file);
  if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
  MPI_Type_free(&interleaved);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
