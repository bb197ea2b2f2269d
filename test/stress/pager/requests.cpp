// What programs ask of memory: to protect, lock, discard and advise it, to allocate and to reallocate it.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "operations.h"

namespace tasuki::stress {
namespace {

constexpr int kUsual = PROT_READ | PROT_WRITE;
constexpr int kProtections[] = {PROT_NONE,
                                PROT_READ,
                                PROT_WRITE,
                                kUsual,
                                PROT_EXEC,
                                PROT_READ | PROT_EXEC,
                                PROT_WRITE | PROT_EXEC,
                                PROT_READ | PROT_WRITE | PROT_EXEC};

// Whole pages of a block, each with a protection of its own for a while.
class Protected {
 public:
  static constexpr size_t kMost = 24 * kPage;
  Protected(World& w, Thread& t, Block& b, const Range& r) : w_(w), t_(t), b_(b), r_(r) { may_.fill(kUsual); }

  void change() {
    const Range pages = some_pages();
    set(pages, kProtections[t_.random() % std::size(kProtections)]);
  }
  // At once, or one part after the other.
  void end() {
    if (t_.random() % 2 == 0) set(some_pages(), kUsual);
    set(r_, kUsual);
    check(t_, b_, r_.from, r_.bytes);
  }
  void try_access() {
    const size_t at = r_.from + t_.random() % r_.bytes;
    std::byte* const p = b_.at + at;
    const int may = of(at);
    if (t_.random() % 2 == 0) {
      std::byte seen{0};
      const bool no = refused([&] { seen = *const_cast<const volatile std::byte*>(p); });
      if (may == PROT_EXEC) return;  // a processor may be able to forbid it
      if (no != (may == PROT_NONE)) report("a load", at, no);
      if (!no && seen != b_.copy[at]) check(t_, b_, at, 1);
    } else {
      const auto byte = static_cast<std::byte>(t_.random());
      const bool no = refused([&] { *const_cast<volatile std::byte*>(p) = byte; });
      if (no != ((may & PROT_WRITE) == 0)) report("a store", at, no);
      if (!no) b_.copy[at] = byte;
    }
  }
  // The kernel's accesses: what it must not do is EFAULT.
  void try_call() {
    const size_t at = r_.from + t_.random() % r_.bytes;
    const size_t bytes = 1 + t_.random() % (kPage - reinterpret_cast<uintptr_t>(b_.at + at) % kPage);
    const int may = of(at);
    if (may == PROT_EXEC) return;
    const bool reads = t_.random() % 2 == 0;
    const size_t offset = t_.random() % (World::kFile - kPage);
    ssize_t got = 0;
    errno = 0;
    const bool no = refused([&] {
      got = reads ? pread(w_.in, b_.at + at, bytes, static_cast<off_t>(offset))
                  : ::write(t_.ends.pipe[1], b_.at + at, bytes);
    });
    const char* const what = reads ? "a read of a file" : "a write to a pipe";
    if (no) wrong("thread %d: %s gets SIGSEGV, where the protection is %d", t_.id, what, may);
    if (may == PROT_NONE || (reads && (may & PROT_WRITE) == 0)) {
      if (got != -1 || errno != EFAULT)
        wrong("thread %d: %s where the protection is %d: %zd, %s", t_.id, what, may, got, strerror(errno));
      return;
    }
    if (got != static_cast<ssize_t>(bytes))
      wrong("thread %d: %s of %zu bytes where the protection is %d: %zd, %s", t_.id, what, bytes, may, got,
            strerror(errno));
    if (reads) {
      memcpy(b_.copy + at, w_.file + offset, bytes);
    } else {
      expect("read of a pipe", ::read(t_.ends.pipe[0], t_.local, bytes), bytes);
      check_local(t_, b_.copy + at, bytes);
    }
  }
  void discard() {
    const Range pages = some_pages();
    const Status status = w_.pager->discard(b_.at + pages.from, pages.bytes);
    if (!status.ok()) wrong("discard: %s", status.message().c_str());
    memset(b_.copy + pages.from, 0, pages.bytes);
  }

 private:
  Range some_pages() {
    const size_t pages = r_.bytes / kPage, from = t_.random() % pages;
    return {r_.from + from * kPage, (1 + t_.random() % (pages - from)) * kPage};
  }
  int& of(size_t at) { return may_[(at - r_.from) / kPage]; }
  void set(const Range& pages, int protection) {
    const Status status = w_.pager->protect(b_.at + pages.from, pages.bytes, protection);
    if (!status.ok()) wrong("protect: %s", status.message().c_str());
    for (size_t at = pages.from; at < pages.from + pages.bytes; at += kPage) of(at) = protection;
    if (t_.depth > 0) return;  // a forked child has only the kernel's knowledge
    const int known = w_.pager->protection(b_.at + pages.from, pages.bytes);
    if (known != protection)
      wrong("thread %d: the protection is said to be %d instead of %d", t_.id, known, protection);
  }
  void report(const char* what, size_t at, bool no) {
    wrong("thread %d: %s at byte %zu of a block of %zu at %p is %s, where the protection is %d", t_.id, what,
          at, b_.bytes, static_cast<void*>(b_.at), no ? "refused" : "not refused", of(at));
  }

  World& w_;
  Thread& t_;
  Block& b_;
  const Range r_;
  std::array<int, kMost / kPage> may_;
};

void free_moving(World& w, Block* b) {
  cluster::forget_allocation(b->at, b->bytes);
  const Status freed = w.pager->free(b->at);
  if (!freed.ok()) wrong("free: %s", freed.message().c_str());
}

}  // namespace

void protect(World& w, Thread& t, Block& b) {
  const Range r = any_pages(t, b, Protected::kMost);
  if (r.bytes == 0) return;
  Protected pages(w, t, b, r);
  for (uint64_t i = 1 + t.random() % 4; i > 0; i--) {
    pages.change();
    if (t.random() % 2 == 0) go_on_elsewhere(w, t, b, t.random() % 8);
    for (uint64_t tries = t.random() % 8; tries > 0; tries--)
      if (t.random() % 3 == 0)
        pages.try_call();
      else
        pages.try_access();
    if (t.random() % 8 == 0) pages.discard();
  }
  pages.end();
}

void lock(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b);
  if (mlock(b.at + r.from, r.bytes) != 0 && errno != ENOMEM && errno != EAGAIN && errno != EPERM)
    wrong("mlock: %s", strerror(errno));
  check(t, b, r.from, r.bytes);
  if (t.random() % 2 == 0) munlock(b.at + r.from, r.bytes);
}
void lock_all(World& w, Thread& t, Block& b) {
  if (mlockall(t.random() % 2 == 0 ? MCL_CURRENT : MCL_CURRENT | MCL_FUTURE) == 0) {
    store_range(w, t, b);
    munlockall();
  }
}
void synchronize(World&, Thread& t, Block& b) {
  const Range r = any_pages(t, b);
  if (r.bytes > 0 && msync(b.at + r.from, r.bytes, MS_ASYNC) != 0) wrong("msync: %s", strerror(errno));
}

// The program's own madvise: zeros, or what was there where it left in between.
void dont_need(World&, Thread& t, Block& b) {
  const Range r = any_pages(t, b, 4 * kPage);
  if (r.bytes == 0) return;
  if (madvise(b.at + r.from, r.bytes, MADV_DONTNEED) != 0 && errno != EINVAL)  // EINVAL: locked
    wrong("madvise: %s", strerror(errno));
  for (size_t page = r.from; page < r.from + r.bytes; page += kPage) {
    bool zero = true;
    memcpy(t.local, b.at + page, kPage);
    for (size_t i = 0; i < kPage; i++) zero = zero && t.local[i] == std::byte{0};
    if (zero) memset(b.copy + page, 0, kPage);
  }
  check(t, b, r.from, r.bytes);
}
// The pager's: zeros.
void discard(World& w, Thread& t, Block& b) {
  const Range r = any_range(t, b);
  const Status status = w.pager->discard(b.at + r.from, r.bytes);
  if (!status.ok()) wrong("discard: %s", status.message().c_str());
  memset(b.copy + r.from, 0, r.bytes);
  check(t, b, r.from, r.bytes);
}
void advise(World& w, Thread& t, Block& b) {
  const NoHandlers none;
  const Range r = any_range(t, b);
  const auto advice = static_cast<pager::Advice>(t.random() % 6);
  const Status status = w.pager->advise(b.at + r.from, r.bytes, advice);
  if (!status.ok() && status.err() != ENOMEM) wrong("advice: %s", status.message().c_str());
  check(t, b, r.from, r.bytes);
  if (advice == pager::Advice::keep_local)
    (void)w.pager->advise(b.at + r.from, r.bytes, pager::Advice::normal);
}

void allocate(World& w, Thread& t, Block&) {
  const NoHandlers none;
  const size_t bytes = 1 + t.random() % (200 * kPage);
  Result<void*> got = w.pager->allocate(bytes, 64, 0);
  if (!got.ok()) return;  // full
  auto* at = static_cast<std::byte*>(got.value());
  cluster::note_allocation(at, bytes);
  fill(t, t.local, bytes);
  for (size_t i = 0; i < bytes; i += 1000)
    if (at[i] != std::byte{0}) wrong("thread %d: new memory is not zero", t.id);
  memcpy(at, t.local, bytes);
  if (memcmp(at, t.local, bytes) != 0) wrong("thread %d: wrong bytes in new memory", t.id);
  cluster::forget_allocation(at, bytes);
  const Status freed = w.pager->free(at);
  if (!freed.ok()) wrong("free: %s", freed.message().c_str());
}

// Its size may have changed since.
bool allocate_moving(World& w, Thread& t, Block* b) {
  constexpr size_t kPageSizes[] = {0, 0, kPage, 4 * kPage};
  const size_t bytes = 1 + t.random() % Thread::kMostMoving;
  Result<void*> got = w.pager->allocate(bytes, size_t{64} << t.random() % 8, kPageSizes[t.random() % 4]);
  if (!got.ok()) return false;
  b->at = static_cast<std::byte*>(got.value());
  b->bytes = bytes;
  memset(b->copy, 0, bytes);
  cluster::note_allocation(b->at, bytes);
  return true;
}

// One of the thread's moving blocks, whatever the block given is.
void reallocate(World& w, Thread& t, Block&) {
  if (t.moving == 0) return;
  const NoHandlers none;
  const size_t which = t.blocks.size() - 1 - t.random() % t.moving;
  Block& b = t.blocks[which];
  if (t.random() % 8 == 0) {
    check(t, b, 0, b.bytes);
    free_moving(w, &b);
    if (allocate_moving(w, t, &b)) {
      check(t, b, 0, b.bytes);
    } else {
      std::swap(b, t.blocks.back());  // no room: this thread has one less
      t.blocks.pop_back();
      t.moving--;
    }
    return;
  }
  const size_t before = b.bytes, bytes = 1 + t.random() % Thread::kMostMoving;
  Result<void*> got = w.pager->reallocate(b.at, bytes);
  if (!got.ok()) {
    if (got.status().err() != ENOMEM) wrong("reallocate: %s", got.status().message().c_str());
    check(t, b, 0, b.bytes);
    return;
  }
  cluster::forget_allocation(b.at, before);
  b.at = static_cast<std::byte*>(got.value());
  b.bytes = bytes;
  cluster::note_allocation(b.at, bytes);
  if (w.pager->size_of(b.at) != bytes)
    wrong("thread %d: reallocate to %zu bytes made %zu", t.id, bytes, w.pager->size_of(b.at));
  check(t, b, 0, std::min(before, bytes));
  if (bytes <= before) return;
  fill(t, b.copy + before, bytes - before);
  memcpy(b.at + before, b.copy + before, bytes - before);
}

}  // namespace tasuki::stress
