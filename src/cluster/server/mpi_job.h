// The MPI job that a program with cluster memory runs as: joining it, what its hosts have, lending memory.
//
// One thread of each rank calls MPI: MPI_THREAD_FUNNELED is enough (DLM-MPI, section 3.3), and even
// MPI_THREAD_SINGLE, as no other thread of ours knows of MPI. Where a thread that faults calls it, too, the
// calls are never at the same time: MPI_THREAD_SERIALIZED. Nothing refuses less, as in the paper (section
// 4.4).
#pragma once

#include <mpi.h>

#include "cluster/server/job.h"

namespace tasuki::cluster {

class MpiJob final : public Job {
 public:
  // As connect().
  static Result<std::unique_ptr<Job>> join(Callers callers);

  std::string library() const override;
  Status check(const Options& options) const override;
  Result<std::unique_ptr<Servers>> assemble(const Options& options, size_t unit_bytes,
                                            uint64_t* local) override;
  void refuse(int exit_code) override;
  Result<int> serve() override;
  bool knows_ended(const std::vector<int>& ranks) const override;
  void disconnect(int exit_code) override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  MpiJob() = default;
  Status look_around();
  Status share_out(uint64_t wanted, uint64_t* bytes);

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm host_comm_ = MPI_COMM_NULL;
  int host_ranks_ = 1;
  bool on_root_host_ = false;
  bool one_host_ = true;
  bool crowded_ = false;  // fewer cores on this host than threads that want to run all the time
  bool abruptly_ = false;
  int64_t patience_ms_ = 0;  // of rank 0; 0: it waits for servers for ever
};

}  // namespace tasuki::cluster
