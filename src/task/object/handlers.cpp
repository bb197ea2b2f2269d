#include "task/object/handlers.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "os/memory/keys.h"
#include "os/raw.h"
#include "task/object/patch.h"

using tasuki::os::raw_arg;
using tasuki::os::raw_syscall;
using Handler = void (*)(int, siginfo_t*, void*);

// What is needed before there are rights: the only page of this library that keeps key 0. Read-only.
struct alignas(tasuki::os::kLargestPage) RightsPage {
  uint32_t rights;
};
extern "C" {
__attribute__((visibility("hidden"))) RightsPage tasuki_task_rights;
void tasuki_enter_handler(int, siginfo_t*, void*);
void tasuki_return_from_handler();
__attribute__((visibility("hidden"))) void tasuki_run_handler(int, siginfo_t*, void*);
}

// The arguments are in rdi, rsi and rdx; r8 is free. Debuggers know the second function by its instructions.
asm(R"(
.text
.balign 16
.type tasuki_enter_handler, @function
tasuki_enter_handler:
  endbr64
  mov %rdx, %r8
  xor %ecx, %ecx
  xor %edx, %edx
  mov tasuki_task_rights(%rip), %eax
  wrpkru
  mov %r8, %rdx
  jmp tasuki_run_handler
.size tasuki_enter_handler, .-tasuki_enter_handler
.balign 16
  nop
.type tasuki_return_from_handler, @function
tasuki_return_from_handler:
  mov $15, %rax
  syscall
.size tasuki_return_from_handler, .-tasuki_return_from_handler
)");

namespace tasuki::task {
namespace {

// The kernel's struct sigaction; libc's differs.
struct KernelAction {
  Handler handler;
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};
constexpr unsigned long kRestorer = 0x04000000;  // SA_RESTORER
constexpr long kMaskBytes = 8;
constexpr int kSignals = 64;

KeyFault g_report;
long g_process;                      // of the guarded task; its children have other numbers
KernelAction g_users[kSignals + 1];  // what the program wants to be done, by signal
// On a page that a forked child finds zeroed: another thread may hold it when this one forks.
struct alignas(os::kLargestPage) LockPage {
  volatile bool locked;
};
LockPage g_lock;

Handler known(void (*handler)(int)) {
  return reinterpret_cast<Handler>(reinterpret_cast<void (*)()>(handler));
}

bool is_function(Handler h) {
  return h != known(SIG_DFL) && h != known(SIG_IGN);
}

long kernel_action(int number, const KernelAction* action, KernelAction* old) {
  return raw_syscall(SYS_rt_sigaction, number, raw_arg(action), raw_arg(old), kMaskBytes);
}

// Every handler may call sigaction, too.
class Undisturbed {
 public:
  Undisturbed() {
    const uint64_t all = ~uint64_t{0};
    raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, raw_arg(&all), raw_arg(&before_), kMaskBytes);
    while (__atomic_test_and_set(&g_lock.locked, __ATOMIC_ACQUIRE)) raw_syscall(SYS_sched_yield);
  }
  ~Undisturbed() {
    __atomic_clear(&g_lock.locked, __ATOMIC_RELEASE);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_arg(&before_), 0, kMaskBytes);
  }

 private:
  uint64_t before_ = 0;
};

void die_by(int number, const siginfo_t* info) {
  const KernelAction standard = {known(SIG_DFL), 0, nullptr, 0};
  kernel_action(number, &standard, nullptr);
  // The instruction faults again; a signal that was sent comes again.
  if (info->si_code <= 0) raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), number);
}

// The kernel is asked to block all signals at first: before Linux 6.12 it could not write the frame of a
// second handler while the first one has no rights yet.
KernelAction entered_safely(const KernelAction& users) {
  KernelAction a = users;
  a.flags |= kRestorer;
  a.mask = ~uint64_t{0};
  a.handler = tasuki_enter_handler;
  a.restorer = tasuki_return_from_handler;
  return a;
}

// SIGSEGV is always caught, in the way that the program wants its own handler to be called.
KernelAction fault_action(const KernelAction& users) {
  KernelAction a = users;
  if (!is_function(users.handler)) a.flags = SA_ONSTACK;
  a.flags = (a.flags | SA_SIGINFO) & ~static_cast<unsigned long>(SA_RESETHAND);
  return entered_safely(a);
}

// As the kernel does it; -errno on failure.
long change(int number, const KernelAction* wanted, KernelAction* old) {
  const bool here = raw_syscall(SYS_getpid) == g_process;
  const Undisturbed undisturbed;
  KernelAction before;
  if (const long error = kernel_action(number, nullptr, &before); error != 0) return error;
  if (before.handler == tasuki_enter_handler) before = g_users[number];
  long error = 0;
  if (wanted != nullptr && number == SIGSEGV && (here || is_function(wanted->handler))) {
    const KernelAction mine = fault_action(*wanted);
    error = kernel_action(number, &mine, nullptr);
    if (error == 0) g_users[number] = *wanted;
  } else if (wanted != nullptr && is_function(wanted->handler)) {
    g_users[number] = *wanted;
    const KernelAction mine = entered_safely(*wanted);
    error = kernel_action(number, &mine, nullptr);
  } else if (wanted != nullptr) {
    // A child of vfork, which shares this memory, comes here only.
    error = kernel_action(number, wanted, nullptr);
  }
  if (old != nullptr) *old = before;
  return error;
}

// Stands in for libc's innermost function for this, which also those call that libc needs for itself.
int guarded_sigaction(int number, const struct sigaction* wanted, struct sigaction* old) {
  KernelAction action{}, before{};
  if (wanted != nullptr) {
    action.handler = wanted->sa_sigaction;
    action.flags = static_cast<unsigned long>(static_cast<unsigned>(wanted->sa_flags));
    __builtin_memcpy(&action.mask, &wanted->sa_mask, sizeof action.mask);
  }
  const long error = number < 1 || number > kSignals
                         ? -EINVAL
                         : change(number, wanted != nullptr ? &action : nullptr, &before);
  if (error != 0) {
    errno = static_cast<int>(-error);
    return -1;
  }
  if (old != nullptr) {
    memset(old, 0, sizeof *old);
    old->sa_sigaction = before.handler;
    old->sa_flags = static_cast<int>(before.flags & ~kRestorer);
    __builtin_memcpy(&old->sa_mask, &before.mask, sizeof before.mask);
  }
  return 0;
}

}  // namespace

bool guard_handlers(uint32_t rights, KeyFault report) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  void* sets = libc != nullptr ? dlsym(libc, "__libc_sigaction") : nullptr;
  if (sets == nullptr || !enter_instead(sets, reinterpret_cast<const void*>(guarded_sigaction))) return false;
  g_report = report;
  g_process = raw_syscall(SYS_getpid);
  os::wipe_on_fork(&g_lock, sizeof g_lock);
  RightsPage& page = tasuki_task_rights;
  page.rights = rights;
  os::set_key(&page, sizeof page, PROT_READ, 0);
  for (int number = 1; number <= kSignals; number++) {
    KernelAction action;
    if (kernel_action(number, nullptr, &action) != 0) continue;
    if (is_function(action.handler) || number == SIGSEGV) change(number, &action, nullptr);
  }
  return true;
}

namespace {

// The mask that the kernel would have set.
void unblock(int number, const KernelAction& users, const ucontext_t* context) {
  uint64_t mask;
  __builtin_memcpy(&mask, &context->uc_sigmask, sizeof mask);
  mask |= users.mask;
  if ((users.flags & SA_NODEFER) == 0) mask |= uint64_t{1} << (number - 1);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_arg(&mask), 0, kMaskBytes);
}

void run(int number, siginfo_t* info, ucontext_t* context) {
  const KernelAction users = g_users[number];
  if (number == SIGSEGV) {
    if (info->si_code == SEGV_PKUERR) {
      g_report(info, context);
      return die_by(number, info);
    }
    if (users.handler == known(SIG_IGN) && info->si_code <= 0) return;
    if (!is_function(users.handler)) return die_by(number, info);
    if ((users.flags & SA_RESETHAND) != 0) g_users[number].handler = known(SIG_DFL);
  }
  unblock(number, users, context);
  users.handler(number, info, context);
}

}  // namespace
}  // namespace tasuki::task

void tasuki_run_handler(int number, siginfo_t* info, void* context) {
  tasuki::task::run(number, info, static_cast<ucontext_t*>(context));
}
