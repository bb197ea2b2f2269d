// What the launcher (mpirun, mpiexec, srun ...) tells a rank by its environment: who it is on this node, and
// which ranks belong together.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "task/examine/program.h"

namespace tasuki::task {

struct Job {
  const char* launcher = nullptr;  // "openmpi", "hydra" ...; nullptr: none was recognised
  int world_rank = -1;
  int world_size = 0;  // 0: the launcher does not say
  int local_rank = 0;
  int local_size = 1;
  MpiAbi abi = MpiAbi::none;  // of the launcher's MPI, the best guess for a program that does not say
  // The values that ranks of one job have in common and other jobs have not.
  std::vector<std::string> identity;
};

// Reads an environment ("NAME=value" entries); pure, so that recorded environments test it.
Job read_job(const std::vector<std::string>& environment);

// The process that started this job's ranks on this node: the launcher's daemon there, or mpirun.
pid_t starter_of_ranks(const Job& job);

// Name of the abstract socket at which the ranks of `job` on this node meet. Ranks of other jobs, of other
// steps of the same allocation, and processes that a job spawns later get other names: besides the identity
// it holds the process that started this job's ranks here and the time at which that process started.
std::string meeting_point(const Job& job);

}  // namespace tasuki::task
