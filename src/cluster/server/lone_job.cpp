// One process without MPI and without servers: its pages go to a disk.
#include <cstdlib>

#include "cluster/server/job.h"
#include "os/memory/host_memory.h"

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
  LoneJob() { os::current_cpu_set(&host_cores_); }

  std::string library() const override { return "no MPI"; }
  Result<std::unique_ptr<Servers>> assemble(const Options& options, size_t unit_bytes,
                                            uint64_t* local) override {
    *local = options.pager.local_bytes;
    if (*local == 0 && !options.memfile.empty()) *local = options.memfile.front();
    if (*local == 0) *local = os::host_memory().available / 2;
    return std::unique_ptr<Servers>(std::make_unique<NoServers>(unit_bytes));
  }
  void refuse(int) override {}
  Result<int> serve() override { return 0; }
  bool knows_ended(const std::vector<int>&) const override { return true; }
  void disconnect(int) override {}
  // Nothing is flushed: a thread that waits for a page may hold a stream.
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
};

}  // namespace

Result<std::unique_ptr<Job>> Job::connect() {
  return std::unique_ptr<Job>(std::make_unique<LoneJob>());
}

void Job::end_mpi_of_program() {}

}  // namespace tasuki::cluster
