// What this process is, what it may use, and what ends it.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "os/files/descriptor.h"

namespace tasuki::os {

pid_t pid_of_self();
pid_t parent_of_self();  // another one once the process that started this one has ended
bool is_root();
uint64_t host_number();  // of the host: by its address, mostly; not unique

// Bytes of memory that are this process's own, with no file behind them, and present. 0: the kernel does not
// say. Allocates nothing. The descriptor is open()'s, and now() opens none: a program may be waiting for its
// number.
class AnonymousMemory {
 public:
  void open();
  int descriptor() const { return fd_.get(); }
  uint64_t now() const;

 private:
  Fd fd_;
};

// Of ulimit.
enum class Limit { address_space, data, core_files, descriptors };
inline constexpr uint64_t kUnlimited = UINT64_MAX;
struct LimitValues {
  uint64_t soft = kUnlimited, hard = kUnlimited;
};
LimitValues limit_of_self(Limit limit);
// What the kernel refuses stays as it is.
void set_limit(Limit limit, const LimitValues& values);

// This process ends (SIGALRM) in so many seconds, whatever it does until then.
void end_in(unsigned seconds);

// This process ends now, whatever wraps or is registered for its end.
[[noreturn]] void end_at_once(int exit_code);

// SIGINT, SIGTERM and SIGHUP do not end this process any more: it ends in order what it has started. Those
// that it was started to ignore may stay ignored.
enum class Ignored { is_caught, stays };
void catch_interrupts(Ignored ignored);
int interrupted();  // the last of these signals; 0: none came
// Called in the handler of each of them, from now on: in whatever thread, so it does little.
void call_when_interrupted(void (*function)());
// They are sent on to this process, too, at once if one has come already. 0: to none.
void pass_interrupts_to(pid_t process);

// A pipe that nobody reads is an error of the call that writes to it, and no signal.
void ignore_broken_pipes();

}  // namespace tasuki::os
