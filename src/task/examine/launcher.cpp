#include "task/examine/launcher.h"
#include "os/process/environment.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "os/process/process.h"

namespace tasuki::task {
namespace {

// Launchers in the order in which they are asked: a job script of Slurm that calls mpirun leaves Slurm's
// variables in every rank's environment, so Slurm comes last.
struct Launcher {
  const char* name;
  MpiAbi abi;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  const char* identity[3];
};
constexpr Launcher kLaunchers[] = {
    {"openmpi",
     MpiAbi::openmpi,
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"mvapich",
     MpiAbi::mpich,
     "MV2_COMM_WORLD_RANK",
     "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE",
     {"PMI_JOBID", "PMI_ID_MAP"}},
    {"pals", MpiAbi::mpich, "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", {"PALS_APID"}},
    {"hydra",
     MpiAbi::mpich,
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     {"PMI_JOBID", "I_MPI_HYDRA_UUID"}},
    {"slurm",
     MpiAbi::none,
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID",
     "SLURM_STEP_TASKS_PER_NODE",
     {"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE"}},
};

bool parse_int(const char* text, int* value) {
  if (text == nullptr) return false;
  const char* end = text + strlen(text);
  const auto [stop, error] = std::from_chars(text, end, *value);
  return error == std::errc() && stop == end && *value >= 0;
}

// Slurm's "2(x3),1": two tasks on each of three nodes, one on the fourth. -1 if it is not of that form.
int slurm_count(const char* text, int node) {
  while (text != nullptr && *text != '\0') {
    char* end;
    const long tasks = strtol(text, &end, 10);
    if (end == text) return -1;
    long nodes = 1;
    if (strncmp(end, "(x", 2) == 0) {
      nodes = strtol(end + 2, &end, 10);
      if (*end == ')') end++;
    }
    if (node < nodes) return static_cast<int>(tasks);
    node -= static_cast<int>(nodes);
    text = *end == ',' ? end + 1 : nullptr;
  }
  return -1;
}

uint64_t hash(uint64_t h, const std::string& text) {
  for (const unsigned char c : text) h = (h ^ c) * 0x100000001b3;  // FNV-1a
  return (h ^ 0xff) * 0x100000001b3;
}

const Launcher* launcher_of(const std::vector<std::string>& environment) {
  for (const Launcher& l : kLaunchers) {
    int ignored;
    if (parse_int(os::variable(environment, l.rank), &ignored) &&
        os::variable(environment, l.local_rank) != nullptr)
      return &l;
  }
  return nullptr;
}

}  // namespace

Job read_job(const std::vector<std::string>& environment) {
  Job job;
  const Launcher* l = launcher_of(environment);
  if (l == nullptr) return job;
  // Jobs that ranks spawn (MPI_Comm_spawn) have nothing in their environment that tells one from another, and
  // MPICH 5's Hydra starts all of them from one process: such ranks must not meet.
  if (strcmp(l->name, "hydra") == 0 && os::variable(environment, "PMI_SPAWNED") != nullptr) return job;
  int rank = -1, local_rank = 0, local_size = 0;
  parse_int(os::variable(environment, l->rank), &rank);
  if (!parse_int(os::variable(environment, l->local_rank), &local_rank)) return job;
  if (strcmp(l->name, "slurm") == 0) {
    int node = 0;
    parse_int(os::variable(environment, "SLURM_NODEID"), &node);
    local_size = slurm_count(os::variable(environment, l->local_size), node);
  } else if (!parse_int(os::variable(environment, l->local_size), &local_size) &&
             !(strcmp(l->name, "pals") == 0 &&
               parse_int(os::variable(environment, "PMI_LOCAL_SIZE"), &local_size))) {
    local_size = -1;
  }
  if (local_size < 1) return job;  // it is not known for whom to wait
  job.launcher = l->name;
  job.world_rank = rank;
  parse_int(os::variable(environment, l->size), &job.world_size);
  job.local_rank = local_rank;
  job.local_size = local_size;
  job.abi = l->abi;
  // Open MPI speaks PMIx only, PMI-1 and PMI-2 (also Cray's, which has no descriptor) are MPICH's.
  if (job.abi == MpiAbi::none && (os::variable(environment, "PMI_FD") != nullptr ||
                                  os::variable(environment, "PMI_CONTROL_PORT") != nullptr))
    job.abi = MpiAbi::mpich;
  for (const char* name : l->identity) {
    if (name == nullptr) break;
    const char* value = os::variable(environment, name);
    job.identity.push_back(std::string(name) + "=" + (value != nullptr ? value : ""));
  }
  return job;
}

// The nearest ancestor that is not itself part of
// this rank (a wrapper script has the rank's variables in its environment, the launcher's daemon has not).
pid_t starter_of_ranks(const Job& job) {
  pid_t pid = getppid();
  for (int depth = 0; depth < 64 && pid > 1; depth++) {
    const Job theirs = read_job(os::environment_of(pid));
    if (theirs.launcher != job.launcher || theirs.world_rank != job.world_rank ||
        theirs.identity != job.identity)
      break;
    pid = os::parent_of(pid);
  }
  return pid;
}

std::string meeting_point(const Job& job) {
  const pid_t starter = starter_of_ranks(job);
  uint64_t h = 0xcbf29ce484222325;
  h = hash(h, job.launcher != nullptr ? job.launcher : "");
  for (const std::string& value : job.identity) h = hash(h, value);
  h = hash(h, std::to_string(job.local_size));
  char name[96];
  snprintf(name, sizeof name, "tasuki.%u.%d.%llu.%016llx", getuid(), starter,
           static_cast<unsigned long long>(os::start_time_of(starter)), static_cast<unsigned long long>(h));
  return name;
}

}  // namespace tasuki::task
