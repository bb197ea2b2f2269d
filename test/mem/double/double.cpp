// A double of the pager and of libdlmmpi for tests without MPI: one process, memory that is never sent
// anywhere. What is "away" is inaccessible, comes back in a SIGSEGV handler page by page, and system calls
// fail on it with EFAULT: as with the mechanisms of the pager that cannot serve the kernel's faults.
//
//   MEM_DOUBLE_CAPACITY  bytes in all, 1 GiB     MEM_DOUBLE_LOCAL  bytes that are present at once, 4 MiB
//   MEM_DOUBLE_KERNEL=1  nothing is ever away, and the kernel needs no pin
//   MEM_DOUBLE_REPORT=1  dlm_shutdown prints the largest total that was allocated, and the faults
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "cluster/wrappers/faults.h"
#include "cluster/wrappers/pinning.h"
#include "os/raw.h"
#include "pager/pager.h"
#include "tasuki/dlm.h"

namespace {

using tasuki::Result;
using tasuki::Status;
using tasuki::cluster::InternalScope;

constexpr size_t kPage = 4096;

size_t number(const char* name, size_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr ? strtoull(text, nullptr, 10) : otherwise;
}

void access(void* at, size_t bytes, int protection) {
  tasuki::os::raw_syscall(SYS_mprotect, tasuki::os::raw_arg(at), static_cast<long>(bytes), protection);
}

class Double final : public tasuki::pager::Pager {
 public:
  Double()
      : capacity_(number("MEM_DOUBLE_CAPACITY", size_t{1} << 30)),
        most_(number("MEM_DOUBLE_LOCAL", 4 << 20) / kPage),
        open_(number("MEM_DOUBLE_KERNEL", 0) != 0) {
    memory_ = static_cast<char*>(mmap(nullptr, capacity_, open_ ? PROT_READ | PROT_WRITE : PROT_NONE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    madvise(memory_, capacity_, MADV_DONTFORK);
    free_[0] = capacity_ / kPage;
    pages_.resize(capacity_ / kPage);
    present_.resize(most_);
  }

  // --- for dlm.h
  void* take(size_t bytes, size_t alignment) {
    const InternalScope internal;
    const size_t pages = (bytes + kPage - 1) / kPage;
    pthread_mutex_lock(&lock_);
    for (auto [begin, count] : free_) {
      const uintptr_t base = reinterpret_cast<uintptr_t>(memory_);
      size_t at = begin;
      while ((base + at * kPage) % alignment != 0) at++;
      if (at + pages > begin + count) continue;
      free_.erase(begin);
      if (at > begin) free_[begin] = at - begin;
      if (at + pages < begin + count) free_[at + pages] = begin + count - at - pages;
      blocks_[at] = bytes;
      allocated_ += pages * kPage;
      largest_ = std::max(largest_, allocated_);
      pthread_mutex_unlock(&lock_);
      char* p = memory_ + at * kPage;
      tasuki::cluster::note_allocation(p, pages * kPage);
      return p;
    }
    pthread_mutex_unlock(&lock_);
    errno = ENOMEM;
    return nullptr;
  }
  bool give(void* p) {
    const InternalScope internal;
    const size_t at = static_cast<size_t>(static_cast<char*>(p) - memory_) / kPage;
    pthread_mutex_lock(&lock_);
    const auto found = blocks_.find(at);
    if (found == blocks_.end()) return pthread_mutex_unlock(&lock_), false;
    const size_t pages = (found->second + kPage - 1) / kPage;
    blocks_.erase(found);
    tasuki::cluster::forget_allocation(p, pages * kPage);
    madvise(p, pages * kPage, MADV_DONTNEED);  // zeros for the next
    allocated_ -= pages * kPage;
    auto next = free_.emplace(at, pages).first;
    if (auto after = std::next(next); after != free_.end() && next->first + next->second == after->first) {
      next->second += after->second;
      free_.erase(after);
    }
    if (next != free_.begin())
      if (auto before = std::prev(next); before->first + before->second == next->first) {
        before->second += next->second;
        free_.erase(next);
      }
    pthread_mutex_unlock(&lock_);
    return true;
  }
  bool comes_back(void* address) {
    const char* p = static_cast<char*>(address);
    if (p < memory_ || p >= memory_ + capacity_ || open_ || getpid() != pid_) return false;
    while (stopped_) pause();  // nobody brings it any more
    spin();
    faults_++;
    bring(static_cast<size_t>(p - memory_) / kPage);
    release();
    return true;
  }
  void evict_all() {
    spin();
    for (size_t i = 0; i < most_; i++) evict(i);
    release();
  }
  void report() const {
    dprintf(STDERR_FILENO, "double: at most %zu bytes, %zu faults, %zu pinned now\n", largest_, faults_,
            pinned_);
  }
  size_t pinned_pages() const { return pinned_; }
  void end() { munmap(memory_, capacity_); }
  void stop_serving() { stopped_ = true; }

  // --- Pager
  Result<void*> allocate(size_t, size_t, size_t) override { return Status::error(ENOSYS, "not here"); }
  Status free(void*) override { return Status::error(ENOSYS, "not here"); }
  Result<void*> reallocate(void*, size_t) override { return Status::error(ENOSYS, "not here"); }
  size_t size_of(const void* p) const override {
    pthread_mutex_lock(&lock_);
    const auto found = blocks_.find(static_cast<size_t>(static_cast<const char*>(p) - memory_) / kPage);
    const size_t bytes = found != blocks_.end() ? found->second : 0;
    pthread_mutex_unlock(&lock_);
    return bytes;
  }
  bool touches(const void* p, size_t bytes) const override {
    const char* at = static_cast<const char*>(p);
    return at < memory_ + capacity_ && at + bytes > memory_;
  }
  Status discard(void* p, size_t bytes) override {
    memset(p, 0, bytes);
    return Status();
  }
  // The protection of its pages is for their absence.
  Status protect(void*, size_t, int) override { return Status(); }
  int protection(const void*, size_t) const override { return PROT_READ | PROT_WRITE; }
  Status let_go(void*) override { return Status::error(EBUSY, "not here"); }
  Status advise(void*, size_t, tasuki::pager::Advice) override { return Status(); }
  size_t pin(const void* p, size_t bytes, bool) override {
    const char* at = static_cast<const char*>(p);
    if (open_ || bytes == 0) return bytes;
    spin();
    const size_t first = static_cast<size_t>(at - memory_) / kPage;
    const size_t last = static_cast<size_t>(at + bytes - 1 - memory_) / kPage;
    size_t page = first;
    for (; page <= last && pinned_ < most_ / 4; page++) {
      bring(page);
      if (pages_[page].pins++ == 0) pinned_++;
    }
    release();
    if (page > last) return bytes;
    const size_t until = page * kPage - static_cast<size_t>(at - memory_);
    return page == first ? 0 : until;
  }
  void unpin(const void* p, size_t bytes) override {
    const char* at = static_cast<const char*>(p);
    if (open_ || bytes == 0) return;
    spin();
    for (size_t page = static_cast<size_t>(at - memory_) / kPage;
         page <= static_cast<size_t>(at + bytes - 1 - memory_) / kPage; page++)
      if (--pages_[page].pins == 0) pinned_--;
    release();
  }
  bool needs_pin() const override { return !open_; }
  tasuki::pager::Stats stats() const override {
    tasuki::pager::Stats s;
    s.local_bytes = most_ * kPage;
    s.server_bytes = capacity_;
    s.allocated_bytes = allocated_;
    return s;
  }
  std::vector<tasuki::pager::ThreadStats> thread_stats() const override { return {}; }
  std::string mechanism() const override { return "test double"; }
  Status serve() override { return Status(); }
  void stop() override {}

 private:
  struct Page {
    uint32_t slot = 0;  // its place in present_, plus 1; 0: away
    uint32_t pins = 0;
  };
  // In a signal handler too; who holds it touches no cluster memory.
  void spin() {
    while (busy_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void release() { busy_.store(false, std::memory_order_release); }

  void evict(size_t slot) {
    const size_t page = present_[slot];
    if (page == 0 || pages_[page - 1].pins > 0) return;
    access(memory_ + (page - 1) * kPage, kPage, PROT_NONE);
    pages_[page - 1].slot = 0;
    present_[slot] = 0;
  }
  void bring(size_t page) {
    if (pages_[page].slot != 0) return;
    do {
      hand_ = (hand_ + 1) % most_;
      evict(hand_);
    } while (present_[hand_] != 0);
    access(memory_ + page * kPage, kPage, PROT_READ | PROT_WRITE);
    present_[hand_] = page + 1;
    pages_[page].slot = static_cast<uint32_t>(hand_) + 1;
  }

  const size_t capacity_, most_;
  const bool open_;
  const pid_t pid_ = getpid();
  std::atomic<bool> stopped_{false};
  char* memory_;
  mutable pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;  // of the blocks
  std::map<size_t, size_t> free_, blocks_;
  size_t allocated_ = 0, largest_ = 0;
  std::atomic<bool> busy_{false};  // of the pages
  std::vector<Page> pages_;
  std::vector<size_t> present_;  // ring; a page's number plus 1
  size_t hand_ = 0, pinned_ = 0, faults_ = 0;
};

Double* g_double = nullptr;
struct sigaction g_before;

void on_fault(int number, siginfo_t* info, void* context) {
  const int error = errno;
  if (info->si_code <= 0 || g_double == nullptr || !g_double->comes_back(info->si_addr))
    g_before.sa_sigaction(number, info, context);
  errno = error;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int dlm_startup(int*, char***) {
  if (g_double != nullptr) return 0;
  g_double = new Double;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  const InternalScope internal;
  tasuki::cluster::before_pager_handler();
  sigaction(SIGSEGV, &action, &g_before);
  tasuki::cluster::after_pager_handler();
  tasuki::cluster::attach_pager(g_double);
  return 0;
}
EXPORT int dlm_shutdown() {
  if (g_double == nullptr) return 0;
  tasuki::cluster::detach_pager();
  if (number("MEM_DOUBLE_REPORT", 0) != 0) g_double->report();
  g_double->end();
  g_double = nullptr;
  return 0;
}
EXPORT unsigned long tasuki_dlm_beside() {
  return 0;
}

EXPORT void tasuki_dlm_stop() {
  if (g_double == nullptr) return;
  tasuki::cluster::detach_pager();
  if (number("MEM_DOUBLE_REPORT", 0) != 0) g_double->report();
  g_double->stop_serving();
}
EXPORT void* dlm_aligned_alloc(size_t alignment, size_t bytes) {
  return bytes == 0 ? nullptr : g_double->take(bytes, alignment);
}
EXPORT void* dlm_alloc(size_t bytes) {
  return dlm_aligned_alloc(64, bytes);
}
EXPORT void* dlm_calloc(size_t count, size_t bytes) {
  return dlm_alloc(count * bytes);
}
EXPORT void dlm_free(void* p) {
  if (p != nullptr && !g_double->give(p)) abort();
}
EXPORT void* dlm_realloc(void* old, size_t bytes) {
  void* p = dlm_alloc(bytes);
  if (p == nullptr || old == nullptr) return p;
  memcpy(p, old, std::min(bytes, g_double->size_of(old)));
  dlm_free(old);
  return p;
}
EXPORT int dlm_discard(void* p, size_t bytes) {
  return g_double->discard(p, bytes).ok() ? 0 : -1;
}

EXPORT int dlm_protect(void* p, size_t bytes, int protection) {
  return g_double->protect(p, bytes, protection).ok() ? 0 : -1;
}

EXPORT int dlm_advise(void*, size_t, enum dlm_advice) {
  return 0;
}
EXPORT int dlm_stats(struct dlm_counters* counters, size_t bytes) {
  const tasuki::pager::Stats now = g_double->stats();
  memcpy(counters, &now, std::min(bytes, sizeof now));
  return 0;
}
// For tests: all pages that are not pinned are away now; how many are pinned.
EXPORT void double_evict_all() {
  g_double->evict_all();
}
EXPORT size_t double_pinned() {
  return g_double->pinned_pages();
}
