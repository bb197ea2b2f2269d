// A program whose tasks have everything in which memory lies: guard own DIRECTORY PLUGINS uses all of it, in the ways
// in which a task's rights could get lost; guard KIND DIRECTORY PLUGINS lets task 1 write to such memory of task 0,
// which gives the address in a file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static volatile int global = 1;
static volatile int empty_global;
static __thread volatile int of_thread = 1;
static volatile sig_atomic_t handled;
static sigjmp_buf back;
static void* place_on_stack;

static void fail(const char* what) {
  printf("FAIL %s\n", what);
  exit(3);
}

// Of `tasuki run -n`, Open MPI or Hydra.
static int rank(void) {
  const char* names[] = {"TASUKI_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
  for (int i = 0; i < 3; i++)
    if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
  return 0;
}

static void* plugin_data(const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libplugin.so", directory);
  void* library = dlopen(path, RTLD_NOW);
  void* data = library != NULL ? dlsym(library, "plugin_counter") : NULL;
  if (data == NULL) fail(dlerror());
  return data;
}

static void count(int number) {
  char room[2000];  // on the stack
  memset(room, number, sizeof room);
  handled += room[1999] == number ? 1 : 100;
  global = 2;
}

static void count_with_info(int number, siginfo_t* info, void* context) {
  handled += info->si_signo == number && context != NULL ? 1 : 100;
}

static void escape(int number) {
  (void)number;
  siglongjmp(back, 1);
}

static void* thread_body(void* argument) {
  volatile char room[1000];
  memset((void*)room, 1, sizeof room);
  of_thread = 3;
  char* heap = malloc(200000);
  memset(heap, 2, 200000);
  raise(SIGUSR1);
  free(heap);
  return argument;
}

static void* waits_for_ever(void* argument) {
  for (;;) pause();
  return argument;
}

static void* shows_its_stack(void* argument) {
  volatile int* word = malloc(sizeof *word);
  volatile int local = 1;
  *(volatile int* volatile*)argument = &local;
  for (;;) pause();
  return (void*)word;
}

static void use_own_memory(const char* plugins) {
  struct sigaction action = {0}, old;
  action.sa_handler = count;
  if (sigaction(SIGUSR1, &action, NULL) != 0 || sigaction(SIGUSR1, NULL, &old) != 0) fail("sigaction");
  if (old.sa_handler != count) fail("sigaction does not tell the handler");
  raise(SIGUSR1);
  kill(getpid(), SIGUSR1);
  if (handled != 2) fail("handlers");
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = count_with_info;
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR2);
  if (handled != 3) fail("a handler on a stack of its own");
  if (signal(SIGHUP, count) != SIG_DFL || signal(SIGHUP, SIG_IGN) != count) fail("signal");
  raise(SIGHUP);
  if (handled != 3) fail("an ignored signal");
  action.sa_flags = (int)SA_RESETHAND;
  action.sa_handler = count;
  sigaction(SIGHUP, &action, NULL);
  raise(SIGHUP);
  sigaction(SIGHUP, NULL, &old);
  if (handled != 4 || old.sa_handler != SIG_DFL) fail("SA_RESETHAND");

  // Timers interrupt anything.
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = count}, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
  char* heap[64] = {0};
  for (int round = 0; round < 20000; round++) {
    const int k = round % 64;
    free(heap[k]);
    heap[k] = malloc((size_t)(round % 7 == 0 ? 300000 : 100 + round % 5000));
    heap[k][0] = heap[k][99] = 1;
  }
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  for (int k = 0; k < 64; k++) free(heap[k]);

  // The program's own handler of SIGSEGV, left by a jump and by a repair.
  for (int round = 0; round < 3; round++) {
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = escape, .sa_flags = SA_NODEFER}, NULL);
    sigaction(SIGSEGV, NULL, &old);
    if (old.sa_handler != escape) fail("sigaction does not tell the handler of SIGSEGV");
    if (sigsetjmp(back, 1) == 0) {
      *(volatile int*)8 = 1;
      fail("no fault");
    }
  }
  signal(SIGSEGV, SIG_DFL);

  pthread_t thread;
  for (int i = 0; i < 50; i++) {
    pthread_create(&thread, NULL, thread_body, NULL);
    pthread_join(thread, NULL);
  }
  pthread_create(&thread, NULL, waits_for_ever, NULL);
  usleep(10000);
  pthread_cancel(thread);  // by a handler that libc sets for itself
  void* result = NULL;
  pthread_join(thread, &result);
  if (result != PTHREAD_CANCELED) fail("pthread_cancel");

  char* map = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(map, 1 << 20, PROT_READ | PROT_WRITE);
  memset(map, 1, 1 << 20);
  map = mremap(map, 1 << 20, 4 << 20, MREMAP_MAYMOVE);
  memset(map, 1, 4 << 20);
  munmap(map, 4 << 20);

  // Libraries that come and go.
  for (int round = 0; round < 3; round++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/libplugin.so", plugins);
    void* library = dlopen(path, RTLD_NOW);
    int* data = library != NULL ? dlsym(library, "plugin_counter") : NULL;
    if (data == NULL || ++*data != 8) fail("a library that was loaded again");
    dlclose(library);
    handled = 0;
    raise(SIGUSR1);
    if (handled != 1) fail("handlers after dlclose");
  }
  // Several at once, and one that is ignored.
  sigset_t both, mask;
  sigemptyset(&both);
  sigaddset(&both, SIGUSR1);
  sigaddset(&both, SIGUSR2);
  handled = 0;
  for (int round = 0; round < 50; round++) {
    sigprocmask(SIG_BLOCK, &both, &mask);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    sigprocmask(SIG_SETMASK, &mask, NULL);
  }
  if (handled != 100) fail("two signals at once");
  signal(SIGSEGV, SIG_IGN);
  raise(SIGSEGV);
  signal(SIGSEGV, SIG_DFL);

  if (*(int*)plugin_data(plugins) != 7) fail("a library");
  ++*(int*)plugin_data(plugins);
  global = empty_global = of_thread = 4;

  int status = 1;
  const pid_t child = fork();
  if (child == 0) {
    handled = 0;
    raise(SIGUSR1);
    char* more = malloc(1 << 20);
    memset(more, 1, 1 << 20);
    global = 5;
    _exit(handled == 1 ? 0 : 1);
  }
  waitpid(child, &status, 0);
  if (status != 0 || global != 4) fail("fork");
  pid_t spawned;
  char* argv[] = {"true", NULL};
  posix_spawn(&spawned, "/bin/true", NULL, NULL, argv, environ);
  waitpid(spawned, &status, 0);
  if (status != 0 || system("exit 0") != 0) fail("posix_spawn");
  handled = 0;
  raise(SIGUSR1);
  if (handled != 1) fail("handlers after posix_spawn");
  printf("task %d: all of its own memory can be written\n", rank());
}

static void* memory_of_kind(const char* kind, const char* plugins) {
  static volatile int* shown;
  static char text[] = "text";
  if (strcmp(kind, "heap") == 0) return malloc(100);
  if (strcmp(kind, "large") == 0) return malloc(10 << 20);
  if (strcmp(kind, "global") == 0) return (void*)&global;
  if (strcmp(kind, "bss") == 0) return (void*)&empty_global;
  if (strcmp(kind, "static") == 0) return text;
  if (strcmp(kind, "tls") == 0) return (void*)&of_thread;
  if (strcmp(kind, "stack") == 0) return place_on_stack;
  if (strcmp(kind, "libc") == 0) return stdout;
  if (strcmp(kind, "library") == 0) return plugin_data(plugins);
  if (strcmp(kind, "map") == 0)
    return mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, shows_its_stack, &shown);
  while (shown == NULL) usleep(100);
  return (void*)shown;
}

__attribute__((noinline)) void stray_write(volatile char* at) {
  *at = 1;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  volatile int local = 1;
  place_on_stack = (void*)&local;
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *kind = argv[1], *directory = argv[2], *plugins = argv[3];
  if (strcmp(kind, "own") == 0) {
    use_own_memory(plugins);
    return 0;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/address", directory);
  if (rank() == 0) {
    char fresh[4100];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE* f = fopen(fresh, "w");
    fprintf(f, "%p\n", memory_of_kind(kind, plugins));
    fclose(f);
    rename(fresh, path);
    sleep(30);
    return 4;
  }
  if (rank() != 1) return 0;
  FILE* f;
  while ((f = fopen(path, "r")) == NULL) usleep(1000);
  void* at = NULL;
  if (fscanf(f, "%p", &at) != 1) return 5;
  volatile char seen = *(volatile char*)at;  // may be read
  (void)seen;
  stray_write(at);
  printf("the write was not noticed\n");
  return 0;
}
