#include "measure/common/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

/* All that comes through a pipe, malloc'd; NULL if there is no memory for it. */
static char* read_all(int fd) {
  size_t size = 0, room = 4096;
  char* text = malloc(room);
  while (text != NULL) {
    const ssize_t n = read(fd, text + size, room - 1 - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += (size_t)n;
    if (size < room - 1) continue;
    room *= 2;
    char* more = realloc(text, room);
    if (more == NULL) free(text);
    text = more;
  }
  if (text != NULL) text[size] = 0;
  return text;
}

int run_words(char* const* words, char** output) {
  int ends[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int error = output != NULL && pipe2(ends, O_CLOEXEC) != 0 ? errno : 0;
  if (error == 0 && output != NULL)
    error = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t child = 0;
  if (error == 0) error = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (ends[1] >= 0) close(ends[1]);
  char* text = error == 0 && output != NULL ? read_all(ends[0]) : NULL;
  if (ends[0] >= 0) close(ends[0]);
  if (output != NULL) *output = NULL;
  if (error != 0) {
    fprintf(stderr, "tasuki: cannot start %s: %s\n", words[0], strerror(error));
    return -1;
  }
  int status;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    perror("tasuki: waitpid");
    status = -1;
    break;
  }
  if (output != NULL && status == 0)
    *output = text;
  else
    free(text);
  return status;
}
