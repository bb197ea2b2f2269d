// A random program over all collective operations: every rank computes from the seed what every
// other one gives, and so which bytes it must get, and checks that no others were written.
//
//   collectives [--seed N] [--seconds S | --rounds N] [--first R] [--threads] [--large]
//               [--later | --persistent] [--apart] [--limit S] [--verbose]
//
// What round R of seed N does is the same everywhere and needs no other round before it: what failed in round
// 17 fails again, or may, with `--first 17 --rounds 1`. With --threads two or three threads of each rank do
// so at once, each on communicators of its own. With --later data is moved by non-blocking operations, with
// --persistent by persistent ones, which are started up to three times; with --large pieces have the sizes for which operations between hosts are Tasuki's. With --apart the ranks are on
// several hosts, where operations that do not block group numbers otherwise than those that do. A rank says
// what is wrong and aborts the job. After `limit` seconds in a few rounds, and on SIGALRM, all say where they
// are.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "collectives.h"

namespace collectives {

Job job;
const char* const kind_names[kKinds] = {
    "Barrier",   "Bcast",     "Gather",     "Gatherv",        "Scatter",
    "Scatterv",  "Allgather", "Allgatherv", "Alltoall",       "Alltoallv",
    "Alltoallw", "Reduce",    "Allreduce",  "Reduce_scatter", "Reduce_scatter_block",
    "Scan",      "Exscan"};

namespace {

constexpr int kThreads = 3;
constexpr long kAtOnce = 8;    // rounds between two looks at the clock
constexpr long kEpoch = 1024;  // rounds with the same communicators

struct Options {
  double seconds = 3;
  long first = 0, rounds = -1;
  unsigned limit = 100;
};

std::atomic<long> counts[kKinds], repeated, messages;

// Of each thread.
char places[kThreads][400];
long rounds[kThreads];
thread_local size_t slot = 0;

void on_alarm(int) {
  char text[600];
  for (size_t i = 0; i < kThreads; i++) {
    if (places[i][0] == 0) continue;
    const int n = snprintf(text, sizeof text, "HUNG rank %d, seed %llu, thread %zu, round %ld: %s\n",
                           job.rank, static_cast<unsigned long long>(job.seed), i, rounds[i], places[i]);
    if (write(2, text, static_cast<size_t>(n)) < 0) _exit(1);
  }
  sleep(3);  // the others may want to say where they are, too
  _exit(1);
}

}  // namespace

void tell(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(places[slot], sizeof places[0], format, arguments);
  va_end(arguments);
  if (job.verbose) say(places[slot]);
}

void say(const std::string& what) {
  const std::string text = "rank " + std::to_string(job.rank) + ", thread " + std::to_string(slot) +
                           ", round " + std::to_string(rounds[slot]) + ": " + what + "\n";
  if (write(2, text.data(), text.size()) < 0) abort();
}

void fail(const std::string& what) {
  const std::string text = "FAIL rank " + std::to_string(job.rank) + " of " + std::to_string(job.ranks) +
                           ", seed " + std::to_string(job.seed) + ", thread " + std::to_string(slot) +
                           ", round " + std::to_string(rounds[slot]) + ": " + places[slot] + ": " + what +
                           "\n";
  if (write(2, text.data(), text.size()) < 0) abort();
  usleep(300000);  // MPICH's launcher drops what it has not yet read
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

size_t draw_bytes(Random& plan, int ranks) {
  if (job.large) return static_cast<size_t>(plan.between(50'000, 500'000)) / static_cast<size_t>(ranks);
  const int which = draw(plan, 1, 1000);
  if (which <= 60) return 0;
  if (which <= 350) return static_cast<size_t>(plan.between(1, 16));
  if (which <= 800) return static_cast<size_t>(plan.between(1, 1000));
  if (which <= 960) return static_cast<size_t>(plan.between(1, 20000));
  if (which <= 995) return static_cast<size_t>(plan.between(1, 200000)) / static_cast<size_t>(ranks);
  return static_cast<size_t>(plan.between(1 << 20, 2 << 20)) / static_cast<size_t>(ranks);
}

namespace {

Comm make(const char* name, MPI_Comm handle, int colour = 0) {
  Comm c;
  c.name = name;
  c.handle = handle;
  c.colour = colour;
  if (handle == MPI_COMM_NULL) return c;
  MUST(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN));
  MPI_Comm_rank(handle, &c.rank);
  MPI_Comm_size(handle, &c.size);
  return c;
}

// The clocks of all ranks agree in one kernel.
bool on_one_machine() {
  char mine[64] = "", all[64] = "";
  if (FILE* f = fopen("/proc/sys/kernel/random/boot_id", "r")) {
    if (fgets(mine, sizeof mine, f) == nullptr) mine[0] = 0;
    fclose(f);
  }
  memcpy(all, mine, sizeof all);
  MUST(MPI_Bcast(all, sizeof all, MPI_CHAR, 0, MPI_COMM_WORLD));
  int same = mine[0] != 0 && memcmp(all, mine, sizeof all) == 0, everywhere = 0;
  MUST(MPI_Allreduce(&same, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return everywhere;
}

// Some ranks come late.
void delay(Random& own) {
  if (!own.chance(40)) return;
  if (own.chance(50)) {
    usleep(static_cast<useconds_t>(own.between(1, 200)));
  } else {
    const double end = now() + 1e-6 * static_cast<double>(own.between(1, 200));
    while (now() < end) {
    }
  }
}

void one_operation(Random& plan, Random& own, const Comm& comm) {
  const Kind kind = static_cast<Kind>(draw(plan, 0, kKinds - 1));
  counts[kind]++;
  if (kind == kBarrier) {
    barrier(comm);
  } else if (kind < kReduce) {
    move(kind, plan, own, comm);
  } else if (kind == kAllreduce && plan.chance(20)) {
    repeated++;
    reduce_twice(plan, own, comm);
  } else if (kind == kScan && plan.chance(20)) {
    repeated++;
    scan_twice(plan, own, comm);
  } else {
    reduce(kind, plan, own, comm);
  }
}

// One thread's rounds.
class Worker {
 public:
  Worker(const Options& options, size_t thread, MPI_Comm control, MPI_Comm parent)
      : options_(options), thread_(thread), control_(control), parent_(parent) {
    seed_ = word_of(job.seed, thread);
    make_communicators(options.first / kEpoch);
  }

  void run() {
    slot = thread_;
    const double end = now() + options_.seconds;
    for (long r = options_.first; goes_on(r, end); r += kAtOnce)
      for (long i = r; i < r + kAtOnce && (options_.rounds < 0 || i < options_.first + options_.rounds);
           i++) {
        // Threads keep theirs: to make communicators in several at once is not what this program is for.
        if (!job.threads && i / kEpoch != epoch_) make_communicators(i / kEpoch);
        round(i);
      }
    tell("finished");
  }

  void free() { free_comms(comms_); }

 private:
  const Options& options_;
  size_t thread_;
  MPI_Comm control_, parent_;
  uint64_t seed_;
  long epoch_ = -1;
  std::vector<Comm> comms_;

  bool goes_on(long r, double end) {
    int go = options_.rounds >= 0 ? r - options_.first < options_.rounds : now() < end;
    tell("MPI_Bcast of whether to go on");
    MUST(MPI_Bcast(&go, 1, MPI_INT, 0, control_));
    alarm(options_.limit);
    return go;
  }

  void make_communicators(long epoch) {
    tell("making communicators");
    epoch_ = epoch;
    Random random(word_of(seed_ + 1, static_cast<uint64_t>(epoch)));
    free_comms(comms_);
    comms_ = make_comms(random, parent_, thread_ == 0);
    check_negative_count(comms_[1]);
    for (const Comm& c : comms_)
      if ((job.large || job.apart) && job.later && c.handle != MPI_COMM_NULL) meet(c);
  }

  // After a large operation that blocks, those that do not are Tasuki's, too, where hosts are spanned.
  static void meet(const Comm& c) {
    constexpr int kLarge = 70'000;
    const std::vector<char> out(static_cast<size_t>(c.size) * kLarge, static_cast<char>(c.rank));
    std::vector<char> in(out.size());
    MUST(MPI_Alltoall(out.data(), kLarge, MPI_CHAR, in.data(), kLarge, MPI_CHAR, c.handle));
    for (size_t i = 0; i < in.size(); i++)
      if (in[i] != static_cast<char>(i / kLarge)) fail("MPI_Alltoall of new communicator is wrong");
  }

  void round(long r) {
    rounds[slot] = r;
    Random random(word_of(seed_, static_cast<uint64_t>(r)));
    const Comm& comm = random.pick(comms_);
    if (comm.handle == MPI_COMM_NULL) return;
    // The library's: MPI_Gather_init of MPICH 4.0.2 gathers what there was when it was called.
    if (job.persistent && comm.size == 1) return;
    const uint64_t seed = random.next();
    Random plan(word_of(seed, static_cast<uint64_t>(comm.colour)));
    Random own(word_of(seed + 1, static_cast<uint64_t>(job.rank)));
    if (plan.chance(15)) delay(own);
    Messages under_way(plan, own, comm);
    messages += under_way.count();
    one_operation(plan, own, comm);
    under_way.finish();
  }
};

void run(const Options& options) {
  const size_t n = job.threads ? 2 + job.seed % (kThreads - 1) : 1;
  std::vector<MPI_Comm> handles(2 * n);
  std::vector<Worker> workers;
  for (MPI_Comm& c : handles) {
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    MUST(MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN));
  }
  for (size_t i = 0; i < n; i++) workers.emplace_back(options, i, handles[2 * i], handles[2 * i + 1]);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < n; i++) threads.emplace_back([&workers, i] { workers[i].run(); });
  workers[0].run();
  for (std::thread& t : threads) t.join();
  for (Worker& w : workers) w.free();
  MUST(MPI_Barrier(MPI_COMM_WORLD));  // now nobody can fail any more
  for (MPI_Comm& c : handles) MUST(MPI_Comm_free(&c));
  if (job.rank != 0) return;
  printf("seed %llu, %d ranks, %zu threads:", static_cast<unsigned long long>(job.seed), job.ranks, n);
  for (int k = 0; k < kKinds; k++) printf(" %ld %s,", counts[k].load(), kind_names[k]);
  printf(" (%ld of Allreduce and Scan twice), %ld messages; collectives: OK\n", repeated.load(),
         messages.load());
}

}  // namespace

std::vector<Comm> make_comms(Random& plan, MPI_Comm parent, bool with_world) {
  std::vector<Comm> comms;
  MPI_Comm handle = MPI_COMM_WORLD;
  if (!with_world) MUST(MPI_Comm_dup(parent, &handle));
  comms.push_back(make(with_world ? "world" : "own", handle));
  MUST(MPI_Comm_dup(parent, &handle));
  comms.push_back(make("dup", handle));
  MUST(MPI_Comm_split(parent, 0, -job.rank, &handle));
  comms.push_back(make("reversed", handle));

  std::vector<int> keys(static_cast<size_t>(job.ranks));
  for (size_t i = 0; i < keys.size(); i++) keys[i] = static_cast<int>(i);
  plan.shuffle(keys);
  const int key = keys[static_cast<size_t>(job.rank)], parts = draw(plan, 1, 3);
  plan.shuffle(keys);
  const int colour = keys[static_cast<size_t>(job.rank)] % parts;
  MUST(MPI_Comm_split(parent, colour, key, &handle));
  comms.push_back(make("parts", handle, colour));

  const int who = draw(plan, 0, job.ranks - 1);
  const bool left_out = job.ranks > 1 && key == who;
  MUST(MPI_Comm_split(parent, left_out ? MPI_UNDEFINED : 0, key, &handle));
  comms.push_back(make("some", handle));

  int dims[2] = {0, 0}, periods[2] = {1, 0};
  MPI_Dims_create(job.ranks, 2, dims);
  MUST(MPI_Cart_create(parent, 2, dims, periods, 1, &handle));
  comms.push_back(make("cart", handle));
  return comms;
}

void free_comms(std::vector<Comm>& comms) {
  for (Comm& c : comms)
    if (c.handle != MPI_COMM_NULL && c.handle != MPI_COMM_WORLD) MUST(MPI_Comm_free(&c.handle));
  comms.clear();
}

}  // namespace collectives

int main(int argc, char** argv) {
  using namespace collectives;
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--threads") {
      job.threads = true;
    } else if (name == "--large") {
      job.large = true;
    } else if (name == "--later") {
      job.later = true;
    } else if (name == "--persistent") {
      job.later = job.persistent = true;
    } else if (name == "--apart") {
      job.apart = true;
    } else if (name == "--verbose") {
      job.verbose = true;
    } else if (i + 1 < argc && name == "--seed") {
      job.seed = strtoull(argv[++i], nullptr, 10);
    } else if (i + 1 < argc && name == "--seconds") {
      options.seconds = atof(argv[++i]);
    } else if (i + 1 < argc && name == "--rounds") {
      options.rounds = atol(argv[++i]);
    } else if (i + 1 < argc && name == "--first") {
      options.first = atol(argv[++i]);
    } else if (i + 1 < argc && name == "--limit") {
      options.limit = static_cast<unsigned>(atol(argv[++i]));
    } else {
      fprintf(stderr, "collectives: unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  signal(SIGALRM, on_alarm);
  int provided;
  MPI_Init_thread(&argc, &argv, job.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  if (job.threads && provided < MPI_THREAD_MULTIPLE) {
    if (job.rank == 0) printf("SKIP: no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  if (must_skip()) {
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  job.one_clock = on_one_machine();
  run(options);
  MPI_Finalize();
  return 0;
}
