#include "compiler/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

extern char** environ;

namespace tasuki::cc {
namespace {

volatile pid_t running_child = 0;
volatile sig_atomic_t ended_by = 0;
std::string folder_to_remove;

std::vector<char*> pointers(const std::vector<std::string>& list) {
  std::vector<char*> result;
  for (const std::string& text : list) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

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

}  // namespace

int run_program(const std::vector<std::string>& argv, const Streams& streams) {
  watch_signals();
  if (ended_by != 0) end_by(ended_by);
  fflush(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!streams.input.empty())
    posix_spawn_file_actions_addopen(&actions, 0, streams.input.c_str(), O_RDONLY, 0);
  if (!streams.output.empty())
    posix_spawn_file_actions_addopen(&actions, 1, streams.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (!streams.errors.empty())
    posix_spawn_file_actions_addopen(&actions, 2, streams.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0].c_str(), &actions, nullptr, pointers(argv).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return cannot_start(argv[0], error);
  running_child = child;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running_child = 0;
  if (ended_by != 0) end_by(ended_by);
  if (WIFSIGNALED(status)) end_by(WTERMSIG(status));
  return WEXITSTATUS(status);
}

int become_program(const std::vector<std::string>& argv) {
  fflush(nullptr);
  remove_folder();
  execvp(argv[0].c_str(), pointers(argv).data());
  return cannot_start(argv[0], errno);
}

TemporaryFolder::TemporaryFolder() {
  const char* base = getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != 0 ? base : "/tmp") + "/tasukicc-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    fprintf(stderr, "tasukicc: error: cannot make a temporary folder '%s': %s (TMPDIR names the place)\n",
            path.c_str(), strerror(errno));
    return;
  }
  path_ = path;
  folder_to_remove = path;
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
