#include "task/ranges.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>

#include "os/memory/mapping.h"
#include "os/raw.h"

namespace tasuki::task {
namespace {

// Raw: libc's mmap is what this code watches over.
Range* allocate(size_t count) {
  const long p = os::raw_syscall(SYS_mmap, 0, static_cast<long>(count * sizeof(Range)),
                                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p < 0 ? nullptr : reinterpret_cast<Range*>(p);
}

}  // namespace

bool RangeSet::reserve_one() {
  if (count_ < capacity_) return true;
  const size_t bigger = capacity_ == 0 ? os::page_size() / sizeof(Range) : 2 * capacity_;
  Range* fresh = allocate(bigger);
  if (fresh == nullptr) return false;
  if (ranges_ != nullptr) {
    memcpy(fresh, ranges_, count_ * sizeof(Range));
    os::raw_syscall(SYS_munmap, os::raw_arg(ranges_), static_cast<long>(capacity_ * sizeof(Range)));
  }
  ranges_ = fresh;
  capacity_ = bigger;
  return true;
}

void RangeSet::release() {
  if (ranges_ != nullptr)
    os::raw_syscall(SYS_munmap, os::raw_arg(ranges_), static_cast<long>(capacity_ * sizeof(Range)));
  ranges_ = nullptr;
  count_ = capacity_ = 0;
}

size_t RangeSet::first_ending_at_or_after(uintptr_t address) const {
  size_t low = 0, high = count_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges_[middle].end < address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void RangeSet::add(uintptr_t begin, uintptr_t end) {
  if (begin >= end || !reserve_one()) return;
  const size_t first = first_ending_at_or_after(begin);
  size_t last = first;  // one behind the last range that touches the new one
  while (last < count_ && ranges_[last].begin <= end) {
    if (ranges_[last].begin < begin) begin = ranges_[last].begin;
    if (ranges_[last].end > end) end = ranges_[last].end;
    last++;
  }
  memmove(ranges_ + first + 1, ranges_ + last, (count_ - last) * sizeof(Range));
  ranges_[first] = {begin, end};
  count_ = count_ - (last - first) + 1;
}

void RangeSet::remove(uintptr_t begin, uintptr_t end) {
  if (begin >= end) return;
  size_t i = first_ending_at_or_after(begin);
  while (i < count_ && ranges_[i].begin < end) {
    const Range old = ranges_[i];
    if (old.end <= begin) {
      i++;
    } else if (old.begin < begin && old.end > end) {
      if (!reserve_one()) return;  // keeps a hole too few: a later collision there goes unnoticed
      memmove(ranges_ + i + 1, ranges_ + i, (count_ - i) * sizeof(Range));
      count_++;
      ranges_[i].end = begin;
      ranges_[i + 1].begin = end;
      return;
    } else if (old.begin < begin) {
      ranges_[i++].end = begin;
    } else if (old.end > end) {
      ranges_[i].begin = end;
      return;
    } else {
      memmove(ranges_ + i, ranges_ + i + 1, (count_ - i - 1) * sizeof(Range));
      count_--;
    }
  }
}

bool RangeSet::covers(uintptr_t begin, uintptr_t end) const {
  if (begin >= end) return true;
  const size_t i = first_ending_at_or_after(end);
  return i < count_ && ranges_[i].begin <= begin;
}

}  // namespace tasuki::task
