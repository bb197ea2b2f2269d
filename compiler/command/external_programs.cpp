#include "compiler/command/external_programs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "os/files/temporary_folder.h"
#include "os/files/text_file.h"
#include "os/process/command.h"

namespace tasuki::cc {
namespace {

volatile pid_t running_child = 0;
volatile sig_atomic_t ended_by = 0;
std::string folder_to_remove;

void remove_folder() {
  if (folder_to_remove.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_to_remove, ignored);
  folder_to_remove.clear();
}

[[noreturn]] void end_by(int signal_number) {
  remove_folder();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
  _exit(128 + signal_number);
}

// While a program runs its end is waited for; at all other times the next run sees the mark.
void pass_on(int number) {
  ended_by = number;
  if (running_child > 0) kill(running_child, number);
}

void watch_signals() {
  static const bool once = [] {
    struct sigaction action = {};
    action.sa_handler = pass_on;
    for (int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction before = {};
      sigaction(number, nullptr, &before);
      if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
    }
    return true;
  }();
  (void)once;
}

int cannot_start(const std::string& program, int error) {
  fprintf(stderr, "tasukicc: error: cannot start '%s': %s (MPICC names the MPI compiler)\n", program.c_str(),
          strerror(error));
  return 127;
}

// An empty path leaves the stream as it is.
int open_stream(const std::string& path, int flags, os::Fd* file, int* stream) {
  if (path.empty()) return 0;
  file->reset(open(path.c_str(), flags | O_CLOEXEC, 0666));
  *stream = file->get();
  if (file->valid()) return 0;
  fprintf(stderr, "tasukicc: error: cannot open '%s': %s\n", path.c_str(), strerror(errno));
  return 127;
}

}  // namespace

int run_program(const std::vector<std::string>& argv, const Streams& streams) {
  watch_signals();
  if (ended_by != 0) end_by(ended_by);
  fflush(nullptr);
  os::Command command{.argv = argv};
  const int write_flags = O_WRONLY | O_CREAT | O_TRUNC;
  os::Fd files[3];
  if (const int failed = open_stream(streams.input, O_RDONLY, &files[0], &command.input)) return failed;
  if (const int failed = open_stream(streams.output, write_flags, &files[1], &command.output)) return failed;
  if (const int failed = open_stream(streams.errors, write_flags, &files[2], &command.errors)) return failed;
  Result<os::Child> child = os::start(command);
  if (!child.ok()) return cannot_start(argv[0], child.status().err());
  running_child = child.value().pid();
  if (ended_by != 0) kill(running_child, ended_by);  // came before there was a child to pass it on to
  const os::ExitStatus status = child.value().wait();
  running_child = 0;
  if (ended_by != 0) end_by(ended_by);
  if (status.signal != 0) end_by(status.signal);
  return status.code;
}

int become_program(const std::vector<std::string>& argv) {
  fflush(nullptr);
  remove_folder();
  os::become(argv);
  return cannot_start(argv[0], errno);
}

bool write_file(const std::string& path, const std::string& content) {
  const Status written = os::write_file(path, content);
  if (!written.ok()) fprintf(stderr, "tasukicc: error: %s\n", written.message().c_str());
  return written.ok();
}

TemporaryFolder::TemporaryFolder() {
  Result<std::string> made = os::make_temporary_folder("tasukicc");
  if (!made.ok()) {
    fprintf(stderr, "tasukicc: error: cannot make a temporary folder: %s (TMPDIR names the place)\n",
            made.status().message().c_str());
    return;
  }
  path_ = made.value();
  folder_to_remove = path_;
}

TemporaryFolder::~TemporaryFolder() {
  remove_folder();
}

std::string TemporaryFolder::file(const std::string& name) {
  return folder() + "/" + std::filesystem::path(name).filename().string();
}

std::string TemporaryFolder::folder() {
  const std::string path = path_ + "/" + std::to_string(files_++);
  std::error_code ignored;
  std::filesystem::create_directory(path, ignored);
  return path;
}

}  // namespace tasuki::cc
