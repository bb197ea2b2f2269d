/* Small objects of malloc and its relatives, more of them than local memory may have; what it prints must be the same
 * plain and with cluster memory.  mem_objects WHAT [MiB of objects]
 *
 *   all      threads that allocate, change, pass on to each other and free them; what each holds is compared
 * all the time
 *   kernel   system calls with names, structures and vectors in them
 *   library  those of a library (objects_library.c), in handlers of fork and when it ends
 *   cancel   a thread that is cancelled allocates and frees first, and ends where it can be cancelled
 *   forks    children read and free them, and run other programs with arguments in them, while the parent
 * goes on */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static size_t all_bytes = 24 << 20;

static uint64_t next(uint64_t* x) {
  *x = *x * 6364136223846793005u + 1442695040888963407u;
  return *x >> 24;
}

struct object {
  unsigned char* p;
  size_t bytes;
  unsigned seed;
};
static unsigned char byte_of(const struct object* o, size_t i) {
  return (unsigned char)((i * 2654435761u + o->seed * 40503u) >> 11);
}
static void fill(const struct object* o) {
  for (size_t i = 0; i < o->bytes; i++) o->p[i] = byte_of(o, i);
}
static void check(const struct object* o) {
  for (size_t i = 0; i < o->bytes; i++) CHECK(o->p[i] == byte_of(o, i));
}

static size_t some_size(uint64_t* x) {
  return next(x) % ((size_t)16 << next(x) % 10) + 1;
}

static struct object make(uint64_t* x) {
  struct object o = {NULL, some_size(x), (unsigned)next(x)};
  void* q = NULL;
  const size_t alignment = (size_t)16 << next(x) % 8;
  switch (next(x) % 8) {
    case 0:
      o.p = calloc(1, o.bytes);
      for (size_t i = 0; o.p != NULL && i < o.bytes; i++) CHECK(o.p[i] == 0);
      break;
    case 1:
      CHECK(posix_memalign(&q, alignment, o.bytes) == 0 && (uintptr_t)q % alignment == 0);
      o.p = q;
      break;
    case 2:
      o.p = aligned_alloc(alignment, o.bytes);
      CHECK((uintptr_t)o.p % alignment == 0);
      break;
    case 3: {
      char text[200];
      memset(text, 'a', sizeof text);
      text[next(x) % sizeof text] = 0;
      text[sizeof text - 1] = 0;
      const size_t length = strlen(text), most = next(x) % 200;
      o.p = (unsigned char*)(next(x) % 2 ? strdup(text) : strndup(text, most));
      CHECK(o.p != NULL);
      o.bytes = strlen((char*)o.p) + 1;
      CHECK(o.bytes == length + 1 || o.bytes == most + 1);
      break;
    }
    default:
      o.p = malloc(o.bytes);
  }
  CHECK(o.p != NULL && (uintptr_t)o.p % (o.bytes < 16 ? 8 : 16) == 0 && malloc_usable_size(o.p) >= o.bytes);
  fill(&o);
  return o;
}

static void change(struct object* o, uint64_t* x) {
  check(o);
  const size_t bytes = some_size(x) * (next(x) % 50 == 0 ? 300 : 1),
               kept = bytes < o->bytes ? bytes : o->bytes;
  o->p = realloc(o->p, bytes);
  CHECK(o->p != NULL && malloc_usable_size(o->p) >= bytes);
  for (size_t i = 0; i < kept; i++) CHECK(o->p[i] == byte_of(o, i));
  o->bytes = bytes;
  fill(o);
}

enum { THREADS = 3, PLACES = 1 << 12 };
static struct object shared[PLACES]; /* whoever takes one out has it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* work(void* argument) {
  uint64_t x = (uintptr_t)argument;
  size_t held = 0, count = 0, most = all_bytes / 1000 * 2;
  struct object* mine = calloc(most, sizeof *mine);
  CHECK(mine != NULL);
  while (held < all_bytes / THREADS && count < most) {
    mine[count] = make(&x);
    held += mine[count].bytes;
    count++;
    if (next(&x) % 8 == 0) {
      struct object* o = &mine[next(&x) % count];
      held -= o->bytes;
      change(o, &x);
      held += o->bytes;
    }
    if (next(&x) % 8 == 0) {
      struct object* o = &mine[next(&x) % count];
      struct object* place = &shared[next(&x) % PLACES];
      pthread_mutex_lock(&lock);
      const struct object other = *place;
      *place = *o;
      pthread_mutex_unlock(&lock);
      held -= o->bytes;
      if (other.p == NULL) {
        *o = mine[--count];
      } else {
        check(&other);
        *o = other;
        held += other.bytes;
      }
    }
    if (next(&x) % 4 == 0 && count > 0) {
      struct object* o = &mine[next(&x) % count];
      check(o);
      held -= o->bytes;
      errno = 77;
      free(o->p);
      CHECK(errno == 77);
      *o = mine[--count];
    }
  }
  for (size_t i = 0; i < count; i++) {
    check(&mine[i]);
    free(mine[i].p);
  }
  free(mine);
  return NULL;
}

static void all(void) {
  pthread_t threads[THREADS];
  for (uintptr_t t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void*)(t + 1));
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  for (int i = 0; i < PLACES; i++) {
    if (shared[i].p != NULL) check(&shared[i]);
    free(shared[i].p);
  }
}

/* More than there is room for, so that what came before it is away. */
static char** ballast(void) {
  const size_t count = all_bytes / 256;
  char** list = malloc(count * sizeof *list);
  for (size_t i = 0; i < count; i++) {
    list[i] = malloc(250);
    CHECK(list[i] != NULL);
    memset(list[i], (int)i, 250);
  }
  return list;
}
static void drop(char** list) {
  for (size_t i = 0; i < all_bytes / 256; i++) {
    CHECK(list[i][0] == (char)i && list[i][249] == (char)i);
    free(list[i]);
  }
  free(list);
}

static void on_signal(int number) {
  (void)number;
}

static void kernel(void) {
  char* name = strdup("objects-file");
  struct stat* status = malloc(sizeof *status);
  struct timespec* time = malloc(sizeof *time);
  struct sigaction* action = calloc(1, sizeof *action);
  action->sa_handler = on_signal;
  struct iovec* parts = malloc(2 * sizeof *parts);
  for (int i = 0; i < 2; i++) parts[i] = (struct iovec){strdup(i == 0 ? "some " : "words"), 5};
  int* ends = malloc(2 * sizeof *ends);
  struct pollfd* polled = malloc(sizeof *polled);
  fd_set* set = malloc(sizeof *set);
  char* folder = malloc(4096);
  stack_t* stack = malloc(sizeof *stack);
  stack->ss_sp = malloc(64 << 10);
  stack->ss_size = 64 << 10;
  stack->ss_flags = 0;
  char* variable = strdup("OBJECTS_VARIABLE=a value");
  CHECK(putenv(variable) == 0);
  for (int round = 0; round < 3; round++) {
    char** more = ballast();
    const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && writev(fd, parts, 2) == 10 && fstat(fd, status) == 0 && status->st_size == 10);
    CHECK(stat(name, status) == 0 && status->st_size == 10 && access(name, R_OK) == 0);
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, parts, 2) == 10 &&
          memcmp(parts[1].iov_base, "words", 5) == 0);
    CHECK(clock_gettime(CLOCK_MONOTONIC, time) == 0 && time->tv_sec > 0);
    CHECK(sigaction(SIGUSR1, action, NULL) == 0 && sigaltstack(stack, NULL) == 0 && raise(SIGUSR1) == 0);
    CHECK(pipe(ends) == 0);
    *polled = (struct pollfd){.fd = ends[1], .events = POLLOUT, .revents = 0};
    CHECK(poll(polled, 1, 0) == 1 && polled->revents == POLLOUT);
    FD_ZERO(set);
    FD_SET(ends[1], set);
    CHECK(select(ends[1] + 1, NULL, set, NULL, NULL) == 1 && FD_ISSET(ends[1], set));
    close(ends[0]);
    close(ends[1]);
    CHECK(getcwd(folder, 4096) == folder && getenv("OBJECTS_VARIABLE") != NULL &&
          strcmp(getenv("OBJECTS_VARIABLE"), "a value") == 0);
    DIR* opened = opendir(folder);
    CHECK(opened != NULL && readdir(opened) != NULL);
    closedir(opened);
    CHECK(close(fd) == 0 && unlink(name) == 0);
    FILE* file = tmpfile();
    CHECK(file != NULL && fprintf(file, "%s\n%s\n", name, folder) > 0);
    rewind(file);
    size_t length = 2;
    char* line = malloc(length); /* getline makes it longer */
    CHECK(getline(&line, &length, file) == (ssize_t)strlen(name) + 1 &&
          strncmp(line, name, strlen(name)) == 0);
    free(line);
    fclose(file);
    drop(more);
  }
  stack->ss_flags = SS_DISABLE;
  sigaltstack(stack, NULL);
}

static void forks(void) {
  uint64_t x = 5;
  enum { KEPT = 200 };
  struct object kept[KEPT];
  for (int i = 0; i < KEPT; i++) kept[i] = make(&x);
  for (int round = 0; round < 3; round++) {
    char** more = ballast();
    char* words[] = {strdup("echo"), strdup("arguments that"), strdup("were small objects"), NULL};
    fflush(stdout);
    pid_t children[2];
    for (int c = 0; c < 2; c++) {
      children[c] = fork();
      CHECK(children[c] >= 0);
      if (children[c] != 0) continue;
      for (int i = 0; i < KEPT; i++) {
        check(&kept[i]);
        if (i % 2 == 0)
          free(kept[i].p);
        else
          change(&kept[i], &x);
      }
      drop(more);
      if (c == 0) {
        execv("/bin/echo", words);
        abort();
      }
      _exit(41);
    }
    for (int i = 0; i < KEPT; i++) change(&kept[i], &x);
    drop(more);
    for (int c = 0; c < 2; c++) {
      int status;
      CHECK(waitpid(children[c], &status, 0) == children[c] && WIFEXITED(status) &&
            WEXITSTATUS(status) == (c == 0 ? 0 : 41));
    }
    for (int i = 0; i < KEPT; i++) check(&kept[i]);
    FILE* pipe = popen("cat", "w"); /* vfork or posix_spawn, and the shell */
    CHECK(pipe != NULL && fprintf(pipe, "%s\n", words[2]) > 0 && pclose(pipe) == 0);
  }
}

void library_keep(unsigned number);

static void library(void) {
  for (unsigned i = 0; i < all_bytes / 128; i++) library_keep(i);
  fflush(stdout);
  for (int i = 0; i < 5; i++) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(i);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == i);
  }
}

static int locked, done;

static void* cancelled(void* argument) {
  (void)argument;
  pthread_cancel(pthread_self());
  locked = 1;
  enum { OBJECTS = 64 };
  void* objects[OBJECTS] = {NULL};
  for (size_t i = 0, held = 0; held < all_bytes; i++) {
    const size_t bytes = i % 9 == 0 ? 200000 : 1000;
    free(objects[i % OBJECTS]);
    objects[i % OBJECTS] = malloc(bytes);
    memset(objects[i % OBJECTS], 1, bytes);
    held += bytes;
  }
  for (int i = 0; i < OBJECTS; i++) free(objects[i]);
  locked = 0;
  done = 1;
  pthread_testcancel();
  done = 2;
  return NULL;
}

static void cancel(void) {
  char** more = ballast();
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, cancelled, NULL);
  pthread_join(thread, &result);
  printf("%d %d %d\n", result == PTHREAD_CANCELED, locked, done);
  drop(more);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "all";
  if (argc > 2) all_bytes = strtoull(argv[2], NULL, 10) << 20;
  if (strcmp(what, "all") == 0)
    all();
  else if (strcmp(what, "kernel") == 0)
    kernel();
  else if (strcmp(what, "forks") == 0)
    forks();
  else if (strcmp(what, "library") == 0)
    library();
  else if (strcmp(what, "cancel") == 0)
    cancel();
  else
    return 2;
  printf("done %s\n", what);
}
