#include "pager/core/forked_child.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "os/process/self.h"
#include "os/process/signals.h"
#include "os/process/thread.h"
#include "pager/mappers/fault_signal.h"

namespace tasuki::pager {
namespace {

constexpr uint64_t kMostUnits = 64;  // that come at once, where the child reads one after the other

std::atomic<ForkedChild*> g_child{nullptr};

}  // namespace

Status ForkedChild::start() {
  const Status status = watch();
  // What is absent would be zeros.
  if (!status.ok())
    for (const Region* region : regions_->all())
      if (region->watched()) os::map_memory_over(region->at(), region->units() * unit_size(), 0);
  return status;
}

Status ForkedChild::watch() {
  Result<os::UserFault> faults = os::UserFault::open(true, os::FaultDelivery::signal);
  if (!faults.ok()) return faults.status();
  if (buffer_ == nullptr) buffer_ = static_cast<std::byte*>(os::map_memory(kMostUnits * unit_size()));
  if (buffer_ == nullptr) return Status::error(ENOMEM, "no memory for pages that come");
  memory_.emplace(std::move(faults.value()));
  for (const Region* region : regions_->all())
    if (region->watched())
      if (Status status = memory_->faults().add_missing(region->at(), region->units() * unit_size());
          !status.ok())
        return status;
  g_child.store(this);
  return FaultSignal::serve_in_child(
      SIGBUS, [](const os::FaultEvent& event, const sigset_t&) { return g_child.load()->serve(event); });
}

// All signals wait.
bool ForkedChild::serve(const os::FaultEvent& event) {
  const os::NoCancellation whole;
  lock();
  const auto* const at = reinterpret_cast<const std::byte*>(event.address);
  const Region* region = regions_->of(at);
  const bool ours = region != nullptr && region->watched();
  const bool served = ours && fetch(*region, region->unit_of(at));
  unlock();
  if (ours && !served)
    log(LogLevel::error,
        "a page of cluster memory cannot be read in a forked child (pid %d), which ends; does it close "
        "descriptors that it has not opened?",
        os::pid_of_self());
  return served;
}

// Of units that were away together, and the store has all of them or none.
uint64_t ForkedChild::run_of_units(const Region& region, uint64_t unit, uint64_t most) const {
  const bool stored = region.stored(unit);
  const uint64_t end = std::min(region.units(), unit + most);
  uint64_t last = unit;
  while (last < end && region.page(last) == kNoPage && region.stored(last) == stored &&
         !discarded_.has(unit_of(region.address(last))))
    last++;
  return last - unit;
}

bool ForkedChild::fetch(const Region& region, uint64_t unit) {
  std::byte* const at = region.address(unit);
  window_ = at == next_ ? std::min(2 * window_, kMostUnits) : 1;
  uint64_t units = 1;
  bool stored = region.stored(unit);
  if (discarded_.has(unit_of(at))) {
    stored = false;
  } else if (const PageId id = region.page(unit); id == kNoPage) {
    units = run_of_units(region, unit, window_);
  } else if (residency_->page(id).state.resident()) {
    stored = false;  // and absent now: the child discarded it
  }
  if (stored) {
    Slot slot;
    units = slots_->run(region, unit, units, &slot);
    if (!store_->read_aside(slot, static_cast<uint32_t>(units), buffer_)) return false;
    if (!memory_->copy_in(at, buffer_, static_cast<uint32_t>(units), false).ok()) return false;
  } else {
    if (memory_->faults().zero(at, units * unit_size()) != 0) units = 1;  // some are there
    const int error = units > 1 ? 0 : memory_->faults().zero(at, unit_size());
    if (error != 0 && error != EEXIST) return false;
  }
  next_ = at + units * unit_size();
  window_ = units;
  return true;
}

void ForkedChild::discard(std::byte* p, size_t bytes) {
  std::byte* const first = address_of(unit_of(p + unit_size() - 1));
  std::byte* const end = std::max(first, address_of(unit_of(p + bytes)));
  if (first >= p + bytes || end == first) {
    memset(p, 0, bytes);
    return;
  }
  {
    const os::SignalsBlocked alone;
    lock();
    discarded_.unite(unit_of(first), static_cast<uint64_t>(end - first) / unit_size());
    unlock();
  }
  os::discard_unlocked(first, static_cast<size_t>(end - first));
  memset(p, 0, static_cast<size_t>(first - p));
  memset(end, 0, static_cast<size_t>(p + bytes - end));
}

void ForkedChild::bring(const void* p, size_t bytes) {
  const os::NoCancellation whole;
  const os::SignalsBlocked alone;
  lock();
  const std::byte* const end = static_cast<const std::byte*>(p) + bytes;
  for (const std::byte* at = static_cast<const std::byte*>(p); at < end;) {
    const std::byte* to = end;
    const Region* region = regions_->of(at, &to);
    if (region == nullptr || !region->watched()) {
      at = to;
      continue;
    }
    const uint64_t unit = region->unit_of(at);
    uint8_t there = 0;
    // Who changes its root or user may not know what is there any more.
    if (!os::present_page(region->address(unit), &there) || there == 0) (void)fetch(*region, unit);
    at = region->address(unit + 1);
  }
  unlock();
}

}  // namespace tasuki::pager
