// What the wrappers are made of: libc's types, the export macro, and the way to the next definition.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <utime.h>

#include <atomic>
#include <cstddef>

// A wrapper is defined under a name of its own and exported under libc's, whose headers declare some of these
// with attributes that a definition in C++ could not repeat.
#define TASUKI_WRAPPER(result, name, ...)                                                                 \
  extern "C" __attribute__((visibility("default"))) result tasuki_dlm_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" result tasuki_dlm_##name(__VA_ARGS__)

namespace tasuki::cluster {

extern std::atomic<void*> g_next[];  // in the order of gen/wrappers.toml
extern const char* const kWrappedNames[];
extern const int kWrappedCount;

// The definition behind this library: libc's, or another preloaded library's. Looked up for all functions
// when the library is loaded: in a signal handler that may not be done, and the pager's threads may not wait
// for the loader, whose lock a constructor holds that waits for them. Before that, on first use. Ends the
// program if there is none.
void* find_next(int index);

template <typename Function>
Function next_function(int index) {
  void* found = g_next[index].load(std::memory_order_relaxed);
  if (found == nullptr) [[unlikely]]
    found = find_next(index);
  return reinterpret_cast<Function>(found);
}

}  // namespace tasuki::cluster
