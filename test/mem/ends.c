/* Programs that fork, start others, load libraries and end in all ways while other threads go through cluster memory. Run plainly
 * and under `tasuki mem`, with the same output and exit code.
 *
 *   mem_ends WHAT */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY ((size_t)16 << 20)
#define THREADS 2

static atomic_int stop;
static pthread_t threads[THREADS];
static volatile unsigned long* memory[THREADS + 1];

static void* compute(void* argument) {
  volatile unsigned long* at = argument;
  for (unsigned long round = 0; !atomic_load(&stop); round++)
    for (size_t i = 0; i < MEMORY / sizeof *at; i += 512) at[i] += i;
  return NULL;
}

static void begin(void) {
  for (int i = 0; i <= THREADS; i++) {
    memory[i] = malloc(MEMORY);
    memset((void*)memory[i], 1, MEMORY);
    if (i < THREADS) pthread_create(&threads[i], NULL, compute, (void*)memory[i]);
  }
  usleep(50000);
}

static int finish(void) {
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (size_t i = 1; i < MEMORY / sizeof(long); i += 512)
    if (memory[0][i] != 0x0101010101010101ul) {
      puts("wrong");
      return 9;
    }
  puts("done");
  return 0;
}

static int code_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void forks(void) {
  for (int i = 0; i < 40; i++) {
    const pid_t child = fork();
    if (child == 0) {
      /* Local, and not where the parent's is, though there is no memory. */
      char* at =
          mmap((void*)memory[1], MEMORY / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mprotect(at, MEMORY / 4, PROT_READ) != 0 || munmap(at, MEMORY / 4) != 0) _exit(9);
      at = malloc(MEMORY);
      at[MEMORY / 2] = 1;
      free(at);
      if (i % 4 == 1) execlp("true", "true", NULL);
      if (i % 4 == 2) exit(3);
      if (i % 4 == 3) raise(SIGKILL);
      _exit(2);
    }
    const int expected[] = {2, 0, 3, -SIGKILL};
    if (code_of(child) != expected[i % 4]) puts("a child ended otherwise");
  }
}

static void* fork_in_thread(void* unused) {
  forks();
  return unused;
}

static void spawns(void) {
  char* const words[] = {"true", NULL};
  for (int i = 0; i < 20; i++) {
    pid_t child;
    if (posix_spawnp(&child, "true", NULL, NULL, words, NULL) != 0 || code_of(child) != 0) puts("spawn");
    if (system("exit 3") != 3 << 8) puts("system");
    FILE* pipe = popen("echo here", "r");
    char line[8] = "";
    if (fgets(line, sizeof line, pipe) == NULL || strcmp(line, "here\n") != 0 || pclose(pipe) != 0)
      puts("popen");
    child = vfork();
    if (child == 0) {
      execlp("false", "false", NULL);
      _exit(7);
    }
    if (code_of(child) != 1) puts("vfork");
  }
}

static atomic_ulong ticks;
static void on_tick(int number) {
  /* Through memory that is away: a handler may wait for a page. */
  memory[THREADS][(atomic_fetch_add(&ticks, 1) * 5 % (MEMORY / 4096)) * 512 + 1] += (unsigned long)number;
}

static void ticking(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
  while (atomic_load(&ticks) < 300) spawns();
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
}

static void load(void) {
  for (int i = 0; i < 50; i++) {
    void *library = dlopen("libutil.so.1", RTLD_NOW), *math = dlopen("libz.so.1", RTLD_LAZY);
    if (library != NULL) dlclose(library);
    if (math != NULL) dlclose(math);
  }
}

static void* end_in_thread(void* what) {
  if (strcmp(what, "exit_thread") == 0) exit(5);
  if (strcmp(what, "_exit_thread") == 0) _exit(6);
  return NULL;
}

/* Goes on when main has ended. */
static void* last(void* unused) {
  usleep(200000);
  char* at = malloc(MEMORY);
  memset(at, 1, MEMORY);
  if (memory[THREADS][0] != 0x0101010101010101ul) puts("wrong");
  puts("last");
  atomic_store(&stop, 1);
  return unused;
}

static void at_end(void) {
  puts("at exit");
}

/* The program's own children, until its last exit handler: what comes then is no business of its handler. */
static atomic_int children, over;
static void on_child(int number) {
  if (atomic_load(&over)) abort();
  atomic_fetch_add(&children, number == SIGCHLD);
}

static void end_of_children(void) {
  atomic_store(&over, 1);
}

static void with_children(void) {
  atexit(end_of_children);
  struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
  sigaction(SIGCHLD, &action, NULL);
  if (system("exit 3") != 3 << 8) puts("system");
  const pid_t child = fork();
  if (child == 0) _exit(2);
  if (code_of(child) != 2 || atomic_load(&children) == 0) puts("children");
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* what = argv[1];
  pthread_t other;
  begin();
  printf("begun %s\n", what);
  fflush(stdout);
  if (strcmp(what, "starts") == 0) {
    pthread_create(&other, NULL, fork_in_thread, NULL);
    spawns();
    pthread_join(other, NULL);
    load();
    ticking();
    return finish();
  }
  if (strcmp(what, "children") == 0) {
    with_children();
    return finish();
  }
  if (strcmp(what, "exit") == 0) exit(4); /* the threads go on until the very end */
  if (strcmp(what, "return") == 0) return 8;
  if (strcmp(what, "_exit_now") == 0) _exit(3);
  if (strcmp(what, "quick_exit") == 0) quick_exit(3);
  if (strcmp(what, "abort") == 0) abort();
  if (strcmp(what, "kill") == 0) raise(SIGKILL);
  if (strcmp(what, "term") == 0) raise(SIGTERM);
  if (strcmp(what, "exec") == 0) execlp("sh", "sh", "-c", "echo replaced; exit 7", NULL);
  if (strcmp(what, "last_thread") == 0) {
    atexit(at_end);
    pthread_create(&other, NULL, last, NULL);
    pthread_exit(NULL);
  }
  pthread_create(&other, NULL, end_in_thread, argv[1]);
  pause();
  return 1;
}
