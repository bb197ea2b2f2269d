#include "bench/driver/jobs/launch.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include "os/process/cpu.h"
#include "os/process/environment.h"
#include "os/process/self.h"

namespace tasuki::bench {

using nlohmann::json;

std::vector<int> usable_core_list() {
  os::CpuSet set;
  if (os::current_cpu_set(&set) == 0) return {0};
  std::vector<int> cores;
  for (int core = 0; core < os::CpuSet::kMaxCores; core++)
    if (set.has(core)) cores.push_back(core);
  return cores;
}

int usable_cores() {
  return static_cast<int>(usable_core_list().size());
}

void permit_root() {
  if (!os::is_root()) return;
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

std::vector<std::string> launch_command(const Mpi& mpi, int ranks, int cores_each,
                                        const std::vector<std::string>& further) {
  std::vector<std::string> words = {mpi.mpirun, "-n", std::to_string(ranks)};
  const bool bind = cores_each > 0 && usable_cores() >= ranks * cores_each;
  const std::string each = std::to_string(cores_each);
  if (mpi.kind == "openmpi" && bind)
    words.insert(words.end(), {"--map-by", cores_each > 1 ? "slot:PE=" + each : "core", "--bind-to", "core"});
  else if (mpi.kind == "openmpi")
    words.insert(words.end(), {"--oversubscribe", "--bind-to", "none"});
  else if (bind)
    words.insert(words.end(), {"-bind-to", cores_each > 1 ? "core:" + each : "core"});
  words.insert(words.end(), further.begin(), further.end());
  return words;
}

std::vector<std::string> environment_settings() {
  std::vector<std::string> found;
  for (const std::string& entry : os::environment_of_self())
    for (const char* prefix : {"TASUKI", "OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "UCX_"})
      if (entry.rfind(prefix, 0) == 0) found.push_back(entry);
  std::sort(found.begin(), found.end());
  return found;
}

std::string utc_time() {
  char text[32];
  const time_t t = time(nullptr);
  tm parts{};
  gmtime_r(&t, &parts);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string library_of(const Fields& hello) {
  const std::string library = text(hello, "mpi");
  return library.substr(0, std::min(library.find(';'), library.find(", package")));
}

json versions(const Fields& hello) {
  return {{"tasuki", TASUKI_VERSION},
          {"mpi", library_of(hello)},
          {"mpi_full", text(hello, "mpi")},
          {"compiler", text(hello, "compiler")}};
}

double round4(double value) {
  return std::round(value * 1e4) / 1e4;
}

std::string without_statistics(const std::string& output, std::vector<std::string>* statistics) {
  std::string rest;
  for (size_t at = 0; at < output.size();) {
    const size_t begin =
        std::min(output.find("tasuki: rank ", at), output.find("tasuki: mappings of rank ", at));
    if (begin == std::string::npos) return rest + output.substr(at);
    const size_t end = std::min(output.find('\n', begin), output.size() - 1) + 1;
    const std::string line = output.substr(begin, end - begin);
    rest += output.substr(at, begin - at);
    if (line.find(" sent=") != std::string::npos || line.starts_with("tasuki: mappings"))
      statistics->push_back(line);
    else
      rest += line;
    at = end;
  }
  return rest;
}

double messages_sent(const std::string& output, std::string* rest, const std::string& counter) {
  std::vector<std::string> statistics;
  *rest += without_statistics(output, &statistics);
  double sent = 0;
  for (const std::string& line : statistics)
    if (const size_t at = line.find(" " + counter + "="); at != std::string::npos)
      sent += std::strtod(line.c_str() + at + counter.size() + 2, nullptr);
  return sent;
}

void note_output(const std::string& name, std::string output, std::vector<std::string>* notes) {
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (!output.empty()) notes->push_back("the " + name + " job wrote: " + output.substr(0, 2000));
}

std::vector<std::string> load_notes() {
  double load = 0;
  getloadavg(&load, 1);
  if (load <= 0.5) return {};
  return {"the machine was busy before the run (load " + std::to_string(load).substr(0, 4) +
          "): trust the mean of the best rounds more than the medians"};
}

}  // namespace tasuki::bench
