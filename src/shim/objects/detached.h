// Requests that the user freed while they were active: to be given back when they are done.
#pragma once

#include "shim/objects/handle_map.h"

namespace tasuki::shim {

class DetachedRequests {
 public:
  void set_threads(bool threads) { threads_ = threads; }
  bool empty() const { return first_ == nullptr; }
  void add(Request* r) {
    const LockIf guard(threads_, lock_);
    r->next = first_;
    first_ = r;
  }
  // All of them, linked by `next`; none are left here.
  Request* take_all() {
    const LockIf guard(threads_, lock_);
    Request* all = first_;
    first_ = nullptr;
    return all;
  }
  template <typename Visit>
  void for_each(Visit visit) {
    const LockIf guard(threads_, lock_);
    for (Request* r = first_; r != nullptr; r = r->next) visit(r);
  }

 private:
  bool threads_ = false;
  SpinLock lock_;
  Request* first_ = nullptr;
};

}  // namespace tasuki::shim
