#include "task/start/start.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/settings.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"
#include "os/process/environment.h"
#include "os/process/futex.h"
#include "os/raw.h"
#include "task/examine/preload.h"
#include "task/maps.h"
#include "task/ranges.h"
#include "task/start/load.h"
#include "task/start/turns.h"

namespace tasuki::task {
namespace {

using os::page_size;
using os::raw_arg;
using os::raw_syscall;

constexpr uint64_t kMinStack = 1 << 20;
constexpr uint64_t kMaxStack = uint64_t{64}
                               << 30;  // of a task whose limit is "unlimited"; address space only

// What the child needs between clone and the jump. Lives until the host ends: the host cannot know when the
// child has read it, and it is small.
struct ChildPlan {
  os::Inherited inherited;
  pid_t host;
  bool own_group;
  char name[16];
  int cwd;  // -1: keep
  int fd_count;
  int* from;  // descriptors as they are in the host ...
  int* to;    // ... and in the task, ascending
  int highest_fd;
  TaskSlot* slot;
  const void* entry;
  const void* stack;
};

[[noreturn]] void child_fails(const char* what) {
  raw_syscall(SYS_write, 2, raw_arg(what), static_cast<long>(__builtin_strlen(what)));
  raw_syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

void close_between(int first, int last, int highest) {
  if (first > last) return;
  if (raw_syscall(SYS_close_range, first, last, 0) == 0) return;
  for (int fd = first; fd <= std::min(last, highest); fd++) raw_syscall(SYS_close, fd);
}

// Moves every descriptor to its number in the task and closes all others.
void place_descriptors(ChildPlan* plan) {
  const int n = plan->fd_count;
  const int above = n > 0 ? plan->to[n - 1] + 1 : 0;
  for (int i = 0; i < n; i++) {
    if (plan->from[i] >= above) continue;  // in the way of none
    const long moved = raw_syscall(SYS_fcntl, plan->from[i], F_DUPFD_CLOEXEC, above);
    if (moved < 0) child_fails("tasuki: no descriptor left to start a task (raise ulimit -n)\n");
    plan->from[i] = static_cast<int>(moved);
    plan->highest_fd = std::max(plan->highest_fd, plan->from[i]);
  }
  if (plan->cwd >= 0 && raw_syscall(SYS_fchdir, plan->cwd) != 0)
    child_fails("tasuki: cannot enter the working directory of a task\n");
  int next = 0;
  for (int i = 0; i < n; i++) {
    raw_syscall(SYS_dup3, plan->from[i], plan->to[i], 0);
    close_between(next, plan->to[i] - 1, plan->highest_fd);
    next = plan->to[i] + 1;
  }
  close_between(next, INT32_MAX, plan->highest_fd);
}

// Runs in the new process, on the task's stack, with the host's thread pointer: raw system calls only.
void run_child(void* argument) {
  ChildPlan* plan = static_cast<ChildPlan*>(argument);
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (raw_syscall(SYS_getppid) != plan->host) raw_syscall(SYS_exit_group, 128 + SIGKILL);
  // As the launcher did it: a session is one scheduler autogroup (sched(7)), and ranks that have one each get
  // as many shares of a busy machine.
  if (plan->own_group && plan->inherited.leads_session != 0)
    raw_syscall(SYS_setsid);
  else if (plan->own_group)
    raw_syscall(SYS_setpgid, 0, 0);
  place_descriptors(plan);
  raw_syscall(SYS_prctl, PR_SET_NAME, raw_arg(plan->name));
  std::atomic<uint32_t>& gate = plan->slot->space->gate;
  while (gate.load(std::memory_order_acquire) == 0)
    raw_syscall(SYS_futex, raw_arg(&gate), FUTEX_WAIT_PRIVATE, 0, 0);
  if (plan->slot->key != 0) wait_for_turn(plan->slot->space, plan->slot->index);
  plan->slot->state.store(TaskState::running, std::memory_order_release);
  os::apply_inherited(plan->inherited);
  if (plan->slot->key != 0) os::set_key_rights(rights_of(*plan->slot));
  os::jump_to(plan->entry, plan->stack);
}

// Builds argc, argv, envp and the auxiliary vector as execve leaves them.
class StackBuilder {
 public:
  explicit StackBuilder(void* end) : at_(static_cast<char*>(end)) {}

  char* text(const std::string& s) {
    at_ -= s.size() + 1;
    memcpy(at_, s.c_str(), s.size() + 1);
    return at_;
  }
  char* bytes(const void* data, size_t length) {
    at_ -= length;
    at_ = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(at_) & ~uintptr_t{15});
    memcpy(at_, data, length);
    return at_;
  }

 private:
  char* at_;
};

size_t total_length(const std::vector<std::string>& list) {
  size_t n = 0;
  for (const std::string& s : list) n += s.size() + 1 + sizeof(char*);
  return n;
}

// The host's auxiliary vector describes the machine; what describes the program is replaced.
std::vector<Elf64_auxv_t> machine_auxv() {
  std::vector<Elf64_auxv_t> entries;
  const int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return entries;
  Elf64_auxv_t e;
  while (read(fd, &e, sizeof e) == sizeof e && e.a_type != AT_NULL) entries.push_back(e);
  close(fd);
  return entries;
}

struct Stack {
  char* begin;
  char* end;
  const void* pointer;
};

// Below a stack, as the kernel keeps it: a function's large frame must not reach across it.
constexpr uint64_t kStackGuard = 1 << 20;

Result<Stack> map_stack(uint64_t limit, size_t needed, Placement* placement) {
  uint64_t size = std::clamp(limit, kMinStack, kMaxStack) + os::page_ceil(needed);
  size = os::page_floor(size);
  for (;;) {
    char* p = static_cast<char*>(placement->reserve(kStackGuard + size));
    if (p != nullptr) {
      char* const begin = p + kStackGuard;
      if (os::map_stack_over(begin, size)) return Stack{begin, begin + size, nullptr};
      os::unmap(p, kStackGuard + size);
    }
    if (size / 2 < kMinStack + needed)
      return Status::error(ENOMEM, "no memory for a task's stack (see ulimit -s and -v)");
    size = os::page_floor(size / 2);
  }
}

// argv for the interpreter run as a program (`ld.so --argv0 NAME PROGRAM ARGUMENTS...`): it loads the program
// itself, by its true path. So $ORIGIN and dlopen see where the program is; a program mapped from outside
// would have /proc/self/exe for an origin, which names the host's file.
std::vector<std::string> interpreter_arguments(const TaskRequest& r, bool knows_argv0) {
  std::vector<std::string> argv{r.loader};
  if (knows_argv0 && !r.argv.empty() && r.argv[0] != r.loaded) {
    argv.emplace_back("--argv0");
    argv.push_back(r.argv[0]);
  }
  argv.push_back(r.loaded);  // not a link to it, from whose place $ORIGIN would be counted
  if (!r.argv.empty()) argv.insert(argv.end(), r.argv.begin() + 1, r.argv.end());
  return argv;
}

// glibc has --argv0 since 2.33; the option's name is in the interpreter's text.
bool knows_argv0(const LoadedImage& loaded, const elf::Image& image) {
  for (const elf::Segment& s : image.segments) {
    if ((s.protection & PROT_READ) == 0 || s.file_size == 0) continue;
    if (memmem(reinterpret_cast<const void*>(loaded.base + s.address), s.file_size, "--argv0", 8) != nullptr)
      return true;
  }
  return false;
}

Result<Stack> build_stack(const TaskRequest& r, const std::vector<std::string>& argv,
                          const std::vector<std::string>& environment, const elf::Image& image,
                          const LoadedImage& loaded, TaskSlot* slot, Placement* placement) {
  const size_t needed = total_length(argv) + total_length(environment) + r.path.size() + 64 * 1024;
  Result<Stack> mapped = map_stack(r.inherited.limits[RLIMIT_STACK].soft, needed, placement);
  if (!mapped.ok()) return mapped;
  Stack stack = mapped.value();
  os::no_huge_pages(stack.begin, static_cast<size_t>(stack.end - stack.begin));

  StackBuilder b(stack.end - sizeof(void*));
  char* const name = b.text(r.path);
  std::vector<uint64_t> words{argv.size()};
  for (const std::string& s : argv) words.push_back(reinterpret_cast<uint64_t>(b.text(s)));
  words.push_back(0);
  for (const std::string& s : environment) words.push_back(reinterpret_cast<uint64_t>(b.text(s)));
  words.push_back(0);
  uint8_t random[16] = {};
  if (getrandom(random, sizeof random, GRND_NONBLOCK) < 0) memset(random, 0x5a, sizeof random);
  const char* const random_at = b.bytes(random, sizeof random);

  const auto add = [&words](uint64_t type, uint64_t value) {
    words.push_back(type);
    words.push_back(value);
  };
  for (const Elf64_auxv_t& e : machine_auxv()) {
    uint64_t value = e.a_un.a_val;
    switch (e.a_type) {
      case AT_PHDR:
        value = loaded.base + image.program_headers;
        break;
      case AT_PHNUM:
        value = image.program_header_count;
        break;
      case AT_ENTRY:
        value = loaded.base + image.entry;
        break;
      case AT_BASE:
        value = loaded.base;  // where the program finds its interpreter; that one does not ask
        break;
      case AT_EXECFN:
        value = reinterpret_cast<uint64_t>(name);
        break;
      case AT_RANDOM:
        value = reinterpret_cast<uint64_t>(random_at);
        break;
      default:
        break;
    }
    add(e.a_type, value);
  }
  add(kAuxTask, reinterpret_cast<uint64_t>(slot));
  add(AT_NULL, 0);
  if (words.size() % 2 != 0) words.push_back(0);  // keeps the stack pointer at a multiple of 16
  stack.pointer = b.bytes(words.data(), words.size() * sizeof(uint64_t));
  return stack;
}

// Memory that the host keeps for a task until it ends.
const char* keep(const std::string& s) {
  return strdup(s.c_str());
}

bool colour_tasks(Space* space) {
  while (space->colours < std::min<uint32_t>(space->task_count, os::kKeys)) {
    const int key = os::take_key();
    if (key < 0) break;
    space->keys[space->colours++] = key;
  }
  for (uint32_t i = 0; i < space->task_count && space->colours != 0; i++)
    space->tasks()[i].key = space->keys[i % space->colours];
  return space->colours != 0;
}

// What is mapped now, the host's memory above all. Lives as long as the space.
const RangeSet* all_mappings() {
  RangeSet* all = new RangeSet;
  char buffer[8192];
  each_mapping(buffer, [all](uintptr_t begin, uintptr_t end, const char*) {
    all->add(begin, end);
    return true;
  });
  return all;
}

ChildPlan* make_plan(const TaskRequest& r, const StartOptions& options, TaskSlot* slot) {
  ChildPlan* plan = new ChildPlan{};
  plan->inherited = r.inherited;
  plan->host = getpid();
  plan->own_group = options.own_group;
  const std::string base = r.path.substr(r.path.rfind('/') + 1);
  memcpy(plan->name, base.data(), std::min(base.size(), sizeof plan->name - 1));
  plan->cwd = r.cwd.get();
  plan->fd_count = static_cast<int>(r.fds.size());
  plan->from = new int[r.fds.size()];
  plan->to = new int[r.fds.size()];
  for (size_t i = 0; i < r.fds.size(); i++) {
    plan->from[i] = r.fds[i].get();
    plan->to[i] = r.fd_numbers[i];
  }
  for (const int fd : os::open_descriptors(false)) plan->highest_fd = std::max(plan->highest_fd, fd);
  plan->slot = slot;
  return plan;
}

}  // namespace

Result<Space*> create_space(uint32_t task_count, uint32_t job_task_count, bool guarded) {
  if (!os::stop_the_break()) return Status::error(errno, "cannot put a guard behind the break");
  const size_t length = os::page_ceil(sizeof(Space) + task_count * sizeof(TaskSlot));
  Space* space = static_cast<Space*>(os::map_shared(length));
  if (space == nullptr)
    return Status::error(errno, std::string("no memory for the space: ") + strerror(errno));
  space->version = kSpaceVersion;
  space->task_count = task_count;
  space->job_task_count = job_task_count;
  space->host_pid = getpid();
  for (uint32_t i = 0; i < task_count; i++) {
    space->tasks()[i].space = space;
    space->tasks()[i].index = i;
    space->tasks()[i].launcher_rank = -1;
  }
  if (guarded && !colour_tasks(space)) {
    os::unmap(space, length);
    return Status::error(ENOSPC, "no memory protection key is free (--guard)");
  }
  space->magic = kSpaceMagic;
  return space;
}

void open_gate(Space* space) {
  if (space->colours != 0) {
    space->before = all_mappings();
    begin_turns(space);
  }
  space->gate.store(1, std::memory_order_release);
  os::futex_wake(&space->gate, INT_MAX);
}

// PMIx 5's store in shared memory wants one fixed address in every process, which only one task of a space
// could have; its older stores, and the one that this names, do not.
static void avoid_fixed_addresses(const StartOptions& options, std::vector<std::string>* environment) {
  const char* pmix = os::variable(*environment, "PMIX_VERSION");
  if (pmix != nullptr && strtol(pmix, nullptr, 10) >= 5 &&
      os::variable(*environment, "PMIX_MCA_gds") == nullptr)
    os::set_variable(environment, "PMIX_MCA_gds", "hash");
  // So do MPICH's shared windows with a part for each rank. MPICH 4.0 tries a hundred addresses before it
  // does without, 5 s and a file in /dev/shm that stays for each. All ranks of the job must try equally
  // often: only where all are known to be tasks.
  const char *ranks = os::variable(*environment, "PMI_SIZE"),
             *promise = os::variable(*environment, "TASUKI_EVERYWHERE");
  bool all = ranks != nullptr && strtoul(ranks, nullptr, 10) == options.node_tasks;
  all = all || (promise != nullptr && strcmp(promise, "on") == 0);
  if (all && os::variable(*environment, "MPIR_CVAR_SHM_SYMHEAP_RETRY") == nullptr)
    os::set_variable(environment, "MPIR_CVAR_SHM_SYMHEAP_RETRY", "0");
}

// A handler of a signal is entered with the kernel's rights, with which a guarded task can touch nothing of
// its own. The kernel would write the rseq area if the task lost its core just then, and kill the task.
static void avoid_kernel_writes(std::vector<std::string>* environment) {
  const char* tunables = os::variable(*environment, "GLIBC_TUNABLES");
  const std::string before = tunables != nullptr && *tunables != 0 ? std::string(tunables) + ":" : "";
  os::set_variable(environment, "GLIBC_TUNABLES", before + "glibc.pthread.rseq=0");
  // UCX writes its own jump over ours at the entry of libc's mmap.
  if (os::variable(*environment, "UCX_MEM_EVENTS") == nullptr)
    os::set_variable(environment, "UCX_MEM_EVENTS", "no");
}

Status start_task(TaskSlot* slot, const TaskRequest& r, const StartOptions& options, std::string* notice) {
  os::Fd fd(open(r.loader.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return Status::error(errno, "cannot open " + r.loader);
  const Result<elf::Image> read = elf::read_image({fd.get(), nullptr, static_cast<uint64_t>(st.st_size)});
  if (!read.ok()) return Status::error(ENOEXEC, "cannot load " + r.loader + ": " + read.status().message());
  const elf::Image& image = read.value();
  Placement placement(options.layout_seed == 0 ? 0 : options.layout_seed * 65537 + slot->index);
  placement.shift();
  Result<LoadedImage> loaded = load_image(image, fd.get(), &placement);
  if (!loaded.ok()) return loaded.status();
  const auto unload = [&loaded] {
    os::unmap(reinterpret_cast<void*>(loaded.value().begin), loaded.value().end - loaded.value().begin);
  };

  std::vector<std::string> environment = r.environment;
  *notice = add_preload(&environment, options.library_dir, options.abi, /*is_task=*/true);
  avoid_fixed_addresses(options, &environment);
  if (slot->key != 0) avoid_kernel_writes(&environment);
  const std::vector<std::string> argv = interpreter_arguments(r, knows_argv0(loaded.value(), image));
  Result<Stack> stack = build_stack(r, argv, environment, image, loaded.value(), slot, &placement);
  if (!stack.ok()) {
    unload();
    return stack.status();
  }

  slot->launcher_rank = r.launcher_rank;
  slot->cores = r.inherited.cores;
  slot->program = keep(r.canonical);
  slot->stack_begin = reinterpret_cast<uint64_t>(stack.value().begin);
  slot->stack_end = reinterpret_cast<uint64_t>(stack.value().end);
  slot->interpreter = loaded.value().base;
  slot->state.store(TaskState::starting, std::memory_order_release);
  ChildPlan* plan = make_plan(r, options, slot);
  plan->entry = reinterpret_cast<const void*>(loaded.value().base + image.entry);
  plan->stack = stack.value().pointer;
  // The child runs below its own initial stack until it jumps.
  void* const stack_top =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(plan->stack) - 1024) & ~uintptr_t{15});
  const pid_t pid = os::clone_process(run_child, plan, stack_top, &slot->pid);
  if (pid < 0) {
    slot->pid.store(0);
    slot->state.store(TaskState::empty);
    unload();
    os::unmap(stack.value().begin - kStackGuard,
              static_cast<size_t>(stack.value().end - stack.value().begin) + kStackGuard);
    return Status::error(-pid, std::string("clone: ") + strerror(-pid));
  }
  return {};
}

}  // namespace tasuki::task
