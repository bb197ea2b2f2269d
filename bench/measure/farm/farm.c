/* A task farm: farm COUNT COMMAND... runs `COMMAND --point I` for I = 0 .. COUNT - 1 on all ranks and hands
 * the outputs, a line each, in order, to `COMMAND --results FILE` on rank 0. Rank 0 hands out numbers and
 * runs none itself, unless it is alone. Exit code: that of the last command; 1 if a point failed.
 *
 * `tasuki sim sweep` becomes this program when it is started by an MPI launcher. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/common/spawn.h"

enum { kAsk = 1, kResult = 2, kNumber = 3 };

/* The status of `COMMAND option value`. */
static int run_command(char** words, char* option, char* value, char** output) {
  size_t count = 0;
  while (words[count] != NULL) count++;
  char** all = malloc((count + 3) * sizeof *all);
  if (all == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memcpy(all, words, count * sizeof *all);
  all[count] = option;
  all[count + 1] = value;
  all[count + 2] = NULL;
  const int status = run_words(all, output);
  free(all);
  return status;
}

/* The output of one point, malloc'd; NULL if it failed (it has said why on stderr). */
static char* run_point(char** words, int number) {
  char option[] = "--point", value[16], *text;
  snprintf(value, sizeof value, "%d", number);
  run_command(words, option, value, &text);
  return text;
}

static void work(char** words) {
  for (;;) {
    int number;
    MPI_Send(NULL, 0, MPI_INT, 0, kAsk, MPI_COMM_WORLD);
    MPI_Recv(&number, 1, MPI_INT, 0, kNumber, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (number < 0) return;
    char* text = run_point(words, number);
    const int size = text == NULL ? -1 : (int)strlen(text);
    const int head[2] = {number, size};
    MPI_Send(head, 2, MPI_INT, 0, kResult, MPI_COMM_WORLD);
    if (size > 0) MPI_Send(text, size, MPI_CHAR, 0, kResult, MPI_COMM_WORLD);
    free(text);
  }
}

static void hand_out(char** texts, int count, int workers) {
  int next = 0;
  while (workers > 0) {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    const int from = status.MPI_SOURCE;
    if (status.MPI_TAG == kAsk) {
      MPI_Recv(NULL, 0, MPI_INT, from, kAsk, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const int number = next < count ? next++ : -1;
      MPI_Send(&number, 1, MPI_INT, from, kNumber, MPI_COMM_WORLD);
      if (number < 0) workers--;
      continue;
    }
    int head[2];
    MPI_Recv(head, 2, MPI_INT, from, kResult, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (head[1] < 0) continue;
    char* text = malloc((size_t)head[1] + 1);
    if (text == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    if (head[1] > 0) MPI_Recv(text, head[1], MPI_CHAR, from, kResult, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    text[head[1]] = 0;
    texts[head[0]] = text;
  }
}

/* Rank 0, when all points are there. */
static int finish(char** words, char** texts, int count) {
  char name[] = "/tmp/tasuki-farm-XXXXXX";
  const int fd = mkstemp(name);
  FILE* file = fd < 0 ? NULL : fdopen(fd, "w");
  if (file == NULL) {
    perror("tasuki: /tmp");
    return 1;
  }
  for (int i = 0; i < count; i++) {
    if (texts[i] == NULL) {
      fprintf(stderr, "tasuki: point %d of the sweep failed\n", i);
      fclose(file);
      unlink(name);
      return 1;
    }
    fputs(texts[i], file);
  }
  int code = 1;
  if (fclose(file) == 0) {
    char option[] = "--results";
    const int status = run_command(words, option, name, NULL);
    code = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  unlink(name);
  return code;
}

int main(int argc, char** argv) {
  int rank, size, code = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = argc > 2 ? atoi(argv[1]) : 0;
  char** texts = calloc((size_t)count + 1, sizeof *texts);
  if (texts == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank != 0)
    work(argv + 2);
  else if (size > 1)
    hand_out(texts, count, size - 1);
  else
    for (int i = 0; i < count; i++) texts[i] = run_point(argv + 2, i);
  if (rank == 0) code = finish(argv + 2, texts, count);
  for (int i = 0; i < count; i++) free(texts[i]);
  free(texts);
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return code;
}
