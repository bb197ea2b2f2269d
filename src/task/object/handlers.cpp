#include "task/object/handlers.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "os/memory/keys.h"
#include "os/raw.h"
#include "task/object/patch.h"

using tasuki::os::raw_arg;
using tasuki::os::raw_syscall;
using Handler = void (*)(int, siginfo_t*, void*);

namespace {
constexpr int kSignals = 64;
}

// What a handler needs before it has rights: the only page of this library that keeps key 0. It can be
// written only while it is changed.
struct alignas(tasuki::os::kPageSize) HandlerTable {
  uint32_t rights;
  alignas(8) Handler handler[kSignals + 1];  // by signal
};
extern "C" {
__attribute__((visibility("hidden"))) HandlerTable tasuki_handler_table;
void tasuki_enter_handler(int, siginfo_t*, void*);
void tasuki_return_from_handler();
}
static_assert(offsetof(HandlerTable, handler) == 8);

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
  mov tasuki_handler_table(%rip), %eax
  wrpkru
  mov %r8, %rdx
  lea tasuki_handler_table+8(%rip), %rcx
  mov %edi, %eax
  jmp *(%rcx,%rax,8)
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

KeyFault g_report;
long g_process;              // of the guarded task; its children have other numbers
KernelAction g_users_fault;  // what the program wants to be done about SIGSEGV
volatile bool g_locked;

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
    while (__atomic_test_and_set(&g_locked, __ATOMIC_ACQUIRE)) raw_syscall(SYS_sched_yield);
  }
  ~Undisturbed() {
    __atomic_clear(&g_locked, __ATOMIC_RELEASE);
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw_arg(&before_), 0, kMaskBytes);
  }

 private:
  uint64_t before_ = 0;
};

void set_entry(int number, Handler handler) {
  HandlerTable& table = tasuki_handler_table;
  os::set_key(&table, sizeof table, PROT_READ | PROT_WRITE, 0);
  __atomic_store_n(&table.handler[number], handler, __ATOMIC_RELEASE);
  os::set_key(&table, sizeof table, PROT_READ, 0);
}

void die_by(int number, const siginfo_t* info) {
  const KernelAction standard = {known(SIG_DFL), 0, nullptr, 0};
  kernel_action(number, &standard, nullptr);
  // The instruction faults again; a signal that was sent comes again.
  if (info->si_code <= 0) raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), number);
}

void on_fault(int number, siginfo_t* info, void* context) {
  if (info->si_code == SEGV_PKUERR) {
    g_report(info, static_cast<const ucontext_t*>(context));
    return die_by(number, info);
  }
  const KernelAction users = g_users_fault;
  if (!is_function(users.handler)) return die_by(number, info);
  if ((users.flags & SA_RESETHAND) != 0) g_users_fault.handler = known(SIG_DFL);
  users.handler(number, info, context);
}

// SIGSEGV is always caught, in the way that the program wants its own handler to be called.
KernelAction fault_action(const KernelAction& users) {
  KernelAction a = users;
  if (!is_function(users.handler)) a.flags = SA_ONSTACK;
  a.flags = (a.flags | SA_SIGINFO | kRestorer) & ~static_cast<unsigned long>(SA_RESETHAND);
  a.handler = tasuki_enter_handler;
  a.restorer = tasuki_return_from_handler;
  return a;
}

// As the kernel does it; -errno on failure.
long change(int number, const KernelAction* wanted, KernelAction* old) {
  const bool here = raw_syscall(SYS_getpid) == g_process;
  const Undisturbed undisturbed;
  KernelAction before;
  if (const long error = kernel_action(number, nullptr, &before); error != 0) return error;
  if (before.handler == tasuki_enter_handler)
    before = number == SIGSEGV ? g_users_fault
                               : KernelAction{tasuki_handler_table.handler[number], before.flags,
                                              before.restorer, before.mask};
  long error = 0;
  if (wanted != nullptr && number == SIGSEGV && (here || is_function(wanted->handler))) {
    const KernelAction mine = fault_action(*wanted);
    error = kernel_action(number, &mine, nullptr);
    if (error == 0) g_users_fault = *wanted;
  } else if (wanted != nullptr) {
    // A child of vfork, which shares this memory, comes here with SIG_DFL and SIG_IGN only.
    KernelAction mine = *wanted;
    if (is_function(mine.handler)) {
      set_entry(number, mine.handler);
      mine.handler = tasuki_enter_handler;
      mine.flags |= kRestorer;
      mine.restorer = tasuki_return_from_handler;
    }
    error = kernel_action(number, &mine, nullptr);
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
  HandlerTable& table = tasuki_handler_table;
  os::set_key(&table, sizeof table, PROT_READ | PROT_WRITE, 0);
  table.rights = rights;
  table.handler[SIGSEGV] = on_fault;
  os::set_key(&table, sizeof table, PROT_READ, 0);
  for (int number = 1; number <= kSignals; number++) {
    KernelAction action;
    if (kernel_action(number, nullptr, &action) != 0) continue;
    if (is_function(action.handler) || number == SIGSEGV) change(number, &action, nullptr);
  }
  return true;
}

}  // namespace tasuki::task
