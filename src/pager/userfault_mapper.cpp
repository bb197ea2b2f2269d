// Pages move: userfaultfd with UFFDIO_MOVE. The bytes of a page stay in the physical pages in which they arrived; only
// page table entries change. Measured (64 KiB, 2 cores, AMD EPYC, Linux 6.18): MOVE 2.7 us, where UFFDIO_COPY takes 24 and
// MADV_DONTNEED 6 to 15.
//
// Local memory lives in an arena. A unit of the arena is full (a buffer) or hollow (its physical page is in a region at the
// moment). Taking a buffer makes nothing hollow; mapping it does. As nobody ever touches a hollow unit, the arena can be watched
// like the regions, which UFFDIO_MOVE asks of a destination.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "os/mapping.h"
#include "pager/mapper.h"
#include "pager/region_memory.h"
#include "pager/run_set.h"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace tasuki::pager {
namespace {

constexpr uint32_t kGrow = 512;  // units that the arena grows by at least

std::string error_text(const char* what, int error) {
  return std::string("userfaultfd: ") + what + ": " + strerror(error);
}

class UserfaultMapper final : public Mapper {
 public:
  UserfaultMapper(os::UserFault faults, bool user_mode_only)
      : faults_(std::move(faults)), user_mode_only_(user_mode_only) {}
  ~UserfaultMapper() override {
    for (const auto& [at, bytes] : arena_) os::unmap(at, bytes);
  }

  std::byte* reserve(size_t bytes, size_t alignment) override { return map_region(bytes, alignment); }
  Status watch(std::byte* at, size_t bytes, uint8_t* present) override {
    prepare_region(at, bytes);
    const Status added = faults_.add(at, bytes);
    if (!added.ok()) return added;
    if (!os::present_pages(at, bytes, present)) return Status::error(EIO, "cannot read /proc/self/pagemap");
    return {};
  }
  // Whoever waits there, by a mistake of the program's, gets its SIGSEGV.
  void release(std::byte* at, size_t bytes, bool) override {
    os::unmap(at, bytes);
    faults_.wake(at, bytes);
  }

  bool take(uint32_t units, Pieces* pieces) override {
    while (full_.total() + fresh_.total() < units)
      if (!grow(units)) return false;
    take_from(&full_, &units, false, pieces);
    take_from(&fresh_, &units, true, pieces);
    return true;
  }
  void give(Pieces* pieces) override {
    for (const Piece& p : *pieces) full_.add(unit_of(p.at), p.units);
    pieces->clear();
  }

  Status map(std::byte* at, Pieces* pieces, bool) override {
    for (const Piece& p : *pieces) {
      const Status moved = move_in(at, p);
      if (!moved.ok()) return moved;
      at += p.units * kUnit;
    }
    pieces->clear();
    return {};
  }

  Status unmap(std::byte* at, uint32_t units, Pieces* pieces, bool*) override {
    while (units > 0) {
      if (hollow_.total() == 0 && !widen(units)) return Status::error(ENOMEM, "no address space for buffers");
      uint64_t first = 0;
      const auto count = static_cast<uint32_t>(hollow_.take(units, &first));
      std::byte* to = address_of(first);
      size_t done = 0;
      while (done < count * kUnit) {
        size_t moved = 0;
        const int error = faults_.move(to + done, at + done, count * kUnit - done, &moved);
        done += moved;
        if (error == 0) break;
        const Status copied = copy_out(to + done, at + done, error);
        if (!copied.ok()) return copied;
        done += kUnit;
      }
      pieces->push_back({to, count, false});
      at += count * kUnit;
      units -= count;
    }
    return {};
  }
  Status remap(std::byte* at, Pieces* pieces, bool writable) override { return map(at, pieces, writable); }
  void discard(std::byte*, uint32_t, Pieces* pieces) override { give(pieces); }
  void unprotect(std::byte* at, uint32_t units) override { faults_.protect(at, units * kUnit, false); }

  bool wake(std::byte* at, uint32_t units) override {
    bool replaced = false;
    for (uint32_t i = 0; i < units; i++) replaced = faults_.zero(at + i * kUnit, kUnit) == 0 || replaced;
    faults_.wake(at, units * kUnit);
    return replaced;
  }

  bool maps_protected() const override { return false; }
  bool serves_kernel() const override { return !user_mode_only_; }
  const char* name() const override {
    return user_mode_only_ ? "userfaultfd (faults of user code), pages moved" : "userfaultfd, pages moved";
  }
  size_t faults(os::FaultEvent* events, size_t max) override { return faults_.read(events, max); }
  int descriptor() const override { return faults_.descriptor(); }

 private:
  static void take_from(RunSet* set, uint32_t* units, bool zero, Pieces* pieces) {
    while (*units > 0 && set->total() > 0) {
      uint64_t first = 0;
      const auto count = static_cast<uint32_t>(set->take(*units, &first));
      pieces->push_back({address_of(first), count, zero});
      *units -= count;
    }
  }

  // With a unit behind it that nobody uses: runs of different chunks must not join, as UFFDIO_MOVE takes no range across two mappings.
  static std::byte* map_chunk(size_t bytes) {
    std::byte* at = map_region(bytes + kUnit, kUnit);
    if (at != nullptr) prepare_region(at, bytes + kUnit);
    return at;
  }

  // Full units, fresh from the system. Populated before they are watched: the kernel could not serve us a fault of our own.
  bool grow(uint32_t units) {
    const size_t bytes = (units > kGrow ? units : kGrow) * kUnit;
    std::byte* at = map_chunk(bytes);
    if (at == nullptr) return false;
    if (madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
      if (errno != EINVAL) {  // out of memory
        os::unmap(at, bytes + kUnit);
        return false;
      }
      for (size_t i = 0; i < bytes; i += kUnit) const_cast<volatile std::byte&>(at[i]) = std::byte{0};
    }
    if (!faults_.add(at, bytes).ok()) {
      os::unmap(at, bytes + kUnit);
      return false;
    }
    arena_.emplace_back(at, bytes + kUnit);
    fresh_.add(unit_of(at), bytes / kUnit);
    return true;
  }

  // Hollow units: only address space.
  bool widen(uint32_t units) {
    const size_t bytes = (units > 64 * kGrow ? units : 64 * kGrow) * kUnit;
    std::byte* at = map_chunk(bytes);
    if (at == nullptr) return false;
    if (!faults_.add(at, bytes).ok()) {
      os::unmap(at, bytes + kUnit);
      return false;
    }
    arena_.emplace_back(at, bytes + kUnit);
    hollow_.add(unit_of(at), bytes / kUnit);
    return true;
  }

  Status move_in(std::byte* at, const Piece& p) {
    const size_t bytes = p.units * kUnit;
    size_t done = 0;
    while (done < bytes) {
      size_t moved = 0;
      const int error = faults_.move(at + done, p.at + done, bytes - done, &moved);
      hollow_.add(unit_of(p.at + done), moved / kUnit);
      done += moved;
      if (error == 0) break;
      if (error == EEXIST) {  // the program put something there itself: newer than ours
        full_.add(unit_of(p.at + done), 1);
        faults_.wake(at + done, kUnit);
      } else {
        // Not movable (shared with a child of fork, pinned by a device): copy.
        const int failed = faults_.copy(at + done, p.at + done, kUnit, false);
        if (failed != 0) return Status::error(failed, error_text("a page cannot be put in place", failed));
        madvise(p.at + done, kUnit, MADV_DONTNEED);
        hollow_.add(unit_of(p.at + done), 1);
      }
      done += kUnit;
    }
    return {};
  }

  // One unit that cannot move. Protected first: a thread that writes meanwhile waits, then faults on the absent unit.
  Status copy_out(std::byte* to, std::byte* from, int why) {
    if (why == ENOENT) {  // nothing there: the program discarded it itself, so it reads as zeros
      const int failed = faults_.zero(to, kUnit);
      return failed == 0 ? Status() : Status::error(failed, error_text("an absent page", failed));
    }
    int failed = faults_.protect(from, kUnit, true);
    if (failed == 0) failed = faults_.copy(to, from, kUnit, false);
    if (failed != 0)
      return Status::error(failed, error_text("a page can be neither moved nor copied", failed));
    madvise(from, kUnit, MADV_DONTNEED);
    faults_.wake(from, kUnit);
    return {};
  }

  os::UserFault faults_;
  bool user_mode_only_;
  RunSet full_, fresh_, hollow_;
  std::vector<std::pair<std::byte*, size_t>> arena_;
};

}  // namespace

Result<std::unique_ptr<Mapper>> make_userfault_mapper(bool user_mode_only) {
  Result<os::UserFault> faults = os::UserFault::open(user_mode_only);
  if (!faults.ok()) return faults.status();
  if (!faults.value().can_move())
    return Status::error(ENOSYS, "this kernel cannot move pages (UFFDIO_MOVE, Linux 6.8)");
  return std::unique_ptr<Mapper>(
      std::make_unique<UserfaultMapper>(std::move(faults.value()), user_mode_only));
}

}  // namespace tasuki::pager
