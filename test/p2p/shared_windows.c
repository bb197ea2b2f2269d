/* Shared windows with a part for each rank, for which MPICH looks for one address that is free in all of them: right values, and
 * no file left in /dev/shm. */
#include <dirent.h>
#include <mpi.h>
#include <string.h>

static int files(void) {
  int count = 0;
  DIR* folder = opendir("/dev/shm");
  for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    count += strncmp(entry->d_name, "mpich_shar", 10) == 0;
  if (folder != NULL) closedir(folder);
  return count;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, n, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  const int before = files();
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  int* mine;
  MPI_Win window;
  MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, info, MPI_COMM_WORLD, &mine, &window);
  MPI_Win_lock_all(0, window);
  *mine = me + 1;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
  for (int i = 0; i < n; i++) {
    MPI_Aint size;
    int unit, *other;
    MPI_Win_shared_query(window, i, &size, &unit, &other);
    wrong += *other != i + 1;
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Info_free(&info);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Those of jobs that start at this moment may be there, too. */
  wrong += files() > before + 10;
  MPI_Finalize();
  return wrong != 0;
}
