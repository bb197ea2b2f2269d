// What a program with cluster memory runs as: the ranks of an MPI job (mpi_job.cpp), of which the others lend
// memory, or one process alone (lone_job.cpp). A library has one of the two.
//
// All functions are called by one thread of each rank, the one that called connect(); those of the Servers
// that assemble() makes by the pager's thread, or by turns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "cluster/settings/options.h"
#include "cluster/transport/servers.h"
#include "os/process/cpu.h"

namespace tasuki::cluster {

class Job {
 public:
  // Which threads of rank 0 call MPI: the pager's, that one and by turns those of the program (DLM-MPI's
  // AS1), or only those of the program, in their faults (its CS).
  enum class Callers { pager, by_turns, program };
  // Collective. Initialises MPI, unless the program has: then MPI_THREAD_MULTIPLE is needed, else EPERM; and
  // it cannot be where faults call MPI, as one may happen inside of the program's own call.
  static Result<std::unique_ptr<Job>> connect(Callers callers);
  // A rank is about to end where the program itself has begun MPI.
  static void end_mpi_of_program();
  // The process ends next, without exit(): what the MPI library would do there is done.
  static void end_without_exit();
  virtual ~Job() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& host() const { return host_; }
  bool initialised_here() const { return initialised_here_; }
  const os::CpuSet& host_cores() const { return host_cores_; }
  virtual std::string library() const = 0;  // for people: "Open MPI v4.1.4"

  // Rank 0: what of the settings such a job cannot have (EINVAL).
  virtual Status check(const Options&) const { return {}; }
  // Rank 0, one of the two: the servers' memory as one store, and the bytes for pages on rank 0 in *local;
  virtual Result<std::unique_ptr<Servers>> assemble(const Options& options, size_t unit_bytes,
                                                    uint64_t* local) = 0;
  // or the other ranks end with this code. (After an error of assemble() they do so with 1.)
  virtual void refuse(int exit_code) = 0;

  // The other ranks: lends memory until rank 0 says goodbye; the exit code.
  virtual Result<int> serve() = 0;

  // The MPI library knows that these have ended: then the others may end without MPI_Finalize (which waits
  // for them). Otherwise only abort() ends the job.
  virtual bool knows_ended(const std::vector<int>& ranks) const = 0;

  // All ranks. Ends MPI, if it was initialised here. A server whose rank 0 said that MPI cannot be ended
  // ends.
  virtual void disconnect(int exit_code) = 0;

  // Ends all ranks at once: something is lost.
  [[noreturn]] virtual void abort(int exit_code) = 0;

 protected:
  Job() = default;

  int rank_ = 0, size_ = 1;
  std::string host_;
  bool initialised_here_ = false;
  os::CpuSet host_cores_ = {};  // of all ranks here
};

}  // namespace tasuki::cluster
