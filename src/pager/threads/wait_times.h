// How often and how long threads of the program waited in faults.
#pragma once

#include <vector>

#include "pager/pages/pages.h"

namespace tasuki::pager {

class WaitTimes {
 public:
  void fault(int thread) {
    faults_++;
    ThreadStats& stats = threads_[thread];
    stats.tid = thread;
    stats.faults++;
  }
  // The fault had to wait until what came before it was over.
  void waited_for_previous(double seconds) { previous_ += seconds; }
  // The page is there. Waits of pin() and advise() have no thread and do not count.
  void served(const OwnVector<Wait>& waits, double now) {
    for (const Wait& w : waits) {
      const auto thread = threads_.find(w.thread);
      if (thread == threads_.end()) continue;
      page_ += now - w.since;
      thread->second.wait_seconds += now - w.since;
    }
  }

  std::vector<ThreadStats> threads() const {
    std::vector<ThreadStats> all;
    for (const auto& [tid, stats] : threads_) all.push_back(stats);
    return all;
  }
  void report(Stats* stats) const {
    stats->faults = faults_;
    stats->wait_previous = previous_;
    stats->wait_page = page_;
  }

 private:
  uint64_t faults_ = 0;
  double previous_ = 0, page_ = 0;
  OwnHashMap<int, ThreadStats> threads_;
};

}  // namespace tasuki::pager
