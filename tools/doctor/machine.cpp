// doctor: kernel, limits, cores and memory of this machine, as a task would meet them.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "base/bytes.h"
#include "os/files/text_file.h"
#include "os/files/transfer_ring.h"
#include "os/memory/control_groups.h"
#include "os/memory/host_memory.h"
#include "os/memory/keys.h"
#include "os/process/cpu.h"
#include "os/process/executable.h"
#include "os/process/machine.h"
#include "os/process/self.h"
#include "pager/pager.h"
#include "task/examine/preload.h"
#include "task/meet/host.h"
#include "tools/command_line.h"
#include "tools/doctor/doctor.h"

namespace tasuki::tool {
namespace {

uint64_t number_in(const std::string& path, uint64_t otherwise) {
  const std::string text = os::first_line(path);
  char* end = nullptr;
  errno = 0;
  const uint64_t value = strtoull(text.c_str(), &end, 10);
  return text.empty() || end == text.c_str() || errno != 0 ? otherwise : value;
}

int allowed_cores() {
  os::CpuSet cores;
  return std::max(1, os::current_cpu_set(&cores));
}

// How many cores' time the control groups grant; infinity without a limit.
double granted_cores() {
  double cores = std::numeric_limits<double>::infinity();
  for (const os::ControlGroup& group : os::control_groups("cpu")) {
    double quota = 0, period = 100000;
    if (group.version == 2) {
      if (sscanf(os::first_line(group.folder + "/cpu.max").c_str(), "%lf %lf", &quota, &period) < 1)
        quota = 0;  // "max 100000"
    } else {
      quota = atof(os::first_line(group.folder + "/cpu.cfs_quota_us").c_str());
      period = atof(os::first_line(group.folder + "/cpu.cfs_period_us").c_str());
    }
    if (quota > 0 && period > 0) cores = std::min(cores, quota / period);
  }
  return cores;
}

void examine_kernel(Report* report) {
  const char* section = "kernel";
  const os::MachineDescription machine = os::describe_machine();
  const auto add = [&](Verdict verdict, const char* about) {
    report->push_back({section, "kernel", verdict, machine.kernel + " " + machine.architecture, about});
  };
  if (machine.architecture == "x86_64")
    add(Verdict::ok, "");
  else if (machine.architecture == "aarch64")
    add(Verdict::note, "tasks have run on emulated machines of this architecture only (docs/aarch64.md)");
  else
    add(Verdict::problem, "tasks have run on Linux on x86-64 and aarch64 only (docs/aarch64.md)");

  // Another process's memory: some MPI libraries' own way for large messages. Not Tasuki's.
  const std::string yama = os::first_line("/proc/sys/kernel/yama/ptrace_scope");
  if (!os::has_cross_memory_attach()) {
    report->push_back({section, "cross-memory attach", Verdict::note,
                       "forbidden: plain MPI copies large messages twice here; Tasuki does not need it", ""});
  } else if (!yama.empty() && yama != "0" && !os::is_root()) {
    report->push_back({section, "cross-memory attach", Verdict::note,
                       "restricted (ptrace_scope " + yama +
                           "): plain MPI may copy large messages twice; Tasuki does not need it",
                       ""});
  } else {
    report->push_back(
        {section, "cross-memory attach", Verdict::ok, "allowed (used by plain MPI, not by Tasuki)", ""});
  }

  report->push_back({section, "protection keys", Verdict::ok,
                     os::have_keys() ? "the processor has them: tasuki run --guard finds writes to memory of "
                                       "other tasks"
                                     : "none: tasuki run --guard is not possible",
                     ""});

  const std::string huge = os::first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = huge.find('[');
  const std::string mode = open == std::string::npos ? "" : huge.substr(open + 1, huge.find(']') - open - 1);
  const bool never = mode.empty() || mode == "never";
  report->push_back(
      {section, "huge pages", never ? Verdict::note : Verdict::ok,
       never ? "transparent huge pages are off: more page faults in large buffers" : "transparent: " + mode,
       never ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled" : ""});

  const std::vector<pager::FaultWay> ways = pager::fault_ways();
  const auto used =
      std::find_if(ways.begin(), ways.end(), [](const pager::FaultWay& way) { return way.reason.empty(); });
  if (used == ways.end()) {
    report->push_back({section, "cluster memory", Verdict::problem,
                       "page faults cannot be caught: " + ways.back().reason, ""});
  } else {
    report->push_back(
        {section, "cluster memory", used->serves_kernel ? Verdict::ok : Verdict::note,
         used->name + (used->serves_kernel ? "" : "; system calls on absent pages go through wrappers"),
         used == ways.begin() ? "" : "the first choice: " + ways.front().reason});
  }

  const Result<os::TransferRing> ring = os::TransferRing::open(1);
  report->push_back({section, "pages on a disk", ring.ok() ? Verdict::ok : Verdict::note,
                     ring.ok() ? "by io_uring, past the page cache (tasuki mem --store)"
                               : ring.status().message() + ": one at a time, through the page cache",
                     ""});

  const std::string core = os::first_line("/proc/sys/kernel/core_pattern");
  report->push_back({section, "core files", Verdict::ok,
                     os::limit_of_self(os::Limit::core_files).soft == 0
                         ? "off (ulimit -c 0), pattern " + core
                         : "pattern " + core + "; a task's core holds the memory of all tasks of its space",
                     ""});
}

void examine_limits(Report* report, int cores) {
  const char* section = "limits";
  const uint64_t maps = number_in("/proc/sys/vm/max_map_count", 65530);
  const auto needed = [](size_t ranks) {
    return ranks * task::expected_mappings(ranks) + task::kSpareMappings;
  };
  size_t most = 0;
  while (needed(most + 1) <= maps) most++;
  const bool enough = most >= static_cast<size_t>(cores);
  // Room for twice as many ranks as cores, on a round number.
  const uint64_t wish =
      std::max<uint64_t>(262144, (needed(2 * static_cast<size_t>(cores)) + 65535) / 65536 * 65536);
  report->push_back(
      {section, "vm.max_map_count", enough ? Verdict::ok : Verdict::note,
       std::to_string(maps) + ": up to " + std::to_string(most) + " ranks of a node in one address space",
       enough ? "" : "sysctl -w vm.max_map_count=" + std::to_string(wish) + " (as root)"});

  const std::string overcommit = os::first_line("/proc/sys/vm/overcommit_memory");
  if (overcommit == "2") {
    report->push_back({section, "vm.overcommit_memory", Verdict::note,
                       "2 (strict): a fork in one task must reserve the memory of all tasks, and may fail",
                       "sysctl -w vm.overcommit_memory=0 (as root)"});
  } else {
    report->push_back({section, "vm.overcommit_memory", Verdict::ok, overcommit, ""});
  }

  const struct {
    const char* name;
    os::Limit limit;
    const char* remedy;
  } limits[] = {{"RLIMIT_AS", os::Limit::address_space, "ulimit -v unlimited"},
                {"RLIMIT_DATA", os::Limit::data, "ulimit -d unlimited"}};
  for (const auto& l : limits) {
    const uint64_t bytes = os::limit_of_self(l.limit).soft;
    if (bytes == os::kUnlimited) {
      report->push_back({section, l.name, Verdict::ok, "unlimited", ""});
    } else {
      report->push_back({section, l.name, Verdict::note,
                         bytes_text(bytes, BytesStyle::rounded) +
                             " for all tasks of an address space together, not for each",
                         l.remedy});
    }
  }
}

void examine_resources(Report* report, int cores) {
  const char* section = "machine";
  const int online = os::online_cores();
  const double quota = granted_cores();
  std::string text = std::to_string(cores) + " of " + std::to_string(online) + " allowed for this process";
  if (quota < cores) {
    char share[64];
    snprintf(share, sizeof share, ", but the control group grants the time of %.1f", quota);
    report->push_back({section, "cores", Verdict::note, text + share,
                       "start no more ranks than that, or raise the container's cpu limit"});
  } else if (cores < online) {
    report->push_back(
        {section, "cores", Verdict::note, text,
         "if that is not wanted: mpirun --bind-to none, or look for taskset and batch settings"});
  } else {
    report->push_back({section, "cores", Verdict::ok, text, ""});
  }

  const os::HostMemory memory = os::host_memory();
  text = bytes_text(memory.physical, BytesStyle::rounded) + ", " +
         bytes_text(memory.available, BytesStyle::rounded) + " available";
  if (memory.total < memory.physical)
    text += ", control group limit " + bytes_text(memory.total, BytesStyle::rounded);
  report->push_back({section, "memory", Verdict::ok, text, ""});

  std::error_code missing;
  const std::filesystem::space_info shm = std::filesystem::space("/dev/shm", missing);
  if (missing) {
    report->push_back({section, "/dev/shm", Verdict::note,
                       "missing: MPI libraries keep their shared segments there",
                       "mount -t tmpfs tmpfs /dev/shm"});
  } else {
    const bool small = shm.capacity < (uint64_t{256} << 20);
    report->push_back({section, "/dev/shm", small ? Verdict::note : Verdict::ok,
                       bytes_text(shm.available, BytesStyle::rounded) + " free of " +
                           bytes_text(shm.capacity, BytesStyle::rounded) +
                           (small ? ": MPI libraries may run out of it; Tasuki does not use it" : ""),
                       small ? "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm" : ""});
  }
}

// The proof: two tasks, each of which must find itself in a space of two.
void examine_sharing(Report* report) {
  const std::string self = os::own_prefix() + "/bin/tasuki";
  // A launcher's variables would make the trial wait for the other ranks of that job.
  const Captured trial =
      capture({"env", "-i", self, "run", "--require", "-n", "2", self, "doctor", "--trial"}, 20, true);
  int sharing = 0;  // other lines are warnings of the run, findings of their own
  for (size_t at = 0; (at = trial.output.find("shared by 2\n", at)) != std::string::npos; at++) sharing++;
  const bool works = trial.exit_code == 0 && sharing == 2;
  std::string said = trial.output.substr(0, trial.output.find('\n'));
  if (said.empty()) said = "exit code " + std::to_string(trial.exit_code);
  report->push_back(
      {"sharing", "trial with two tasks", works ? Verdict::ok : Verdict::problem,
       works ? "they share an address space" : "failed: " + said,
       works ? "" : "the whole of it: TASUKI_LOG=debug tasuki run --require -n 2 tasuki doctor --trial"});
  if (!task::preload_can_name(os::own_prefix()))
    report->push_back({"sharing", "installation", Verdict::problem,
                       os::own_prefix() +
                           ": LD_PRELOAD cannot name a directory with a blank or a colon, so programs "
                           "run as plain processes",
                       "install Tasuki elsewhere"});
  for (const Part& part : kParts)
    if (const std::string path = path_of(part); const int reason = os::why_not_executable(path))
      report->push_back({"sharing", "installation", Verdict::note,
                         path + ": " + strerror(reason) + ", so there is no `tasuki " + part.command + "`",
                         std::string("install Tasuki again, or build the target ") + part.program});
  if (const char* off = getenv("TASUKI");
      off != nullptr && (strcmp(off, "off") == 0 || strcmp(off, "0") == 0))
    report->push_back({"sharing", "TASUKI", Verdict::note,
                       "TASUKI=" + std::string(off) + " is set: programs run plainly", "unset TASUKI"});
}

}  // namespace

void examine_machine(Report* report) {
  const int cores = allowed_cores();
  examine_sharing(report);
  examine_kernel(report);
  examine_limits(report, cores);
  examine_resources(report, cores);
}

}  // namespace tasuki::tool
