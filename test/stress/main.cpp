// A random MPI program that knows what must come out.
//
//   stress_mpi --seed N [--seconds S | --rounds N] [--first R] [--only part,part]
//              [--tasuki 1] [--end WAY --number N]
//
// Round R of seed N is the same everywhere and needs no other round before it: what failed in round 17 fails again, or may,
// with `--first 17 --rounds 1`. A rank says what is wrong and aborts the job; SIGALRM makes it say where it is.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "stress.h"

namespace stress {

Job job;
Figures figures;
thread_local bool passed_on = false;

namespace {

struct Named {
  const char* name;
  Part part;
  int weight;
  bool in_threads;  // may run in several threads, on communicators of their own
};

// Open MPI 4.1 hangs now and then when several threads make communicators, of different parents, at the same time.
constexpr bool kMakesInThreads = !kOpenMpi;

constexpr Named kParts[] = {
    {"p2p", point_to_point, 6, true},
    {"streams", streams, 2, true},
    {"exchanges", exchanges, 3, true},
    {"persistent", persistent, 3, true},
    {"partitioned", partitioned, 1, true},
    {"packs", packs, 1, true},
    {"collectives", collectives, 4, true},
    {"nonblocking", nonblocking_collectives, 4, true},
    {"reductions", reductions, 3, true},
    {"communicators", communicators, 3, kMakesInThreads},
    {"intercommunicators", intercommunicators, 2, kMakesInThreads},
    {"topologies", topologies, 2, kMakesInThreads},
    {"windows", windows, 2, false},
    {"locks", locks, 2, false},
    {"atomics", atomics, 1, false},
    {"shared", shared_windows, 1, false},
    {"errors", errors, 2, false},
};

thread_local const char* my_step = "start";
thread_local const char* my_part = "";
long round_now = -1;

// Of all threads, so that a signal handler in any of them can tell.
constexpr int kSlots = 16;
std::atomic<const char*> steps[kSlots];
std::atomic<int> threads_seen{0};
thread_local int my_slot = -1;

void on_alarm(int) {
  char text[600];
  int n = snprintf(text, sizeof text, "HUNG rank %d, seed %llu round %ld:", job.rank,
                   static_cast<unsigned long long>(job.seed), round_now);
  for (int i = 0; i < std::min(threads_seen.load(), kSlots) && n < 500; i++)
    n += snprintf(text + n, sizeof text - static_cast<size_t>(n), " [%.40s]",
                  steps[i].load() ? steps[i].load() : "-");
  text[n++] = '\n';
  if (write(2, text, static_cast<size_t>(n)) < 0) _exit(1);
}

struct Options {
  double seconds = 3;
  long first = 0, rounds = -1;
  std::string only, end;
  int number = 0;
};

bool chosen(const Options& options, const char* name) {
  return options.only.empty() ||
         ("," + options.only + ",").find(std::string(",") + name + ",") != std::string::npos;
}

const Named* pick(Random& random, const Options& options, bool in_threads) {
  int64_t sum = 0;
  for (const Named& p : kParts)
    if (chosen(options, p.name) && (!in_threads || p.in_threads)) sum += p.weight;
  if (sum == 0) return nullptr;
  int64_t at = random.between(1, sum);
  for (const Named& p : kParts)
    if (chosen(options, p.name) && (!in_threads || p.in_threads) && (at -= p.weight) <= 0) return &p;
  return nullptr;
}

void carry_out(const Named& named, Random random, MPI_Comm comm) {
  my_part = named.name;
  step(named.name);
  named.part(random, comm);
  step("between rounds");
}

// Several threads, each in a part of its own choice on a communicator of its own.
void in_threads(Random& random, const Options& options, MPI_Comm comm) {
  const int n = draw(random, 2, 4);
  std::vector<MPI_Comm> comms(static_cast<size_t>(n));
  std::vector<std::thread> threads;
  for (MPI_Comm& c : comms) MPI_Comm_dup(comm, &c);
  job.multiple = true;
  for (MPI_Comm c : comms) {
    Random theirs(random.next());
    const Named* named = pick(theirs, options, true);
    if (named != nullptr) threads.emplace_back([=] { carry_out(*named, theirs, c); });
  }
  for (std::thread& t : threads) t.join();
  job.multiple = false;
  for (MPI_Comm& c : comms) MPI_Comm_free(&c);
}

void rounds(const Options& options) {
  MPI_Comm control, comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const auto start = std::chrono::steady_clock::now();
  for (long r = options.first;; r++) {
    int go = options.rounds >= 0
                 ? r - options.first < options.rounds
                 : std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
                       options.seconds;
    step("MPI_Bcast of whether to go on");
    MPI_Bcast(&go, 1, MPI_INT, 0, control);
    if (!go) break;
    round_now = r;
    Random random(job.seed * 1000003u + static_cast<uint64_t>(r));
    MPI_Comm where = random.chance(50) ? comm : MPI_COMM_WORLD;
    if (job.threads && random.chance(35)) {
      in_threads(random, options, where);
    } else if (const Named* named = pick(random, options, false)) {
      carry_out(*named, Random(random.next()), where);
    }
  }
  MPI_Comm_free(&comm);
  MPI_Comm_free(&control);
}

}  // namespace

void step(const char* what) {
  my_step = what;
  if (my_slot < 0) my_slot = threads_seen++;
  steps[my_slot % kSlots] = what;
}

void fail(const char* file, int line, const std::string& what) {
  const char* name = strrchr(file, '/');
  std::string text = "FAIL rank " + std::to_string(job.rank) + ", seed " + std::to_string(job.seed) +
                     " round " + std::to_string(round_now) + ", " + my_part + ": " +
                     (name ? name + 1 : file) + ":" + std::to_string(line) + " (" + my_step + "): " + what +
                     "\n";
  if (text.size() > 6000) text = text.substr(0, 6000) + " ...\n";
  fputs(text.c_str(), stderr);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

}  // namespace stress

int main(int argc, char** argv) {
  using namespace stress;
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seed") job.seed = strtoull(argv[i + 1], nullptr, 10);
    if (name == "--seconds") options.seconds = atof(argv[i + 1]);
    if (name == "--rounds") options.rounds = atol(argv[i + 1]);
    if (name == "--first") options.first = atol(argv[i + 1]);
    if (name == "--only") options.only = argv[i + 1];
    if (name == "--tasuki") job.tasuki = true, job.most_mixed = 3500;
    if (name == "--end") options.end = argv[i + 1];
    if (name == "--number") options.number = atoi(argv[i + 1]);
  }
  signal(SIGALRM, on_alarm);
  Random random(job.seed);
  const bool want_threads = random.chance(40);
  int provided = MPI_THREAD_SINGLE;
  if (!options.end.empty()) end_before_init(options.end, options.number);
  step("MPI_Init");
  if (want_threads || random.chance(30)) {
    MPI_Init_thread(&argc, &argv, want_threads ? MPI_THREAD_MULTIPLE : draw(random, 0, 2), &provided);
  } else {
    MPI_Init(&argc, &argv);
  }
  job.threads = want_threads && provided == MPI_THREAD_MULTIPLE;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  const int room = 64 << 20;
  MPI_Buffer_attach(malloc(static_cast<size_t>(room)), room);

  rounds(options);
  if (!options.end.empty()) return end_by(options.end, options.number, random);

  step("figures");
  uint64_t mine[] = {figures.messages, figures.bytes,         figures.collectives,
                     figures.epochs,   figures.communicators, figures.errors},
           all[6];
  MPI_Reduce(mine, all, 6, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  void* buffer;
  int size;
  step("MPI_Buffer_detach");
  MPI_Buffer_detach(&buffer, &size);
  free(buffer);
  step("MPI_Finalize");
  MPI_Finalize();
  if (job.rank == 0)
    printf(
        "stress: figures messages=%llu bytes=%llu collectives=%llu epochs=%llu communicators=%llu "
        "errors=%llu\n",
        static_cast<unsigned long long>(all[0]), static_cast<unsigned long long>(all[1]),
        static_cast<unsigned long long>(all[2]), static_cast<unsigned long long>(all[3]),
        static_cast<unsigned long long>(all[4]), static_cast<unsigned long long>(all[5]));
  return 0;
}
