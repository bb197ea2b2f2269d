// The MPI job that a program with cluster memory runs as: joining it, what its hosts have, lending memory.
//
// All functions are called by one thread of each rank, the one that called connect(): MPI_THREAD_FUNNELED is
// enough (DLM-MPI, section 3.3), and even MPI_THREAD_SINGLE, as no other thread of ours knows of MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "cluster/settings/options.h"
#include "cluster/transport/cluster_store.h"
#include "os/process/cpu.h"

namespace tasuki::cluster {

class Job {
 public:
  // Collective. Initialises MPI, unless the program has: then MPI_THREAD_MULTIPLE is needed, else EPERM.
  static Result<std::unique_ptr<Job>> connect();

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& host() const { return host_; }
  bool initialised_here() const { return initialised_here_; }
  // Fewer cores on this host than threads that want to run all the time.
  bool crowded() const { return crowded_; }
  const os::CpuSet& host_cores() const { return host_cores_; }

  // Rank 0, one of the two: the servers' memory as one store, and the bytes for pages on rank 0 in *local;
  Result<std::unique_ptr<ClusterStore>> assemble(const Options& options, size_t unit_bytes, uint64_t* local);
  // or the other ranks end with this code. (After an error of assemble() they do so with 1.)
  void refuse(int exit_code);

  // The other ranks: lends memory until rank 0 says goodbye; the exit code.
  Result<int> serve();

  // The MPI library knows that these have ended: then the others may end without MPI_Finalize (which waits
  // for them). Otherwise only abort() ends the job.
  bool knows_ended(const std::vector<int>& ranks) const;

  // All ranks. Ends MPI, if it was initialised here. A server whose rank 0 said that MPI cannot be ended
  // ends.
  void disconnect(int exit_code);

  // Ends all ranks at once: something is lost.
  [[noreturn]] void abort(int exit_code);

 private:
  Job() = default;
  Status look_around();
  Status share_out(uint64_t wanted, uint64_t* bytes);

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm host_comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  int host_ranks_ = 1;
  bool on_root_host_ = false;
  bool one_host_ = true;
  bool initialised_here_ = false;
  bool crowded_ = false;
  bool abruptly_ = false;
  os::CpuSet host_cores_ = {};  // of all ranks here
  std::string host_;
};

}  // namespace tasuki::cluster
