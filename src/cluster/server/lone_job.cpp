// One process without MPI: its pages go to lenders anywhere, and to a disk.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "cluster/lend/socket_courier.h"
#include "cluster/server/job.h"
#include "cluster/transport/cluster_store.h"
#include "os/memory/host_memory.h"
#include "os/process/self.h"

namespace tasuki::cluster {
namespace {

// Nobody lends anything.
class NoServers final : public Servers {
 public:
  explicit NoServers(size_t unit_bytes) : unit_(unit_bytes) {}

  size_t unit_bytes() const override { return unit_; }
  uint64_t slots() const override { return 0; }
  uint64_t run_limit(pager::Slot) const override { return 0; }
  Status get(pager::Slot, uint32_t, std::byte*, pager::Ticket) override { return nothing(); }
  Status put(pager::Slot, uint32_t, const std::byte*, pager::Ticket) override { return nothing(); }
  Status release(pager::Slot, uint32_t) override { return nothing(); }
  Status progress(pager::Tickets*) override { return {}; }
  bool busy() const override { return false; }

  const std::vector<Lender>& lenders() const override { return none_; }
  void finish() override {}
  void goodbye(int, bool) override {}
  void let_wait() override {}
  std::vector<int> lost() const override { return {}; }

 private:
  static Status nothing() { return Status::error(ENXIO, "there is no memory server"); }

  size_t unit_;
  std::vector<Lender> none_;
};

class LoneJob final : public Job {
 public:
  LoneJob() {
    os::current_cpu_set(&host_cores_);
    host_ = os::host_name();
  }

  std::string library() const override { return "no MPI"; }
  Result<std::unique_ptr<Servers>> assemble(const Options& options, size_t unit_bytes,
                                            uint64_t* local) override;
  void refuse(int) override {}
  Result<int> serve() override { return 0; }
  bool knows_ended(const std::vector<int>&) const override { return true; }
  void disconnect(int) override {}
  // Nothing is flushed: a thread that waits for a page may hold a stream.
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  Result<std::unique_ptr<Servers>> borrow(const Options& options, size_t unit_bytes) const;
};

Result<std::unique_ptr<Servers>> LoneJob::assemble(const Options& options, size_t unit_bytes,
                                                   uint64_t* local) {
  *local = options.pager.local_bytes;
  if (*local == 0 && !options.memfile.empty()) *local = options.memfile.front();
  if (*local == 0) *local = os::host_memory().available / 2;
  if (!options.lenders.empty()) return borrow(options, unit_bytes);
  return std::unique_ptr<Servers>(std::make_unique<NoServers>(unit_bytes));
}

Result<std::unique_ptr<Servers>> LoneJob::borrow(const Options& options, size_t unit_bytes) const {
  if (options.compress == Compress::lz4)
    return Status::error(EINVAL, "--compress lz4 is for memory servers of an MPI job, not for --lenders");
  const Redundancy redundancy = options.redundancy;
  const size_t part_bytes = redundancy.part(unit_bytes);
  if (redundancy.copies > options.lenders.size())
    return Status::error(EINVAL, too_few(redundancy, "lenders", "--lenders names", options.lenders.size()));
  Result<std::unique_ptr<ReedSolomon>> code = ReedSolomon::load_for(redundancy);
  if (!code.ok()) return code.status();
  const Result<std::string> file = lend::key_file();
  if (!file.ok()) return file.status();
  const Result<lend::Key> key = lend::read_key(file.value());
  if (!key.ok()) return key.status();
  const std::string name = std::string(program_invocation_short_name) + " on " + host_ + " (pid " +
                           std::to_string(os::pid_of_self()) + ")";
  const char* const parts = getenv(kPartsVariable);
  lend::SocketCourier::Options borrower;
  borrower.unit_bytes = part_bytes;
  borrower.bytes = options.memory;
  borrower.parts = parts != nullptr ? static_cast<uint32_t>(std::max(1, atoi(parts))) : 1;
  borrower.timeout_s = options.timeout_s;
  borrower.keeps_on = redundancy.survives_a_loss();
  borrower.key = key.value();
  borrower.name = name;
  borrower.keep = options.keep_descriptor;
  std::vector<uint64_t> bytes;
  Result<std::unique_ptr<lend::SocketCourier>> courier =
      lend::SocketCourier::connect(options.lenders, borrower, &bytes);
  if (!courier.ok()) return courier.status();
  std::vector<Lender> lenders;
  for (size_t i = 0; i < bytes.size(); i++) {
    Lender lender;
    lender.name = options.lenders[i].text();
    lender.slots = bytes[i] / part_bytes;
    lenders.push_back(std::move(lender));
  }
  return std::unique_ptr<Servers>(
      std::make_unique<ClusterStore>(std::move(lenders), std::move(courier.value()), unit_bytes, options.fill,
                                     redundancy, std::move(code.value())));
}

}  // namespace

Result<std::unique_ptr<Job>> Job::connect(Callers) {
  return std::unique_ptr<Job>(std::make_unique<LoneJob>());
}

void Job::end_mpi_of_program() {}
void Job::end_without_exit() {}

}  // namespace tasuki::cluster
