#include "compiler/command/external_programs.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "os/files/streams.h"
#include "os/files/temporary_folder.h"
#include "os/files/text_file.h"
#include "os/process/command.h"
#include "os/process/process.h"
#include "os/process/self.h"

namespace tasuki::cc {
namespace {

std::string folder_to_remove;

void remove_folder() {
  if (folder_to_remove.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_to_remove, ignored);
  folder_to_remove.clear();
}

[[noreturn]] void end_by(int signal_number) {
  remove_folder();
  os::end_like(signal_number);
}

int cannot_start(const std::string& program, int error) {
  fprintf(stderr, "tasukicc: error: cannot start '%s': %s (MPICC names the MPI compiler)\n", program.c_str(),
          strerror(error));
  return 127;
}

// An empty path leaves the stream as it is.
int open_stream(const std::string& path, os::Fd (*open)(const std::string&), os::Fd* file, int* stream) {
  if (path.empty()) return 0;
  *file = open(path);
  *stream = file->get();
  if (file->valid()) return 0;
  fprintf(stderr, "tasukicc: error: cannot open '%s': %s\n", path.c_str(), strerror(errno));
  return 127;
}

}  // namespace

int run_program(const std::vector<std::string>& argv, const Streams& streams) {
  // While a program runs its end is waited for; at all other times the next run sees that an interrupt came.
  os::catch_interrupts(os::Ignored::stays);
  if (os::interrupted() != 0) end_by(os::interrupted());
  fflush(nullptr);
  os::Command command{.argv = argv};
  os::Fd files[3];
  if (const int failed = open_stream(streams.input, os::open_to_read, &files[0], &command.input))
    return failed;
  if (const int failed = open_stream(streams.output, os::open_to_write, &files[1], &command.output))
    return failed;
  if (const int failed = open_stream(streams.errors, os::open_to_write, &files[2], &command.errors))
    return failed;
  Result<os::Child> child = os::start(command);
  if (!child.ok()) return cannot_start(argv[0], child.status().err());
  os::pass_interrupts_to(child.value().pid());
  const os::ExitStatus status = child.value().wait();
  os::pass_interrupts_to(0);
  if (os::interrupted() != 0) end_by(os::interrupted());
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
