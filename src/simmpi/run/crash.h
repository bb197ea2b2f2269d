// Crashes of ranks: a signal such as SIGSEGV on a task ends the simulation with a message that names the
// rank, on whatever stack the crash happened.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

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

class Simulation;

// Watches a run for as long as it lives. When nothing has happened for ProgramOptions::patience_s, ranks that
// come back to the network end the run (Simulation::out_of_patience); one that does not come back is taken
// off its core like one that crashes.
class Patience {
 public:
  explicit Patience(Simulation& simulation);
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  void watch();
  Simulation& simulation_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace tasuki::simmpi
