// The memory that the other ranks of a job lend, as one store, and who they are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/transport/window.h"
#include "os/files/descriptor.h"
#include "pager/stores/store.h"

namespace tasuki::cluster {

struct Lender {
  std::string name;  // "rank 1 on host"
  uint64_t slots = 0;
  std::unique_ptr<WindowMemory> window;  // nullptr: by messages
  os::Fd process;                        // of a window: ready to be read when its server has ended
  uint64_t bytes_in = 0, bytes_out = 0;  // moved, seen from rank 0
};

class Servers : public pager::Store {
 public:
  virtual const std::vector<Lender>& lenders() const = 0;
  // Of a lender's slot: a page's, or a part's of an erasure code.
  virtual size_t part_bytes() const { return unit_bytes(); }

  // At the end, when nothing is needed any more: lost servers are no error. finish() waits for transfers,
  // goodbye() tells the servers to end.
  virtual void finish() = 0;
  virtual void goodbye(int exit_code, bool abruptly = false) = 0;
  virtual void let_wait() = 0;
  // Servers that are lost, as ranks.
  virtual std::vector<int> lost() const = 0;
};

}  // namespace tasuki::cluster
