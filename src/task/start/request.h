// A request to start a task: everything that the process has which the launcher started for it. A proxy
// captures it from itself and sends it to the host.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "os/files/descriptor.h"
#include "os/process/process.h"
#include "task/examine/launcher.h"
#include "task/examine/program.h"

namespace tasuki::task {

struct TaskRequest {
  std::string path;       // the program
  std::string canonical;  // as /proc/self/exe names it
  std::string loader;     // its ld.so
  std::string loaded;     // what that loads: `canonical`, or a program of Tasuki's that stands in for it
  std::vector<std::string> argv;         // of what is loaded
  std::vector<std::string> environment;  // without what Tasuki adds
  MpiAbi abi = MpiAbi::none;             // as the program's own headers tell it
  MpiAbi launcher_abi = MpiAbi::none;
  int32_t launcher_rank = -1;
  os::Inherited inherited;

  os::Fd cwd;
  std::vector<int> fd_numbers;  // in the task
  std::vector<os::Fd> fds;      // here; same order

  void close_descriptors() {
    cwd.reset();
    fds.clear();
  }
};

// Of this process: properties, environment, working directory and every descriptor that exec would keep.
Result<TaskRequest> capture_request(const Program& program, const Job& job, char** environment);

// Over a connection; the descriptors travel with it.
Status send_request(int socket, const TaskRequest& request);
Result<TaskRequest> receive_request(int socket);

}  // namespace tasuki::task
