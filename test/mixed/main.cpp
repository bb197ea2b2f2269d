// A random MPI program that looks for broken rules of matching and order: on each communicator, messages of several kinds between all
// pairs of ranks, and receives whose patterns overlap.
//
//   mixed [--seed N] [--seconds S | --rounds N] [--first R] [--threads | --shared] [--limit S] [--pending N] [--steps N]
//         [--without probes,cancels,persistent,buffered,freed] [--verbose] [--trace RANK] [--pause] [--reserved-limit S]
//
// What round R of seed N does is the same everywhere and needs no other round before it: what failed in round 17 fails again, or may, with
// `--first 17 --rounds 1`, and with fewer receives pending at once (`--pending`),
// fewer steps in a round (`--steps`, which makes other rounds of the same seeds) or without some kinds of
// calls (`--without`) it may be easier to see why. Which receive takes which message is chance. A rank says what is wrong and aborts the job. After `limit`
// seconds in one round, and on SIGALRM, all say where they are.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "mixed.h"

namespace mixed {

Job job;
void tell_all(int file);

namespace {

constexpr long kEpoch = 16;  // rounds with the same communicators
constexpr long kLeast = 8;   // rounds, also where a round takes longer than the seconds asked for
constexpr int kThreads = 3, kSlots = 8;

std::atomic<long> figures[kFigures];
const char* const figure_names[kFigures] = {"messages",           "receives with wildcards",
                                            "named ones",         "posted",
                                            "restarted",          "probed",
                                            "matched probes",     "cancelled",
                                            "cancelled too late", "truncated",
                                            "absorbed",           "late",
                                            "in rings",           "in ready mode",
                                            "collective calls",   "communicators freed below receives"};

char steps[kSlots][160];
thread_local int my_slot = 0;

void on_alarm(int) {
  static volatile sig_atomic_t told = 0;
  if (told) _exit(1);
  told = 1;
  char text[1600];
  int n = snprintf(text, sizeof text, "HUNG rank %d, seed %llu round %ld:", job.rank,
                   static_cast<unsigned long long>(job.seed), job.round);
  for (const auto& s : steps)
    if (s[0] != 0) n += snprintf(text + n, sizeof text - static_cast<size_t>(n), " [%.150s]", s);
  text[n++] = '\n';
  if (write(2, text, static_cast<size_t>(n)) < 0) _exit(1);
  tell_all(2);
  alarm(8);
}

struct Options {
  double seconds = 3;
  long first = 0, rounds = -1;
  unsigned limit = 60;
  bool pause = false, shared = false;
};

// Do the clocks of all ranks agree? They do in one kernel.
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

struct Sets {
  std::vector<std::vector<Comm>> comms;
  std::vector<MPI_Comm> controls;
  MPI_Comm shared = MPI_COMM_NULL;

  void make(uint64_t seed, MPI_Comm parent) {
    Random random(seed);
    const int n = job.threads ? kThreads : 1;
    for (int i = 0; i < n; i++) {
      MPI_Comm control;
      MUST(MPI_Comm_dup(parent, &control));
      return_errors(control);
      controls.push_back(control);
      comms.push_back(make_comms(random, parent, i == 0));
    }
    MUST(MPI_Comm_dup(parent, &shared));
    return_errors(shared);
  }
  void free() {
    for (auto& c : comms) free_comms(c);
    for (MPI_Comm& c : controls) MUST(MPI_Comm_free(&c));
    comms.clear();
    controls.clear();
    if (shared != MPI_COMM_NULL) MUST(MPI_Comm_free(&shared));
  }
};

}  // namespace

void use_slot(int slot) {
  my_slot = slot;
}

void round_in_threads(uint64_t seed, Sets& sets) {
  Random random(seed);
  const int n = draw(random, 2, kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < n; i++) {
    const uint64_t theirs = random.next();
    threads.emplace_back([&sets, theirs, i] {
      use_slot(i + 1);
      carry_out(theirs, sets.comms[static_cast<size_t>(i)], sets.controls[static_cast<size_t>(i)]);
      step("thread %d is done", i);
    });
  }
  for (std::thread& t : threads) t.join();
}

void run(const Options& options) {
  MPI_Comm control;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &control));
  return_errors(control);
  Sets sets;
  const double end = now() + options.seconds;
  long made_for = -1;
  for (long r = options.first;; r++) {
    int go =
        options.rounds >= 0 ? r - options.first < options.rounds : r - options.first < kLeast || now() < end;
    step("MPI_Bcast of whether to go on");
    MUST(MPI_Bcast(&go, 1, MPI_INT, 0, control));
    if (!go) break;
    job.round = r;
    alarm(options.limit);
    if (job.verbose && job.rank == 0) fprintf(stderr, "round %ld\n", r);
    const uint64_t seed = job.seed * 1000003u + static_cast<uint64_t>(r);
    if (r / kEpoch != made_for) {
      step("making communicators");
      sets.free();
      made_for = r / kEpoch;
      sets.make(job.seed * 7777777u + static_cast<uint64_t>(made_for), control);
    }
    if (!job.threads) {
      carry_out(seed, sets.comms[0], sets.controls[0]);
    } else if (!options.shared && Random(seed).chance(60)) {
      round_in_threads(seed, sets);
    } else {
      share_one(seed, sets.shared);
    }
  }
  step("freeing communicators");
  sets.free();
  MUST(MPI_Comm_free(&control));
  long mine[kFigures], all[kFigures];
  for (int i = 0; i < kFigures; i++) mine[i] = figures[i];
  MUST(MPI_Reduce(mine, all, kFigures, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  if (job.rank == 0) {
    printf("%ld rounds of seed %llu", job.round - options.first + 1,
           static_cast<unsigned long long>(job.seed));
    for (int i = 0; i < kFigures; i++) printf(", %ld %s", all[i], figure_names[i]);
    printf("\npassed\n");
  }
}

void step(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(steps[my_slot], sizeof steps[0], format, arguments);
  va_end(arguments);
  if (job.trace == job.rank) fprintf(stderr, "%d.%d: %s\n", job.rank, my_slot, steps[my_slot]);
}

void count(Figure figure, int n) {
  figures[figure] += n;
}

void fail(const char* file, int line, const std::string& what) {
  const char* name = strrchr(file, '/');
  std::string text = "FAIL rank " + std::to_string(job.rank) + " of " + std::to_string(job.ranks) +
                     ", seed " + std::to_string(job.seed) + " round " + std::to_string(job.round) + ", " +
                     (name ? name + 1 : file) + ":" + std::to_string(line) + " (" + steps[my_slot] +
                     "): " + what + "\n";
  if (write(2, text.data(), text.size()) < 0) abort();
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void must(int code, const char* call, const char* file, int line) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(file, line, std::string(call) + ": " + text);
}

}  // namespace mixed

int main(int argc, char** argv) {
  using namespace mixed;
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--threads") {
      job.threads = true;
    } else if (name == "--shared") {  // only the rounds in which threads share a communicator
      job.threads = options.shared = true;
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
    } else if (name == "--pause") {
      options.pause = true;
    } else if (i + 1 < argc && name == "--pending") {
      job.pending = static_cast<size_t>(atol(argv[++i]));
    } else if (i + 1 < argc && name == "--without") {
      const std::string list = argv[++i];
      job.probes = list.find("probes") == std::string::npos;
      job.cancels = list.find("cancels") == std::string::npos;
      job.persistent = list.find("persistent") == std::string::npos;
      job.buffered = list.find("buffered") == std::string::npos;
      job.frees = list.find("freed") == std::string::npos;
    } else if (i + 1 < argc && name == "--reserved-limit") {
      job.reserved_limit = atof(argv[++i]);
    } else if (i + 1 < argc && name == "--steps") {
      job.steps = atoi(argv[++i]);
    } else if (i + 1 < argc && name == "--trace") {
      job.trace = atoi(argv[++i]);
    } else if (i + 1 < argc && name == "--limit") {
      options.limit = static_cast<unsigned>(atol(argv[++i]));
    } else {
      fprintf(stderr, "mixed: unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  // Plain Open MPI 4.1.4 loses messages, hangs or crashes if threads cancel, each on a communicator of its own: four runs of three threads
  // that cancel 150,000 receives from any source in all, while two ranks send: one lost a message, one crashed. MPICH 4.0.2: 3.9 million
  // cancellations without a fault.
  if (job.threads && kOpenMpi) job.cancels = false;
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
  return_errors(MPI_COMM_WORLD);
  return_errors(MPI_COMM_SELF);
  job.one_clock = on_one_machine();
  run(options);
  step("MPI_Finalize");
  MPI_Barrier(MPI_COMM_WORLD);
  // MPICH before 4.2 over UCX and TCP can hang if one rank is in MPI_Finalize and another in the barrier (docs/tasks.md).
  if (options.pause) usleep(300000 + 100000 * static_cast<useconds_t>(job.rank));
  MPI_Finalize();
  return 0;
}
