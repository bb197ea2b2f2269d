// as2: all MPI calls are made by one thread, and faults are caught by another, which hands them over
// (DLM-MPI, figure 8). In the other protocols one thread does both, and a handover less.
#pragma once

#include <deque>
#include <mutex>
#include <thread>

#include "os/files/wakeup.h"
#include "pager/mappers/mapper.h"

namespace tasuki::pager {

class Catcher {
 public:
  // Wakes the pager's thread for each fault.
  Catcher(Mapper* mapper, const os::Wakeup* wakeup) : mapper_(mapper), wakeup_(wakeup) {}

  void start();
  void stop();
  // The pager's thread: faults that were caught, oldest first; how many.
  size_t faults(os::FaultEvent* events, size_t max);

 private:
  void run();

  Mapper* mapper_;
  const os::Wakeup* wakeup_;
  os::Wakeup end_;
  std::thread thread_;
  std::mutex mutex_;
  std::deque<os::FaultEvent> caught_;  // under mutex_
};

}  // namespace tasuki::pager
