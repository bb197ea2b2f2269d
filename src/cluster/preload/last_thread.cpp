// libc ends a process when its last thread ends. Those of the pager and of the MPI library never do before
// the program has ended, so when main leaves by pthread_exit, a thread of ours looks out for that moment.
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "cluster/preload/preload.h"
#include "cluster/wrappers/pinning.h"
#include "cluster/wrappers/threads.h"

namespace tasuki::cluster::preload {
namespace {

// False: it cannot be read.
bool read_line(const char* path, char* line, int room) {
  FILE* file = fopen(path, "re");
  if (file == nullptr) return false;
  const bool read = fgets(line, room, file) != nullptr;
  fclose(file);
  return read;
}

// Of the first thread nothing is left but its number: its destructors have run.
bool main_has_ended() {
  char line[256];
  if (!read_line("/proc/self/stat", line, sizeof line)) return false;
  const char* name_end = strrchr(line, ')');  // PID (NAME) STATE ...
  return name_end != nullptr && name_end[1] != 0 && name_end[2] == 'Z';
}

// Of io_uring, which keeps one for good where a file system makes transfers wait.
bool is_kernels_worker(int tid) {
  char path[64], name[32];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
  return read_line(path, name, sizeof name) && strncmp(name, "iou-", 4) == 0;
}

bool program_has_ended() {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return false;
  bool none = true;
  while (const dirent* entry = readdir(threads)) {
    const int tid = atoi(entry->d_name);
    none = none && (tid == 0 || tid == getpid() || tid == gettid() || is_internal_thread(tid) ||
                    is_kernels_worker(tid));
  }
  closedir(threads);
  return none && main_has_ended();
}

void* look_out(void*) {
  const timespec pause = {0, 10'000'000};
  while (!program_has_ended()) nanosleep(&pause, nullptr);
  t_internal = 0;  // the program's exit handlers are the program's
  exit(0);
}

}  // namespace

void end_with_last_thread() {
  const InternalScope internal;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, look_out, nullptr) == 0) pthread_detach(thread);
}

}  // namespace tasuki::cluster::preload
