// MAP_FIXED. The kernel replaces silently what is mapped at the address; in a process of its own that is the
// program's affair, in a shared address space it may be another task's memory. So a mapping at a fixed
// address is made with MAP_FIXED_NOREPLACE first, which the kernel refuses atomically if anything is there;
// then it is allowed only if what is there is the caller's own: mapped by this task through these functions,
// or part of its program and libraries, or its stack. Otherwise the call fails with ENOMEM and the collision
// is named.
//
// What a task unmaps is kept where that pays (kept.h).
//
// Not seen: system calls made without libc, mappings that libc or ld.so make for themselves (they never
// replace what they have not mapped). Not refused: shmat with SHM_REMAP.
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "elf/loaded.h"
#include "os/memory/mapping.h"
#include "os/process/signals.h"
#include "os/raw.h"
#include "task/maps.h"
#include "task/object/exports.h"
#include "task/object/kept.h"
#include "task/object/statistics.h"
#include "task/ranges.h"
#include "task/space.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace {

using tasuki::os::page_ceil;
using tasuki::os::raw_arg;
using tasuki::os::raw_syscall;
using tasuki::os::SignalsBlocked;
using tasuki::task::RangeSet;
using tasuki::task::self;
using tasuki::task::TaskSlot;

using MapFunction = void* (*)(void*, size_t, int, int, int, off_t);
using RemapFunction = void* (*)(void*, size_t, size_t, int, ...);

// What this task has mapped; the lock is taken by threads that block all signals, as handlers may map, too.
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
constinit RangeSet g_own;

void record(const void* at, size_t length) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
  pthread_mutex_lock(&g_lock);
  g_own.add(begin, page_ceil(begin + length));
  pthread_mutex_unlock(&g_lock);
}

// Whether all of it was recorded.
bool forget(const void* at, size_t length) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at), end = page_ceil(begin + length);
  pthread_mutex_lock(&g_lock);
  const bool recorded = g_own.covers(begin, end);
  g_own.remove(begin, end);
  pthread_mutex_unlock(&g_lock);
  return recorded;
}

struct Wanted {
  uintptr_t begin, end;
  bool inside;
};

int check_object(dl_phdr_info* info, size_t, void* argument) {
  Wanted* w = static_cast<Wanted*>(argument);
  const tasuki::elf::LoadedRange range = tasuki::elf::loaded_range(*info);
  w->inside |= w->begin >= tasuki::os::page_floor(range.begin) && w->end <= page_ceil(range.end);
  return w->inside ? 1 : 0;
}

// The stack of the calling thread, which libc has mapped for itself. (A Java VM protects a part of its own.)
bool on_own_stack(uintptr_t begin, uintptr_t end) {
  const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  constexpr uintptr_t kLargest = uintptr_t{1} << 32;
  if (end > here || here - begin > kLargest) return false;
  pthread_attr_t attributes;
  void* at = nullptr;
  size_t length = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  const bool known = pthread_attr_getstack(&attributes, &at, &length) == 0;
  pthread_attr_destroy(&attributes);
  const uintptr_t low = reinterpret_cast<uintptr_t>(at);
  return known && begin >= low && end <= low + length;
}

bool is_own(uintptr_t begin, uintptr_t end) {
  pthread_mutex_lock(&g_lock);
  const bool mapped_here = g_own.covers(begin, end);
  pthread_mutex_unlock(&g_lock);
  if (mapped_here) return true;
  const TaskSlot* slot = self();
  if (begin >= slot->stack_begin && end <= slot->stack_end) return true;
  Wanted w{begin, end, false};
  dl_iterate_phdr(check_object, &w);
  return w.inside || on_own_stack(begin, end);
}

// Whether everything that is mapped in the range belongs to this task. On false: the first piece that does
// not.
bool may_replace(uintptr_t begin, uintptr_t end, uintptr_t* foreign_begin, uintptr_t* foreign_end) {
  *foreign_begin = begin;
  *foreign_end = end;
  if (is_own(begin, end)) return true;
  char buffer[8192];
  bool mine = true;
  const bool read = tasuki::task::each_mapping(buffer, [&](uintptr_t from, uintptr_t to, const char*) {
    from = from < begin ? begin : from;
    to = to > end ? end : to;
    if (from >= to || is_own(from, to)) return true;
    *foreign_begin = from;
    *foreign_end = to;
    return mine = false;
  });
  return read && mine;
}

// The task whose stack, loader or program is at the address; -1 if that cannot be told.
int owner_of(uintptr_t address) {
  tasuki::task::Space* space = self()->space;
  for (uint32_t i = 0; i < space->task_count; i++) {
    const TaskSlot& t = space->tasks()[i];
    if (address >= t.stack_begin && address < t.stack_end) return static_cast<int>(i);
  }
  return -1;
}

void report(const char* what, uintptr_t begin, uintptr_t end, uintptr_t foreign_begin,
            uintptr_t foreign_end) {
  char owner[32] = "another task or its libraries";
  if (const int index = owner_of(foreign_begin); index >= 0) snprintf(owner, sizeof owner, "task %d", index);
  char line[256];
  const int n =
      snprintf(line, sizeof line,
               "tasuki: task %u: %s at the fixed address 0x%lx-0x%lx refused: 0x%lx-0x%lx is memory of %s\n",
               self()->index, what, static_cast<unsigned long>(begin), static_cast<unsigned long>(end),
               static_cast<unsigned long>(foreign_begin), static_cast<unsigned long>(foreign_end), owner);
  if (n > 0) raw_syscall(SYS_write, 2, raw_arg(line), n);
}

// With MAP_FIXED, without MAP_FIXED_NOREPLACE.
void* map_fixed(MapFunction next, void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  const auto map_it = [&](int how) {
    return tasuki::task::with_room([&] { return next(at, length, protection, how, fd, offset); });
  };
  void* p = map_it((flags & ~MAP_FIXED) | MAP_FIXED_NOREPLACE);
  if (p == at) return p;
  if (p != MAP_FAILED) raw_syscall(SYS_munmap, raw_arg(p), static_cast<long>(length));  // kernel before 4.17
  if (p == MAP_FAILED && errno != EEXIST) return p;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at), end = page_ceil(begin + length);
  uintptr_t foreign_begin, foreign_end;
  if (may_replace(begin, end, &foreign_begin, &foreign_end)) return map_it(flags);
  report("mmap", begin, end, foreign_begin, foreign_end);
  errno = ENOMEM;
  return MAP_FAILED;
}

void* map(MapFunction next, void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  if (self() == nullptr) return next(at, length, protection, flags, fd, offset);
  const SignalsBlocked quiet;
  const bool plain = at == nullptr && protection == (PROT_READ | PROT_WRITE) &&
                     flags == (MAP_PRIVATE | MAP_ANONYMOUS) && offset == 0;
  void* p = plain ? tasuki::task::take_kept(length) : nullptr;
  if (p == nullptr) {
    tasuki::task::count_mapping();
    if (at != nullptr) tasuki::task::give_back(at, length);
    const bool replaces = (flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) == 0;
    p = replaces ? map_fixed(next, at, length, protection, flags, fd, offset)
                 : tasuki::task::with_room([&] { return next(at, length, protection, flags, fd, offset); });
    if (p == MAP_FAILED) return p;
    plain ? tasuki::task::note_plain(p, length) : tasuki::task::note_other(p, length);
  }
  record(p, length);
  return p;
}

}  // namespace

TASUKI_HIDDEN_WRAPPER(void*, mmap, void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  return map(TASUKI_NEXT(MapFunction, "mmap"), at, length, protection, flags, fd, offset);
}

TASUKI_HIDDEN_WRAPPER(void*, mmap64, void* at, size_t length, int protection, int flags, int fd,
                      off_t offset) {
  return map(TASUKI_NEXT(MapFunction, "mmap64"), at, length, protection, flags, fd, offset);
}

TASUKI_HIDDEN_WRAPPER(int, munmap, void* at, size_t length) {
  const auto next = TASUKI_NEXT(int (*)(void*, size_t), "munmap");
  if (self() == nullptr) return next(at, length);
  const SignalsBlocked quiet;
  // Forgotten first: once unmapped, the range may be another task's.
  const bool recorded = forget(at, length);
  if (recorded && tasuki::task::keep(at, length)) return 0;
  tasuki::task::count_mapping();
  tasuki::task::give_back(at, length);
  const int result = tasuki::task::with_room([&] { return next(at, length); });
  if (result != 0 && recorded) record(at, length);
  return result;
}

// Locking fills what is mapped, and that is all tasks' memory, with stacks as large as their limit: only what
// is touched is locked.
TASUKI_WRAPPER(int, mlockall, int flags) {
  if (self() != nullptr) {
    flags |= MCL_ONFAULT;
    tasuki::task::keep_no_more();
  }
  return TASUKI_NEXT(int (*)(int), "mlockall")(flags);
}

TASUKI_HIDDEN_WRAPPER(void*, mremap, void* at, size_t old_length, size_t length, int flags, ...) {
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list args;
    va_start(args, flags);
    target = va_arg(args, void*);
    va_end(args);
  }
  const RemapFunction next = TASUKI_NEXT(RemapFunction, "mremap");
  if (self() == nullptr) return next(at, old_length, length, flags, target);
  const SignalsBlocked quiet;
  tasuki::task::count_mapping();
  // Also where it could grow in place.
  tasuki::task::give_back(at, length > old_length ? length : old_length);
  if (target != nullptr) {
    tasuki::task::give_back(target, length);
    // Take the target's place first: then nobody else can.
    const MapFunction map_next = TASUKI_NEXT(MapFunction, "mmap");
    if (map_fixed(map_next, target, length, PROT_NONE,
                  MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
      return MAP_FAILED;
    record(target, length);
  }
  // As munmap does it.
  const bool leaves = (flags & 4 /* MREMAP_DONTUNMAP */) == 0;
  const bool recorded = leaves && forget(at, old_length);
  void* p = tasuki::task::with_room([&] { return next(at, old_length, length, flags, target); });
  if (p != MAP_FAILED) {
    tasuki::task::note_other(p, length);
    record(p, length);
  }
  if (p == MAP_FAILED && recorded) record(at, old_length);
  return p;
}
