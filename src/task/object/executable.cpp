// /proc/self/exe. The kernel keeps one executable per address space, so it names the host's file in every
// task, and in the children that a task forks until they execute something.
#include <alloca.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "task/object/exports.h"
#include "task/object/kept.h"
#include "task/space.h"

namespace {

using tasuki::task::TaskSlot;

// The program if `path` asks for that of this process or of another task, else nullptr: "/proc/self/exe",
// "/proc/thread-self/exe" and "/proc/<pid>/exe". Called in children of vfork too: it changes nothing.
const char* answer(const char* path) {
  if (path == nullptr || strncmp(path, "/proc/", 6) != 0) return nullptr;
  const char* rest = path + 6;
  char* end;
  const long pid = strtol(rest, &end, 10);
  const bool own = strcmp(rest, "self/exe") == 0 || strcmp(rest, "thread-self/exe") == 0;
  if (!own && (end == rest || strcmp(end, "/exe") != 0)) return nullptr;
  const TaskSlot* slot = tasuki::task::loaded_for();
  if (slot == nullptr) return nullptr;
  if (own || pid == getpid()) return slot->program;
  tasuki::task::Space* space = slot->space;
  for (uint32_t i = 0; i < space->task_count; i++) {
    const TaskSlot& t = space->tasks()[i];
    if (t.pid.load(std::memory_order_acquire) == pid && t.state.load() == tasuki::task::TaskState::running)
      return t.program;
  }
  return nullptr;
}

const char* or_same(const char* path) {
  const char* program = answer(path);
  return program != nullptr ? program : path;
}

// What readlink does: no terminating 0, cut to the buffer.
ssize_t copy_link(const char* target, char* buffer, size_t size) {
  if (size == 0) {
    errno = EINVAL;
    return -1;
  }
  const size_t n = strnlen(target, size);
  memcpy(buffer, target, n);
  return static_cast<ssize_t>(n);
}

char* copy_path(const char* target, char* resolved) {
  if (resolved == nullptr) return strdup(target);
  return strcpy(resolved, target);  // PATH_MAX bytes by contract; the target came from realpath
}

// This process may be about to leave the address space, and what it keeps there would stay. (What a child of
// vfork leaves goes on.)
void leave() {
  const TaskSlot* slot = tasuki::task::self();
  if (slot != nullptr && slot->pid.load(std::memory_order_relaxed) == getpid()) tasuki::task::give_all_back();
}

bool takes_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace

TASUKI_WRAPPER(ssize_t, readlink, const char* path, char* buffer, size_t size) {
  if (const char* program = answer(path)) return copy_link(program, buffer, size);
  return TASUKI_NEXT(ssize_t(*)(const char*, char*, size_t), "readlink")(path, buffer, size);
}

TASUKI_WRAPPER(ssize_t, __readlink_chk, const char* path, char* buffer, size_t size, size_t room) {
  if (const char* program = answer(path)) return copy_link(program, buffer, size < room ? size : room);
  return TASUKI_NEXT(ssize_t(*)(const char*, char*, size_t, size_t), "__readlink_chk")(path, buffer, size,
                                                                                       room);
}

TASUKI_WRAPPER(ssize_t, readlinkat, int dir, const char* path, char* buffer, size_t size) {
  if (const char* program = answer(path)) return copy_link(program, buffer, size);
  return TASUKI_NEXT(ssize_t(*)(int, const char*, char*, size_t), "readlinkat")(dir, path, buffer, size);
}

TASUKI_WRAPPER(ssize_t, __readlinkat_chk, int dir, const char* path, char* buffer, size_t size, size_t room) {
  if (const char* program = answer(path)) return copy_link(program, buffer, size < room ? size : room);
  return TASUKI_NEXT(ssize_t(*)(int, const char*, char*, size_t, size_t), "__readlinkat_chk")(
      dir, path, buffer, size, room);
}

TASUKI_WRAPPER(char*, realpath, const char* path, char* resolved) {
  if (const char* program = answer(path)) return copy_path(program, resolved);
  return TASUKI_NEXT(char* (*)(const char*, char*), "realpath")(path, resolved);
}

TASUKI_WRAPPER(char*, __realpath_chk, const char* path, char* resolved, size_t room) {
  if (const char* program = answer(path)) return copy_path(program, resolved);
  return TASUKI_NEXT(char* (*)(const char*, char*, size_t), "__realpath_chk")(path, resolved, room);
}

TASUKI_WRAPPER(char*, canonicalize_file_name, const char* path) {
  if (const char* program = answer(path)) return strdup(program);
  return TASUKI_NEXT(char* (*)(const char*), "canonicalize_file_name")(path);
}

#define TASUKI_WRAP_OPEN(name)                                                             \
  TASUKI_WRAPPER(int, name, const char* path, int flags, ...) {                            \
    mode_t mode = 0;                                                                       \
    if (takes_mode(flags)) {                                                               \
      va_list args;                                                                        \
      va_start(args, flags);                                                               \
      mode = va_arg(args, mode_t);                                                         \
      va_end(args);                                                                        \
    }                                                                                      \
    return TASUKI_NEXT(int (*)(const char*, int, ...), #name)(or_same(path), flags, mode); \
  }
TASUKI_WRAP_OPEN(open)
TASUKI_WRAP_OPEN(open64)

#define TASUKI_WRAP_OPENAT(name)                                                                     \
  TASUKI_WRAPPER(int, name, int dir, const char* path, int flags, ...) {                             \
    mode_t mode = 0;                                                                                 \
    if (takes_mode(flags)) {                                                                         \
      va_list args;                                                                                  \
      va_start(args, flags);                                                                         \
      mode = va_arg(args, mode_t);                                                                   \
      va_end(args);                                                                                  \
    }                                                                                                \
    return TASUKI_NEXT(int (*)(int, const char*, int, ...), #name)(dir, or_same(path), flags, mode); \
  }
TASUKI_WRAP_OPENAT(openat)
TASUKI_WRAP_OPENAT(openat64)

// The checked forms that -D_FORTIFY_SOURCE calls when no mode is passed.
TASUKI_WRAPPER(int, __open_2, const char* path, int flags) {
  return TASUKI_NEXT(int (*)(const char*, int), "__open_2")(or_same(path), flags);
}
TASUKI_WRAPPER(int, __open64_2, const char* path, int flags) {
  return TASUKI_NEXT(int (*)(const char*, int), "__open64_2")(or_same(path), flags);
}

TASUKI_WRAPPER(FILE*, fopen, const char* path, const char* mode) {
  return TASUKI_NEXT(FILE * (*)(const char*, const char*), "fopen")(or_same(path), mode);
}
TASUKI_WRAPPER(FILE*, fopen64, const char* path, const char* mode) {
  return TASUKI_NEXT(FILE * (*)(const char*, const char*), "fopen64")(or_same(path), mode);
}

// What the link leads to; the link itself (lstat) is the kernel's.
#define TASUKI_WRAP_STAT(name, at_name, type)                                                   \
  TASUKI_WRAPPER(int, name, const char* path, struct type* result) {                            \
    return TASUKI_NEXT(int (*)(const char*, struct type*), #name)(or_same(path), result);       \
  }                                                                                             \
  TASUKI_WRAPPER(int, at_name, int dir, const char* path, struct type* result, int flags) {     \
    const auto next = TASUKI_NEXT(int (*)(int, const char*, struct type*, int), #at_name);      \
    return next(dir, (flags & AT_SYMLINK_NOFOLLOW) != 0 ? path : or_same(path), result, flags); \
  }
TASUKI_WRAP_STAT(stat, fstatat, stat)
TASUKI_WRAP_STAT(stat64, fstatat64, stat64)

TASUKI_WRAPPER(int, statx, int dir, const char* path, int flags, unsigned mask, struct statx* result) {
  const auto next = TASUKI_NEXT(int (*)(int, const char*, int, unsigned, struct statx*), "statx");
  return next(dir, (flags & AT_SYMLINK_NOFOLLOW) != 0 ? path : or_same(path), flags, mask, result);
}

using Strings = char* const*;

// The forms with an argument list become those with an array.
#define TASUKI_COLLECT(argv, first)                                             \
  va_list counted, args;                                                        \
  va_start(args, first);                                                        \
  va_copy(counted, args);                                                       \
  size_t count = 1;                                                             \
  if (first != nullptr)                                                         \
    while (va_arg(counted, char*) != nullptr) count++;                          \
  va_end(counted);                                                              \
  char** const argv = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  argv[0] = const_cast<char*>(first);                                           \
  for (size_t i = 1; i < count; i++) argv[i] = va_arg(args, char*);             \
  argv[count] = nullptr

TASUKI_WRAPPER(int, execl, const char* path, const char* first, ...) {
  TASUKI_COLLECT(argv, first);
  va_end(args);
  return execve(path, argv, environ);
}
TASUKI_WRAPPER(int, execlp, const char* path, const char* first, ...) {
  TASUKI_COLLECT(argv, first);
  va_end(args);
  return execvp(path, argv);
}
TASUKI_WRAPPER(int, execle, const char* path, const char* first, ...) {
  TASUKI_COLLECT(argv, first);
  if (first != nullptr) (void)va_arg(args, char*);  // the end of the list
  Strings env = va_arg(args, Strings);
  va_end(args);
  return execve(path, argv, env);
}
TASUKI_WRAPPER(int, execveat, int dir, const char* path, Strings argv, Strings env, int flags) {
  const auto next = TASUKI_NEXT(int (*)(int, const char*, Strings, Strings, int), "execveat");
  leave();
  return next(dir, or_same(path), argv, env, flags);
}

TASUKI_WRAPPER(int, fexecve, int program, Strings argv, Strings env) {
  leave();
  return TASUKI_NEXT(int (*)(int, Strings, Strings), "fexecve")(program, argv, env);
}

TASUKI_WRAPPER(int, execve, const char* path, Strings argv, Strings env) {
  leave();
  return TASUKI_NEXT(int (*)(const char*, Strings, Strings), "execve")(or_same(path), argv, env);
}
TASUKI_WRAPPER(int, execv, const char* path, Strings argv) {
  leave();
  return TASUKI_NEXT(int (*)(const char*, Strings), "execv")(or_same(path), argv);
}
TASUKI_WRAPPER(int, execvp, const char* path, Strings argv) {
  leave();
  return TASUKI_NEXT(int (*)(const char*, Strings), "execvp")(or_same(path), argv);
}
TASUKI_WRAPPER(int, execvpe, const char* path, Strings argv, Strings env) {
  leave();
  return TASUKI_NEXT(int (*)(const char*, Strings, Strings), "execvpe")(or_same(path), argv, env);
}

using SpawnFunction = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                              const posix_spawnattr_t*, Strings, Strings);
TASUKI_WRAPPER(int, posix_spawn, pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Strings argv, Strings env) {
  return TASUKI_NEXT(SpawnFunction, "posix_spawn")(pid, or_same(path), actions, attributes, argv, env);
}
TASUKI_WRAPPER(int, posix_spawnp, pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, Strings argv, Strings env) {
  return TASUKI_NEXT(SpawnFunction, "posix_spawnp")(pid, or_same(path), actions, attributes, argv, env);
}
