// A program with handlers of its own for what the pager may catch, with all signals blocked, with a handler that
// touches memory that is away, on an alternate stack, and with threads of small stacks. What it prints is the same
// with and without cluster memory.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 24 << 20, kPage = 4096 };

static volatile unsigned char* data;
static sigjmp_buf back;
static volatile sig_atomic_t caught, right_address;
static void* volatile wrong;

static void jump(int number) {
  caught = number;
  siglongjmp(back, 1);
}
static volatile unsigned long from_handler;
static unsigned long sum(void);
static void jump_with_info(int number, siginfo_t* info, void* context) {
  (void)context;
  caught = number;
  from_handler = sum();
  right_address = info->si_addr == wrong;
  siglongjmp(back, 1);
}

// Most of the data is away afterwards.
static unsigned long sum(void) {
  unsigned long total = 0;
  for (size_t i = 0; i < kBytes; i += kPage) total += data[i];
  return total;
}
static volatile unsigned long in_handler;
static void read_all(int number) {
  (void)number;
  in_handler = sum();
}

// The handler of SIGUSR1 runs in the call, where all other signals are blocked.
static void wait_with_mask(int way, const sigset_t* mask) {
  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, &before);
  raise(SIGUSR1);
  in_handler = 0;
  const struct timespec second = {1, 0};
  const int fd = epoll_create1(0);
  struct epoll_event event;
  int result = 0;
  if (way == 0) result = sigsuspend(mask);
  if (way == 1) result = ppoll(NULL, 0, &second, mask);
  if (way == 2) result = pselect(0, NULL, NULL, NULL, &second, mask);
  if (way == 3) result = epoll_pwait(fd, &event, 1, 1000, mask);
  close(fd);
  sigprocmask(SIG_SETMASK, &before, NULL);
  printf("in a handler while a call blocks all: %d %lu\n", result, in_handler);
}

static void* work(void* argument) {
  unsigned long* total = argument;
  *total = sum();
  return NULL;
}

// System V's and BSD's calls, which the headers call deprecated or don't name any more.
sighandler_t bsd_signal(int number, sighandler_t handler);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void hold_in_old_ways(void) {
  static const int numbers[] = {SIGBUS, SIGSEGV};
  for (int i = 0; i < 2; i++) {
    sigset(numbers[i], jump);
    printf("sigset: %d\n", sigset(numbers[i], SIG_HOLD) == jump);
    sighold(numbers[i]);
  }
  sigblock(~0);
  sigsetmask(~0);
}
static void ignore_in_old_ways(int number) {
  bsd_signal(number, jump);
  printf("bsd_signal: %d\n", ssignal(number, jump) == jump);
  printf("sigignore: %d\n", sigignore(number));
  printf("ignored: %d\n", signal(number, SIG_IGN) == SIG_IGN);
}
#pragma GCC diagnostic pop

static unsigned long sum_in_blocked_thread(const sigset_t* blocked) {
  unsigned long total = 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setsigmask_np(&attributes, blocked);
  pthread_t thread;
  pthread_create(&thread, &attributes, work, &total);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  return total;
}

// A page of a file that ends before it.
static volatile char* beyond_the_end(void) {
  char name[] = "handlers.XXXXXX";
  const int fd = mkstemp(name);
  unlink(name);
  volatile char* p = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return p;
}

// saves: does the jump bring the mask of signals back?
static void try_both(const char* how, int saves) {
  volatile char* const nowhere = (volatile char*)24;
  volatile char* const beyond = beyond_the_end();
  volatile char* const places[] = {beyond, nowhere};
  static const int numbers[] = {SIGBUS, SIGSEGV};
  for (int i = 0; i < 2; i++) {
    caught = right_address = 0;
    from_handler = 0;
    wrong = (void*)places[i];
    if (sigsetjmp(back, saves) == 0) *places[i] = 1;
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    printf("%s: %s, address %d, there %lu, here %lu, blocked %d %d\n", how,
           caught == numbers[i] ? "its own signal" : "another", right_address, from_handler, sum(),
           sigismember(&now, numbers[i]), sigismember(&now, SIGUSR2));
  }
}

static int child(int number, volatile char* place) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    *place = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

int main(void) {
  data = malloc(kBytes);
  for (size_t i = 0; i < kBytes; i++) data[i] = (unsigned char)(i / kPage);
  printf("sum %lu\n", sum());

  signal(SIGBUS, jump);
  signal(SIGSEGV, jump);
  try_both("signal", 1);
  struct sigaction action = {0}, before;
  action.sa_sigaction = jump_with_info;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int i = 0; i < 2; i++) {
    sigaction(i == 0 ? SIGBUS : SIGSEGV, &action, &before);
    printf("before: %d\n", before.sa_handler == jump);
  }
  stack_t other = {.ss_sp = malloc(64 << 10), .ss_size = 64 << 10};
  sigaltstack(&other, NULL);
  try_both("sigaction", 1);
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGBUS, &action, NULL);
  sigaction(SIGSEGV, &action, NULL);
  try_both("and left without its mask", 0);

  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &old);
  printf("blocked: %lu\n", sum());
  sigprocmask(SIG_SETMASK, &old, NULL);
  hold_in_old_ways();
  printf("blocked in old ways: %lu\n", sum());
  sigprocmask(SIG_SETMASK, &old, NULL);
  printf("in a thread that begins with all blocked: %lu\n", sum_in_blocked_thread(&all));
  struct sigaction reads = {0};
  reads.sa_handler = read_all;
  sigfillset(&reads.sa_mask);
  sigaction(SIGUSR1, &reads, NULL);
  for (int i = 0; i < 3; i++) raise(SIGUSR1);
  printf("in a handler that blocks all: %lu\n", in_handler);

  sigset_t but_usr1;
  sigfillset(&but_usr1);
  sigdelset(&but_usr1, SIGUSR1);
  for (int way = 0; way < 4; way++) wait_with_mask(way, &but_usr1);

  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
  pthread_t threads[4];
  unsigned long totals[4] = {0};
  for (int t = 0; t < 4; t++) pthread_create(&threads[t], &small, work, &totals[t]);
  for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
  printf("small stacks: %lu %lu %lu %lu\n", totals[0], totals[1], totals[2], totals[3]);

  printf("children: SIGBUS %d, SIGSEGV %d\n", child(SIGBUS, beyond_the_end()),
         child(SIGSEGV, (volatile char*)24));
  ignore_in_old_ways(SIGBUS);
  raise(SIGBUS);
  printf("ignored, sum %lu\n", sum());
  return 0;
}
