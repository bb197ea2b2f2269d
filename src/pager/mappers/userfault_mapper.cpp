// Pages move: userfaultfd with UFFDIO_MOVE. The bytes of a page stay in the physical pages in which they
// arrived; only page table entries change. Measured (64 KiB, 2 cores, AMD EPYC, Linux 6.18): MOVE 2.7 us,
// where UFFDIO_COPY takes 24 and MADV_DONTNEED 6 to 15.
//
// Local memory lives in an arena. A unit of the arena is full (a buffer) or hollow (its physical page is in a
// region at the moment). Taking a buffer makes nothing hollow; mapping it does. As nobody ever touches a
// hollow unit, the arena can be watched like the regions, which UFFDIO_MOVE asks of a destination.
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "os/memory/mapping.h"
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

std::string error_text(const char* what, int error) {
  return std::string("userfaultfd: ") + what + ": " + strerror(error);
}

class UserfaultMapper : public Mapper {
 public:
  UserfaultMapper(os::UserFault faults, bool user_mode_only)
      : regions_(std::move(faults)), user_mode_only_(user_mode_only) {}
  ~UserfaultMapper() override {
    for (const auto& [at, bytes] : arena_) os::unmap(at, bytes);
  }

  std::byte* reserve(size_t bytes, size_t alignment) override { return map_region(bytes, alignment); }
  Status watch(std::byte* at, size_t bytes, uint8_t* present) override {
    return regions_.watch(at, bytes, present);
  }
  void release(std::byte* at, size_t bytes, bool) override { regions_.release(at, bytes); }

  bool take(uint32_t units, Pieces* pieces) override {
    while (full_.total() + fresh_.total() < units)
      if (!grow(units)) return false;
    units = take_units(&full_, units, false, pieces);
    take_units(&fresh_, units, true, pieces);
    return true;
  }
  void give(Pieces* pieces) override { give_units(pieces, &full_); }
  void trim(uint32_t units) override {
    while (units > 0 && full_.total() > 0) {
      uint64_t unit = 0;
      full_.take(1, &unit);
      if (!hollow_out(address_of(unit))) return full_.add(unit, 1);
      hollow_.add(unit, 1);
      units--;
    }
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
    std::byte* from = at;
    while (units > 0) {
      if (hollow_.total() == 0 && !widen(units)) return Status::error(ENOMEM, "no address space for buffers");
      uint64_t first = 0;
      const auto count = static_cast<uint32_t>(hollow_.take(units, &first));
      const uint32_t moved = move_out(address_of(first), from, count);
      if (moved > 0) pieces->push_back({address_of(first), moved, false});
      if (moved < count) {  // one stays, so all of them do
        hollow_.add(first + moved, count - moved);
        const Status back = map(at, pieces, true);
        return back.ok() ? Status::error(EBUSY, "pinned") : back;
      }
      from += count * kUnit;
      units -= count;
    }
    return {};
  }
  Status remap(std::byte* at, Pieces* pieces, bool writable) override { return map(at, pieces, writable); }
  void discard(std::byte*, uint32_t, Pieces* pieces) override { give(pieces); }
  void unprotect(std::byte* at, uint32_t units) override { faults_.protect(at, units * kUnit, false); }

  bool wake(std::byte* at, uint32_t units) override { return regions_.wake(at, units); }

  bool maps_protected() const override { return false; }
  bool serves_kernel() const override { return !user_mode_only_; }
  const char* name() const override {
    return user_mode_only_ ? "userfaultfd (faults of user code), pages moved" : "userfaultfd, pages moved";
  }
  size_t faults(os::FaultEvent* events, size_t max) override { return faults_.read(events, max); }
  int descriptor() const override { return faults_.descriptor(); }

 private:
  // With a unit behind it that nobody uses: runs of different chunks must not join, as UFFDIO_MOVE takes no
  // range across two mappings.
  static std::byte* map_chunk(size_t bytes) {
    std::byte* at = map_region(bytes + kUnit, kUnit);
    if (at != nullptr) prepare_region(at, bytes + kUnit);
    return at;
  }

  // Full units, fresh from the system. Populated before they are watched: the kernel could not serve us a
  // fault of our own.
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
    size_t bytes = (units > 64 * kGrow ? units : 64 * kGrow) * kUnit;
    std::byte* at = map_chunk(bytes);
    if (at == nullptr) at = map_chunk(bytes = units * kUnit);  // a limited address space
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
      const Status one = move_in_one(at + done, p.at + done);
      if (!one.ok()) return one;
      done += kUnit;
    }
    return {};
  }

  // One unit where several could not move.
  Status move_in_one(std::byte* at, std::byte* from) {
    size_t moved = 0;
    int error = faults_.move(at, from, kUnit, &moved);
    if (error == EINVAL) {
      unlock_all();
      error = faults_.move(at, from, kUnit, &moved);
    }
    // Not movable, as the MPI library has registered the buffer with a device: copied.
    const bool copied = error != 0 && error != EEXIST;
    if (copied) error = faults_.copy(at, from, kUnit, false);
    if (error == EEXIST) {  // the program put something there itself: newer than ours
      full_.add(unit_of(from), 1);
      faults_.wake(at, kUnit);
      return {};
    }
    if (error != 0) return Status::error(error, error_text("a page cannot be put in place", error));
    if (copied && !hollow_out(from))
      full_.add(unit_of(from), 1);
    else
      hollow_.add(unit_of(from), 1);
    return {};
  }

  // How many of the units moved before one that cannot.
  uint32_t move_out(std::byte* to, std::byte* from, uint32_t units) {
    const size_t bytes = units * kUnit;
    size_t done = 0;
    while (done < bytes) {
      size_t moved = 0;
      const int error = faults_.move(to + done, from + done, bytes - done, &moved);
      done += moved;
      if (error == 0) break;
      if (!move_out_one(to + done, from + done)) return static_cast<uint32_t>(done / kUnit);
      done += kUnit;
    }
    return units;
  }

  // False: it stays. It is never copied instead: what a device writes to a pinned page (O_DIRECT, io_uring,
  // an MPI library's registered memory), or another process by process_vm_writev, would go to the page that
  // is thrown away.
  bool move_out_one(std::byte* to, std::byte* from) {
    for (int attempt = 0; attempt < 4; attempt++) {
      size_t moved = 0;
      int error = faults_.move(to, from, kUnit, &moved);
      // Nothing there: the program discarded it itself, so it reads as zeros.
      if (error == ENOENT) error = faults_.zero(to, kUnit);
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

  bool hollow_out(std::byte* buffer) {
    if (madvise(buffer, kUnit, MADV_DONTNEED) == 0) return true;
    unlock_all();
    return madvise(buffer, kUnit, MADV_DONTNEED) == 0;
  }

  void unlock_all() {
    regions_.unlock();
    for (const auto& [at, bytes] : arena_) unlock_pages(at, bytes);
  }

  UserfaultRegions regions_;
  os::UserFault& faults_ = regions_.faults();
  bool user_mode_only_;
  RunSet full_, fresh_, hollow_;
  OwnVector<std::pair<std::byte*, size_t>> arena_;
};

// Who serves the faults of the one SigbusMapper that this process has.
std::atomic<FaultServer*> g_server{nullptr};

// The kernel sends SIGBUS, and nobody has to be woken: a thread that faults serves itself.
class SigbusMapper final : public UserfaultMapper {
 public:
  explicit SigbusMapper(os::UserFault faults) : UserfaultMapper(std::move(faults), true) {}
  ~SigbusMapper() override { signal_.stop(); }

  Status start() {
    const auto serve = [](const os::FaultEvent& event, const sigset_t& before) {
      FaultServer* const server = g_server.load();
      return server != nullptr && server->serve_here(event, before);
    };
    return signal_.start(SIGBUS, serve, FaultSignal::Others::wait);
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

Result<std::unique_ptr<Mapper>> make_sigbus_mapper() {
  Result<os::UserFault> faults = open_with_move(true, os::FaultDelivery::signal);
  if (!faults.ok()) return faults.status();
  auto mapper = std::make_unique<SigbusMapper>(std::move(faults.value()));
  const Status started = mapper->start();
  if (!started.ok()) return started;
  return std::unique_ptr<Mapper>(std::move(mapper));
}

}  // namespace tasuki::pager
