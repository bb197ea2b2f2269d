// The table of operations, and what they have in common.
#include "operations.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tasuki::stress {
namespace {

using pager::Faults;

// --- where it can be promised (docs/pager.md)

bool has_direct(const World& w) {
  return w.in_direct >= 0 && w.out_direct >= 0;
}
bool has_rings(const World& w) {
  return w.rings && has_direct(w);
}
bool has_tcp(const World& w) {
  return w.tcp;
}
// Pages that leave by a move: what the program's own madvise has made zeros is seen.
bool moves(const World& w) {
  return w.faults != Faults::userfault_copy && w.faults != Faults::signal;
}
bool not_signal(const World& w) {
  return w.faults != Faults::signal;
}

}  // namespace

// Half of a run's time is for the frequent ones, which are nearly all of its operations.
const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"store", 36000, store, nullptr, true},
      {"load", 36000, load, nullptr, true},
      {"add", 27000, add, nullptr, true},
      {"store_range", 80, store_range, nullptr, true},
      {"load_range", 80, load_range, nullptr, true},
      {"copy_range", 40, copy_range, nullptr, true},
      {"add_everywhere", 20, add_everywhere, nullptr},
      {"read", 40, read_file, nullptr, true},
      {"write", 30, write_file, nullptr},
      {"read_direct", 40, read_direct, has_direct, true},
      {"write_direct", 20, write_direct, has_direct},
      {"pipe", 40, through_pipe, nullptr, true},
      {"vmsplice", 10, splice_pages, nullptr, true},
      {"stream", 50, through_stream, nullptr, true},
      {"packets", 50, through_packets, nullptr, true},
      {"tcp", 40, through_tcp, has_tcp, true},
      {"aio", 20, by_aio, has_direct},
      {"uring", 25, by_uring, has_rings},
      {"uring_registered", 25, by_uring_registered, has_rings},
      {"own_process", 40, by_own_process, nullptr, true},
      {"process", 5, by_another_process, nullptr},
      {"fork", 6, fork_child, nullptr, true},
      {"protect", 50, protect, nullptr, true},
      {"mlock", 10, lock, not_signal},
      {"mlockall", 1, lock_all, not_signal},
      {"msync", 10, synchronize, nullptr},
      {"dont_need", 20, dont_need, moves},
      {"discard", 20, discard, nullptr, true},
      {"advise", 15, advise, nullptr},
      {"allocate", 10, allocate, nullptr},
      {"reallocate", 20, reallocate, nullptr},
  };
  return all;
}

Held::Held(const World& w, const Block& b, Range* r, bool write) {
  const bool there_anyway = w.faults == Faults::userfault && !w.pager->needs_pin();
  if (there_anyway || r->bytes == 0) return;
  const bool pages = (reinterpret_cast<uintptr_t>(b.at + r->from) | r->bytes) % kPage == 0;
  at_ = b.at + r->from;
  bytes_ = cluster::pin(at_, r->bytes, write);
  r->bytes = pages ? bytes_ / kPage * kPage : bytes_;
}
void Held::end() {
  cluster::unpin(at_, bytes_);
  bytes_ = 0;
}

Range any_range(Thread& t, const Block& b, size_t most) {
  const size_t from = t.random() % b.bytes;
  return {from, 1 + t.random() % std::min(b.bytes - from, most)};
}
Range any_pages(Thread& t, const Block& b, size_t most) {
  const auto begin = reinterpret_cast<uintptr_t>(b.at);
  const size_t first = (begin + kPage - 1) / kPage * kPage - begin;
  if (b.bytes < first + kPage) return {0, 0};
  const size_t pages = (b.bytes - first) / kPage, from = t.random() % pages;
  return {first + from * kPage, (1 + t.random() % std::min(pages - from, most / kPage)) * kPage};
}
Block& any_block(Thread& t) {
  return t.blocks[t.random() % t.blocks.size()];
}
void fill(Thread& t, std::byte* at, size_t bytes) {
  uint64_t word = t.random();
  for (size_t i = 0; i < bytes; i++) {
    at[i] = static_cast<std::byte>(word >> i % 7);
    if (i % 64 == 0) word = word * 6364136223846793005u + 1442695040888963407u;
  }
}
void go_on_elsewhere(World& w, Thread& t, const Block& b, uint64_t times) {
  for (; times > 0; times--) {
    Block& other = any_block(t);
    if (&other != &b) store_range(w, t, other);
  }
}

void check(const Thread& thread, const Block& block, size_t from, size_t bytes) {
  if (memcmp(block.at + from, block.copy + from, bytes) == 0) return;
  size_t i = from;
  while (i < from + bytes && block.at[i] == block.copy[i]) i++;
  size_t last = from + bytes;
  while (last > i && block.at[last - 1] == block.copy[last - 1]) last--;
  wrong("thread %d, %s%s: byte %zu of a block of %zu at %p is %d instead of %d, the last wrong one is %zu",
        thread.id, thread.what.load(), thread.depth > 0 ? " in a forked child" : "", i, block.bytes,
        static_cast<void*>(block.at), static_cast<int>(block.at[i]), static_cast<int>(block.copy[i]),
        last - 1);
}
void check_local(const Thread& thread, const std::byte* must, size_t bytes) {
  if (memcmp(thread.local, must, bytes) == 0) return;
  size_t i = 0;
  while (i < bytes && thread.local[i] == must[i]) i++;
  wrong("thread %d, %s%s: byte %zu of %zu that left cluster memory is %d instead of %d", thread.id,
        thread.what.load(), thread.depth > 0 ? " in a forked child" : "", i, bytes,
        static_cast<int>(thread.local[i]), static_cast<int>(must[i]));
}
void expect(const char* what, ssize_t got, size_t bytes) {
  if (got < 0) wrong("%s: %s", what, strerror(errno));
  if (static_cast<size_t>(got) != bytes) wrong("%s: %zd bytes instead of %zu", what, got, bytes);
}

std::byte* plain_memory(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) wrong("no memory");
  return static_cast<std::byte*>(p);
}

constinit thread_local sigjmp_buf t_back = {};
constinit thread_local volatile sig_atomic_t t_trying = 0;

void catch_refusals() {
  struct sigaction action = {};
  action.sa_flags = SA_NODEFER | SA_SIGINFO;
  action.sa_sigaction = [](int number, siginfo_t*, void*) {
    if (t_trying != 0) siglongjmp(t_back, 1);
    signal(number, SIG_DFL);  // nobody has asked for it: the access ends the program
  };
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace tasuki::stress
