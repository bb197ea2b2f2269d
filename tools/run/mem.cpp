// `tasuki mem`: an unmodified program whose large allocations are in the memory of the whole job.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "base/settings.h"
#include "cluster/api/report.h"
#include "cluster/settings/command_line.h"
#include "os/files/paths.h"
#include "os/process/command.h"
#include "os/process/environment.h"
#include "os/process/executable.h"
#include "os/process/self.h"
#include "task/examine/launcher.h"
#include "task/examine/preload.h"
#include "task/examine/program.h"
#include "tools/command.h"
#include "tools/run/mem_ranks.h"

namespace tasuki::tool {
namespace {

struct Given {  // an option of the command line, for the setting that it stands for
  const Setting* setting;
  std::string value;
  CLI::Option* option = nullptr;
};

struct MemOptions {
  std::deque<Given> settings;
  std::string mpi = "auto";
  std::vector<std::string> command;
};

// "page-size" for TASUKI_DLM_PAGE_SIZE, "threshold" for TASUKI_MEM_THRESHOLD; empty: not a setting of this
// command.
std::string option_name(const Setting& setting) {
  std::string_view name = setting.name;
  for (const std::string_view prefix : {"TASUKI_DLM_", "TASUKI_MEM_"}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    std::string result(name.substr(prefix.size()));
    for (char& c : result) c = c == '_' ? '-' : static_cast<char>(tolower(c));
    return result;
  }
  return {};
}

std::string option_help(const Setting& setting) {
  std::string help = setting.help;
  for (const std::string_view subject : {"Cluster memory: ", "tasuki mem: "})
    if (help.compare(0, subject.size(), subject) == 0) help.erase(0, subject.size());
  return help;
}

constexpr const char* kAlone = "alone";  // the library of programs without MPI

const char* directory_of(MpiAbi abi) {
  if (abi == MpiAbi::openmpi) return "openmpi";
  return abi == MpiAbi::mpich ? "mpich" : nullptr;
}

std::string library_for(const std::string& mpi) {
  return os::own_prefix() + "/lib/tasuki/" + mpi + "/libtasuki-mem.so";
}

MpiAbi abi_of(const task::Program& program, const std::vector<std::string>& environment) {
  return task::linked_abi(task::mpi_abi_of(program.image.needed), program.image.interpreter, program.path,
                          environment);
}

// Has a process somewhere for its pages, whatever the other ranks of its job do: a disk, or lenders?
bool has_own_tier(const std::vector<std::string>& environment) {
  for (const char* name : {"TASUKI_DLM_STORE", "TASUKI_DLM_LENDERS"}) {
    const char* const value = os::variable(environment, name);
    if (value != nullptr && *value != 0) return true;
  }
  return false;
}

// The ranks of an MPI program, each with a pager of its own, whose pages go to a disk or to lenders. (One in
// an interpreter does not look like one: --mpi none.)
bool is_each_rank(const MemOptions& options, const task::Program& program,
                  const std::vector<std::string>& environment) {
  return has_own_tier(environment) && program.error == 0 &&
         (options.mpi == "none" || abi_of(program, environment) != MpiAbi::none);
}

// The folder of the library to preload. For the MPI library that the ranks speak: as asked for, as the
// launcher says, else the first one that is installed. Without a launcher a program whose pages go to a
// disk or to lenders needs none.
std::string choose_library(const MemOptions& options, const task::Job& job,
                           const std::vector<std::string>& environment) {
  if (options.mpi == "none") return kAlone;
  if (options.mpi != "auto") return options.mpi;
  if (const char* name = directory_of(job.abi)) return name;
  if (job.launcher == nullptr && has_own_tier(environment)) return kAlone;
  for (const char* name : {"openmpi", "mpich"})
    if (os::can_read(library_for(name))) return name;
  return "openmpi";
}

// Why the program's allocations cannot be caught; empty if they can.
std::string obstacle(const task::Program& program, const std::vector<std::string>& environment) {
  using Kind = elf::Image::Kind;
  const elf::Image& image = program.image;
  if (image.kind == Kind::static_program || image.kind == Kind::foreign) return program.why_plain;
  if (image.sanitizer) return "is built with a sanitizer, which has an allocator of its own";
  if (!task::can_preload(image.interpreter))
    return "uses " + image.interpreter + ", not a glibc as new as the one that Tasuki was built with";
  if (abi_of(program, environment) != MpiAbi::none && !has_own_tier(environment))
    return "is an MPI program: the memory that other ranks lend is for programs of one process (with "
           "--lenders "
           "HOST,... or --store DIR each rank of an MPI program has lenders or a disk for what does not fit)";
  return {};
}

int execute(const task::Job& job, const std::string& path, const std::vector<std::string>& argv,
            const std::vector<std::string>& environment) {
  os::become(argv, environment, path);
  return exec_failure(job.launcher, path, errno);
}

// Rank 0 cannot run its program: the other ranks, which wait for it in MPI_Init, must hear of it.
int dismiss(const task::Job& job, const std::string& server, int code, std::vector<std::string> environment) {
  if (job.launcher == nullptr || os::why_not_executable(server) != 0) return code;
  fflush(stderr);
  // It reads settings, too, and would complain of the same ones.
  std::erase_if(environment, [](const std::string& v) { return v.starts_with(cluster::kSettingsPrefix); });
  return execute(job, server, {server, std::to_string(code)}, environment);
}

bool take_settings(MemOptions* options, std::vector<std::string>* environment) {
  for (Given& given : options->settings) {
    if (given.option->count() == 0) continue;
    // What a flag is without a value.
    if (given.value == "true") given.value = "on";
    uint64_t bytes;
    if (given.setting->kind == SettingKind::bytes && !parse_bytes(given.value, ByteUnits::binary, &bytes)) {
      fprintf(stderr, "tasuki mem: --%s %s is not a size such as 4096 or 64KiB\n",
              option_name(*given.setting).c_str(), given.value.c_str());
      return false;
    }
    int index;
    if (given.setting->kind == SettingKind::choice &&
        !parse_choice(given.value, given.setting->choices, &index)) {
      fprintf(stderr, "tasuki mem: --%s %s is not one of %s\n", option_name(*given.setting).c_str(),
              given.value.c_str(), given.setting->choices);
      return false;
    }
    os::set_variable(environment, given.setting->name, given.value);
  }
  return true;
}

// The program that makes the page of --stats FILE.html: found missing now, not at the program's end.
Status check_page_program(const std::string& stats_file) {
  if (!cluster::is_page(stats_file)) return {};
  const std::string program = os::own_prefix() + "/libexec/tasuki/memory-page";
  const int reason = os::why_not_executable(program);
  if (reason == 0) return {};
  return Status::error(reason, "--stats " + stats_file + " needs " + program + ": " + strerror(reason) +
                                   " (install Tasuki again; a .json file needs nothing)");
}

// The settings of cluster memory are checked here, and those of a file put into the environment, as is what
// the file of memory sizes says: the library that is preloaded reads nothing else. `sure`: this is rank 0.
Status resolve_settings(bool sure, std::vector<std::string>* environment) {
  cluster::Values values;
  cluster::add_environment(&values, [&](const char* name) { return os::variable(*environment, name); });
  const auto config = values.find("config");
  if (config != values.end()) {
    const Status read = cluster::add_file(config->second.text, &values);
    if (!read.ok()) return read;
  }
  // The program may be started by a shell that goes elsewhere.
  const auto store = values.find("store");
  if (store != values.end() && !store->second.text.empty())
    store->second.text = std::filesystem::absolute(store->second.text).string();
  if (const char* key = os::variable(*environment, "TASUKI_LEND_KEY"); key != nullptr && *key != 0)
    os::set_variable(environment, "TASUKI_LEND_KEY", std::filesystem::absolute(key).string());
  const Result<cluster::Options> checked = cluster::make_options(values);
  if (!checked.ok()) return checked.status();
  if (const Status there = check_page_program(checked.value().stats_file); !there.ok()) return there;
  for (const Setting* setting : cluster::cluster_settings()) {
    const auto value = values.find(cluster::short_name(*setting));
    if (value != values.end()) os::set_variable(environment, setting->name, value->second.text);
  }
  const auto memfile = values.find("memfile");
  if (memfile == values.end()) return {};
  const Result<cluster::MemorySizes> sizes = cluster::read_memory_sizes(memfile->second.text);
  if (sizes.ok()) os::set_variable(environment, cluster::kSizesVariable, cluster::handed_over(sizes.value()));
  // Another rank needs no such file, and may be on a host that has none: there the library says what is
  // wrong.
  return sizes.ok() || (!sure && sizes.status().err() != EINVAL) ? Status() : sizes.status();
}

// A word that was meant as the value of an option which may stand alone, and would be taken for the program.
bool is_value(const Given& given, const std::string& word) {
  bool on;
  if (given.option->count() == 0 || given.value != "on") return false;
  if (parse_flag(word, &on)) return true;
  return given.setting->kind == SettingKind::text && (word.ends_with(".json") || word.ends_with(".html"));
}

int run(MemOptions* options) {
  std::vector<std::string> environment = os::environment_of_self();
  const task::Job job = task::read_job(environment);
  if (!take_settings(options, &environment)) return 2;
  const Status settings = resolve_settings(job.world_rank == 0, &environment);
  if (options->mpi == "none" && settings.ok() && !has_own_tier(environment)) {
    fprintf(stderr,
            "tasuki mem: --mpi none: where no rank lends memory, pages need lenders or a disk: --lenders "
            "HOST,... or --store DIR\n");
    return 2;
  }
  // A rank that lends memory needs none, and may be on a host that has none.
  task::Program program;
  if (job.world_rank <= 0 || has_own_tier(environment))
    program = task::find_program(options->command, getenv("PATH"));
  const bool each = is_each_rank(*options, program, environment);
  const bool lends = job.world_rank > 0 && !each && options->mpi != "none";
  const std::string mpi = each ? kAlone : choose_library(*options, job, environment);

  const std::string library = library_for(mpi);
  const bool is_complete = os::can_read(library);  // the library and the servers are built together
  // (Where no launcher was recognised the ranks find out when MPI starts.)
  const std::string server = os::own_prefix() + "/libexec/tasuki/" + mpi + "/memory-server";
  const std::string incomplete =
      is_complete
          ? ""
          : "needs " + library +
                ", which is not there: in a source tree `make build` makes it (`make demo` does not), "
                "else Tasuki was built without " +
                mpi;
  if (lends && is_complete) return execute(job, server, {server}, environment);
  if (lends) {
    // A launcher ends the job at the first rank that fails: only one that has said why may, the first of its
    // host, which is rank 0 where that is.
    if (job.local_rank > 0) return 0;
    log(LogLevel::error, "tasuki mem %s", incomplete.c_str());
    return 1;
  }

  if (!settings.ok()) {
    log(LogLevel::error, "%s", settings.message().c_str());
    return dismiss(job, server, 1, environment);
  }
  for (const Given& given : options->settings) {
    if (program.error == 0 || !is_value(given, options->command[0])) continue;
    const std::string name = option_name(*given.setting);
    fprintf(stderr, "tasuki mem: there is no program %s; if it is the value of --%s, write --%s=%s\n",
            options->command[0].c_str(), name.c_str(), name.c_str(), options->command[0].c_str());
    return dismiss(job, server, 2, environment);
  }
  if (program.error != 0)
    return dismiss(job, server, exec_failure(job.launcher, options->command[0], program.error), environment);
  std::string why = obstacle(program, environment);
  if (why.empty() && !task::preload_can_name(library))
    why =
        "cannot get Tasuki's library (LD_PRELOAD cannot name a directory with a blank or a colon, and Tasuki "
        "is in " +
        os::own_prefix() + ")";
  if (why.empty()) why = incomplete;
  if (why.empty() && each && job.launcher != nullptr)
    if (const Status prepared = prepare_rank(job, &environment); !prepared.ok())
      why = "needs " + prepared.message();
  if (!why.empty()) {
    if (!each || job.local_rank == 0)
      log(LogLevel::error, "%s %s: it cannot use cluster memory", options->command[0].c_str(), why.c_str());
    return dismiss(job, server, 1, environment);
  }
  if (job.world_size > 0)
    os::set_variable(&environment, cluster::kPartsVariable, std::to_string(job.world_size));
  // Before what the user preloads: another allocator then is the one for small pieces.
  const char* users = os::variable(environment, "LD_PRELOAD");
  os::set_variable(&environment, "LD_PRELOAD",
                   library + (users != nullptr && *users != 0 ? std::string(":") + users : ""));
  // MPI libraries catch signals to print where they came from, and patch mmap and its relatives to learn when
  // memory goes: both are in the way of the program and of its memory. The library takes these variables out
  // of its sight again, unless it is the program that starts MPI.
  std::string hidden;
  for (const auto& [name, value] :
       {std::pair("OMPI_MCA_opal_signal", ""), std::pair("UCX_HANDLE_ERRORS", "none"),
        std::pair("OMPI_MCA_memory", "^patcher"), std::pair("UCX_MEM_EVENTS", "n")}) {
    if (os::variable(environment, name) != nullptr) continue;
    os::set_variable(&environment, name, value);
    if (!each) hidden += std::string(hidden.empty() ? "" : ",") + name;
  }
  for (const char* name : {cluster::kSizesVariable, cluster::kPartsVariable})
    if (os::variable(environment, name) != nullptr) hidden += std::string(hidden.empty() ? "" : ",") + name;
  if (!hidden.empty()) os::set_variable(&environment, "TASUKI_MEM_HIDDEN", hidden);
  // The library serves the process that this one becomes, not the children that inherit its environment.
  os::set_variable(&environment, "TASUKI_MEM_ROOT", std::to_string(os::pid_of_self()));
  return execute(job, program.path, program.argv, environment);
}

}  // namespace

void add_mem(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("mem",
                                     "Run a program whose large allocations are in the memory of all ranks: "
                                     "mpirun -n 4 tasuki mem ./program args...");
  auto options = std::make_shared<MemOptions>();
  for (const Setting& setting : settings()) {
    const std::string name = option_name(setting);
    if (name.empty()) continue;
    Given& given = options->settings.emplace_back(Given{&setting, {}, nullptr});
    // A flag, and what may stand alone: only --name=value gives it a value, the next word is the program.
    if (setting.kind == SettingKind::flag || name == "stats") {
      given.option = cmd->add_flag("--" + name, given.value, option_help(setting));
    } else {
      given.option =
          cmd->add_option((name == "memfile" ? "-f,--" : "--") + name, given.value, option_help(setting));
      given.option->type_name(setting.choices != nullptr ? setting.choices : "")
          ->default_str(setting.default_value);
    }
  }
  cmd->add_option("--mpi", options->mpi,
                  "MPI library of the job; auto: the one of the launcher; none: no rank lends memory, each "
                  "runs the program, and --lenders or --store have room for its pages")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich", "none"}));
  cmd->footer(
      "Rank 0 runs the program, the other ranks lend their memory. Without mpirun, and for the ranks of an "
      "MPI program, pages go to lenders or to a disk: tasuki mem --lenders node7,node8 --store /scratch "
      "./program args...");
  cmd->prefix_command();
  cmd->callback([cmd, options, exit_code] {
    if (!take_program(*cmd, "mpirun -n 4 tasuki mem [options] PROGRAM [arguments]", &options->command)) {
      *exit_code = 2;
      return;
    }
    *exit_code = run(options.get());
  });
}

}  // namespace tasuki::tool
