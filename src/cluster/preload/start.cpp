// The life of a program under `tasuki mem`: the pager starts right before main and ends behind the program's
// last exit handler. A program that replaces itself by another (exec) gives its cluster memory back first; a
// shell and the like, which only start another program in their place, hand the preload on instead.
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "cluster/api/entry.h"
#include "cluster/preload/preload.h"
#include "cluster/wrappers/descriptors.h"
#include "cluster/wrappers/pinning.h"
#include "generated/next.h"
#include "os/files/descriptor.h"
#include "os/process/executable.h"
#include "tasuki/dlm.h"

namespace tasuki::cluster::preload {
namespace {

using Main = int (*)(int, char**, char**);
using Strings = char* const*;

enum class State {
  inert,     // not started by `tasuki mem`: a child of such a program, for instance
  waiting,   // before main
  deferred,  // a program that starts another in its place
  active,
  ended,
};
std::atomic<State> g_state{State::inert};
pid_t g_pid = 0;
// This library's name in LD_PRELOAD, as `tasuki mem` set it.
char* g_library = nullptr;

constexpr const char* kRoot = "TASUKI_MEM_ROOT";  // pid of the process that `tasuki mem` became

Main g_main = nullptr;
void (*g_linker_end)() = nullptr;

// Exit handlers that were registered while the pager and the MPI library started: theirs, to be run when they
// have ended, not before the program's own.
struct Handler {
  void (*function)(void*);
  void* argument;
  void* library;  // that registered it
};
bool g_starting = false;
std::mutex g_handlers_lock;

// Programs close their standard error when they end (coreutils do, to see its errors), before ours.
int g_stderr = -1;
void reopen_stderr() {
  if (g_stderr >= 0 && fcntl(STDERR_FILENO, F_GETFD) < 0 && errno == EBADF) dup2(g_stderr, STDERR_FILENO);
}

std::vector<Handler>* g_handlers = nullptr;

// Do programs of this name start another one in their place, with nothing large of their own?
bool is_wrapper(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  for (const char* known :
       {"sh", "bash", "dash", "ksh", "mksh", "zsh", "rbash", "busybox", "env", "nice", "ionice", "chrt",
        "nohup", "setsid", "taskset", "numactl", "stdbuf", "setarch", "prlimit"})
    if (name == known) return true;
  return name.substr(0, 3) == "ksh";
}

// What the program finds is the environment without Tasuki's library, and so do its children.
void clean_environment() {
  const char* value = getenv("LD_PRELOAD");
  unsetenv(kRoot);
  if (value == nullptr) return;
  std::string rest;
  const std::string text(value);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find_first_of(": ", at), text.size());
    const std::string entry = text.substr(at, end - at);
    if (entry.substr(entry.rfind('/') + 1) == "libtasuki-mem.so")
      g_library = strdup(entry.c_str());
    else if (!entry.empty())
      rest += (rest.empty() ? "" : ":") + entry;
    at = end + 1;
  }
  if (rest.empty())
    unsetenv("LD_PRELOAD");
  else
    setenv("LD_PRELOAD", rest.c_str(), 1);
}

// What `tasuki mem` set for the MPI library only.
void hide_variables() {
  const char* list = getenv("TASUKI_MEM_HIDDEN");
  if (list == nullptr) return;
  std::string names(list);
  for (char* name = strtok(names.data(), ","); name != nullptr; name = strtok(nullptr, ",")) unsetenv(name);
  unsetenv("TASUKI_MEM_HIDDEN");
}

[[gnu::constructor]] void loaded() {
  local();
  const char* root = getenv(kRoot);
  if (root == nullptr || atoi(root) != getpid()) return;
  g_pid = getpid();
  clean_environment();
  g_state.store(is_wrapper(os::own_executable()) ? State::deferred : State::waiting);
}

void start() {
  const InternalScope internal;
  g_handlers = new std::vector<Handler>;
  g_stderr = os::out_of_the_way(STDERR_FILENO).release();
  keep_descriptor(g_stderr);
  // MPICH's way to its launcher, which ends the job when that is closed.
  if (const char* launcher = getenv("PMI_FD")) keep_descriptor(atoi(launcher));
  g_starting = true;
  dlm_startup(nullptr, nullptr);  // a memory server ends in there, and so does a failure
  g_starting = false;
  dlm_counters counters;
  if (dlm_stats(&counters, sizeof counters) == 0 && counters.server_bytes == 0)
    log(LogLevel::warning,
        "no memory server: %s has %" PRIu64
        " MiB of this host for its large allocations, and no more (with mpirun -n 4 before tasuki mem there "
        "are three servers)",
        os::own_executable().c_str(), counters.local_bytes >> 20);
  hide_variables();
  g_state.store(State::active);
}

// In the process that started the pager, not in a child.
bool is_own_process() {
  return getpid() == g_pid;
}

// The latest first, each once; a child only forgets them. A handler may end with a library that it closes.
template <typename Which>
void run_handlers(Which which) {
  for (;;) {
    Handler next;
    {
      const std::lock_guard guard(g_handlers_lock);
      const auto found = std::find_if(g_handlers->rbegin(), g_handlers->rend(), which);
      if (found == g_handlers->rend()) return;
      next = *found;
      g_handlers->erase(std::next(found).base());
    }
    if (is_own_process()) next.function(next.argument);
  }
}

// The limit holds for cluster memory: what the program has beside it is not to grow unseen.
void tell_beside() {
  constexpr uint64_t kLittle = 32 << 20;
  dlm_counters now;
  if (dlm_stats(&now, sizeof now) != 0 || now.beside_bytes < std::max<uint64_t>(kLittle, now.local_bytes))
    return;
  log(LogLevel::warning,
      "%s had %" PRIu64 " MiB of local memory beside the %" PRIu64
      " MiB of --local: small allocations (--threshold), static data, stacks, memory that it reserves first",
      os::own_executable().c_str(), now.beside_bytes >> 20, now.local_bytes >> 20);
}

// The MPI library reads the environment when it ends, in the pager's thread, which cannot wait for a page.
void keep_environment() {
  const auto keep = [](const void* p, size_t bytes) {
    if (touches(p, bytes)) pin(p, bytes, false);
  };
  char** last = environ;
  if (last == nullptr) return;
  for (; *last != nullptr; last++) keep(*last, strlen(*last) + 1);
  keep(environ, static_cast<size_t>(last - environ + 1) * sizeof *environ);
}

// Cluster memory ends here. Whoever frees some of it later frees nothing.
void end() {
  if (!is_own_process()) return;
  State expected = State::active;
  if (g_state.compare_exchange_strong(expected, State::ended)) {
    deactivate();
    keep_environment();
    const InternalScope internal;
    if (!is_without_mpi()) let_go_small();
    reopen_stderr();
    tell_beside();
    tasuki_dlm_stop();
    run_handlers([](const Handler&) { return true; });
    return;
  }
  expected = State::deferred;
  if (!g_state.compare_exchange_strong(expected, State::ended)) return;
  // The servers wait for a start.
  const InternalScope internal;
  log(LogLevel::warning,
      "%s only ran other programs: none of them used cluster memory (put tasuki mem before the program that "
      "is to use it)",
      os::own_executable().c_str());
  dlm_startup(nullptr, nullptr);
  tasuki_dlm_stop();
}

// Destructors of libraries use their objects. The MPI library must be there still when the pager ends;
// without it the pager ends last, and with it small objects have become local.
void end_with_libraries() {
  if (!is_without_mpi()) end();
  if (g_linker_end != nullptr) g_linker_end();
  if (is_without_mpi()) end();
}

int run_main(int argc, char** argv, char**) {
  if (g_state.load() == State::waiting && is_own_process()) {
    start();
    activate();
    at_quick_exit(end);
  }
  return g_main(argc, argv, environ);
}

bool can_execute(const char* path) {
  return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

// What exec of a shell or the like gives the program that comes in its place: this library, before what that
// program is to preload.
std::vector<char*> with_preload(Strings environment, std::vector<std::string>* storage) {
  std::vector<char*> result;
  std::string preload = std::string("LD_PRELOAD=") + (g_library != nullptr ? g_library : "");
  for (Strings e = environment; e != nullptr && *e != nullptr; e++) {
    if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
      result.push_back(*e);
    else if ((*e)[11] != 0)
      preload += std::string(":") + (*e + 11);
  }
  storage->push_back(preload);
  storage->push_back(std::string(kRoot) + "=" + std::to_string(g_pid));
  for (std::string& text : *storage) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Copies in local memory: the originals may be in cluster memory, which is about to go.
struct Copied {
  explicit Copied(Strings list) {
    for (Strings s = list; s != nullptr && *s != nullptr; s++) texts.emplace_back(*s);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
  }
  std::vector<std::string> texts;
  std::vector<char*> pointers;
};

// In a child the kernel meets no absent page: reading brings it.
void bring_texts(const char* path, Strings argv, Strings environment) {
  const auto bring = [](const char* text) {
    for (const volatile char* at = text; at != nullptr && *at != 0; at++) {
    }
  };
  if (path != nullptr && guarded(path)) bring(path);
  for (Strings list : {argv, environment})
    for (Strings s = list; s != nullptr && *s != nullptr; s++)
      if (guarded(*s)) bring(*s);
}

// The body of every exec function: call(argv, environment) is libc's.
template <typename Call>
int replace(const char* path, bool is_path, Strings argv, Strings environment, Call call) {
  const State state = g_state.load();
  if ((state != State::active && state != State::deferred) || !is_own_process()) {
    bring_texts(path, argv, environment);
    return call(path, argv, environment);
  }
  if (state == State::deferred) {
    std::vector<std::string> storage;
    const std::vector<char*> list = with_preload(environment, &storage);
    return call(path, argv, list.data());
  }
  // What cannot be executed must leave the program as it is. (A name that is searched in PATH is tried as it
  // is.)
  if (is_path && !can_execute(path)) return -1;
  int result;
  {
    const InternalScope internal;
    const std::string copied_path(path);
    const Copied copied_argv(argv), copied_environment(environment);
    log(LogLevel::warning,
        "%s replaces itself by %s, which runs with local memory only (put tasuki mem before that program)",
        os::own_executable().c_str(), copied_path.c_str());
    end();
    result = call(copied_path.c_str(), copied_argv.pointers.data(), copied_environment.pointers.data());
    log(LogLevel::error, "%s: %s; cluster memory was given back already: ending", copied_path.c_str(),
        strerror(errno));
  }
  _exit(result == 0 ? 0 : 127);
}

}  // namespace

bool is_without_mpi() {
  return strstr(library_path(), "/alone/") != nullptr;
}

const char* library_path() {
  return g_library != nullptr ? g_library : "";
}

}  // namespace tasuki::cluster::preload

using namespace tasuki::cluster;
using namespace tasuki::cluster::preload;

TASUKI_WRAPPER(int, __libc_start_main, Main main, int argc, char** argv, void (*init)(), void (*fini)(),
               void (*linker_end)(), void* stack_end) {
  const auto start_main = next___libc_start_main();
  if (g_state.load() == State::inert) return start_main(main, argc, argv, init, fini, linker_end, stack_end);
  g_main = main;
  g_linker_end = linker_end;
  // libc registers the linker's end first of all, so it is called last: behind every exit handler and
  // destructor of a static object of the program, before the destructors of libraries, the MPI library's
  // among them.
  return start_main(run_main, argc, argv, init, fini, end_with_libraries, stack_end);
}

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

// atexit and static objects' destructors come by here.
TASUKI_WRAPPER(int, __cxa_atexit, void (*function)(void*), void* argument, void* library) {
  // This library's own objects live until the process ends.
  if (library == &__dso_handle) return 0;
  if (g_starting && tasuki::cluster::t_internal != 0) {
    const std::lock_guard guard(g_handlers_lock);
    g_handlers->push_back({function, argument, library});
    return 0;
  }
  return next___cxa_atexit()(function, argument, library);
}

// A library is about to go, mostly by dlclose: so hwloc does with plug-ins that MPI_Init has loaded (one
// brings OpenCL, and with it LLVM and its static objects).
TASUKI_WRAPPER(void, __cxa_finalize, void* library) {
  if (library != nullptr && g_handlers != nullptr)
    run_handlers([library](const Handler& h) { return h.library == library; });
  next___cxa_finalize()(library);
}

// Without exit handlers, but the servers must end.
TASUKI_WRAPPER(void, _exit, int status) {
  if (g_state.load() != State::inert) end();
  next__exit()(status);
  __builtin_unreachable();
}
TASUKI_WRAPPER(void, _Exit, int status) {
  tasuki_dlm__exit(status);
}

TASUKI_WRAPPER(void, pthread_exit, void* result) {
  if (g_state.load() == State::active && is_own_process() && gettid() == g_pid) end_with_last_thread();
  next_pthread_exit()(result);
  __builtin_unreachable();
}

#define TASUKI_COLLECT(argv, first)                                                       \
  va_list args, counted;                                                                  \
  va_start(args, first);                                                                  \
  va_copy(counted, args);                                                                 \
  size_t count = first != nullptr ? 1 : 0;                                                \
  if (first != nullptr)                                                                   \
    while (va_arg(counted, char*) != nullptr) count++;                                    \
  va_end(counted);                                                                        \
  char** const argv = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
  argv[0] = const_cast<char*>(first);                                                     \
  for (size_t i = 1; i < count; i++) argv[i] = va_arg(args, char*);                       \
  argv[count] = nullptr

TASUKI_WRAPPER(int, execve, const char* path, Strings argv, Strings environment) {
  return replace(path, true, argv, environment, next_execve());
}
TASUKI_WRAPPER(int, execvpe, const char* name, Strings argv, Strings environment) {
  return replace(name, strchr(name, '/') != nullptr, argv, environment, next_execvpe());
}
TASUKI_WRAPPER(int, execv, const char* path, Strings argv) {
  return tasuki_dlm_execve(path, argv, environ);
}
TASUKI_WRAPPER(int, execvp, const char* name, Strings argv) {
  return tasuki_dlm_execvpe(name, argv, environ);
}
TASUKI_WRAPPER(int, execl, const char* path, const char* first, ...) {
  TASUKI_COLLECT(argv, first);
  va_end(args);
  return tasuki_dlm_execve(path, argv, environ);
}
TASUKI_WRAPPER(int, execlp, const char* name, const char* first, ...) {
  TASUKI_COLLECT(argv, first);
  va_end(args);
  return tasuki_dlm_execvpe(name, argv, environ);
}
TASUKI_WRAPPER(int, execle, const char* path, const char* first, ...) {
  TASUKI_COLLECT(argv, first);
  if (first != nullptr) (void)va_arg(args, char*);  // the end of the list
  Strings environment = va_arg(args, Strings);
  va_end(args);
  return tasuki_dlm_execve(path, argv, environment);
}
TASUKI_WRAPPER(int, fexecve, int fd, Strings argv, Strings environment) {
  const auto call = next_fexecve();
  return replace("a file descriptor", false, argv, environment,
                 [&](const char*, Strings a, Strings e) { return call(fd, a, e); });
}
