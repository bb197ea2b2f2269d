// A stress of the pager: threads that do to cluster memory what programs do to memory, many times more of it than is local, against a
// copy of every byte in plain memory. The wrappers of system calls are part of the program, as in libdlmmpi.
//
//     stress_pager --seed N --seconds S [--mode userfault|user|signal|copy|all] [--threads T] [--only op,op] [--without op,op]
//
// The seed decides what each thread does; how the threads meet is the machine's. Exit code 1 and a line "seed N ..." on a wrong byte,
// a failed call or a hang; 77 if no mode is permitted here.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "cluster/wrappers/faults.h"
#include "pager/stores/ram_store.h"
#include "pager/test/fake_memory.h"
#include "pager_stress.h"

namespace tasuki::stress {
namespace {

using pager::Faults;

struct Mode {
  const char* name;
  Faults faults;
};
constexpr Mode kModes[] = {{"userfault", Faults::userfault},
                           {"user", Faults::userfault_user_mode},
                           {"copy", Faults::userfault_copy},
                           {"sigbus", Faults::userfault_sigbus},
                           {"signal", Faults::signal}};

// What all threads use.
World g_world;
constexpr itimerval kNever = {};

struct Arguments {
  uint64_t seed = 1;
  int seconds = 5, threads = 6;
  std::string mode = "all", only, without;
};

bool listed(const std::string& list, const char* name) {
  return ("," + list + ",").find("," + std::string(name) + ",") != std::string::npos;
}

// Blocks of all sizes side by side, so that most pages belong to several threads.
void share_out(uint64_t seed, std::byte* at, std::byte* copy, size_t bytes, std::vector<Thread>* threads) {
  std::mt19937_64 random(seed);
  size_t done = 0;
  while (done < bytes) {
    Block block;
    size_t size = 1 + random() % 20000;
    if (random() % 3 == 0) {  // whole pages, for direct transfers
      done = (done + kPage - 1) / kPage * kPage;
      size = (1 + random() % 64) * kPage;
    }
    block.at = at + done;
    block.copy = copy + done;
    if (done >= bytes) break;
    block.bytes = std::min(size, bytes - done);
    done += block.bytes;
    (*threads)[random() % threads->size()].blocks.push_back(block);
  }
}

std::byte* plain_memory(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) wrong("no memory");
  return static_cast<std::byte*>(p);
}

// A file of random bytes that all threads read, open for ordinary and for direct transfers, and one that they write, each in its own part.
void make_files(uint64_t seed, size_t threads) {
  World& w = g_world;
  w.file = plain_memory(World::kFile);
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < World::kFile; i += 8) {
    const uint64_t word = random();
    memcpy(w.file + i, &word, 8);
  }
  for (const bool write : {false, true}) {
    std::string path = "stress_pager." + std::to_string(getpid()) + (write ? ".out" : ".in");
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) wrong("cannot create %s: %s", path.c_str(), strerror(errno));
    const size_t bytes = write ? threads * World::kOut : World::kFile;
    for (size_t done = 0; done < bytes;) {
      const ssize_t n = ::pwrite(fd, w.file + done % World::kFile, std::min(bytes - done, World::kFile),
                                 static_cast<off_t>(done));
      if (n <= 0) wrong("cannot write %s: %s", path.c_str(), strerror(errno));
      done += static_cast<size_t>(n);
    }
    fsync(fd);
    const int direct = open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
    (write ? w.out : w.in) = fd;
    (write ? w.out_direct : w.in_direct) = direct;  // -1: this file system has none
    unlink(path.c_str());
  }
}

// Touches pages all over, so that others leave.
void drive_out(std::byte* at, size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!g_world.end.load(std::memory_order_relaxed)) {
    for (int i = 0; i < 64; i++)
      [[maybe_unused]] const std::byte seen = const_cast<const volatile std::byte&>(at[random() % bytes]);
    if (random() % 8 == 0) usleep(100);
  }
}

// A handler that makes system calls with cluster memory, wherever it interrupts a thread: in another such call, in a fault.
std::byte* of_the_handler = nullptr;
int handlers_pipe[2];
constexpr size_t kHandlers = 1000;
void on_alarm(int) {
  const int error = errno;
  std::byte came[kHandlers];
  if (::write(handlers_pipe[1], of_the_handler, kHandlers) == kHandlers &&
      ::read(handlers_pipe[0], came, kHandlers) == kHandlers)
    for (const std::byte b : came)
      if (b != std::byte{42}) wrong("a signal handler wrote something else than what is in its memory");
  errno = error;
}
void storm() {
  if (pipe2(handlers_pipe, O_NONBLOCK | O_CLOEXEC) != 0) wrong("pipe: %s", strerror(errno));
  memset(of_the_handler, 42, kHandlers);
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  constexpr itimerval kEvery = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &kEvery, nullptr);
}

// Little address space, as ulimit -v gives: the pager's tables do without what they cannot have.
void attach(pager::Pager* pager, bool cramped) {
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
  const rlimit none = {64 << 20, before.rlim_max};
  if (cramped) setrlimit(RLIMIT_AS, &none);
  cluster::attach_pager(pager);
  setrlimit(RLIMIT_AS, &before);
}

// A handler on such a thread would hang with the others.
template <typename Work>
std::thread without_signals(Work work) {
  const os::SignalsBlocked blocked;
  return std::thread(work);
}

void watch_for_hangs(std::vector<Thread>* threads) {
  uint64_t last = 0;
  int since = 0;
  while (!g_world.end.load()) {
    usleep(200'000);
    uint64_t now = 0;
    for (const Thread& t : *threads) now += t.steps.load();
    since = now == last ? since + 1 : 0;
    last = now;
    if (since < 5 * 60) continue;
    std::string where;
    for (const Thread& t : *threads) where += std::string(" ") + t.what.load();
    wrong("hangs: nothing happened for a minute; threads are in%s", where.c_str());
  }
}

int run(const Arguments& arguments, const Mode& mode) {
  World& w = g_world;
  w.seed = arguments.seed;
  w.mode = mode.name;
  w.faults = mode.faults;
  std::mt19937_64 random(arguments.seed * std::size(kModes) + static_cast<uint64_t>(&mode - kModes));
  constexpr uint64_t kLocals[] = {64, 128, 256, 1024}, kPageSizes[] = {0, 0, 0, 4096, 65536};
  pager::Options options;
  options.faults = mode.faults;
  const uint64_t local = kLocals[random() % 4];
  options.local_bytes = local * kPage;
  options.page_bytes = kPageSizes[random() % 5];
  if (4 * options.page_bytes > options.local_bytes) options.page_bytes = 0;
  options.protocol = random() % 4 == 0 ? static_cast<pager::Protocol>(random() % 5) : pager::Protocol::ahead;
  const uint64_t units = local * (3 + random() % 4), slots = 2 * units + 4000;
  std::unique_ptr<pager::Store> store;
  if (random() % 2 == 0) {
    store = std::move(pager::RamStore::create(kPage, slots).value());
  } else {
    store = std::make_unique<pager::SlowStore>(
        slots, pager::SlowStore::Behaviour{.run = 1000, .patience = static_cast<uint32_t>(1 + random() % 4)},
        arguments.seed);
  }
  cluster::before_pager_handler();
  Result<std::unique_ptr<pager::Pager>> made = pager::Pager::create(options, store.get());
  cluster::after_pager_handler();
  if (!made.ok()) {
    printf("mode %s is not permitted here: %s\n", mode.name, made.status().message().c_str());
    return 77;
  }
  pager::Pager& p = *made.value();
  w.pager = &p;
  std::thread serving = without_signals([&] {
    const cluster::InternalScope internal;
    const Status served = p.serve();
    if (!served.ok()) wrong("the pager ended: %s", served.message().c_str());
  });
  attach(&p, random() % 3 == 0);

  const size_t bytes = units * kPage;
  auto* at = static_cast<std::byte*>(p.allocate(bytes, 4096, 0).value());
  cluster::note_allocation(at, bytes);
  w.counters = static_cast<uint64_t*>(p.allocate(World::kCounters * kPage, 4096, 0).value());
  cluster::note_allocation(w.counters, World::kCounters * kPage);
  of_the_handler = static_cast<std::byte*>(p.allocate(kHandlers, 64, 0).value());
  cluster::note_allocation(of_the_handler, kHandlers);
  if (random() % 2 == 0) storm();
  std::byte* copy = plain_memory(bytes);
  std::vector<Thread> threads(static_cast<size_t>(arguments.threads));
  share_out(arguments.seed, at, copy, bytes, &threads);
  make_files(arguments.seed, threads.size());

  std::vector<const Operation*> allowed;
  for (const Operation& o : operations())
    if ((arguments.only.empty() || listed(arguments.only, o.name)) && !listed(arguments.without, o.name) &&
        (o.possible == nullptr || o.possible(w)))
      allowed.insert(allowed.end(), static_cast<size_t>(o.weight), &o);
  if (allowed.empty()) wrong("no operation is left");

  const auto begin = std::chrono::steady_clock::now();
  const auto over = [&] {
    return std::chrono::steady_clock::now() - begin > std::chrono::seconds(arguments.seconds);
  };
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads.size(); i++) {
    Thread& t = threads[i];
    t.id = static_cast<int>(i);
    t.random.seed(arguments.seed * 1000 + i);
    t.local = plain_memory(Thread::kLocal);
    if (pipe2(t.ends, O_CLOEXEC) != 0) wrong("pipe: %s", strerror(errno));
    if (t.blocks.empty()) continue;
    running.emplace_back([&t, &allowed, &over] {
      while (!over()) {
        const Operation& o = *allowed[t.random() % allowed.size()];
        t.what = o.name;
        o.run(g_world, t, t.blocks[t.random() % t.blocks.size()]);
        t.steps.fetch_add(1, std::memory_order_relaxed);
      }
      t.what = "the last check";
      for (Block& b : t.blocks) check(t, b, 0, b.bytes);
    });
  }
  std::thread evictor([&] { drive_out(at, bytes, arguments.seed); });
  std::thread watch = without_signals([&] { watch_for_hangs(&threads); });
  for (std::thread& t : running) t.join();
  w.end = true;
  setitimer(ITIMER_REAL, &kNever, nullptr);
  evictor.join();
  watch.join();
  uint64_t sum = 0, added = 0, steps = 0;
  for (uint64_t i = 0; i < World::kCounters * kPage / 8; i++) sum += w.counters[i];
  for (const Thread& t : threads) {
    added += t.added;
    steps += t.steps.load();
  }
  if (sum != added)
    wrong("%llu increments, but the counters' sum is %llu", (unsigned long long)added,
          (unsigned long long)sum);
  const pager::Stats stats = p.stats();
  printf("seed %llu mode %s: %llu operations, %llu faults, %llu pages went, %llu came back\n",
         (unsigned long long)arguments.seed, mode.name, (unsigned long long)steps,
         (unsigned long long)stats.faults, (unsigned long long)stats.swaps_out,
         (unsigned long long)stats.swaps_in);
  fflush(stdout);
  cluster::detach_pager();
  p.stop();
  serving.join();
  return 0;
}

// In a process of its own: a pager's signal handler and limits are the process's.
int run_alone(const Arguments& arguments, const Mode& mode) {
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // with who started it
    const int code = run(arguments, mode);
    fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  printf("seed %llu mode %s: ended by signal %d\n", (unsigned long long)arguments.seed, mode.name,
         WTERMSIG(status));
  return 1;
}

}  // namespace

void wrong(const char* format, ...) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) pause();  // another thread ends the program
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  char line[1200];
  const int n = snprintf(line, sizeof line, "seed %llu mode %s: %s\n", (unsigned long long)g_world.seed,
                         g_world.mode, text);
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, line, static_cast<size_t>(n));
  _exit(1);
}

}  // namespace tasuki::stress

int main(int argc, char** argv) {
  using namespace tasuki::stress;
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value == nullptr) {
      fprintf(stderr, "%s needs a value\n", name.c_str());
      return 2;
    }
    if (name == "--seed")
      arguments.seed = strtoull(value, nullptr, 10);
    else if (name == "--seconds")
      arguments.seconds = atoi(value);
    else if (name == "--threads")
      arguments.threads = std::max(1, atoi(value));
    else if (name == "--mode")
      arguments.mode = value;
    else if (name == "--only")
      arguments.only = value;
    else if (name == "--without")
      arguments.without = value;
    else {
      fprintf(stderr, "unknown: %s\n", name.c_str());
      return 2;
    }
  }
  const bool all = arguments.mode == "all";
  if (all) arguments.seconds = std::max(1, arguments.seconds / static_cast<int>(std::size(kModes)));
  int result = 77;
  for (const Mode& mode : kModes) {
    if (!all && arguments.mode != mode.name) continue;
    const int code = run_alone(arguments, mode);
    if (code != 0 && code != 77) return code;
    if (code == 0) result = 0;
  }
  return result;
}
