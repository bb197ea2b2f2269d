// Stands for src/message/shared/spin_lock.h, of which lock.cpp is a model: a lock that the checker knows.
#pragma once

#include <cstdint>

extern "C" int __VERIFIER_mutex_lock(int*);
extern "C" int __VERIFIER_mutex_unlock(int*);

namespace tasuki::message {

class SpinLock {
 public:
  void lock() { __VERIFIER_mutex_lock(&word_); }
  void unlock() { __VERIFIER_mutex_unlock(&word_); }

 private:
  int word_ = 0;
};

}  // namespace tasuki::message
