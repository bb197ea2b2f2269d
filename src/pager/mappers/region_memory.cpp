#include "pager/mappers/region_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "os/memory/userfault.h"

namespace tasuki::pager {

std::byte* map_region(size_t bytes, size_t alignment) {
  const size_t extra = alignment > unit_size() ? alignment : 0;
  if (bytes + extra < bytes) return nullptr;
  // Inaccessible at first: after mlockall(MCL_FUTURE) the system would fill all of it at once.
  auto* at = static_cast<std::byte*>(os::reserve(bytes + extra));
  if (at == nullptr) return nullptr;
  os::unlock(at, bytes + extra);
  if (!os::protect(at, bytes + extra, PROT_READ | PROT_WRITE)) {
    os::unmap(at, bytes + extra);
    return nullptr;
  }
  if (extra == 0) return at;
  auto* aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(at) + alignment - 1) & ~(alignment - 1));
  if (aligned > at) os::unmap(at, static_cast<size_t>(aligned - at));
  const auto rest = static_cast<size_t>(at + bytes + extra - (aligned + bytes));
  if (rest > 0) os::unmap(aligned + bytes, rest);
  return aligned;
}

void prepare_region(std::byte* at, size_t bytes) {
  madvise(at, bytes, MADV_NOHUGEPAGE);
  madvise(at, bytes, MADV_DONTFORK);
  madvise(at, bytes, MADV_DONTDUMP);
}

void Mapper::clear(std::byte* at, uint32_t units) {
  os::discard_unlocked(at, units * unit_size());
}

uint32_t take_units(RunSet* free, uint32_t units, bool zero, Pieces* pieces) {
  while (units > 0 && free->total() > 0) {
    uint64_t first = 0;
    const auto count = static_cast<uint32_t>(free->take(units, &first));
    pieces->push_back({address_of(first), count, zero});
    units -= count;
  }
  return units;
}

void give_units(Pieces* pieces, RunSet* free) {
  for (const Piece& p : *pieces) free->add(unit_of(p.at), p.units);
  pieces->clear();
}

Status UserfaultRegions::watch(std::byte* at, size_t bytes, const Protections& protections,
                               uint8_t* present) {
  const auto unreadable = [] { return Status::error(EIO, "cannot read /proc/self/pagemap"); };
  prepare_region(at, bytes);
  if (!os::present_pages(at, bytes, present)) return unreadable();
  for (size_t i = 0; i < bytes / unit_size(); i++)
    if (present[i] != 0 && (protections.of(unit_of(at) + i) & Protections::kWrite) != 0)
      std::atomic_ref(reinterpret_cast<uint8_t&>(at[i * unit_size()])).fetch_or(0);
  const Status added = faults_.add(at, bytes);
  if (!added.ok()) return added;
  if (!os::present_pages(at, bytes, present)) {
    (void)faults_.remove(at, bytes);
    return unreadable();
  }
  watched_[at] = bytes;
  return {};
}

void UserfaultRegions::release(std::byte* at, size_t bytes) {
  watched_.erase(at);
  os::unmap(at, bytes);
  faults_.wake(at, bytes);  // whoever waits there, by a mistake of the program's, gets its SIGSEGV
}

Status UserfaultRegions::forget(std::byte* at, size_t bytes) {
  const Status removed = faults_.remove(at, bytes);
  if (!removed.ok()) return removed;
  watched_.erase(at);
  madvise(at, bytes, MADV_DOFORK);
  madvise(at, bytes, MADV_DODUMP);
  faults_.wake(at, bytes);
  return {};
}

Status UserfaultRegions::copy_in(std::byte* at, const std::byte* from, uint32_t units, bool protect) const {
  const auto failed = [](int error) {
    return Status::error(error,
                         std::string("userfaultfd: a page cannot be put in place: ") + strerror(error));
  };
  for (const std::byte* const end = at + units * unit_size(); at < end;
       at += unit_size(), from += unit_size()) {
    const int error = faults_.copy(at, from, static_cast<size_t>(end - at), protect);
    if (error == 0) break;
    if (error != EEXIST && error != ENOENT) return failed(error);
    // Somewhere in it the program put a unit itself, or it lies in two mappings since the program locked a
    // part: one at a time.
    const int one = faults_.copy(at, from, unit_size(), protect);
    if (one != 0 && one != EEXIST) return failed(one);
    if (one == EEXIST) faults_.wake(at, unit_size());
  }
  return {};
}

Status UserfaultRegions::copy_in(std::byte* at, const Pieces& pieces, bool protect) const {
  for (const Piece& p : pieces) {
    const Status status = copy_in(at, p.at, p.units, protect);
    if (!status.ok()) return status;
    at += p.units * unit_size();
  }
  return {};
}

bool UserfaultRegions::wake(std::byte* at, uint32_t units) {
  bool replaced = false;
  for (uint32_t i = 0; i < units; i++)
    replaced = faults_.zero(at + i * unit_size(), unit_size()) == 0 || replaced;
  faults_.wake(at, units * unit_size());
  return replaced;
}

bool UserfaultRegions::let_inherit(bool on) const {
  for (const auto& [at, bytes] : watched_) madvise(at, bytes, on ? MADV_DOFORK : MADV_DONTFORK);
  return true;
}

void UserfaultRegions::unlock() const {
  for (const auto& [at, bytes] : watched_) os::unlock(at, bytes);
}

void WatchingMapper::release(std::byte* at, size_t bytes, bool) {
  regions_.release(at, bytes);
  protections_.set(unit_of(at), bytes / unit_size(), Protections::kUsual);
}

Status WatchingMapper::forget(std::byte* at, size_t bytes, bool watched) {
  const Status status = watched ? regions_.forget(at, bytes) : Status();
  if (status.ok()) protections_.set(unit_of(at), bytes / unit_size(), Protections::kUsual);
  return status;
}

Status WatchingMapper::protect(std::byte* at, size_t bytes, int protection) {
  static_assert(Protections::kRead == PROT_READ && Protections::kWrite == PROT_WRITE &&
                Protections::kExecute == PROT_EXEC);
  if (!os::protect(at, bytes, protection))
    return Status::error(errno, std::string("mprotect: ") + strerror(errno));
  protections_.set(unit_of(at), bytes / unit_size(), protection);
  return {};
}

}  // namespace tasuki::pager
