// What the models have in common: threads, checks, locks and the sleep of the kernel, as the checker knows them.
//
// A model is a program for the checker (GenMC), which runs it once for each outcome that the memory model of
// C++ allows. It contains sources of the project themselves; only what they need of the kernel, and layouts,
// are stand-ins. A failed check, a race on plain memory, and a wait that nobody ends are errors.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" {
void __VERIFIER_assert_fail(const char*, const char*, int);
void __VERIFIER_assume(bool);
void* __VERIFIER_malloc_aligned(size_t, size_t);
long __VERIFIER_thread_create(const void*, void* (*)(void*), void*);
void* __VERIFIER_thread_join(long);
int __VERIFIER_mutex_init(int*, const void*);
int __VERIFIER_mutex_lock(int*);
int __VERIFIER_mutex_unlock(int*);
}

[[gnu::weak]] int sched_yield() noexcept {
  return 0;
}

// New structures begin as zeros, and so does the memory in which models make them.
extern "C" [[gnu::weak]] void model_zero(char* at, char value, size_t n) {
  for (size_t i = 0; i < n / 4; i++)
    if (value != 0 || reinterpret_cast<uint32_t*>(at)[i] != 0)
      __VERIFIER_assert_fail("not zero", __FILE__, __LINE__);
}

namespace tasuki::model {

#define CHECK(condition) \
  if (!(condition)) __VERIFIER_assert_fail(#condition, __FILE__, __LINE__)

// The end of a model; to see that the checker comes there, a run may make it an error.
#ifdef MODEL_END
#define END CHECK(!"the end")
#else
#define END (void)0
#endif

// Only outcomes in which this holds are looked at: of polls, those in which what is waited for has come.
inline void assume(bool holds) {
  __VERIFIER_assume(holds);
}
// Polls at most so often.
template <typename Done>
void poll(Done done, int most) {
  for (int i = 1; i < most; i++)
    if (done()) return;
  assume(done());
}

class Thread {
 public:
  explicit Thread(void (*body)())
      : id_(__VERIFIER_thread_create(nullptr, begin, reinterpret_cast<void*>(body))) {}
  void join() const { __VERIFIER_thread_join(id_); }

 private:
  static void* begin(void* body) {
    reinterpret_cast<void (*)()>(body)();
    return nullptr;
  }
  long id_;
};

}  // namespace tasuki::model
