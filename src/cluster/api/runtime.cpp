#include "cluster/api/runtime.h"

#include <limits.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"
#include "cluster/transport/idle.h"
#include "cluster/wrappers/descriptors.h"
#include "cluster/wrappers/faults.h"
#include "cluster/wrappers/pinning.h"
#include "os/files/output_file.h"
#include "os/memory/mapping.h"
#include "os/process/cpu.h"
#include "os/process/self.h"
#include "os/process/signals.h"
#include "os/process/thread.h"

namespace tasuki::cluster {
namespace {

thread_local bool t_pager_thread = false;

// exit() in a program that does not call dlm_shutdown. Registered when this library is loaded, so that it
// runs after everything that the program registers itself: destructors of static objects may use cluster
// memory. That is not the place for on_exit, which knows nothing of libraries: what is registered so early
// runs when MPI's own libraries have been torn down.
void at_exit() {
  Runtime::instance().stop(true);
  Runtime::instance().end();
}
[[gnu::constructor]] void register_exit() {
  atexit(at_exit);
}

std::string program_name() {
  return program_invocation_short_name;
}

std::string absolute(const std::string& path) {
  char folder[PATH_MAX];
  if (path[0] == '/' || getcwd(folder, sizeof folder) == nullptr) return path;
  return std::string(folder) + "/" + path;
}

// What the program printed must not be lost when MPI ends it; a thread that holds the stream may wait for a
// page.
void flush_stdout() {
  if (ftrylockfile(stdout) != 0) return;
  fflush(stdout);
  funlockfile(stdout);
}

}  // namespace

Runtime& Runtime::instance() {
  static Runtime* const runtime = new Runtime;
  return *runtime;
}

pager::Pager* Runtime::pager() const {
  return state_ == State::running && is_own_process() ? pager_.get() : nullptr;
}

// Without a system call where the kernel empties a page in children: each small allocation asks.
bool Runtime::is_own_process() const {
  return own_ != nullptr ? own_->load(std::memory_order_relaxed) : os::pid_of_self() == pid_;
}

bool Runtime::is_pager_thread() const {
  return t_pager_thread;
}

void Runtime::start(int* argc, char*** argv, OptionsReader read, ReportWriter write) {
  std::unique_lock lock(mutex_);
  if (state_ != State::off) return;
  state_ = State::starting;
  pid_ = os::pid_of_self();
  void* const page = os::map_memory(os::page_size());
  if (page != nullptr && os::wipe_on_fork(page, os::page_size())) own_ = new (page) std::atomic<bool>(true);
  begin_ns_ = os::monotonic_ns();
  read_options_ = read;
  write_report_ = write;
  int dashes = -1;
  if (argc != nullptr && argv != nullptr)
    for (int i = 1; i < *argc; i++)
      if (strcmp((*argv)[i], "--") == 0) dashes = i;
  if (dashes > 0) arguments_.assign(*argv + dashes + 1, *argv + *argc);
  const PagersDescriptors its;
  {
    const os::SignalsBlocked blocked;  // which the pager's thread inherits
    const InternalScope internal;      // which the thread inherits, and the MPI library's helpers from it
    choose_callers();
    if (threadless()) {
      lock.unlock();
      open();
      lock.lock();
    } else {
      thread_ = std::thread([this] { thread_main(); });
    }
  }
  changed_.wait(lock, [this] { return state_ != State::starting; });
  if (state_ == State::running) {
    on_exit([](int exit_code, void*) { instance().program_exit_code_ = exit_code; }, nullptr);
    if (dashes > 0) {
      *argc = dashes;
      (*argv)[dashes] = nullptr;
    }
    return;
  }
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  // The program's own MPI ends where it began.
  if (job_ == nullptr || !job_->initialised_here()) Job::end_mpi_of_program();
  if (job_ == nullptr || job_->rank() == 0) exit(exit_code_);
  // A server. What the program printed before is shown, but nothing of it runs any more.
  fflush(nullptr);
  Job::end_without_exit();
  std::_Exit(exit_code_);
}

void Runtime::fail(int exit_code) {
  const std::lock_guard lock(mutex_);
  exit_code_ = exit_code;
  state_ = State::failed;
  changed_.notify_all();
}

// Before MPI is there, as it depends on that who begins it. What is wrong with the settings is said later, by
// rank 0.
void Runtime::choose_callers() {
  const Result<Options> read = read_options_(arguments_, 0);
  if (!read.ok() || read.value().pager.faults != pager::Faults::userfault_sigbus) return;
  const pager::Protocol protocol = read.value().pager.protocol;
  if (protocol == pager::Protocol::cs) callers_ = Job::Callers::program;
  if (protocol == pager::Protocol::as1) callers_ = Job::Callers::by_turns;
}

void Runtime::thread_main() {
  t_pager_thread = true;
  os::name_thread("tasuki-pager");
  os::use_c_locale();  // the environment may be in memory that this thread cannot wait for
  open();
  if (state_ != State::running) return;
  const Status served = pager_->serve();
  if (!served.ok()) lose(served);
  conclude();
}

// Afterwards the pager runs, or this has failed.
void Runtime::open() {
  Result<std::unique_ptr<Job>> job = Job::connect(callers_);
  if (!job.ok()) {
    log(LogLevel::error, "%s", job.status().message().c_str());
    return fail(1);
  }
  job_ = std::move(job.value());
  if (job_->rank() == 0)
    lead();
  else
    lend();
}

void Runtime::lend() {
  const Result<int> code = job_->serve();
  if (!code.ok()) {
    // Rank 0 or its launcher is gone, or MPI failed: nothing that is collective may be called any more.
    log(LogLevel::error, "memory server rank %d on %s: %s", job_->rank(), job_->host().c_str(),
        code.status().message().c_str());
    fflush(nullptr);
    std::_Exit(1);
  }
  job_->disconnect(code.value());
  fail(code.value());
}

void Runtime::lead() {
  // A launcher that gives this rank one core would have the program and its pager share it.
  os::CpuSet own;
  if (!threadless() && os::current_cpu_set(&own) < 2) os::use_cores(job_->host_cores());

  Result<Options> read = read_options_(arguments_, job_->size());
  if (read.ok()) {
    Status possible = os::check_output("--stats", read.value().stats_file);
    if (possible.ok()) possible = job_->check(read.value());
    if (!possible.ok()) read = possible;
  }
  const size_t unit = read.ok() ? pager::Pager::unit_bytes(read.value().pager) : 0;
  if (read.ok() && read.value().help.empty()) {
    Result<std::unique_ptr<Tiers>> tiers = Tiers::open(read.value(), unit);
    if (tiers.ok())
      tiers_ = std::move(tiers.value());
    else
      read = tiers.status();
  }
  if (!read.ok() || !read.value().help.empty()) {
    if (read.ok())
      fputs(read.value().help.c_str(), stdout);
    else
      log(LogLevel::error, "%s", read.status().message().c_str());
    const int code = read.ok() ? 0 : 1;
    job_->refuse(code);
    job_->disconnect(code);
    return fail(code);
  }
  Options& options = options_ = std::move(read.value());
  options.keep_descriptor = keep_descriptor;
  // The program may change its working directory.
  if (!options.stats_file.empty()) options.stats_file = absolute(options.stats_file);
  Result<std::unique_ptr<Servers>> assembled = job_->assemble(options, unit, &options.pager.local_bytes);
  if (!assembled.ok()) {
    log(LogLevel::error, "%s", assembled.status().message().c_str());
    job_->disconnect(1);
    return fail(1);
  }
  servers_ = std::move(assembled.value());
  Servers& servers = *servers_;
  const Result<pager::Store*> store = tiers_->join(options, &servers);
  pager::Options of_pager = options.pager;
  of_pager.enter = [] { t_internal++; };
  of_pager.leave = [] { t_internal--; };
  of_pager.threadless = threadless();
  of_pager.lost = [](const Status& why) { instance().lose(why); };
  before_pager_handler();
  Result<std::unique_ptr<pager::Pager>> created = store.ok()
                                                      ? pager::Pager::create(of_pager, store.value())
                                                      : Result<std::unique_ptr<pager::Pager>>(store.status());
  after_pager_handler();
  if (!created.ok()) {
    log(LogLevel::error, "%s", created.status().message().c_str());
    servers.goodbye(1);
    if (!servers.lost().empty()) job_->abort(1);
    job_->disconnect(1);
    return fail(1);
  }
  if (threadless()) servers.let_wait();  // nobody will tell them that this rank is alive
  const std::lock_guard lock(mutex_);
  pager_ = std::move(created.value());
  attach_pager(pager_.get());
  beside_.begin();
  state_ = State::running;
  changed_.notify_all();
}

void Runtime::lose(const Status& why) {
  log(LogLevel::error, "cluster memory is lost: %s", why.message().c_str());
  flush_stdout();
  // A launcher that goes on without some ranks does not always report an abort.
  if (!servers_->lost().empty() && job_->knows_ended(servers_->lost())) {
    servers_->goodbye(1, true);
    std::_Exit(1);
  }
  job_->abort(1);
}

// The pager uses its store no more.
void Runtime::conclude() {
  end_servers();
  tiers_.reset();
  servers_.reset();
}

void Runtime::end_servers() {
  Servers& servers = *servers_;
  if (options_.stats) {
    const Status written = write_report_(make_report(), options_.stats_file);
    if (!written.ok()) log(LogLevel::error, "%s", written.message().c_str());
  }
  servers.finish();
  if (servers.lost().empty()) {
    servers.goodbye(0);
    if (servers.lost().empty()) return job_->disconnect(program_exit_code_);
  }
  if (job_->knows_ended(servers.lost()))
    servers.goodbye(0, true);
  else {
    servers.let_wait();
    abort_at_end_ = true;  // until then the other servers wait, asleep
  }
}

void Runtime::end() {
  // The pager's thread has ended: MPI calls are still those of one thread at a time.
  if (!abort_at_end_ || t_pager_thread || !is_own_process()) return;
  log(LogLevel::info, "a memory server is lost: the MPI job ends by MPI_Abort with the program's exit code");
  fflush(nullptr);
  job_->abort(program_exit_code_);
}

Report Runtime::make_report() {
  const Options& options = options_;
  const Servers& servers = *servers_;
  Report report;
  report.program = program_name();
  report.mpi = job_->library();
  report.mechanism = pager_->mechanism();
  const char* const protocols[] = {"ahead", "cs", "cross", "as1", "as2"};
  report.protocol = protocols[static_cast<int>(options.pager.protocol)];
  report.page_size =
      options.pager.page_bytes == 0 ? "automatic" : bytes_text(options.pager.page_bytes, BytesStyle::exact);
  report.seconds = static_cast<double>(os::monotonic_ns() - begin_ns_) * 1e-9;
  report.stats = stats();
  report.threads = pager_->thread_stats();
  for (const Lender& lender : servers.lenders())
    report.servers.push_back({lender.name, lender.slots * servers.part_bytes(), lender.window != nullptr,
                              lender.bytes_in, lender.bytes_out});
  if (const pager::FileStore* disk = tiers_->disk())
    report.disk = {disk->directory(), disk->slots() * disk->unit_bytes(), disk->bytes_in(),
                   disk->bytes_out()};
  if (const pager::CompressedCache* cache = tiers_->cache()) {
    const pager::CompressedCache::Counters& c = cache->counters();
    const uint64_t unit = cache->unit_bytes();
    report.cache = {true,
                    cache->capacity(),
                    c.most_bytes,
                    c.kept_compressed * unit,
                    c.kept_uniform * unit,
                    c.went_below * unit,
                    c.hits,
                    c.misses};
  }
  return report;
}

uint64_t Runtime::beside_bytes() const {
  const pager::CompressedCache* const cache = tiers_->cache();
  return beside_.bytes(pager_->stats().resident_bytes + (cache != nullptr ? cache->capacity() : 0));
}

pager::Stats Runtime::stats() {
  beside_.look_now();
  pager::Stats stats = pager_->stats();
  const pager::CompressedCache* const cache = tiers_->cache();
  stats.beside_bytes = beside_.most_bytes(stats.local_bytes + (cache != nullptr ? cache->capacity() : 0));
  return stats;
}

void Runtime::stop(bool exiting) {
  // exit() in the pager's own thread would wait for itself; in a forked child there is no such thread.
  if (t_pager_thread || !is_own_process()) return;
  const std::lock_guard lock(stopping_);
  if (state_ != State::running) return;
  detach_pager();
  pager_->stop();
  if (threadless()) {
    const InternalScope internal;
    conclude();
  } else {
    thread_.join();
  }
  state_ = State::ended;
  if (!exiting) {
    const InternalScope internal;  // what the pager gives back is its own
    pager_.reset();
    pager_handler_is_gone();
  }
}

}  // namespace tasuki::cluster
