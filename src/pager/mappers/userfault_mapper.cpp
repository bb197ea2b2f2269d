// Pages move: userfaultfd with UFFDIO_MOVE. The bytes of a page stay in the physical pages in which they
// arrived; only page table entries change. Measured (64 KiB, 2 cores, AMD EPYC, Linux 6.18): MOVE 2.7 us,
// where UFFDIO_COPY takes 24 and MADV_DONTNEED 6 to 15.
//
// Local memory lives in an arena. A unit of the arena is full (a buffer) or hollow (its physical page is in a
// region at the moment). Taking a buffer makes nothing hollow; mapping it does. As nobody ever touches a
// hollow unit, the arena can be watched like the regions, which UFFDIO_MOVE asks of a destination.
//
// A small page is copied instead (sigbus): write-protected if it is only read, and changed with others
// while it is clean. Its physical page is not one of the arena's, so buffers become too many: trim().
//
// UFFDIO_MOVE takes no page to or from memory with another protection than the arena's. What the program has
// protected is therefore copied in; to leave, its pages change their address by mremap, are made writable
// there, where nobody knows of them, and move on.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "os/memory/mapping.h"
#include "os/memory/scattered.h"
#include "pager/mappers/fault_signal.h"
#include "pager/mappers/mapper.h"
#include "pager/mappers/region_memory.h"
#include "pager/run_set.h"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif

namespace tasuki::pager {
namespace {

constexpr uint32_t kGrow = 512;  // units that the arena grows by at least
// A page up to so many units is copied into its place: 1.5 us for each of them, where a MOVE takes 2.5 us for
// all of them and another one when the page leaves.
constexpr uint32_t kMostCopied = 4;
constexpr uint32_t kMostDropped = os::Scattered::kMost;

std::string error_text(const char* what, int error) {
  return std::string("userfaultfd: ") + what + ": " + strerror(error);
}

class UserfaultMapper : public WatchingMapper {
 public:
  // With `scattered` small pages are copied, and dropped together while they are clean.
  UserfaultMapper(os::UserFault faults, bool user_mode_only, std::optional<os::Scattered> scattered = {})
      : WatchingMapper(std::move(faults), user_mode_only), scattered_(std::move(scattered)) {}
  ~UserfaultMapper() override {
    for (const auto& [at, bytes] : arena_) os::unmap(at, bytes);
  }

  bool take(uint32_t units, uint64_t in_use, Pieces* pieces) override {
    // Units that are hollow although no page has theirs, since buffers were trimmed or a region was freed,
    // are filled again, or the arena would grow for ever.
    while (full_.total() + fresh_.total() < units)
      if (!(grown_ >= in_use + units && refill(units)) && !grow(units)) return false;
    units = take_units(&full_, units, false, pieces);
    take_units(&fresh_, units, true, pieces);
    return true;
  }
  void give(Pieces* pieces) override { give_units(pieces, &full_); }
  void trim(uint64_t units) override {
    while (units > 0 && full_.total() > 0) {
      size_t count = 0;
      for (; count < extents_.size() && units > 0 && full_.total() > 0; count++) {
        uint64_t first = 0;
        const uint64_t taken = full_.take(units, &first);
        extents_[count] = {address_of(first), taken * unit_size()};
        units -= taken;
      }
      const size_t gone = discard_together(count);
      for (size_t i = 0; i < count; i++) {
        RunSet& set = i < gone ? hollow_ : full_;
        set.add(unit_of(static_cast<std::byte*>(extents_[i].at)), extents_[i].bytes / unit_size());
      }
      if (gone < count) return;
    }
  }

  Status map(std::byte* at, Pieces* pieces, bool writable) override {
    const bool small = copies(units_of(*pieces));
    if (!small && protections_.usual(unit_of(at))) return move_in(at, pieces);
    const Status copied = regions_.copy_in(at, *pieces, small && !writable);
    give(pieces);  // the buffers stay as they are
    return copied;
  }

  Status unmap(std::byte* at, uint32_t units, Pieces* pieces, bool* changed) override {
    if (!protections_.usual(unit_of(at))) return unmap_protected(at, units, pieces, changed);
    const Status left = move_out(at, units, pieces, changed);
    if (left.err() != EBUSY) return left;
    const Status back = map(at, pieces, true);
    return back.ok() ? left : back;
  }
  Status remap(std::byte* at, Pieces* pieces, bool writable) override { return map(at, pieces, writable); }

  bool places(uint32_t units) const override { return copies(units); }

  uint32_t most_dropped() const override { return scattered_ ? kMostDropped : 0; }
  Status drop(Dropped* pages, size_t count) override {
    size_t units = 0, going = 0;
    for (size_t i = 0; i < count; i++)
      for (uint32_t u = 0; u < pages[i].units; u++) units_[units++] = pages[i].at + u * unit_size();
    if (!os::scattered_present(units_.data(), units, present_.data()))
      return Status::error(EIO, "cannot read /proc/self/pagemap");
    for (size_t i = 0, first = 0; i < count; first += pages[i++].units) {
      pages[i].stays = std::count(&present_[first], &present_[first] + pages[i].units, 0) > 0;
      if (!pages[i].stays) extents_[going++] = {pages[i].at, pages[i].units * unit_size()};
    }
    if (discard_together(going) == going) return {};
    return Status::error(errno, error_text("a page cannot be changed", errno));
  }
  void discard(std::byte*, uint32_t, Pieces* pieces) override { give(pieces); }

  Status protect(std::byte* at, size_t bytes, int protection) override {
    forked_ = true;  // what cannot be written to was not made this process's own
    return WatchingMapper::protect(at, bytes, protection);
  }
  bool let_inherit(bool on) override {
    forked_ = true;
    return WatchingMapper::let_inherit(on);
  }

  bool maps_protected(uint32_t units) const override { return copies(units); }
  uint64_t free_units() const override { return full_.total() + fresh_.total(); }
  const char* name() const override {
    return user_mode_only_ ? "userfaultfd (faults of user code), pages moved" : "userfaultfd, pages moved";
  }

 private:
  bool copies(uint32_t units) const { return scattered_ && units <= kMostCopied; }

  // With a unit behind it that nobody uses: runs of different chunks must not join, as UFFDIO_MOVE takes no
  // range across two mappings.
  static std::byte* map_chunk(size_t bytes) {
    std::byte* at = map_region(bytes + unit_size(), unit_size());
    if (at != nullptr) prepare_region(at, bytes + unit_size());
    return at;
  }

  // Full units, fresh from the system. Populated before they are watched: the kernel could not serve us a
  // fault of our own.
  bool grow(uint32_t units) {
    const size_t bytes = (units > kGrow ? units : kGrow) * unit_size();
    std::byte* at = map_chunk(bytes);
    if (at == nullptr) return false;
    if (madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
      if (errno != EINVAL) {  // out of memory
        os::unmap(at, bytes + unit_size());
        return false;
      }
      for (size_t i = 0; i < bytes; i += unit_size()) const_cast<volatile std::byte&>(at[i]) = std::byte{0};
    }
    if (!faults_.add_missing(at, bytes).ok()) {
      os::unmap(at, bytes + unit_size());
      return false;
    }
    arena_.emplace_back(at, bytes + unit_size());
    fresh_.add(unit_of(at), bytes / unit_size());
    grown_ += bytes / unit_size();
    return true;
  }

  // Some hollow units are pages of zeros again, which get memory as they are written.
  bool refill(uint32_t units) {
    if (hollow_.total() == 0) return false;
    uint64_t first = 0;
    const uint64_t count = hollow_.take(units, &first);
    const bool filled = faults_.zero(address_of(first), count * unit_size()) == 0;
    (filled ? fresh_ : hollow_).add(first, count);
    return filled;
  }

  // Hollow units: only address space.
  bool widen(uint32_t units) {
    size_t bytes = (units > 64 * kGrow ? units : 64 * kGrow) * unit_size();
    std::byte* at = map_chunk(bytes);
    if (at == nullptr) at = map_chunk(bytes = units * unit_size());  // a limited address space
    if (at == nullptr) return false;
    if (!faults_.add_missing(at, bytes).ok()) {
      os::unmap(at, bytes + unit_size());
      return false;
    }
    arena_.emplace_back(at, bytes + unit_size());
    hollow_.add(unit_of(at), bytes / unit_size());
    return true;
  }

  Status move_in(std::byte* at, Pieces* pieces) {
    for (const Piece& p : *pieces) {
      const Status moved = move_in(at, p);
      if (!moved.ok()) return moved;
      at += p.units * unit_size();
    }
    pieces->clear();
    return {};
  }

  Status move_in(std::byte* at, const Piece& p) {
    const size_t bytes = p.units * unit_size();
    size_t done = 0;
    while (done < bytes) {
      size_t moved = 0;
      const int error = faults_.move(at + done, p.at + done, bytes - done, &moved);
      hollow_.add(unit_of(p.at + done), moved / unit_size());
      done += moved;
      if (error == 0) break;
      const Status one = move_in_one(at + done, p.at + done);
      if (!one.ok()) return one;
      done += unit_size();
    }
    return {};
  }

  // One unit where several could not move.
  Status move_in_one(std::byte* at, std::byte* from) {
    size_t moved = 0;
    int error = faults_.move(at, from, unit_size(), &moved);
    if (error == EINVAL) {
      unlock_all();
      error = faults_.move(at, from, unit_size(), &moved);
    }
    // Not movable, as the MPI library has registered the buffer with a device: copied.
    const bool copied = error != 0 && error != EEXIST;
    if (copied) error = faults_.copy(at, from, unit_size(), false);
    if (error == EEXIST) {  // the program put something there itself: newer than ours
      full_.add(unit_of(from), 1);
      faults_.wake(at, unit_size());
      return {};
    }
    if (error != 0) return Status::error(error, error_text("a page cannot be put in place", error));
    if (copied && !hollow_out(from))
      full_.add(unit_of(from), 1);
    else
      hollow_.add(unit_of(from), 1);
    return {};
  }

  // EBUSY: one of them stays; *pieces are those before it.
  Status move_out(std::byte* from, uint32_t units, Pieces* pieces, bool* changed) {
    while (units > 0) {
      if (hollow_.total() == 0 && !widen(units)) return Status::error(ENOMEM, "no address space for buffers");
      uint64_t first = 0;
      const auto count = static_cast<uint32_t>(hollow_.take(units, &first));
      const uint32_t moved = move_out(address_of(first), from, count, changed);
      if (moved > 0) pieces->push_back({address_of(first), moved, false});
      if (moved < count) {
        hollow_.add(first + moved, count - moved);
        return Status::error(EBUSY, "pinned");
      }
      from += count * unit_size();
      units -= count;
    }
    return {};
  }

  // mremap takes pages of one mapping only: if that fails, one after the other.
  Status unmap_protected(std::byte* at, uint32_t units, Pieces* pieces, bool* changed) {
    if (std::byte* const away = take_away(at, units)) return leave_by(away, units, at, pieces, changed);
    for (uint32_t i = 0; i < units; i++) {
      Pieces one;
      std::byte* const away = take_away(at + i * unit_size(), 1);
      const Status left = away != nullptr ? leave_by(away, 1, at + i * unit_size(), &one, changed)
                                          : Status::error(EBUSY, "too many mappings");
      if (left.ok()) {
        pieces->push_back(one.front());
        continue;
      }
      const Status back = left.err() == EBUSY ? regions_.copy_in(at, *pieces, false) : left;
      give(pieces);
      return back.ok() ? left : back;
    }
    return {};
  }
  static std::byte* take_away(std::byte* at, uint32_t units) {
    return static_cast<std::byte*>(os::take_pages(at, units * unit_size()));
  }

  // By the address where take_away() has put them.
  Status leave_by(std::byte* away, uint32_t units, std::byte* at, Pieces* pieces, bool* changed) {
    const size_t bytes = units * unit_size();
    os::unlock(away, bytes);
    const Status left = os::protect(away, bytes, PROT_READ | PROT_WRITE)
                            ? move_out(away, units, pieces, changed)
                            : Status::error(EBUSY, "too many mappings");
    if (left.err() == EBUSY) return put_back(away, bytes, at, pieces);
    os::unmap(away, bytes);
    return left;
  }

  // What leave_by() has begun, when one of the units stays. EBUSY if nothing is lost.
  Status put_back(std::byte* away, size_t bytes, std::byte* at, Pieces* pieces) {
    Status back = pieces->empty() ? Status() : faults_.add_missing(away, bytes);
    if (back.ok()) back = move_in(away, pieces);
    if (back.ok() &&
        !(os::protect(away, bytes, protections_.of(unit_of(at))) && os::remap_over(away, bytes, at)))
      back = Status::error(EIO, error_text("a protected page cannot be put back", errno));
    if (back.ok()) back = faults_.add(at, bytes);
    return back.ok() ? Status::error(EBUSY, "pinned") : back;
  }

  // How many of the units moved before one that cannot.
  uint32_t move_out(std::byte* to, std::byte* from, uint32_t units, bool* changed) {
    const size_t bytes = units * unit_size();
    size_t done = 0;
    while (done < bytes) {
      size_t moved = 0;
      const int error = faults_.move(to + done, from + done, bytes - done, &moved);
      done += moved;
      if (error == 0) break;
      if (!move_out_one(to + done, from + done, changed)) return static_cast<uint32_t>(done / unit_size());
      done += unit_size();
    }
    return units;
  }

  // False: it stays. It is never copied instead: what a device writes to a pinned page (O_DIRECT, io_uring,
  // an MPI library's registered memory), or another process by process_vm_writev, would go to the page that
  // is thrown away.
  bool move_out_one(std::byte* to, std::byte* from, bool* changed) {
    for (int attempt = 0; attempt < 4; attempt++) {
      size_t moved = 0;
      int error = faults_.move(to, from, unit_size(), &moved);
      if (error == EBUSY && attempt == 0 && unshare(from, changed)) continue;
      // Nothing there: the program changed it itself, so it reads as zeros.
      if (error == ENOENT) {
        error = faults_.zero(to, unit_size());
        *changed = true;
      }
      if (error == 0) return true;
      if (error == EEXIST)  // mlockall filled the place with zeros
        hollow_out(to);
      else if (error == EINVAL)  // one of the two is locked, or the units are not of one mapping any more
        unlock_all();
      else
        return false;
    }
    return false;
  }

  // A page that a forked child has or had as well counts as pinned until somebody writes to it. Populating it
  // is such a write, and changes nothing; but the program may write then, too, where the page was protected.
  // It must be there: nobody would serve a fault of ours.
  bool unshare(std::byte* page, bool* changed) {
    uint8_t there = 0;
    if (!forked_ || !os::present_page(page, &there) || there == 0) return false;
    if (scattered_) {
      *changed = true;
      faults_.protect(page, unit_size(), false);
    }
    return madvise(page, unit_size(), MADV_POPULATE_WRITE) == 0;
  }

  // Of extents_; how many are gone.
  size_t discard_together(size_t count) {
    size_t i = scattered_ ? scattered_->discard(extents_.data(), count) : 0;
    while (i < count && discard_memory(extents_[i].at, extents_[i].bytes)) i++;
    return i;
  }

  bool hollow_out(std::byte* buffer) { return discard_memory(buffer, unit_size()); }

  bool discard_memory(void* at, size_t bytes) {
    if (madvise(at, bytes, MADV_DONTNEED) == 0) return true;
    unlock_all();
    return madvise(at, bytes, MADV_DONTNEED) == 0;
  }

  void unlock_all() {
    regions_.unlock();
    for (const auto& [at, bytes] : arena_) os::unlock(at, bytes);
  }

  bool forked_ = false;  // the process has children that may share its pages
  std::optional<os::Scattered> scattered_;
  RunSet full_, fresh_, hollow_;
  uint64_t grown_ = 0;  // units that had memory from the beginning
  // Of drop() and trim(), in no stack: alternate stacks for signals may have 8 KiB.
  std::array<os::Extent, os::Scattered::kMost> extents_;
  std::array<void*, kMostDropped> units_;
  std::array<uint8_t, kMostDropped> present_;
  OwnVector<std::pair<std::byte*, size_t>> arena_;
};

// Who serves the faults of the one SigbusMapper that this process has.
std::atomic<FaultServer*> g_server{nullptr};

// The kernel sends SIGBUS, and nobody has to be woken: a thread that faults serves itself.
class SigbusMapper final : public UserfaultMapper {
 public:
  SigbusMapper(os::UserFault faults, std::optional<os::Scattered> scattered)
      : UserfaultMapper(std::move(faults), true, std::move(scattered)) {}
  ~SigbusMapper() override { signal_.stop(); }

  Status start(bool own_stack) {
    const auto stack = own_stack ? FaultSignal::Stack::own : FaultSignal::Stack::alternate;
    const auto serve = [](const os::FaultEvent& event, const sigset_t& before) {
      FaultServer* const server = g_server.load();
      return server != nullptr && server->serve_here(event, before);
    };
    return signal_.start(SIGBUS, serve, FaultSignal::Others::wait, stack);
  }

  bool serve_by(FaultServer* server) override {
    g_server.store(server);
    return true;
  }
  const char* name() const override { return "userfaultfd (SIGBUS), pages moved by the thread that faults"; }
  size_t faults(os::FaultEvent*, size_t) override { return 0; }
  int descriptor() const override { return -1; }

 private:
  FaultSignal signal_;
};

Result<os::UserFault> open_with_move(bool user_mode_only, os::FaultDelivery delivery) {
  Result<os::UserFault> faults = os::UserFault::open(user_mode_only, delivery);
  if (faults.ok() && !faults.value().can_move())
    return Status::error(ENOSYS, "this kernel cannot move pages (UFFDIO_MOVE, Linux 6.8)");
  return faults;
}

}  // namespace

Result<std::unique_ptr<Mapper>> make_userfault_mapper(bool user_mode_only) {
  Result<os::UserFault> faults = open_with_move(user_mode_only, os::FaultDelivery::message);
  if (!faults.ok()) return faults.status();
  return std::unique_ptr<Mapper>(
      std::make_unique<UserfaultMapper>(std::move(faults.value()), user_mode_only));
}

Result<std::unique_ptr<Mapper>> make_sigbus_mapper(bool own_stack) {
  Result<os::UserFault> faults = open_with_move(true, os::FaultDelivery::signal);
  if (!faults.ok()) return faults.status();
  std::optional<os::Scattered> scattered;
  if (faults.value().can_protect()) {
    Result<os::Scattered> opened = os::Scattered::open();
    if (opened.ok()) scattered = std::move(opened.value());
  }
  auto mapper = std::make_unique<SigbusMapper>(std::move(faults.value()), std::move(scattered));
  const Status started = mapper->start(own_stack);
  if (!started.ok()) return started;
  return std::unique_ptr<Mapper>(std::move(mapper));
}

}  // namespace tasuki::pager
