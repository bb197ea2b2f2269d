#include "pager/test/fake_memory.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "os/memory/mapping.h"
#include "os/memory/userfault.h"

namespace tasuki::pager {
namespace {

constexpr std::byte kPoison{0xdb};
constexpr auto kHang = std::chrono::seconds(30);  // longer than any test takes

[[noreturn]] void give_up(const std::string& what) {
  fprintf(stderr, "%s\n", what.c_str());
  abort();
}

uintptr_t number(const std::byte* p) {
  return reinterpret_cast<uintptr_t>(p) / unit_size();
}

}  // namespace

FakeMapper::FakeMapper(Style style, uint64_t local_units, uint64_t seed, bool late)
    : style_(style),
      local_(local_units),
      late_(late),
      random_(seed),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

FakeMapper::~FakeMapper() {
  for (const auto& [at, area] : areas_) os::unmap(const_cast<std::byte*>(at), area.bytes);
  for (const auto& [at, units] : buffers_) ::free(at);
}

void FakeMapper::violated(const std::string& what) {
  give_up("the engine used its mapper wrongly: " + what);
}

void FakeMapper::signal() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

FakeMapper::Area* FakeMapper::area_of(const std::byte* at, uint64_t* unit) {
  auto area = areas_.upper_bound(at);
  if (area == areas_.begin()) return nullptr;
  --area;
  if (at >= area->first + area->second.bytes) return nullptr;
  *unit = static_cast<uint64_t>(at - area->first) / unit_size();
  return &area->second;
}

FakeMapper::Right& FakeMapper::right(const std::byte* at) {
  uint64_t unit;
  Area* area = area_of(at, &unit);
  if (area == nullptr || !area->watched) violated("a page outside of what is watched");
  return area->rights[unit];
}

void FakeMapper::wake_range(const std::byte* at, uint32_t units) {
  const uintptr_t first = number(at);
  for (Waiter* w : waiters_)
    if (w->unit >= first && w->unit < first + units) w->woken = true;
  woken_.notify_all();
}

bool FakeMapper::access(std::byte* at, bool write, int thread,
                        const std::function<void(std::byte*)>& access) {
  std::unique_lock lock(mutex_);
  while (true) {
    uint64_t unit;
    Area* area = area_of(at, &unit);
    if (area == nullptr) give_up("the test accesses memory that is not there");
    const int protection = protections_.of(number(at));
    if (write ? (protection & Protections::kWrite) == 0 : protection == Protections::kNone) return false;
    if (!area->watched || area->rights[unit] >= (write ? kWrite : kRead)) {
      access(at);
      return true;
    }
    Waiter waiter{number(at)};
    waiters_.insert(&waiter);
    os::FaultEvent event;
    event.address = reinterpret_cast<uintptr_t>(at);
    event.write = write;
    event.thread = thread;
    events_.push_back(event);
    signal();
    if (!woken_.wait_for(lock, kHang, [&] { return waiter.woken; }))
      give_up("thread " + std::to_string(thread) + " waits for ever for " + (write ? "writing" : "reading") +
              " unit " + std::to_string(unit) + "; " + std::to_string(waiters_.size()) + " threads wait, " +
              std::to_string(events_.size()) + " faults are unread, " + std::to_string(mapped_) +
              " units are mapped, " + std::to_string(taken_) + " in buffers");
    waiters_.erase(&waiter);
  }
}

bool FakeMapper::accessible(const std::byte* at, size_t bytes, bool write) {
  const std::lock_guard lock(mutex_);
  for (uintptr_t n = number(at); n <= number(at + bytes - 1); n++) {
    uint64_t unit;
    const auto* p = reinterpret_cast<const std::byte*>(n * unit_size());
    Area* area = area_of(p, &unit);
    if (area == nullptr || (area->watched && area->rights[unit] < (write ? kWrite : kRead))) return false;
  }
  return true;
}

void FakeMapper::write_if_there(std::byte* at, uint64_t value) {
  if (!accessible(at, 8, true)) return;
  const std::lock_guard lock(mutex_);
  uint64_t unit;
  Area* area = area_of(at, &unit);
  if (area->watched && area->rights[unit] == kWrite) memcpy(at, &value, 8);
}

void FakeMapper::occupy(std::byte* at, uint64_t units, bool on) {
  const std::lock_guard lock(mutex_);
  for (uint64_t i = 0; i < units; i++)
    if (on)
      occupied_.insert(number(at) + i);
    else
      occupied_.erase(number(at) + i);
  most_occupied_ = std::max(most_occupied_, uint64_t{occupied_.size()});
}

uint64_t FakeMapper::held() {
  const std::lock_guard lock(mutex_);
  return mapped_ + taken_;
}

size_t FakeMapper::waiting() {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

std::byte* FakeMapper::reserve(size_t bytes, size_t) {
  const std::lock_guard lock(mutex_);
  auto* at = static_cast<std::byte*>(os::map_memory(bytes));
  if (at == nullptr) return nullptr;
  Area& area = areas_[at];
  area.bytes = bytes;
  os::no_huge_pages(at, bytes);
  return at;
}

Status FakeMapper::watch(std::byte* at, size_t bytes, uint8_t* present) {
  const std::lock_guard lock(mutex_);
  Area& area = areas_.at(at);
  if (area.bytes != bytes || area.watched) violated("watch() of something else than a region");
  if (++watches_ == fail_watch_) return Status::error(ENOMEM, "cannot watch as the test wanted");
  area.watched = true;
  area.rights.resize(bytes / unit_size());
  if (!os::present_pages(at, bytes, present)) violated("/proc/self/pagemap cannot be read");
  for (size_t i = 0; i < bytes / unit_size(); i++) {
    area.rights[i] = present[i] != 0 ? kWrite : kNothing;
    mapped_ += present[i];
  }
  return {};
}

void FakeMapper::release(std::byte* at, size_t bytes, bool watched) {
  const std::lock_guard lock(mutex_);
  const auto found = areas_.find(at);
  if (found == areas_.end() || found->second.bytes != bytes || found->second.watched != watched)
    violated("release() of something else than a region");
  for (const Right r : found->second.rights) mapped_ -= r != kNothing;
  areas_.erase(found);
  os::unmap(at, bytes);
}

// Never in one piece if there is a choice: runs of buffers are the exception after a while.
void FakeMapper::take_locked(uint32_t units, Pieces* pieces) {
  taken_ += units;
  while (units > 0) {
    const auto count = static_cast<uint32_t>(1 + random_() % units);
    auto* at = static_cast<std::byte*>(malloc(count * unit_size()));
    memset(at, static_cast<int>(kPoison), count * unit_size());
    buffers_[at] = count;
    pieces->push_back({at, count, false});
    units -= count;
  }
}

void FakeMapper::give_locked(Pieces* pieces) {
  for (const Piece& p : *pieces) {
    const auto found = buffers_.find(p.at);
    if (found == buffers_.end() || found->second != p.units) violated("gives a buffer that it has not got");
    taken_ -= p.units;
    ::free(p.at);
    buffers_.erase(found);
  }
  pieces->clear();
}

bool FakeMapper::take(uint32_t units, uint64_t in_use, Pieces* pieces) {
  const std::lock_guard lock(mutex_);
  if (in_use != mapped_ + taken_) violated("knows not how much it uses");
  if (mapped_ + taken_ + units > local_ + most_occupied_)
    violated("takes " + std::to_string(units) + " units more than the local memory has");
  take_locked(units, pieces);
  return true;
}

void FakeMapper::give(Pieces* pieces) {
  const std::lock_guard lock(mutex_);
  give_locked(pieces);
}

Status FakeMapper::map(std::byte* at, Pieces* pieces, bool writable) {
  const std::lock_guard lock(mutex_);
  if (!writable && !maps_protected(units_of(*pieces))) violated("maps a page read-only");
  std::byte* to = at;
  for (const Piece& p : *pieces)
    for (uint32_t i = 0; i < p.units; i++, to += unit_size()) {
      Right& r = right(to);
      if (r != kNothing) violated("maps a page that is there");
      r = writable ? kWrite : kRead;
      mapped_++;
      memcpy(to, p.at + i * unit_size(), unit_size());
    }
  give_locked(pieces);
  wake_range(at, static_cast<uint32_t>((to - at) / static_cast<ptrdiff_t>(unit_size())));
  return {};
}

Status FakeMapper::unmap(std::byte* at, uint32_t units, Pieces* pieces, bool*) {
  const std::lock_guard lock(mutex_);
  if (!pieces->empty()) violated("unmap() into pieces that are in use");
  for (uint32_t i = 0; i < units; i++)
    if (occupied_.contains(number(at) + i)) {
      // Some have left and come back.
      for (uint32_t back = 0; style_ == Style::drop && back < i; back++)
        right(at + back * unit_size()) = kWrite;
      return Status::error(EBUSY, "occupied");
    }
  if (style_ == Style::copy) {
    pieces->push_back({at, units, false});
  } else {
    take_locked(units, pieces);
  }
  std::byte* from = at;
  for (const Piece& p : *pieces)
    for (uint32_t i = 0; i < p.units; i++, from += unit_size()) {
      Right& r = right(from);
      if (r == kNothing) violated("unmaps a page that is not there");
      if (style_ == Style::copy) {
        r = kRead;
        continue;
      }
      r = kNothing;
      mapped_--;
      memcpy(p.at + i * unit_size(), from, unit_size());
      memset(from, static_cast<int>(kPoison), unit_size());
    }
  return {};
}

Status FakeMapper::drop(Dropped* pages, size_t count) {
  const std::lock_guard lock(mutex_);
  uint64_t units = 0;
  for (size_t k = 0; k < count; k++) {
    units += pages[k].units;
    pages[k].stays = false;
    for (uint32_t i = 0; i < pages[k].units; i++) {
      std::byte* const at = pages[k].at + i * unit_size();
      if (right(at) != kRead) violated("drops a page that is not read-only");
      right(at) = kNothing;
      memset(at, static_cast<int>(kPoison), unit_size());
    }
  }
  if (units > most_dropped()) violated("drops too many");
  mapped_ -= units;
  dropped_ += units;
  return {};
}

uint64_t FakeMapper::dropped() {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

Status FakeMapper::remap(std::byte* at, Pieces* pieces, bool writable) {
  if (style_ != Style::copy) return map(at, pieces, writable);
  const std::lock_guard lock(mutex_);
  if (pieces->size() != 1 || pieces->front().at != at) violated("remap() of what unmap() did not give");
  for (uint32_t i = 0; i < pieces->front().units; i++) {
    Right& r = right(at + i * unit_size());
    if (r != kRead) violated("remaps a page that has not left");
    if (writable) r = kWrite;
  }
  wake_range(at, pieces->front().units);
  pieces->clear();
  return {};
}

void FakeMapper::discard(std::byte* at, uint32_t units, Pieces* pieces) {
  const std::lock_guard lock(mutex_);
  if (style_ != Style::copy) return give_locked(pieces);
  if (pieces->size() != 1 || pieces->front().at != at || pieces->front().units != units)
    violated("discard() of what unmap() did not give");
  for (uint32_t i = 0; i < units; i++) {
    Right& r = right(at + i * unit_size());
    if (r != kRead) violated("discards a page that has not left");
    r = kNothing;
    mapped_--;
  }
  memset(at, static_cast<int>(kPoison), units * unit_size());
  pieces->clear();
  wake_range(at, units);
}

void FakeMapper::unprotect(std::byte* at, uint32_t units) {
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < units; i++) {
    Right& r = right(at + i * unit_size());
    if (r == kNothing) violated("unprotects a page that is not there");
    r = kWrite;
  }
  wake_range(at, units);
}

bool FakeMapper::wake(std::byte* at, uint32_t units) {
  const std::lock_guard lock(mutex_);
  wake_range(at, units);
  return false;
}

Status FakeMapper::protect(std::byte* at, size_t bytes, int protection) {
  const std::lock_guard lock(mutex_);
  protections_.set(number(at), bytes / unit_size(), protection);
  return {};
}

size_t FakeMapper::faults(os::FaultEvent* events, size_t max) {
  uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  size_t n = 0;
  while (n < max && !events_.empty()) {  // in any order
    std::swap(events_[random_() % events_.size()], events_.back());
    events[n++] = events_.back();
    events_.pop_back();
  }
  if (!events_.empty()) signal();
  return n;
}

Status SlowStore::count() {
  if (static_cast<int64_t>(calls_++) == behaviour_.fail_at)
    return Status::error(EIO, "the store failed as the test wanted");
  return {};
}

Status SlowStore::start(const Transfer& t) {
  if (t.units == 0 || t.slot >= slots_ || t.units > run_limit(t.slot))
    give_up("the engine moves slots that the store does not have in one run");
  for (uint32_t i = 0; i < t.units; i++) {
    if (!moving_.insert(t.slot + i).second) give_up("two transfers of one slot overlap");
    if (t.to != nullptr && !contents_.contains(t.slot + i)) give_up("get() of a slot that was never put");
  }
  transfers_.push_back(t);
  return count();
}

Status SlowStore::get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) {
  fetchers_.insert(static_cast<int>(gettid()));
  return start({slot, units, to, nullptr, ticket});
}

Status SlowStore::put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) {
  return start({slot, units, nullptr, from, ticket});
}

Status SlowStore::release(Slot slot, uint32_t units) {
  if (units == 0 || units > run_limit(slot)) give_up("release() beyond a run");
  for (uint32_t i = 0; i < units; i++) {
    if (moving_.contains(slot + i)) give_up("release() of a slot with a transfer under way");
    contents_.erase(slot + i);
  }
  return {};
}

Status SlowStore::progress(Tickets* completed) {
  if (transfers_.empty()) return {};
  const Status status = count();
  if (!status.ok()) return status;
  for (size_t i = 0; i < transfers_.size();) {
    if (behaviour_.patience > 1 && random_() % behaviour_.patience != 0) {
      i++;
      continue;
    }
    std::swap(transfers_[i], transfers_.back());
    const Transfer t = transfers_.back();
    transfers_.pop_back();
    for (uint32_t k = 0; k < t.units; k++) {
      moving_.erase(t.slot + k);
      if (t.to != nullptr) {
        memcpy(t.to + k * unit_size(), contents_.at(t.slot + k).data(), unit_size());
      } else {
        contents_[t.slot + k].assign(t.from + k * unit_size(), t.from + (k + 1) * unit_size());
      }
    }
    completed->push_back(t.ticket);
  }
  return {};
}

}  // namespace tasuki::pager
