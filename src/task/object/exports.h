// libtasuki-task.so: what is preloaded into every task. It answers the questions that the kernel answers per
// address space, and keeps a task from mapping over another task's memory. In a process that is not a task (a
// program that a task has executed) every function passes its call on.
//
// A wrapper is defined under a name of its own and exported under libc's: libc's headers declare some of
// these functions with attributes that a definition in C++ could not repeat.
#pragma once

#include <atomic>

#define TASUKI_WRAPPER(result, name, ...)                                                             \
  extern "C" __attribute__((visibility("default"))) result tasuki_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" result tasuki_##name(__VA_ARGS__)

// The same, but hidden from dlsym(): references that the dynamic linker binds find it, as they name the
// version of libc's. UCX writes a jump at the entry of the mmap that dlsym() finds, to one that makes the
// system call itself. At ours it would be as if we were not there; and what libc unmaps for itself, in free()
// say, would not come to UCX, which then goes on to use its registration of memory that is gone.
#define TASUKI_HIDDEN_WRAPPER(result, name, ...)                                       \
  extern "C" __attribute__((visibility("default"))) result tasuki_##name(__VA_ARGS__); \
  __asm__(".symver tasuki_" #name "," #name "@" TASUKI_LIBC_VERSION);                  \
  extern "C" result tasuki_##name(__VA_ARGS__)

namespace tasuki::task {

// A function of libc's, or of another preloaded library, that stands behind this object. All are looked up
// before the program begins (exports.cpp): dlsym() takes locks of the dynamic linker's and clears what
// dlerror() would say. Thread-safe, also in signal handlers.
class NextFunction {
 public:
  constexpr explicit NextFunction(const char* name) : name_(name) {}
  void* get() {
    void* const found = found_.load(std::memory_order_relaxed);
    return found != nullptr ? found : find();
  }
  void* find();  // nullptr: there is none

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

}  // namespace tasuki::task

// The next definition of `name` behind this object.
#define TASUKI_NEXT(type, name)                                                                        \
  ([] {                                                                                                \
    __attribute__((section("tasuki_next"), used)) static constinit tasuki::task::NextFunction f(name); \
    return reinterpret_cast<type>(f.get());                                                            \
  }())
