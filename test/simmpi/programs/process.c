// What belongs to a process: time, random numbers, environment, options, exit handlers; and the simulator's extensions.
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <tasuki/sim.h>

#define CHECK(c)                                                     \
  do {                                                               \
    if (!(c)) {                                                      \
      fprintf(stderr, "rank %d: line %d: %s\n", rank, __LINE__, #c); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                  \
    }                                                                \
  } while (0)

static int rank = -1, size;
static void at_exit(void) {
  if (rank == 0) printf("exit handler of rank 0\n");
}

int main(int argc, char** argv) {
  atexit(at_exit);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Options, with the ranks in the middle of it at the same time.
  static const struct option longs[] = {
      {"number", required_argument, 0, 'n'}, {"flag", no_argument, 0, 'f'}, {0, 0, 0, 0}};
  int c, n = 0, f = 0, v = 0;
  while ((c = getopt_long(argc, argv, "n:fv", longs, 0)) != -1) {
    if (c == 'n') n = atoi(optarg);
    if (c == 'f') f++;
    if (c == 'v') v++;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(n == 12 && f == 2 && v == 1);
  CHECK(argc - optind == 2 && strcmp(argv[optind], "one") == 0 && strcmp(argv[optind + 1], "two") == 0);
  // Random numbers: each rank has the sequence that it would have alone.
  srand(7);
  int first[3], again[3];
  for (int i = 0; i < 3; i++) {
    first[i] = rand();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  srand(7);
  for (int i = 0; i < 3; i++) again[i] = rand();
  CHECK(memcmp(first, again, sizeof first) == 0);
  srand48(1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(drand48() < 1.0);
  setenv("OF_THE_RANK", rank % 2 ? "odd" : "even", 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(strcmp(getenv("OF_THE_RANK"), rank % 2 ? "odd" : "even") == 0);
  if (tasuki_sim_active()) {
    // Simulated time.
    struct timeval a, b;
    gettimeofday(&a, 0);
    sleep(2);
    usleep(500000);
    gettimeofday(&b, 0);
    const double slept = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_usec - a.tv_usec) * 1e-6;
    CHECK(slept >= 2.5 && slept < 2.6);
    double begin = MPI_Wtime();
    tasuki_sim_compute(0.25);
    begin = MPI_Wtime() - begin;
    CHECK(begin >= 0.25 && begin < 0.2501);
    int extents[6], at[6], step[2] = {1, 0};
    if (tasuki_sim_dimensions(6, extents) == 2) {
      CHECK(tasuki_sim_coordinates(rank, 6, at) == 2);
      CHECK(at[0] + at[1] * extents[0] == rank);
      const int right = tasuki_sim_neighbor(2, step);
      CHECK(right == (at[0] + 1) % extents[0] + at[1] * extents[0] || right == -1);
    }
    int got;
    MPI_Request r;
    tasuki_sim_isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, 1, 1.25, &r);
    MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ok %d\n", size);
  MPI_Finalize();
  return 0;
}
