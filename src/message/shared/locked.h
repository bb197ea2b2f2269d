// Who holds a SpinLock for as long as it lives.
#pragma once

#include "message/shared/spin_lock.h"

namespace tasuki::message {

class Locked {
 public:
  explicit Locked(SpinLock& lock) : lock_(&lock) { lock_->lock(); }
  ~Locked() { lock_->unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  SpinLock* lock_;
};

// One that is needed only where several threads of the process call at once.
class LockIf {
 public:
  LockIf(bool needed, SpinLock& lock) : lock_(needed ? &lock : nullptr) {
    if (lock_ != nullptr) lock_->lock();
  }
  ~LockIf() {
    if (lock_ != nullptr) lock_->unlock();
  }
  LockIf(const LockIf&) = delete;
  LockIf& operator=(const LockIf&) = delete;

 private:
  SpinLock* lock_;
};

}  // namespace tasuki::message
