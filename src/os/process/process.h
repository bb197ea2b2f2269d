// Processes: making one that shares this address space, what a process inherits through exec, and ending as
// another process ended.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "os/process/cpu.h"

namespace tasuki::os {

// A new process (own pid, descriptors, cwd, signal dispositions) in this address space, which runs entry(arg)
// on a stack that ends at stack_top (16-byte aligned). Its pid is stored in *pid before it runs. Returns the
// pid, or -errno. All signals must be blocked around the call: the child inherits the mask. `entry` must not
// return, and must use raw system calls only (os/raw.h): the child's thread pointer is still the parent's.
pid_t clone_process(void (*entry)(void*), void* arg, void* stack_top, std::atomic<int32_t>* pid);

// The same for an `entry` that becomes another program or ends: the calling thread waits until then, so that
// `entry` may use libc's exec. Sanitizers take libc's own vfork and clone for a fork.
pid_t clone_and_wait(void (*entry)(void*), void* arg, void* stack_top);

// A debugger has this process, or another one that traces it.
bool is_traced();

// Leaves everything behind and starts at `entry` with an initial stack as the kernel makes it for exec.
[[noreturn]] void jump_to(const void* entry, const void* stack);

// What a program finds as its launcher left it, besides arguments, environment, cwd and descriptors.
struct Inherited {
  struct Limit {
    uint64_t soft, hard;
  };
  static constexpr int kLimits = 16;
  static constexpr uint32_t kMaxNodes = 1024;
  Limit limits[kLimits];     // by RLIMIT_*
  uint64_t blocked_signals;  // bit n-1: signal n
  uint64_t ignored_signals;
  CpuSet cores;
  uint32_t umask;
  int32_t nice;
  int32_t policy;         // SCHED_*
  int32_t priority;       // for SCHED_FIFO and SCHED_RR
  int32_t memory_policy;  // MPOL_* with its flags
  int32_t leads_session;  // the launcher has given it a session of its own; not applied by apply_inherited
  uint64_t memory_nodes[kMaxNodes / 64];
};

void capture_inherited(Inherited* state);

// Gives the calling process these properties, by raw system calls; a child of clone_process calls it. What
// the kernel refuses (a hard limit above the own one) stays as it is.
void apply_inherited(const Inherited& state);

// The soft limit of open descriptors becomes the hard one.
void raise_descriptor_limit();

// Undoes block_all_signals: the mask and the ignored signals of before.
void restore_signals(const Inherited& state);

// fork() whose child is nobody's child: it is not waited for and its end is not signalled. Returns 0 in the
// child, a positive number or -1 in the caller.
pid_t fork_detached();

// Handlers, and with `ignored_too` what is ignored, become the default action. By raw system calls.
void set_default_actions(bool ignored_too);

// Blocks every signal, sets every disposition to the default. Nothing but SIGKILL, SIGSTOP and a fault of its
// own touches the process from now on; descriptors tell it about the others.
void block_all_signals();
int signal_descriptor();  // readable when a signal is pending; -1 on failure

struct Signal {
  int number;
  int code;  // si_code
  pid_t sender;
  uint64_t value;  // sigqueue's
};
bool next_signal(int descriptor, Signal* signal);

// Sends a signal with the value that came with it. False if the process is gone.
bool forward_signal(pid_t pid, const Signal& signal);

// Ends this process the way waitpid reported of another: same exit code, or the same signal without a second
// core file.
[[noreturn]] void end_like(int wait_status);

// Ends when the process or thread that started this one ends. False if that has happened already.
bool die_with_parent(pid_t parent);

// Kills every process of these process groups that is in the session, or in the one that its group's leader
// leads. Groups whose leader has started after `latest` (as of start_time_of) belong to others by now.
void kill_groups(pid_t session, uint64_t latest, const int32_t* groups, size_t count);

// Readable once the process has ended; -1 if there is none.
int process_descriptor(pid_t pid);

// Whether one of its threads runs or could run at this moment; true when that cannot be read.
bool runs(pid_t pid);

// From /proc; empty or 0 when it cannot be read.
pid_t parent_of(pid_t pid);
uint64_t start_time_of(pid_t pid);
std::vector<std::string> environment_of(pid_t pid);
std::string namespaces_of_self();  // differs when two processes see different files, users, pids or networks

}  // namespace tasuki::os
