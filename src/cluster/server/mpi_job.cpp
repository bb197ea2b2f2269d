#include "cluster/server/mpi_job.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "base/bytes.h"
#include "base/log.h"
#include "cluster/server/server.h"
#include "cluster/transport/cluster_store.h"
#include "cluster/transport/mpi_call.h"
#include "cluster/transport/mpi_courier.h"
#include "mpi/functions.h"
#include "os/memory/host_memory.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "os/process/process.h"
#include "os/process/self.h"

namespace tasuki::cluster {
namespace {

constexpr int64_t kNewsNanoseconds = 2'000'000'000;
constexpr int64_t kAbortMilliseconds = 3000, kFinalizeMilliseconds = 10'000;
constexpr uint64_t kProcessBytes = 32 << 20;  // of a rank, beside what it gives
constexpr int kQuietMilliseconds = 60, kTurnMilliseconds = 20, kTurns = 10;

// MPICH before 4.2 over UCX and TCP waits in MPI_Finalize for ever, on several hosts, when one rank still
// progresses while another closes its connections.
bool wants_quiet_end() {
  return mpi::is_mpich_before(4, 2);
}

void pause_ms(int64_t ms) {
  const timespec time = {ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

std::atomic<bool> mpi_returned{false};

// For calls into MPI that may never return when everything else is said and done. Under `tasuki mem` _exit()
// would end cluster memory first, and wait for the thread that is in that call.
void exit_after_ms(int64_t ms, int exit_code, const char* why = nullptr) {
  std::thread([ms, exit_code, why] {
    pause_ms(ms);
    if (mpi_returned) return;
    if (why != nullptr) log(LogLevel::warning, "%s", why);
    fflush(nullptr);
    os::end_at_once(exit_code);
  }).detach();
}

const char* level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

Status initialise(Job::Callers callers, bool* here) {
  int initialised = 0, finalised = 0, level = 0;
  PMPI_Initialized(&initialised);
  PMPI_Finalized(&finalised);
  if (finalised != 0)
    return Status::error(EPERM,
                         "dlm_startup after MPI_Finalize: MPI cannot be used any more; call it before");
  if (initialised != 0) {
    if (callers != Job::Callers::pager)
      return Status::error(
          EPERM,
          "the program has initialised MPI: the protocols cs and as1 with faults by SIGBUS call "
          "MPI wherever the program touches a page that is away, perhaps inside of its own "
          "call; take another protocol");
    PMPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE)
      return Status::error(EPERM, std::string("the program has initialised MPI with ") + level_name(level) +
                                      ", but cluster memory has a thread that calls MPI, too: leave out "
                                      "MPI_Init, or use MPI_Init_thread with MPI_THREAD_MULTIPLE");
    *here = false;
    return {};
  }
  const int wanted = callers == Job::Callers::pager ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED;
  Status status = mpi_status(PMPI_Init_thread(nullptr, nullptr, wanted, &level), "MPI_Init_thread");
  if (!status.ok()) return status;
  *here = true;
  log(LogLevel::debug, "cluster memory: MPI gives %s; asked for was %s", level_name(level),
      level_name(wanted));
  return {};
}

// What a server lends, as it has it itself.
struct Loan {
  os::Fd file;
  void* memory = nullptr;
};

// Where only this process uses it, private memory; it may have huge pages if it is filled without gaps.
Status make_loan(uint64_t bytes, bool share, bool huge, Loan* loan, std::string* note) {
  if (bytes == 0) return {};
  if (share) {
    Result<os::Fd> file = os::memory_file(bytes + os::page_size());
    if (file.ok())
      loan->file = std::move(file.value());
    else
      *note = file.status().message();
  }
  loan->memory = loan->file.valid() ? os::map_memory_file(loan->file.get(), bytes) : os::map_memory(bytes);
  if (loan->memory == nullptr)
    return Status::error(ENOMEM,
                         "no address space for " + bytes_text(bytes, BytesStyle::rounded) + " (ulimit -v?)");
  if (!loan->file.valid() && huge) os::allow_huge_pages(loan->memory, bytes);
  return {};
}

// Rank 0's side of a memory file; an error is the reason why there is no window.
Result<std::unique_ptr<WindowMemory>> open_window(const Offer& offer, size_t unit_bytes, os::Fd* process) {
  Result<os::Fd> file = os::open_descriptor_of(static_cast<pid_t>(offer.pid), offer.file);
  if (!file.ok()) return file.status();
  // The number of a process means another one in another pid namespace.
  uint64_t cookie = 0;
  if (os::read_at(file.value().get(), &cookie, sizeof cookie, offer.bytes) != 0 || cookie != offer.cookie)
    return Status::error(ESRCH, "its processes are numbered differently (another container?)");
  process->reset(os::process_descriptor(static_cast<pid_t>(offer.pid)));
  return WindowMemory::create(std::move(file.value()), unit_bytes, offer.bytes / unit_bytes);
}

void copy_text(const std::string& from, char* to, size_t size) {
  snprintf(to, size, "%s", from.c_str());
}

}  // namespace

Result<std::unique_ptr<Job>> Job::connect(Callers callers) {
  return MpiJob::join(callers);
}

void Job::end_mpi_of_program() {
  if (!mpi::load().ok()) return;
  int initialised = 0, finalised = 0;
  PMPI_Initialized(&initialised);
  PMPI_Finalized(&finalised);
  if (initialised != 0 && finalised == 0) PMPI_Finalize();
}

void Job::end_without_exit() {
  mpi::end_without_exit();
}

std::string MpiJob::library() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  PMPI_Get_library_version(text, &length);
  text[strcspn(text, "\n,")] = 0;
  for (char* c = text; *c != 0; c++)
    if (*c == '\t') *c = ' ';
  return text;
}

Result<std::unique_ptr<Job>> MpiJob::join(Callers callers) {
  if (const Status found = mpi::load(); !found.ok()) return found;
  std::unique_ptr<MpiJob> job(new MpiJob);
  Status status = initialise(callers, &job->initialised_here_);
  if (status.ok()) status = mpi_status(PMPI_Comm_dup(MPI_COMM_WORLD, &job->comm_), "MPI_Comm_dup");
  if (status.ok()) status = job->look_around();
  if (!status.ok()) return status;
  return std::unique_ptr<Job>(std::move(job));
}

Status MpiJob::look_around() {
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &size_);
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  host_.assign(name, static_cast<size_t>(length));
  Status status =
      mpi_status(PMPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host_comm_),
                 "MPI_Comm_split_type");
  if (!status.ok()) return status;
  PMPI_Comm_set_errhandler(host_comm_, MPI_ERRORS_RETURN);
  PMPI_Comm_size(host_comm_, &host_ranks_);
  int root_here = rank_ == 0 ? 1 : 0;
  status =
      mpi_status(PMPI_Allreduce(MPI_IN_PLACE, &root_here, 1, MPI_INT, MPI_MAX, host_comm_), "MPI_Allreduce");
  on_root_host_ = root_here != 0;
  one_host_ = host_ranks_ == size_;
  // Launchers bind ranks to cores of their own; a thread of ours may have to go to another rank's.
  os::current_cpu_set(&host_cores_);
  if (status.ok())
    status =
        mpi_status(PMPI_Allreduce(MPI_IN_PLACE, host_cores_.bits, sizeof host_cores_.bits / sizeof(uint64_t),
                                  MPI_UINT64_T, MPI_BOR, host_comm_),
                   "MPI_Allreduce");
  // Rank 0 has two threads that compute and page, a server one.
  crowded_ = os::count_cores(host_cores_) < host_ranks_ + root_here;
  return status;
}

// Collective on a host: the bytes that this rank takes. What was asked for is scaled down where all ranks of
// the host together want more than it has.
Status MpiJob::share_out(uint64_t wanted, uint64_t* bytes) {
  const os::HostMemory memory = os::host_memory();
  *bytes = wanted != 0 ? wanted : memory.available / 2 / static_cast<uint64_t>(host_ranks_);
  // In MiB: the sum of many absurd sizes must not wrap around.
  uint64_t sum = *bytes >> 20;
  Status status =
      mpi_status(PMPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, host_comm_), "MPI_Allreduce");
  // The processes need some, too.
  const uint64_t own = std::min(memory.total / 4, kProcessBytes * static_cast<uint64_t>(host_ranks_));
  const uint64_t total = (memory.total - own) >> 20;
  if (!status.ok() || total == 0 || sum <= total) return status;
  const double share = static_cast<double>(total) / static_cast<double>(sum);
  *bytes = static_cast<uint64_t>(static_cast<double>(*bytes) * share);
  int host_rank = 0;
  PMPI_Comm_rank(host_comm_, &host_rank);
  if (host_rank == 0)
    log(LogLevel::warning,
        "the ranks of %s are to give %" PRIu64 " MiB together, but the host has %" PRIu64
        " MiB to give: each rank gives %.0f %% of its part",
        host_.c_str(), sum, total, 100 * share);
  return {};
}

Status MpiJob::check(const Options& options) const {
  if (options.lenders.empty()) return {};
  return Status::error(
      EINVAL,
      "--lenders: here the other ranks of the job lend their memory; lenders are for programs that "
      "are started without mpirun, for MPI programs under `tasuki mem`, and with --mpi none");
}

void MpiJob::refuse(int exit_code) {
  Plan plan = {};
  plan.magic = kMagic;
  plan.version = kVersion;
  plan.end = exit_code;
  PMPI_Bcast(&plan, sizeof plan, MPI_BYTE, 0, comm_);
}

Result<std::unique_ptr<Servers>> MpiJob::assemble(const Options& options, size_t unit_bytes,
                                                  uint64_t* local) {
  const Redundancy redundancy = options.redundancy;
  const size_t part_bytes = redundancy.part(unit_bytes);
  Plan plan = {};
  plan.magic = kMagic;
  plan.version = kVersion;
  plan.end = -1;
  plan.unit_bytes = part_bytes;
  plan.share = options.window != Window::off ? 1 : 0;
  plan.packed = options.compress == Compress::lz4 ? 1 : 0;
  plan.patience = static_cast<uint32_t>(options.timeout_s);
  patience_ms_ = static_cast<int64_t>(options.timeout_s) * 1000;
  Status status = mpi_status(PMPI_Bcast(&plan, sizeof plan, MPI_BYTE, 0, comm_), "MPI_Bcast");
  if (!status.ok()) return status;

  std::vector<uint64_t> wanted(static_cast<size_t>(size_), options.memory);
  wanted[0] = 0;
  if (!options.memfile.empty()) wanted = options.memfile;
  if (options.pager.local_bytes != 0) wanted[0] = options.pager.local_bytes;
  uint64_t mine = 0;
  status = mpi_status(PMPI_Scatter(wanted.data(), 1, MPI_UINT64_T, &mine, 1, MPI_UINT64_T, 0, comm_),
                      "MPI_Scatter");
  if (status.ok()) status = share_out(mine, local);

  std::vector<Offer> offers(static_cast<size_t>(size_));
  Offer own = {};
  if (status.ok())
    status = mpi_status(
        PMPI_Gather(&own, sizeof own, MPI_BYTE, offers.data(), sizeof own, MPI_BYTE, 0, comm_), "MPI_Gather");
  if (!status.ok()) return status;

  std::vector<Lender> lenders;
  std::vector<Deal> deals(static_cast<size_t>(size_), Deal{-1, 0});
  std::vector<std::string> names;
  std::vector<bool> far;
  for (int rank = 1; rank < size_; rank++) {
    const Offer& offer = offers[static_cast<size_t>(rank)];
    Lender lender;
    lender.name = "rank " + std::to_string(rank) + " on " + offer.host;
    lender.slots = offer.bytes / part_bytes;
    std::string why = offer.text;
    if (offer.error != 0 && status.ok())
      status = Status::error(offer.error, "memory server " + lender.name + ": " + offer.text);
    if (offer.error == 0 && offer.file >= 0) {
      Result<std::unique_ptr<WindowMemory>> window = open_window(offer, part_bytes, &lender.process);
      if (window.ok()) {
        lender.window = std::move(window.value());
        deals[static_cast<size_t>(rank)].shared = 1;
        why.clear();
      } else {
        why = window.status().message();
      }
    }
    const bool missing = offer.on_root_host != 0 && lender.window == nullptr && lender.slots > 0;
    if (missing && options.window == Window::on && status.ok())
      status = Status::error(EPERM, "--window on: no window to the memory of " + lender.name + ": " + why);
    if (missing && options.window == Window::automatic)
      log(LogLevel::info, "no window to the memory of %s (%s): it takes part by messages",
          lender.name.c_str(), why.c_str());
    names.push_back(lender.name);
    far.push_back(offer.on_root_host == 0);
    lenders.push_back(std::move(lender));
  }
  const auto servers = static_cast<uint32_t>(size_ - 1);
  if (status.ok() && servers > 0 && servers < redundancy.copies)
    status = Status::error(EINVAL, too_few(redundancy, "memory servers", "the job has", servers) +
                                       ": start it with at least " + std::to_string(redundancy.copies + 1) +
                                       " ranks");
  Result<std::unique_ptr<ReedSolomon>> code = ReedSolomon::load_for(redundancy);
  if (status.ok()) status = code.status();
  if (!status.ok())
    for (Deal& deal : deals) deal.end = 1;
  Deal deal;
  const Status dealt =
      mpi_status(PMPI_Scatter(deals.data(), sizeof deal, MPI_BYTE, &deal, sizeof deal, MPI_BYTE, 0, comm_),
                 "MPI_Scatter");
  if (status.ok()) status = dealt;
  if (!status.ok()) return status;
  auto courier = std::make_unique<MpiCourier>(
      comm_, std::move(names),
      MpiCourier::Options{part_bytes, options.compress == Compress::lz4, crowded_, options.timeout_s,
                          redundancy.survives_a_loss(), std::move(far)});
  return std::unique_ptr<Servers>(std::make_unique<ClusterStore>(std::move(lenders), std::move(courier),
                                                                 unit_bytes, options.fill, redundancy,
                                                                 std::move(code.value()), options.threads));
}

Result<int> MpiJob::serve() {
  Plan plan = {};
  Status status = mpi_status(PMPI_Bcast(&plan, sizeof plan, MPI_BYTE, 0, comm_), "MPI_Bcast");
  if (!status.ok()) return status;
  if (plan.magic != kMagic || plan.version != kVersion)
    return Status::error(EPROTO, "rank 0 runs another version of this library than rank " +
                                     std::to_string(rank_) + " on " + host_ +
                                     ": install the same everywhere");
  if (plan.end >= 0) return plan.end;

  uint64_t wanted = 0, bytes = 0;
  status =
      mpi_status(PMPI_Scatter(nullptr, 1, MPI_UINT64_T, &wanted, 1, MPI_UINT64_T, 0, comm_), "MPI_Scatter");
  if (!status.ok()) return status;
  std::string why;
  status = share_out(wanted, &bytes);
  if (!status.ok()) return status;
  bytes -= bytes % std::max<uint64_t>(plan.unit_bytes, os::page_size());

  Loan loan;
  const Status made = make_loan(bytes, plan.share != 0 && on_root_host_, plan.packed == 0, &loan, &why);
  Offer offer = {};
  offer.error = made.err();
  offer.file = loan.file.get();
  offer.pid = os::pid_of_self();
  offer.bytes = bytes;
  offer.on_root_host = on_root_host_ ? 1 : 0;
  copy_text(host_, offer.host, sizeof offer.host);
  copy_text(made.ok() ? why : made.message(), offer.text, sizeof offer.text);
  if (loan.file.valid()) {
    std::random_device random;
    offer.cookie = uint64_t{random()} << 32 | random();
    os::write_at(loan.file.get(), &offer.cookie, sizeof offer.cookie, bytes);
  }
  status =
      mpi_status(PMPI_Gather(&offer, sizeof offer, MPI_BYTE, nullptr, 0, MPI_BYTE, 0, comm_), "MPI_Gather");
  Deal deal = {};
  if (status.ok())
    status =
        mpi_status(PMPI_Scatter(nullptr, 0, MPI_BYTE, &deal, sizeof deal, MPI_BYTE, 0, comm_), "MPI_Scatter");
  if (!status.ok()) return status;
  if (deal.end >= 0) return deal.end;

  Server::Memory memory;
  memory.unit_bytes = plan.unit_bytes;
  memory.slots = bytes / plan.unit_bytes;
  memory.file = loan.file.get();
  memory.packed = plan.packed != 0 && deal.shared == 0;
  memory.patience_s = on_root_host_ ? 0 : plan.patience;
  if (deal.shared == 0)
    memory.at = static_cast<std::byte*>(loan.memory);
  else
    os::unmap(loan.memory, bytes);
  // Where rank 0 uses the memory itself, the only message is the last one.
  Server server(comm_, memory, Idle(!crowded_ && deal.shared == 0));
  const Result<int> code = server.run();
  abruptly_ = server.abruptly();
  return code;
}

// Libraries with fault tolerance know (Open MPI 5 under mpirun --with-ft ulfm). The function is not in the
// headers of others. Open MPI 5.0.11 then waits in MPI_Finalize for ever now and then; a job that ends
// without it ends well.
bool MpiJob::knows_ended(const std::vector<int>& ranks) const {
  if (ranks.empty()) return true;
  using GetFailed = int (*)(MPI_Comm, MPI_Group*);
  const auto get_failed = reinterpret_cast<GetFailed>(mpi::extension("MPIX_Comm_get_failed"));
  if (get_failed == nullptr) return false;
  MPI_Group all = MPI_GROUP_NULL;
  if (PMPI_Comm_group(comm_, &all) != MPI_SUCCESS) return false;
  bool known = false;
  // The news comes by way of the launcher, and is heard of in calls that wait for something.
  for (const int64_t begin = os::monotonic_ns(); !known && os::monotonic_ns() - begin < kNewsNanoseconds;) {
    int flag = 0;
    PMPI_Iprobe(ranks.front(), kHeaderTag, comm_, &flag, MPI_STATUS_IGNORE);
    MPI_Group failed = MPI_GROUP_NULL;
    if (get_failed(comm_, &failed) != MPI_SUCCESS) break;
    std::vector<int> places(ranks.size(), MPI_UNDEFINED);
    PMPI_Group_translate_ranks(all, static_cast<int>(ranks.size()), ranks.data(), failed, places.data());
    known = std::find(places.begin(), places.end(), MPI_UNDEFINED) == places.end();
    if (failed != MPI_GROUP_EMPTY) PMPI_Group_free(&failed);
  }
  PMPI_Group_free(&all);
  return known;
}

void MpiJob::disconnect(int exit_code) {
  if (abruptly_) {
    fflush(nullptr);
    os::end_at_once(exit_code);
  }
  // A server from which nothing was wanted has not been missed before.
  if (initialised_here_ && patience_ms_ > 0)
    exit_after_ms(std::max(kFinalizeMilliseconds, patience_ms_), exit_code,
                  "MPI_Finalize does not return: a memory server does not answer; this rank ends without it");
  if (initialised_here_ && !one_host_ && wants_quiet_end()) {
    fflush(nullptr);
    exit_after_ms(kFinalizeMilliseconds, exit_code);  // where the pause is too short, on a crowded machine
    // Everybody is out of the barrier, and nobody in MPI, when the first one begins to end it.
    if (PMPI_Barrier(comm_) == MPI_SUCCESS)
      pause_ms(kQuietMilliseconds + kTurnMilliseconds * std::min(rank_, kTurns));
  }
  if (host_comm_ != MPI_COMM_NULL) PMPI_Comm_free(&host_comm_);
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
  if (initialised_here_) PMPI_Finalize();
  mpi_returned = true;
}

void MpiJob::abort(int exit_code) {
  int finalised = 0;
  PMPI_Finalized(&finalised);
  if (finalised != 0) os::end_at_once(exit_code);
  // Libraries wait for their launcher to end them, and it for hosts that nobody can reach any more.
  exit_after_ms(kAbortMilliseconds, exit_code);
  PMPI_Abort(comm_ == MPI_COMM_NULL ? MPI_COMM_WORLD : comm_, exit_code);
  os::end_at_once(exit_code);
}

}  // namespace tasuki::cluster
