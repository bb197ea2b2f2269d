// Crashes of ranks: a signal such as SIGSEGV on a task ends the simulation with a message that names the rank, on whatever
// stack the crash happened.
#pragma once

namespace tasuki::simmpi {

// Installs the handlers for as long as it lives.
class CrashHandlers {
 public:
  CrashHandlers();
  ~CrashHandlers();
  CrashHandlers(const CrashHandlers&) = delete;
  CrashHandlers& operator=(const CrashHandlers&) = delete;
};

// Gives the calling thread its stack for signals; cheap when it has one.
void prepare_thread_for_crashes();

}  // namespace tasuki::simmpi
