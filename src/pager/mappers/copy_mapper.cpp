// userfaultfd where pages cannot move (Linux 5.7 to 6.7): UFFDIO_COPY makes a page appear, write-protected if
// it is only read, all at once. A page leaves in three steps: it is write-protected, so that its bytes stand
// still while threads may go on reading; it is sent from where it is; it is discarded. A thread that writes
// meanwhile waits, and its fault brings the page back (rescue) or, after the discard, fetches it.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "os/memory/mapping.h"
#include "pager/mappers/mapper.h"
#include "pager/mappers/region_memory.h"
#include "pager/run_set.h"

namespace tasuki::pager {
namespace {

class CopyMapper final : public WatchingMapper {
 public:
  CopyMapper(os::UserFault faults, bool user_mode_only) : WatchingMapper(std::move(faults), user_mode_only) {}
  ~CopyMapper() override {
    for (const auto& [at, bytes] : pool_) os::unmap(at, bytes);
  }

  // Buffers are used again and again: only as many exist as are under way at once.
  bool take(uint32_t units, uint64_t, Pieces* pieces) override {
    if (free_.total() < units) {
      const size_t bytes = (units > 512 ? units : 512) * unit_size();
      std::byte* at = map_region(bytes, unit_size());
      if (at == nullptr) return false;
      pool_.emplace_back(at, bytes);
      free_.add(unit_of(at), bytes / unit_size());
    }
    take_units(&free_, units, false, pieces);
    return true;
  }
  void give(Pieces* pieces) override { give_units(pieces, &free_); }

  Status map(std::byte* at, Pieces* pieces, bool writable) override {
    const Status copied = regions_.copy_in(at, *pieces, !writable);
    give(pieces);
    return copied;
  }

  Status unmap(std::byte* at, uint32_t units, Pieces* pieces, bool* changed) override {
    if ((protections_.of(unit_of(at)) & Protections::kRead) == 0)
      return unmap_unreadable(at, units, pieces, changed);
    const int error = faults_.protect(at, units * unit_size(), true);
    if (error != 0)
      return Status::error(error, std::string("userfaultfd: a page cannot be protected: ") + strerror(error));
    // A unit that the program discarded is absent, and reading it would be a fault of our own, which nobody
    // serves. (So it would be if the program discarded it while it is being sent: that is not permitted
    // here.)
    present_.resize(units);
    if (!os::present_pages(at, units * unit_size(), present_.data()))
      return Status::error(EIO, "cannot read /proc/self/pagemap");
    for (uint32_t i = 0; i < units; i++) {
      if (present_[i] != 0) continue;
      faults_.zero(at + i * unit_size(), unit_size());
      faults_.protect(at + i * unit_size(), unit_size(), true);
      *changed = true;
    }
    pieces->push_back({at, units, false});
    return {};
  }
  Status remap(std::byte* at, Pieces* pieces, bool writable) override {
    if (pieces->front().at != at) return map(at, pieces, writable);
    const size_t bytes = units_of(*pieces) * unit_size();
    pieces->clear();
    if (writable)
      faults_.protect(at, bytes, false);
    else
      faults_.wake(at, bytes);
    return {};
  }
  void discard(std::byte* at, uint32_t units, Pieces* pieces) override {
    if (!pieces->empty() && pieces->front().at != at) return give(pieces);
    pieces->clear();
    if (madvise(at, units * unit_size(), MADV_DONTNEED) != 0) {
      // The program locked it: all at once, as every change in the middle of a mapping makes two of it.
      regions_.unlock();
      madvise(at, units * unit_size(), MADV_DONTNEED);
    }
    faults_.wake(at, units * unit_size());
  }
  bool leaves_in_place() const override { return true; }

  bool maps_protected(uint32_t) const override { return true; }
  const char* name() const override {
    return user_mode_only_ ? "userfaultfd (faults of user code), pages copied" : "userfaultfd, pages copied";
  }

 private:
  // Nobody can read it where it is: its pages go elsewhere, one by one, as they may lie in several mappings,
  // and from there into buffers.
  Status unmap_unreadable(std::byte* at, uint32_t units, Pieces* pieces, bool* changed) {
    if (!take(units, 0, pieces)) return Status::error(ENOMEM, "no memory for a page that leaves");
    const std::byte* from = at;
    for (const Piece& p : *pieces)
      for (uint32_t i = 0; i < p.units; i++, from += unit_size()) {
        const Status left = take_unit(const_cast<std::byte*>(from), p.at + i * unit_size(), changed);
        if (left.ok()) continue;
        const Status back =
            put_back(at, *pieces, static_cast<uint32_t>((from - at) / static_cast<ptrdiff_t>(unit_size())));
        give(pieces);
        return back.ok() ? left : back;
      }
    return {};
  }
  Status take_unit(std::byte* at, std::byte* to, bool* changed) {
    auto* const away = static_cast<std::byte*>(os::take_pages(at, unit_size()));
    if (away == nullptr) return Status::error(EBUSY, "too many mappings");
    if (!os::protect(away, unit_size(), PROT_READ | PROT_WRITE)) {
      const bool back = os::remap_over(away, unit_size(), at) && faults_.add(at, unit_size()).ok();
      return Status::error(back ? EBUSY : EIO, "a protected page cannot leave");
    }
    uint8_t there = 0;
    const bool known = os::present_page(away, &there);
    memcpy(to, away, unit_size());
    os::unmap(away, unit_size());
    *changed = *changed || there == 0;
    return known ? Status() : Status::error(EIO, "cannot read /proc/self/pagemap");
  }
  // The first `units` that have left.
  Status put_back(std::byte* at, const Pieces& pieces, uint32_t units) {
    for (const Piece& p : pieces) {
      const uint32_t some = std::min(p.units, units);
      const Status back = regions_.copy_in(at, p.at, some, false);
      if (!back.ok()) return back;
      at += some * unit_size();
      units -= some;
    }
    return {};
  }

  RunSet free_;
  std::vector<std::pair<std::byte*, size_t>> pool_;
  std::vector<uint8_t> present_;
};

}  // namespace

Result<std::unique_ptr<Mapper>> make_copy_mapper(bool user_mode_only) {
  Result<os::UserFault> faults = os::UserFault::open(user_mode_only);
  if (!faults.ok()) return faults.status();
  if (!faults.value().can_protect())
    return Status::error(ENOSYS, "this kernel's userfaultfd cannot write-protect pages (Linux 5.7)");
  return std::unique_ptr<Mapper>(std::make_unique<CopyMapper>(std::move(faults.value()), user_mode_only));
}

}  // namespace tasuki::pager
