#include "cluster/wrappers/descriptors.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "cluster/wrappers/libc.h"
#include "cluster/wrappers/pinning.h"
#include "generated/next.h"
#include "os/files/descriptor.h"

namespace tasuki::cluster {
namespace {

// A bit for each; of higher numbers none is kept.
constexpr unsigned kMost = 65536;
std::array<std::atomic<uint64_t>, kMost / 64> g_kept;

uint64_t bit(unsigned fd) {
  return uint64_t{1} << fd % 64;
}
bool kept(unsigned fd) {
  return fd < kMost && (g_kept[fd / 64].load(std::memory_order_relaxed) & bit(fd)) != 0;
}
void let_go(unsigned fd) {
  if (kept(fd)) g_kept[fd / 64].fetch_and(~bit(fd));
}

bool g_in_child = false;

// Is it the program that asks, and is what it asks for not its own? errno is set.
bool is_not_open(int fd) {
  if (t_internal != 0) {
    let_go(static_cast<unsigned>(fd));
    return false;
  }
  if (!kept(static_cast<unsigned>(fd))) return false;
  errno = EBADF;
  return true;
}

// A child may have any number for what it hands to a program that it executes. What it needs itself is out of
// the way; the others are MPI's.
bool may_not_replace(int number) {
  if (!g_in_child || number >= os::kOutOfTheWay) return is_not_open(number);
  let_go(static_cast<unsigned>(number));
  return false;
}

// By call(first, last), a negative result of which ends it.
template <class Call>
int around_kept(unsigned first, unsigned last, const Call& call) {
  for (unsigned fd = first; t_internal == 0 && fd < kMost && fd <= last; fd++) {
    if (!kept(fd)) continue;
    if (fd > first)
      if (const int result = call(first, fd - 1); result < 0) return result;
    if (fd == last) return 0;
    first = fd + 1;
  }
  return call(first, last);
}

}  // namespace

PagersDescriptors::PagersDescriptors() : before_(os::open_descriptors(false)) {
  std::sort(before_.begin(), before_.end());
}

PagersDescriptors::~PagersDescriptors() {
  for (const int fd : os::open_descriptors(false))
    if (!std::binary_search(before_.begin(), before_.end(), fd)) keep_descriptor(fd);
}

void in_forked_child() {
  g_in_child = true;
}

void keep_descriptor(int fd) {
  const auto number = static_cast<unsigned>(fd);
  if (fd >= 0 && number < kMost) g_kept[number / 64].fetch_or(bit(number));
}

}  // namespace tasuki::cluster

using namespace tasuki::cluster;

TASUKI_WRAPPER(int, close, int fd) {
  return is_not_open(fd) ? -1 : next_close()(fd);
}

TASUKI_WRAPPER(int, dup2, int fd, int number) {
  return may_not_replace(number) ? -1 : next_dup2()(fd, number);
}
TASUKI_WRAPPER(int, dup3, int fd, int number, int flags) {
  return may_not_replace(number) ? -1 : next_dup3()(fd, number, flags);
}

// Ours are closed by exec anyway: nothing is wrong with CLOSE_RANGE_CLOEXEC.
TASUKI_WRAPPER(int, close_range, unsigned first, unsigned last, int flags) {
  if (first > last || flags == CLOSE_RANGE_CLOEXEC) return next_close_range()(first, last, flags);
  return around_kept(first, last,
                     [flags](unsigned from, unsigned to) { return next_close_range()(from, to, flags); });
}
TASUKI_WRAPPER(void, closefrom, int first) {
  around_kept(first > 0 ? static_cast<unsigned>(first) : 0, ~0U, [](unsigned from, unsigned to) {
    if (to == ~0U)
      next_closefrom()(static_cast<int>(from));
    else if (next_close_range()(from, to, 0) != 0)  // Linux 5.9
      for (unsigned fd = from; fd <= to; fd++) next_close()(static_cast<int>(fd));
    return 0;
  });
}
