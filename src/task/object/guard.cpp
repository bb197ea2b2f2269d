// tasuki run --guard: a task cannot write to the memory of another one. All memory of a task carries a
// protection key, and the rights of all its threads (os/memory/keys.h) close the keys of the others for
// writing; reading stays open. The message layer opens them for its own copies (os::WritesAllowed), and what
// all tasks write keeps key 0. A stray write then faults in the task that made it, which says what it did and
// ends.
//
// What a task has when its loader is done it finds out by itself: tasks are loaded one after the other
// (start/turns.h). From then on memory comes from libc's mmap, whoever calls it, and from ld.so when it loads
// a library; both are made to tell.
//
// Not closed: memory that tasks map by system calls without libc; shared memory of shmat; tasks of the same
// colour, where there are more tasks than keys.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>

#include "elf/loaded.h"
#include "os/context.h"
#include "os/memory/keys.h"
#include "os/raw.h"
#include "task/maps.h"
#include "task/object/handlers.h"
#include "task/object/patch.h"
#include "task/ranges.h"
#include "task/space.h"
#include "task/start/turns.h"

namespace {

using tasuki::os::page_ceil;
using tasuki::os::page_floor;
using tasuki::os::raw_arg;
using tasuki::os::raw_syscall;
using tasuki::task::Range;
using tasuki::task::RangeSet;
using tasuki::task::Space;
using tasuki::task::TaskSlot;

int g_key;
Space* g_claimed;              // once this task has claimed its memory
constinit RangeSet g_own;      // what was this task's when it had been loaded
constinit RangeSet g_objects;  // loaded libraries whose memory has been closed

// "7f..-7f.. rw-p ...": as PROT_*.
int protection_of(const char* line) {
  const char* p = strchr(line, ' ');
  if (p == nullptr) return PROT_NONE;
  return (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) | (p[3] == 'x' ? PROT_EXEC : 0);
}

int add_own_loader(dl_phdr_info* info, size_t, void* argument) {
  const tasuki::elf::LoadedRange range = tasuki::elf::loaded_range(*info);
  if (range.holds(static_cast<const TaskSlot*>(argument)->interpreter))
    g_own.add(page_floor(range.begin), page_ceil(range.end));
  return 0;
}

// What can be written and was not there before this task was loaded; its stack and its loader the host has
// mapped.
void claim_what_is_loaded(const TaskSlot* slot) {
  Space* space = slot->space;
  char buffer[8192];
  tasuki::task::each_mapping(buffer, [](uintptr_t begin, uintptr_t end, const char* line) {
    if ((protection_of(line) & PROT_WRITE) != 0) g_own.add(begin, end);
    return true;
  });
  for (const Range& r : *space->before) g_own.remove(r.begin, r.end);
  for (uint32_t i = 0; i < slot->index; i++)
    if (const RangeSet* theirs = space->tasks()[i].claimed.load())
      for (const Range& r : *theirs) g_own.remove(r.begin, r.end);
  g_own.add(slot->stack_begin, slot->stack_end);
  dl_iterate_phdr(add_own_loader, const_cast<TaskSlot*>(slot));
  tasuki::task::each_mapping(buffer, [](uintptr_t begin, uintptr_t end, const char* line) {
    const int protection = protection_of(line);
    if ((protection & PROT_WRITE) == 0) return true;
    for (const Range& r : g_own) {
      const uintptr_t from = r.begin > begin ? r.begin : begin, to = r.end < end ? r.end : end;
      if (from < to) tasuki::os::set_key(reinterpret_cast<void*>(from), to - from, protection, g_key);
    }
    return true;
  });
}

void* guarded_mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  // Threads that the constructors of libraries have started: what they map now a task that is being loaded
  // would take for its own.
  if (Space* space = g_claimed; space != nullptr && space->turn.load() < space->task_count)
    tasuki::task::wait_for_turn(space, space->task_count);
  const long p = raw_syscall(SYS_mmap, raw_arg(at), static_cast<long>(length), protection, flags, fd, offset);
  if (p < 0 && p > -4096) {
    errno = static_cast<int>(-p);
    return MAP_FAILED;
  }
  tasuki::os::set_key(reinterpret_cast<void*>(p), page_ceil(length), protection, g_key);
  return reinterpret_cast<void*>(p);
}

// A library that has just been mapped, before it is relocated. What becomes read-only stays as it is.
int close_object(dl_phdr_info* info, size_t, void*) {
  const tasuki::elf::LoadedRange range = tasuki::elf::loaded_range(*info);
  if (range.begin >= range.end || g_objects.covers(range.begin, range.end)) return 0;
  uintptr_t fixed_begin = 0, fixed_end = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type != PT_GNU_RELRO) continue;
    fixed_begin = page_floor(info->dlpi_addr + p.p_vaddr);
    fixed_end = page_floor(info->dlpi_addr + p.p_vaddr + p.p_memsz);
  }
  const auto close = [](uintptr_t begin, uintptr_t end, int protection) {
    if (begin < end) tasuki::os::set_key(reinterpret_cast<void*>(begin), end - begin, protection, g_key);
  };
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type != PT_LOAD || (p.p_flags & PF_W) == 0) continue;
    const int protection = PROT_READ | PROT_WRITE | ((p.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    const uintptr_t begin = page_floor(info->dlpi_addr + p.p_vaddr),
                    end = page_ceil(info->dlpi_addr + p.p_vaddr + p.p_memsz);
    if (fixed_begin < fixed_end && fixed_begin >= begin && fixed_end <= end) {
      close(begin, fixed_begin, protection);
      close(fixed_end, end, protection);
    } else {
      close(begin, end, protection);
    }
  }
  g_objects.add(range.begin, range.end);
  return 0;
}

struct Survivors {
  RangeSet ranges;
  bool all;
};

int remember_object(dl_phdr_info* info, size_t, void* argument) {
  auto* survivors = static_cast<Survivors*>(argument);
  const tasuki::elf::LoadedRange range = tasuki::elf::loaded_range(*info);
  if (range.begin < range.end && (survivors->all || g_objects.covers(range.begin, range.end)))
    survivors->ranges.add(range.begin, range.end);
  return 0;
}

// g_objects without libraries that are loaded no more, in whose place another one may come. `all`: with those
// that have not been closed here. What stays is not closed again: the program may have protected a part.
void remember_objects(bool all) {
  Survivors survivors = {{}, all};
  dl_iterate_phdr(remember_object, &survivors);
  g_objects.remove(0, UINTPTR_MAX);
  for (const Range& r : survivors.ranges) g_objects.add(r.begin, r.end);
  survivors.ranges.release();
}

int count_unloaded(dl_phdr_info* info, size_t, void* argument) {
  *static_cast<unsigned long long*>(argument) = info->dlpi_subs;
  return 1;
}

unsigned long long g_unloaded;  // libraries so far

// Where ld.so says to debuggers that the list of libraries has changed, with its lock held.
void on_libraries_changed() {
  unsigned long long unloaded = 0;
  dl_iterate_phdr(count_unloaded, &unloaded);
  if (unloaded != g_unloaded) remember_objects(false);
  g_unloaded = unloaded;
  dl_iterate_phdr(close_object, nullptr);
}

bool watch_mappings() {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  void* map = libc != nullptr ? dlsym(libc, "mmap") : nullptr;
  if (map == nullptr || !tasuki::task::enter_instead(map, reinterpret_cast<const void*>(guarded_mmap)))
    return false;
  remember_objects(true);
  dl_iterate_phdr(count_unloaded, &g_unloaded);
  void* changed = dlsym(RTLD_DEFAULT, "_dl_debug_state");
  if (changed != nullptr)
    tasuki::task::enter_instead(changed, reinterpret_cast<const void*>(on_libraries_changed));
  return true;
}

// ---- the message

// Text of bounded length.
class Line {
 public:
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(text_ + length_, sizeof text_ - length_, format, values);
    va_end(values);
    if (n > 0) length_ += static_cast<size_t>(n);
    if (length_ > sizeof text_ - 1) length_ = sizeof text_ - 1;
  }
  void write() const { raw_syscall(SYS_write, 2, raw_arg(text_), static_cast<long>(length_)); }

 private:
  char text_[2048];
  size_t length_ = 0;
};

void add_task(Line& line, const TaskSlot& t) {
  line.add("task %u (", t.index);
  if (t.launcher_rank >= 0) line.add("rank %d, ", t.launcher_rank);
  line.add("process %d, %s)", t.pid.load(), t.program);
}

bool has_claimed(const TaskSlot& t, uintptr_t address) {
  const RangeSet* ranges = t.claimed.load();
  return ranges != nullptr && ranges->covers(address, address + 1);
}

void add_owners(Line& line, Space* space, const siginfo_t* info, uintptr_t address) {
  const int key = static_cast<int>(info->si_pkey);
  for (uint32_t i = 0; i < space->task_count; i++)
    if (space->tasks()[i].key == key && has_claimed(space->tasks()[i], address))
      return add_task(line, space->tasks()[i]);
  const char* between = "";
  for (uint32_t i = 0; i < space->task_count; i++) {
    if (space->tasks()[i].key != key) continue;
    line.add("%s", between);
    add_task(line, space->tasks()[i]);
    between = " or ";
  }
}

void report(const siginfo_t* info, const ucontext_t* context) {
  static bool reporting = false;
  const TaskSlot* slot = tasuki::task::loaded_for();
  if (slot == nullptr || __atomic_exchange_n(&reporting, true, __ATOMIC_ACQ_REL)) return;
  const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr),
                  instruction = tasuki::os::instruction_of(*context);
  static Line line;  // the stack may be small
  line.add("tasuki: ");
  add_task(line, *slot);
  if (static_cast<int>(info->si_pkey) == g_key) {
    line.add(
        " enters a signal handler that was not set by libc's sigaction, which --guard does not support\n");
    return line.write();
  }
  line.add(" writes to memory of ");
  add_owners(line, slot->space, info, address);
  line.add(" at address 0x%lx\ntasuki: the instruction is at 0x%lx", static_cast<unsigned long>(address),
           static_cast<unsigned long>(instruction));
  Dl_info found = {};
  if (dladdr(reinterpret_cast<const void*>(instruction), &found) != 0 && found.dli_fname != nullptr) {
    const uintptr_t base = reinterpret_cast<uintptr_t>(found.dli_fbase),
                    symbol = reinterpret_cast<uintptr_t>(found.dli_saddr);
    if (found.dli_sname != nullptr)
      line.add(", in %s+0x%lx", found.dli_sname, static_cast<unsigned long>(instruction - symbol));
    line.add(" of %s (addr2line -fe %s 0x%lx)", found.dli_fname, found.dli_fname,
             static_cast<unsigned long>(instruction - base));
  }
  line.add("; the task ends\n");
  line.write();
}

// Before the constructors of the program and of its libraries, as far as their order allows that.
__attribute__((constructor(101))) void guard() {
  TaskSlot* slot = tasuki::task::self();
  if (slot == nullptr || slot->key == 0) return;
  Space* space = slot->space;
  g_key = slot->key;
  if (!watch_mappings() || !tasuki::task::guard_handlers(tasuki::task::rights_of(*slot), report)) {
    constexpr char kText[] = "tasuki: --guard: the code of libc cannot be changed here\n";
    raw_syscall(SYS_write, 2, raw_arg(kText), sizeof kText - 1);
    _exit(1);
  }
  claim_what_is_loaded(slot);  // last: with what the lines above have mapped
  slot->claimed.store(&g_own);
  g_claimed = space;
  tasuki::task::give_turn(space, slot->index);
  tasuki::task::wait_for_turn(space, space->task_count);
}

}  // namespace
