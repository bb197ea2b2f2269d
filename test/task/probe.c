/* What the tests of `tasuki run` start: each mode shows one property that a process has. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void print_limits(void) {
  static const int limits[] = {RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_CPU, RLIMIT_MEMLOCK};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit l;
    getrlimit(limits[i], &l);
    printf(" %llu/%llu", (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
  }
}

/* Everything that exec keeps, in one line. */
static int state(void) {
  char cwd[PATH_MAX];
  if (getcwd(cwd, sizeof cwd) == NULL) strcpy(cwd, strerror(errno));
  const mode_t mask = umask(0);
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  printf("cwd %s umask %03o cores", cwd, (unsigned)mask);
  for (int i = 0; i < 64; i++)
    if (CPU_ISSET(i, &cores)) printf(" %d", i);
  printf(" nice %d limits", getpriority(PRIO_PROCESS, 0));
  print_limits();
  printf(" blocked");
  for (int s = 1; s < 64; s++)
    if (sigismember(&blocked, s) == 1) printf(" %d", s);
  printf(" handlers");
  for (int s = 1; s < 64; s++) {
    struct sigaction a;
    if (sigaction(s, NULL, &a) == 0 && a.sa_handler != SIG_DFL)
      printf(" %d:%s", s, a.sa_handler == SIG_IGN ? "ignored" : "?");
  }
  printf(" descriptors");
  for (int fd = 0; fd < 1024; fd++) {
    struct stat st;
    if (fstat(fd, &st) == 0) printf(" %d:%o", fd, (unsigned)(st.st_mode & S_IFMT));
  }
  printf(" variable %s\n", getenv("PROBE_VARIABLE") ? getenv("PROBE_VARIABLE") : "-");
  return 0;
}

static int executable(char** argv) {
  char link[PATH_MAX] = "", resolved[PATH_MAX] = "";
  if (readlink("/proc/self/exe", link, sizeof link - 1) < 0) return 1;
  if (realpath("/proc/self/exe", resolved) == NULL) return 2;
  const int fd = open("/proc/self/exe", O_RDONLY);
  struct stat opened, named;
  if (fd < 0 || fstat(fd, &opened) != 0 || stat(link, &named) != 0 || opened.st_ino != named.st_ino) return 3;
  if (stat("/proc/self/exe", &opened) != 0 || opened.st_ino != named.st_ino) return 4;
  printf("%s %s %s %s\n", link, resolved, argv[0], program_invocation_short_name);
  return 0;
}

/* Executes its own program by /proc/self/exe, in each way: `how` is the way, plus 10 in a forked child. */
static int execute_itself(char** argv, int how) {
  char link[PATH_MAX] = "";
  char* again[] = {argv[0], "exit", "17", NULL};
  const pid_t child = how >= 10 ? fork() : 0;
  if (child > 0) {
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }
  snprintf(link, sizeof link, "/proc/%d/exe", getppid());
  switch (how % 10) {
    case 0:
      execv("/proc/self/exe", again);
      break;
    case 1:
      execl("/proc/self/exe", argv[0], "exit", "17", (char*)NULL);
      break;
    case 2:
      execle("/proc/self/exe", argv[0], "exit", "17", (char*)NULL, environ);
      break;
    case 3:
      execlp("/proc/self/exe", argv[0], "exit", "17", (char*)NULL);
      break;
    case 4:
      fexecve(open("/proc/self/exe", O_RDONLY), again, environ);
      break;
    case 5:
      execveat(AT_FDCWD, "/proc/self/exe", again, environ, 0);
      break;
    case 6: /* a child asks for its parent's */
      if (readlink(how >= 10 ? link : "/proc/self/exe", link, sizeof link - 1) > 0) execv(link, again);
      break;
  }
  return 1;
}

/* The part of the stack of a thread that it may replace: its own. */
static void* map_over_stack(void* unused) {
  (void)unused;
  pthread_attr_t attributes;
  void* at = NULL;
  size_t length = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
  pthread_attr_getstack(&attributes, &at, &length);
  pthread_attr_destroy(&attributes);
  at = mmap(at, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}

/* A frame that is larger than a page behind the stack must not reach beyond it. */
static char alternate_stack[65536];
static sigjmp_buf overflowed;
static void on_overflow(int number) {
  (void)number;
  siglongjmp(overflowed, 1);
}
static int deep(int n) {
  volatile char frame[300000];
  frame[0] = (char)n;
  return n == 0 ? 0 : deep(n + 1) + frame[0];
}

static int stacks(void) {
  pthread_t thread;
  void* at = NULL;
  if (pthread_create(&thread, NULL, map_over_stack, NULL) != 0 || pthread_join(thread, &at) != 0) return 1;
  if (at == NULL) return 2;
  const stack_t alternate = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
  sigaltstack(&alternate, NULL);
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = on_overflow;
  a.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &a, NULL);
  if (sigsetjmp(overflowed, 1) == 0) {
    deep(1);
    return 3;
  }
  puts("stacks ok");
  return 0;
}

static void* add_one(void* p) {
  for (int i = 0; i < 1000; i++) __atomic_add_fetch((int*)p, 1, __ATOMIC_RELAXED);
  free(malloc(100000));
  return NULL;
}

/* Threads, fork, exec, posix_spawn, system. */
static int children(void) {
  int sum = 0;
  pthread_t threads[8];
  for (int i = 0; i < 8; i++)
    if (pthread_create(&threads[i], NULL, add_one, &sum) != 0) return 1;
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  if (sum != 8000) return 2;

  int status;
  const pid_t forked = fork();
  if (forked == 0) _exit(getppid() > 1 && malloc(10) != NULL ? 11 : 1);
  if (waitpid(forked, &status, 0) != forked || WEXITSTATUS(status) != 11) return 3;

  const pid_t executed = fork();
  if (executed == 0) {
    execlp("sh", "sh", "-c", "exit 12", (char*)NULL);
    _exit(1);
  }
  if (waitpid(executed, &status, 0) != executed || WEXITSTATUS(status) != 12) return 4;

  pid_t spawned;
  char* argv[] = {"sh", "-c", "exit 13", NULL};
  if (posix_spawnp(&spawned, "sh", NULL, NULL, argv, environ) != 0) return 5;
  if (waitpid(spawned, &status, 0) != spawned || WEXITSTATUS(status) != 13) return 6;
  if (WEXITSTATUS(system("exit 14")) != 14) return 7;
  FILE* p = popen("echo through a pipe", "r");
  char line[64] = "";
  if (p == NULL || fgets(line, sizeof line, p) == NULL || strcmp(line, "through a pipe\n") != 0 ||
      pclose(p) != 0)
    return 8;
  puts("children ok");
  return 0;
}

static volatile sig_atomic_t caught;
static volatile intptr_t caught_value;
static void on_signal(int number, siginfo_t* info, void* context) {
  (void)context;
  caught = number;
  if (info->si_code == SI_QUEUE) caught_value = (intptr_t)info->si_value.sival_ptr;
}

/* Reports every signal that reaches it; ends with SIGTERM. */
static int catch_signals(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_sigaction = on_signal;
  a.sa_flags = SA_SIGINFO;
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (int s = 1; s < 64; s++)
    if (s != SIGKILL && s != SIGSTOP && s != SIGTSTP && s != SIGCONT && s != SIGCHLD) sigaction(s, &a, NULL);
  printf("ready %d\n", getpid());
  fflush(stdout);
  while (caught != SIGTERM) {
    caught = 0;
    caught_value = 0;
    sigsuspend(&none);
    printf("signal %d value %ld\n", (int)caught, (long)caught_value);
    fflush(stdout);
  }
  return 40;
}

/* Maps memory at an address of its own, twice, and inside a reservation, also after an munmap that fails. */
static int fixed(void) {
  const size_t length = 1 << 20;
  char* const at = (char*)0x600000000000;
  char* p = mmap(at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  const int mine = p != MAP_FAILED;
  if (mine) memset(p, getpid() & 0xff, length);
  char* r = mmap(NULL, 4 * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (r == MAP_FAILED) return 1;
  if (munmap(r + 1, 4 * length - 1) == 0) return 6;
  if (mmap(r + length, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
      r + length)
    return 2;
  r[length] = 1;
  if (mremap(r + length, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, r + 2 * length) != r + 2 * length ||
      r[2 * length] != 1)
    return 3;
  usleep(300000); /* until every task has mapped, or been refused */
  if (!mine) {
    puts("refused");
    return 0;
  }
  for (size_t i = 0; i < length; i++)
    if (p[i] != (char)(getpid() & 0xff)) return 4;
  if (mmap(at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at ||
      p[5] != 0)
    return 5;
  munmap(p, length);
  puts("mapped");
  return 0;
}

/* Libraries move the break before main (UCX, to see whether it notices that), and believe that it is theirs. */
static __attribute__((constructor)) void move_break(void) {
  if (getenv("PROBE_BREAK") == NULL) return;
  sbrk(4096);
  sbrk(-4096);
}

static int stopped_break(void) {
  char* const block = malloc(100000);
  void* const before = sbrk(0);
  memset(block, 5, 100000);
  for (int i = 0; i < 100; i++) {
    errno = 0;
    if (sbrk(4096) != (void*)-1 || errno != ENOMEM) return 1;
    sbrk(-4096 * (intptr_t)(1 + i % 50));
    brk((char*)before - 65536);
    if (sbrk(0) != before) return 2;
    memset(malloc(1000), i, 1000);
  }
  for (int i = 0; i < 100000; i++)
    if (block[i] != 5) return 3;
  puts("break ok");
  return 0;
}

/* Locks all memory, which must not fill what nobody has touched. */
static int lock_all(void) {
  if (mlockall(MCL_CURRENT) != 0) {
    puts(errno == ENOMEM || errno == EPERM ? "locked" : strerror(errno)); /* without privilege */
    return 0;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > 256 * 1024) {
    printf("%ld KiB\n", usage.ru_maxrss);
    return 1;
  }
  puts("locked");
  return munlockall();
}

/* Whom this process belongs to, and what the scheduler shares out by (sched(7), autogroup). */
static int session(void) {
  char autogroup[64] = "none";
  FILE* f = fopen("/proc/self/autogroup", "r");
  /* Empty in a process whose session was never made by setsid: started by init, as services of a container are. */
  if (f != NULL && fscanf(f, "%63s", autogroup) != 1) strcpy(autogroup, "none");
  if (f != NULL) fclose(f);
  usleep(300000); /* until every rank has its own */
  printf("%s %s terminal %d autogroup %s\n", getsid(0) == getpid() ? "leads its session" : "is in a session",
         getpgrp() == getpid() ? "leads its group" : "is in a group", open("/dev/tty", O_RDWR) >= 0,
         autogroup);
  return 0;
}

static int fork_often(int number) {
  for (int i = 0; i < number; i++) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child) return 1;
  }
  return 0;
}

/* Calls of mmap and munmap: so many of each, and one of mremap. */
static int map_often(int number) {
  enum { kBytes = 1 << 16 };
  for (int i = 0; i < number; i++) {
    void* p = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return 1;
    if (i == 0) p = mremap(p, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
    if (p == MAP_FAILED || munmap(p, i == 0 ? 2 * kBytes : kBytes) != 0) return 2;
  }
  return 0;
}

static void end_with_failure(int number) {
  _exit(number);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(mode, "state") == 0) return state();
  if (strcmp(mode, "executable") == 0) return executable(argv);
  if (strcmp(mode, "itself") == 0) return execute_itself(argv, number);
  if (strcmp(mode, "stacks") == 0) return stacks();
  if (strcmp(mode, "children") == 0) return children();
  if (strcmp(mode, "catch") == 0) return catch_signals();
  if (strcmp(mode, "fixed") == 0) return fixed();
  if (strcmp(mode, "session") == 0) return session();
  if (strcmp(mode, "lock") == 0) return lock_all();
  if (strcmp(mode, "break") == 0) return stopped_break();
  if (strcmp(mode, "map") == 0) return map_often(number);
  if (strcmp(mode, "fork") == 0) return fork_often(number);
  if (strcmp(mode, "exit") == 0) return number;
  if (strcmp(mode, "fault") == 0) {
    *(volatile int*)(uintptr_t)(number + 5) = 1; /* 0x10 of 11 */
    return 99;
  }
  if (strcmp(mode, "raise") == 0) {
    raise(number);
    return 99;
  }
  if (strcmp(mode, "wait") == 0) {
    /* With a child of its own, in the same process group. */
    if (number > 0 && fork() == 0) {
      pause();
      _exit(0);
    }
    printf("ready %d\n", getpid());
    fflush(stdout);
    for (;;) pause();
  }
  if (strcmp(mode, "end") == 0) { /* as by MPI_Abort, when it is told */
    signal(SIGUSR1, end_with_failure);
    printf("ready %d\n", getpid());
    fflush(stdout);
    for (;;) pause();
  }
  if (strcmp(mode, "number") == 0) {
    printf("%s of %s\n", getenv("TASUKI_RANK"), getenv("TASUKI_SIZE"));
    return 0;
  }
  if (strcmp(mode, "arguments") == 0) {
    for (int i = 0; i < argc; i++) printf("%s%s", i > 0 ? "|" : "", argv[i]);
    puts("");
    return 0;
  }
  if (strcmp(mode, "input") == 0) {
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) printf("read %s", line);
    return 0;
  }
  fprintf(stderr, "probe: unknown mode '%s'\n", mode);
  return 98;
}
