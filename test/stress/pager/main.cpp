// A stress of the pager: threads that do to cluster memory what programs do to memory, many times more of it
// than is local, against a copy of every byte in plain memory. The wrappers of system calls are part of the
// program, as in libdlmmpi.
//
//     stress_pager --seed N [--seconds S | --operations N] [--mode userfault|user|copy|sigbus|signal|all]
// [--threads T] [--rounds R]
//                  [--only op,op] [--without op,op]
//
// --seconds is for all modes together, --operations (of all threads together, with progress on stderr) for
// each of them. --rounds divides either by R, and uses the seeds N to N + R - 1, one after the other: each
// decides how the pager is made, where pages go that leave, and what each thread does; how the threads meet
// is the machine's. Exit code 1 and a line "seed N ..." on a wrong byte, a failed call or a hang; 77 if no
// mode is permitted here.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "cluster/wrappers/faults.h"
#include "os/memory/mapping.h"
#include "stores.h"
#include "world.h"

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
std::atomic<uint64_t> g_taken{0};  // operations
constexpr itimerval kNever = {};

struct Arguments {
  uint64_t seed = 1, operations = 0;  // 0: until the time is over
  double seconds = 0;                 // 0: 5, or until the operations are over
  int threads = 6, rounds = 1;
  std::string mode = "all", only, without;
};

// Of all processes that this program makes.
struct Totals {
  uint64_t runs, counts[kMostOperations];
};
Totals* g_totals = nullptr;

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

// A file of random bytes that all threads read, open for ordinary and for direct transfers, and one that they
// write, each in its own part.
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

// Touches pages all over, so that others leave. What is protected at the moment is passed over.
void drive_out(const std::byte* at, size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!g_world.end.load(std::memory_order_relaxed)) {
    (void)refused([&] {
      for (int i = 0; i < 32; i++)
        [[maybe_unused]] const std::byte seen = const_cast<const volatile std::byte&>(at[random() % bytes]);
    });
    if (random() % 4 != 0) usleep(2000);
  }
}

// A handler that makes system calls with cluster memory, wherever it interrupts a thread: in another such
// call, in a fault.
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

// Threads that make no step.
class Patience {
 public:
  explicit Patience(const std::vector<Thread>& threads) : threads_(threads), seen_(threads.size()) {}
  // To be called each second.
  void look() {
    for (size_t i = 0; i < threads_.size(); i++) {
      Seen& seen = seen_[i];
      const uint64_t steps = threads_[i].steps.load();
      seen.seconds = steps == seen.steps && !threads_[i].over.load() ? seen.seconds + 1 : 0;
      seen.steps = steps;
      if (seen.seconds == kLong)
        fprintf(stderr, "seed %llu mode %s: thread %zu has done nothing for %d seconds, in %s\n",
                (unsigned long long)g_world.seed, g_world.mode, i, kLong, threads_[i].what.load());
      if (seen.seconds >= kMost) give_up(i);
    }
  }

 private:
  static constexpr int kLong = 10, kMost = 90;
  struct Seen {
    uint64_t steps = 0;
    int seconds = 0;
  };
  [[noreturn]] void give_up(size_t number) {
    std::string where;
    for (const Thread& t : threads_) where += std::string(" ") + (t.over.load() ? "(over)" : t.what.load());
    wrong("hangs: thread %zu has done nothing for %d seconds; threads are in%s", number, kMost,
          where.c_str());
  }
  const std::vector<Thread>& threads_;
  std::vector<Seen> seen_;
};

// Looks for hangs, and tells how far `all` operations are (0: tells nothing).
void watch(const std::vector<Thread>& threads, uint64_t all) {
  constexpr int kTicks = 10, kTell = 10;  // in a second; seconds
  Patience patience(threads);
  uint64_t told = 0;
  for (int tick = 1; !g_world.end.load(); tick++) {
    usleep(1'000'000 / kTicks);
    if (tick % kTicks == 0) patience.look();
    if (all == 0 || tick % (kTicks * kTell) != 0) continue;
    uint64_t now = 0;
    for (const Thread& t : threads) now += t.steps.load();
    fprintf(stderr, "seed %llu mode %s: %.2f of %.2f million operations, %llu in a second\n",
            (unsigned long long)g_world.seed, g_world.mode, static_cast<double>(now) / 1e6,
            static_cast<double>(all) / 1e6, (unsigned long long)(now - told) / kTell);
    told = now;
  }
}

// How a pager is made is the seed's choice.
struct Setting {
  pager::Options options;
  uint64_t units = 0;  // of the blocks
  Stores stores;
  bool cramped = false, storms = false;
};
Setting choose(const Arguments& arguments, const Mode& mode) {
  std::mt19937_64 random(arguments.seed * std::size(kModes) + static_cast<uint64_t>(&mode - kModes));
  constexpr uint64_t kLocals[] = {64, 128, 256, 1024}, kPageSizes[] = {0, 0, 0, 4096, 65536};
  Setting s;
  s.options.faults = mode.faults;
  const uint64_t local = kLocals[random() % 4];
  s.options.local_bytes = local * kPage;
  s.options.page_bytes = kPageSizes[random() % 5];
  if (4 * s.options.page_bytes > s.options.local_bytes) s.options.page_bytes = 0;
  s.options.protocol =
      random() % 4 == 0 ? static_cast<pager::Protocol>(random() % 5) : pager::Protocol::ahead;
  s.units = local * (3 + random() % 4);
  s.stores = make_stores(random(), 2 * s.units + 4000, arguments.seed);
  s.cramped = random() % 3 == 0;
  s.storms = random() % 2 == 0;
  return s;
}

template <class T>
T* allocate(pager::Pager& p, size_t bytes, size_t alignment) {
  auto* at = static_cast<T*>(p.allocate(bytes, alignment, 0).value());
  cluster::note_allocation(at, bytes);
  return at;
}

// What the kernel permits here.
void look_around(World& w) {
  io_uring_params parameters = {};
  const int ring = static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters));
  w.rings = ring >= 0;
  if (ring >= 0) close(ring);
  const Ends ends = open_ends(true);
  w.tcp = ends.tcp[0] >= 0;
  close_ends(ends);
  // Pages that SIGSEGV brings are in a file that a child would share.
  w.children_read = w.faults != Faults::signal && w.pager->children_read();
}

void make_thread(World& w, Thread& t, size_t number) {
  t.id = static_cast<int>(number);
  t.random.seed(w.seed * 1000 + number);
  t.local = plain_memory(Thread::kLocal);
  t.ends = open_ends(w.tcp);
  for (size_t i = 0; i < Thread::kMoving; i++) {
    Block b;
    b.copy = plain_memory(Thread::kMostMoving);
    if (!allocate_moving(w, t, &b)) continue;
    t.blocks.push_back(b);
    t.moving++;
  }
}

// Operations by their weights.
class Choice {
 public:
  explicit Choice(const Arguments& arguments) {
    const std::vector<Operation>& all = operations();
    for (size_t i = 0; i < all.size(); i++) {
      const Operation& o = all[i];
      if ((!arguments.only.empty() && !listed(arguments.only, o.name)) || listed(arguments.without, o.name) ||
          (o.possible != nullptr && !o.possible(g_world)))
        continue;
      sum_ += static_cast<uint64_t>(o.weight);
      allowed_.push_back({sum_, i});
    }
    if (allowed_.empty()) wrong("no operation is left");
  }
  size_t next(std::mt19937_64* random) const {
    const uint64_t at = (*random)() % sum_;
    size_t i = 0;
    while (allowed_[i].end <= at) i++;  // the frequent ones are the first
    return allowed_[i].operation;
  }

 private:
  struct Allowed {
    uint64_t end;
    size_t operation;
  };
  std::vector<Allowed> allowed_;
  uint64_t sum_ = 0;
};

void work(Thread& t, const Choice& choice, const Arguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const auto over = [&] {
    if (arguments.operations > 0 && g_taken.fetch_add(1, std::memory_order_relaxed) >= arguments.operations)
      return true;
    return arguments.seconds > 0 &&
           std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(arguments.seconds);
  };
  while (!over()) {
    const size_t number = choice.next(&t.random);
    const Operation& o = operations()[number];
    t.what.store(o.name, std::memory_order_relaxed);
    o.run(g_world, t, any_block(t));
    t.counts[number]++;
    t.steps.fetch_add(1, std::memory_order_relaxed);
  }
  t.what = "the last check";
  wait_for_child(t);
  for (const Block& b : t.blocks) check(t, b, 0, b.bytes);
  t.over = true;
}

void check_counters(const std::vector<Thread>& threads) {
  uint64_t sum = 0, added = 0;
  for (uint64_t i = 0; i < World::kCounters * kPage / 8; i++) sum += g_world.counters[i];
  for (const Thread& t : threads) added += t.added;
  if (sum != added)
    wrong("%llu increments, but the counters' sum is %llu", (unsigned long long)added,
          (unsigned long long)sum);
}

void print_counts(const uint64_t* counts) {
  for (size_t i = 0; i < operations().size(); i++)
    printf("%s%s %llu", i > 0 ? ", " : "  ", operations()[i].name, (unsigned long long)counts[i]);
  printf("\n");
}

void report(const std::vector<Thread>& threads, const pager::Stats& stats, double seconds) {
  uint64_t steps = 0;
  uint64_t counts[kMostOperations] = {};
  for (const Thread& t : threads)
    for (size_t i = 0; i < operations().size(); i++) {
      counts[i] += t.counts[i];
      g_totals->counts[i] += t.counts[i];
      steps += t.counts[i];
    }
  g_totals->runs++;
  printf("seed %llu mode %s: %llu operations in %.1f s, %llu faults, %llu pages went, %llu came back\n",
         (unsigned long long)g_world.seed, g_world.mode, (unsigned long long)steps, seconds,
         (unsigned long long)stats.faults, (unsigned long long)stats.swaps_out,
         (unsigned long long)stats.swaps_in);
  print_counts(counts);
  fflush(stdout);
}

int run(const Arguments& arguments, const Mode& mode) {
  World& w = g_world;
  w.seed = arguments.seed;
  w.mode = mode.name;
  w.faults = mode.faults;
  const Setting setting = choose(arguments, mode);
  cluster::before_pager_handler();
  Result<std::unique_ptr<pager::Pager>> made =
      pager::Pager::create(setting.options, setting.stores.store.get());
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
  attach(&p, setting.cramped);
  catch_refusals();
  if (arguments.operations > 0)
    fprintf(stderr,
            "seed %llu mode %s: %llu pages of %llu are local, pages of %zu (0: any), protocol %d, %s%s%s\n",
            (unsigned long long)w.seed, w.mode, (unsigned long long)(setting.options.local_bytes / kPage),
            (unsigned long long)setting.units, setting.options.page_bytes,
            static_cast<int>(setting.options.protocol), setting.stores.name,
            setting.cramped ? ", little address space" : "", setting.storms ? ", signals" : "");

  const size_t bytes = setting.units * kPage;
  auto* at = allocate<std::byte>(p, bytes, kPage);
  w.counters = allocate<uint64_t>(p, World::kCounters * kPage, kPage);
  of_the_handler = allocate<std::byte>(p, kHandlers, 64);
  if (setting.storms) storm();
  std::vector<Thread> threads(static_cast<size_t>(arguments.threads));
  share_out(w.seed, at, plain_memory(bytes), bytes, &threads);
  make_files(w.seed, threads.size());
  look_around(w);
  for (size_t i = 0; i < threads.size(); i++) {
    const NoHandlers none;
    make_thread(w, threads[i], i);
  }

  const Choice choice(arguments);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (Thread& t : threads)
    if (!t.blocks.empty())
      running.emplace_back([&] { work(t, choice, arguments); });
    else
      t.over = true;
  std::thread evictor([&] { drive_out(at, bytes, w.seed); });
  std::thread watching = without_signals([&] { watch(threads, arguments.operations); });
  for (std::thread& t : running) t.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  w.end = true;
  setitimer(ITIMER_REAL, &kNever, nullptr);
  evictor.join();
  watching.join();
  check_counters(threads);
  report(threads, p.stats(), took.count());
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

namespace {

// False: there is no such option.
bool set(tasuki::stress::Arguments* a, const std::string& name, const char* value) {
  if (name == "--seed")
    a->seed = strtoull(value, nullptr, 10);
  else if (name == "--seconds")
    a->seconds = atof(value);
  else if (name == "--operations")
    a->operations = strtoull(value, nullptr, 10);
  else if (name == "--rounds")
    a->rounds = std::max(1, atoi(value));
  else if (name == "--threads")
    a->threads = std::max(1, atoi(value));
  else if (name == "--mode")
    a->mode = value;
  else if (name == "--only")
    a->only = value;
  else if (name == "--without")
    a->without = value;
  else
    return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tasuki::stress;
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value != nullptr && set(&arguments, argv[i], value)) continue;
    fprintf(stderr, value == nullptr ? "%s needs a value\n" : "unknown: %s\n", argv[i]);
    return 2;
  }
  g_totals = static_cast<Totals*>(tasuki::os::map_shared(sizeof(Totals)));
  if (g_totals == nullptr) return 2;
  const bool all = arguments.mode == "all";
  if (arguments.seconds <= 0 && arguments.operations == 0) arguments.seconds = 5;
  arguments.seconds /= arguments.rounds * (all ? static_cast<double>(std::size(kModes)) : 1);
  if (arguments.operations > 0)
    arguments.operations =
        std::max<uint64_t>(1, arguments.operations / static_cast<uint64_t>(arguments.rounds));
  int result = 77;
  for (int round = 0; round < arguments.rounds; round++, arguments.seed++)
    for (const Mode& mode : kModes) {
      if (!all && arguments.mode != mode.name) continue;
      const int code = run_alone(arguments, mode);
      if (code != 0 && code != 77) return code;
      if (code == 0) result = 0;
    }
  if (g_totals->runs > 1) {
    printf("all together:\n");
    print_counts(g_totals->counts);
  }
  return result;
}
