// Where userfaultfd is not permitted: SIGSEGV, and a memory file that is mapped twice. A buffer is a stretch
// of the file in a mapping of the pager's own; a page appears when the same stretch is mapped in the region,
// complete; it disappears when it is protected there. The thread that faulted waits inside the signal
// handler, which only writes down the address and sleeps: no MPI, no allocation.
//
// Limits, told by `tasuki doctor`: each resident page is a mapping (vm.max_map_count), a program's own
// SIGSEGV handler must be installed before the pager starts, threads must not block SIGSEGV.
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <map>
#include <string>

#include "os/files/descriptor.h"
#include "os/memory/mapping.h"
#include "os/process/futex.h"
#include "pager/mappers/fault_signal.h"
#include "pager/mappers/mapper.h"
#include "pager/mappers/region_memory.h"
#include "pager/run_set.h"

namespace tasuki::pager {
namespace {

// A thread in the handler. free -> claimed -> posted -> taken -> free; the last step wakes it. Another thread
// may claim the place before the first has seen that, so the state counts its uses in the upper bits, and a
// thread that finds another use than its own goes on. (The thread itself could free its place only when it
// runs: in the handler of another signal, on top, it may need one more first. A refused one does.)
struct Waiter {
  enum : uint32_t { kFree, kClaimed, kPosted, kTaken, kRefused, kPhase = 7, kUse = 8 };
  std::atomic<uint32_t> state{kFree};
  bool is(uint32_t phase) const { return (state.load() & kPhase) == phase; }
  void set(uint32_t phase) { state.store((state.load() & ~uint32_t{kPhase}) | phase); }
  uintptr_t address = 0;
  bool write = false, execute = false;
  int thread = 0;
};

// What the handler looks at.
struct Shared {
  std::array<Waiter, 512> waiters;
  int event = -1;
  // Regions come and go while threads fault: ranges in a table that is only read here.
  struct Range {
    std::atomic<uintptr_t> first{0}, end{0};
  };
  std::array<Range, 4096> ranges;
  std::atomic<uint32_t> range_count{0};
};
Shared shared;

bool watched(uintptr_t address) {
  const uint32_t n = shared.range_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    if (address >= shared.ranges[i].first.load(std::memory_order_acquire) &&
        address < shared.ranges[i].end.load(std::memory_order_acquire))
      return true;
  return false;
}

// The thread that faulted: says so, and sleeps.
bool wait_in_handler(const os::FaultEvent& event, const sigset_t&) {
  if (!watched(event.address)) return false;
  Waiter* mine = nullptr;
  for (size_t i = static_cast<size_t>(event.thread); mine == nullptr; i++) {
    Waiter& w = shared.waiters[i % shared.waiters.size()];
    uint32_t expected = w.state.load();
    if ((expected & Waiter::kPhase) == Waiter::kFree &&
        w.state.compare_exchange_strong(expected, expected | Waiter::kClaimed))
      mine = &w;
    else if ((i - static_cast<size_t>(event.thread)) % shared.waiters.size() == shared.waiters.size() - 1)
      sched_yield();  // all are in use
  }
  mine->address = event.address;
  mine->write = event.write;
  mine->execute = event.execute;
  mine->thread = event.thread;
  const uint32_t use = mine->state.load() & ~uint32_t{Waiter::kPhase};
  mine->set(Waiter::kPosted);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(shared.event, &one, sizeof one);
  // A signal whose handler faults uses a waiter of its own, above this one on the stack.
  for (uint32_t s = mine->state.load(); (s & ~uint32_t{Waiter::kPhase}) == use; s = mine->state.load()) {
    if ((s & Waiter::kPhase) == Waiter::kRefused) {
      mine->state.store(use + Waiter::kUse);  // free
      return false;
    }
    os::futex_wait(&mine->state, s);
  }
  return true;
}

class SignalMapper final : public Mapper {
 public:
  SignalMapper(os::Fd memory, os::Fd event) : memory_(std::move(memory)), event_(std::move(event)) {}
  ~SignalMapper() override {
    signal_.stop();
    shared.range_count.store(0);
    for (const auto& [at, bytes] : pool_) os::unmap(at, bytes);
  }

  Status start() {
    const Status started = signal_.start(SIGSEGV, wait_in_handler, FaultSignal::Others::run);
    if (started.ok()) shared.event = event_.get();
    return started;
  }

  std::byte* reserve(size_t bytes, size_t alignment) override {
    std::byte* at = map_region(bytes, alignment);
    if (at == nullptr) return nullptr;
    os::protect(at, bytes, PROT_NONE);
    prepare_region(at, bytes);
    return at;
  }
  Status watch(std::byte* at, size_t bytes, uint8_t* present) override {
    memset(present, 0, bytes / unit_size());
    uint32_t i = 0;
    const uint32_t n = shared.range_count.load();
    while (i < n && shared.ranges[i].end.load() != 0) i++;
    if (i == shared.ranges.size())
      return Status::error(ENOMEM, "more than 4096 allocations without userfaultfd");
    shared.ranges[i].first.store(reinterpret_cast<uintptr_t>(at));
    shared.ranges[i].end.store(reinterpret_cast<uintptr_t>(at) + bytes);
    if (i == n) shared.range_count.store(n + 1);
    return {};
  }
  void release(std::byte* at, size_t bytes, bool) override {
    for (auto page = mapped_.lower_bound(at); page != mapped_.end() && page->first < at + bytes;
         page = mapped_.erase(page))
      give(&page->second.pieces);
    forget_range(at);
    os::unmap(at, bytes);
    protections_.set(unit_of(at), bytes / unit_size(), Protections::kUsual);
    wake_range(at, bytes);  // whoever waits there, by a mistake of the program's, gets its SIGSEGV
  }

  bool take(uint32_t units, uint64_t, Pieces* pieces) override {
    while (free_.total() < units)
      if (!grow(units)) return false;
    take_units(&free_, units, false, pieces);
    return true;
  }
  void give(Pieces* pieces) override { give_units(pieces, &free_); }

  Status map(std::byte* at, Pieces* pieces, bool writable) override {
    std::byte* to = at;
    for (const Piece& p : *pieces) {
      if (mmap(to, p.units * unit_size(), permitted(at, writable), MAP_SHARED | MAP_FIXED | MAP_POPULATE,
               memory_.get(), offset_of(p.at)) == MAP_FAILED)
        return Status::error(
            errno, std::string("a page cannot be put in place: ") + strerror(errno) +
                       (errno == ENOMEM ? " (vm.max_map_count: larger pages need fewer mappings)" : ""));
      madvise(to, p.units * unit_size(), MADV_DONTFORK);
      to += p.units * unit_size();
    }
    mapped_[at] = {std::move(*pieces), writable};
    pieces->clear();
    wake_range(at, static_cast<size_t>(to - at));
    return {};
  }
  Status unmap(std::byte* at, uint32_t units, Pieces* pieces, bool*) override {
    if (!os::protect(at, units * unit_size(), PROT_NONE))
      return Status::error(errno, std::string("a page cannot be protected: ") + strerror(errno));
    // Pages that were mapped one by one may leave together.
    for (auto page = mapped_.find(at); page != mapped_.end() && page->first < at + units * unit_size();
         page = mapped_.erase(page))
      pieces->insert(pieces->end(), page->second.pieces.begin(), page->second.pieces.end());
    return {};
  }
  Status remap(std::byte* at, Pieces* pieces, bool writable) override {
    size_t bytes = 0;
    for (const Piece& p : *pieces) bytes += p.units * unit_size();
    if (!os::protect(at, bytes, permitted(at, writable)))
      return Status::error(errno, std::string("a page cannot be put back: ") + strerror(errno));
    mapped_[at] = {std::move(*pieces), writable};
    pieces->clear();
    wake_range(at, bytes);
    return {};
  }
  void discard(std::byte* at, uint32_t units, Pieces* pieces) override {
    // As it was reserved, in every flag: only then does the system join it with its neighbours into one
    // mapping.
    mmap(at, units * unit_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    prepare_region(at, units * unit_size());
    give(pieces);
    wake_range(at, units * unit_size());
  }
  void unprotect(std::byte* at, uint32_t units) override {
    os::protect(at, units * unit_size(), permitted(at, true));
    for (auto page = mapped_.lower_bound(at); page != mapped_.end() && page->first < at + units * unit_size();
         page++)
      page->second.writable = true;
    wake_range(at, units * unit_size());
  }
  // What is not there stays inaccessible.
  Status protect(std::byte* at, size_t bytes, int protection) override {
    protections_.set(unit_of(at), bytes / unit_size(), protection);
    for (auto page = mapped_.lower_bound(at); page != mapped_.end() && page->first < at + bytes; page++) {
      const auto& [pieces, writable] = page->second;
      if (!os::protect(page->first, units_of(pieces) * unit_size(), permitted(page->first, writable)))
        return Status::error(errno, std::string("mprotect: ") + strerror(errno));
    }
    return {};
  }
  void split(std::byte* at) override {
    auto page = mapped_.upper_bound(at);
    if (page == mapped_.begin()) return;
    page = std::prev(page);
    auto before = static_cast<uint32_t>(static_cast<size_t>(at - page->first) / unit_size());
    Mapped& whole = page->second;
    if (before == 0 || before >= units_of(whole.pieces)) return;
    Mapped rest{{}, whole.writable};
    size_t i = 0;
    while (before >= whole.pieces[i].units) before -= whole.pieces[i++].units;
    const Piece& torn = whole.pieces[i];
    rest.pieces.push_back({torn.at + before * unit_size(), torn.units - before, torn.zero});
    rest.pieces.insert(rest.pieces.end(), whole.pieces.begin() + static_cast<ptrdiff_t>(i) + 1,
                       whole.pieces.end());
    whole.pieces.resize(before > 0 ? i + 1 : i);
    if (before > 0) whole.pieces[i].units = before;
    mapped_.emplace(at, std::move(rest));
  }
  // Pages are of a file: only a region that has none.
  Status forget(std::byte* at, size_t bytes, bool) override {
    const auto page = mapped_.lower_bound(at);
    if (page != mapped_.end() && page->first < at + bytes)
      return Status::error(EBUSY, "a part of it is here");
    for (uint64_t unit = unit_of(at), end = unit + bytes / unit_size(), next; unit < end; unit = next) {
      for (next = unit + 1; next < end && protections_.of(next) == protections_.of(unit);) next++;
      os::protect(address_of(unit), (next - unit) * unit_size(), protections_.of(unit));
    }
    forget_range(at);
    protections_.set(unit_of(at), bytes / unit_size(), Protections::kUsual);
    wake_range(at, bytes);
    return {};
  }
  // Others may wait for the same page, and be permitted what they want.
  void refuse(const os::FaultEvent& event) override {
    each_waiter(reinterpret_cast<const std::byte*>(event.address), 1, [&](Waiter& w, uint32_t use) {
      if (w.thread == event.thread && w.write == event.write && w.execute == event.execute)
        w.state.store(use | Waiter::kRefused);
    });
  }
  void clear(std::byte* at, uint32_t units) override {
    for (auto page = std::prev(mapped_.upper_bound(at));
         page != mapped_.end() && page->first < at + units * unit_size(); page++) {
      std::byte* to = page->first;
      for (const Piece& p : page->second.pieces)
        for (uint32_t i = 0; i < p.units; i++, to += unit_size())
          if (to >= at && to < at + units * unit_size()) memset(p.at + i * unit_size(), 0, unit_size());
    }
  }
  bool wake(std::byte* at, uint32_t units) override {
    wake_range(at, units * unit_size());
    return false;
  }

  bool maps_protected(uint32_t) const override { return true; }
  bool watches_late() const override { return false; }
  // A page is a mapping or two, if its buffer is in pieces, and so may be what lies between it and the next.
  uint64_t page_limit() const override { return os::mapping_limit() / 4; }
  bool serves_kernel() const override { return false; }
  const char* name() const override { return "SIGSEGV, pages mapped"; }

  size_t faults(os::FaultEvent* events, size_t max) override {
    uint64_t count;
    if (read(event_.get(), &count, sizeof count) != sizeof count) return 0;
    size_t n = 0;
    for (Waiter& w : shared.waiters) {
      if (!w.is(Waiter::kPosted)) continue;
      if (n == max) {
        const uint64_t one = 1;  // the rest next time
        [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
        break;
      }
      events[n].address = w.address;
      events[n].write = w.write;
      events[n].execute = w.execute;
      events[n].thread = w.thread;
      w.set(Waiter::kTaken);
      n++;
    }
    return n;
  }
  int descriptor() const override { return event_.get(); }

 private:
  struct Mapped {
    Pieces pieces;
    bool writable;
  };

  // Of what the program may do there, that by which the pager does not have to hear of it.
  int permitted(const std::byte* at, bool writable) const {
    const int protection = protections_.of(unit_of(at));
    if (writable || (protection & Protections::kWrite) == 0) return protection;
    // Who may write may read, as on the processor: also the kernel, which has no fault of its own served.
    return (protection & ~Protections::kWrite) | Protections::kRead;
  }
  static void forget_range(const std::byte* at) {
    for (auto& range : shared.ranges)
      if (range.first.load() == reinterpret_cast<uintptr_t>(at)) {
        range.end.store(0);
        range.first.store(0);
      }
  }
  bool grow(uint32_t units) {
    const size_t bytes = (units > 512 ? units : 512) * unit_size();
    if (ftruncate(memory_.get(), static_cast<off_t>(size_ + bytes)) != 0) return false;
    void* raw = mmap(nullptr, bytes + unit_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     memory_.get(), static_cast<off_t>(size_));
    if (raw == MAP_FAILED) return false;
    auto* at = static_cast<std::byte*>(raw);
    prepare_region(at, bytes + unit_size());
    pool_.emplace(
        at,
        bytes + unit_size());  // a unit behind it that is never used: runs of different chunks do not join
    offsets_.emplace(at, size_);
    free_.add(unit_of(at), bytes / unit_size());
    size_ += bytes;
    return true;
  }
  off_t offset_of(std::byte* buffer) const {
    const auto chunk = std::prev(offsets_.upper_bound(buffer));
    return static_cast<off_t>(chunk->second + static_cast<size_t>(buffer - chunk->first));
  }
  // All of those that wait there; who still may not go on faults again.
  static void wake_range(const std::byte* at, size_t bytes) {
    each_waiter(at, bytes, [](Waiter& w, uint32_t use) { w.state.store(use + Waiter::kUse); });  // free
  }
  // Changes the state, whatever it is used for, of those that wait there, and wakes them.
  template <class Change>
  static void each_waiter(const std::byte* at, size_t bytes, const Change& change) {
    const auto first = reinterpret_cast<uintptr_t>(at);
    for (Waiter& w : shared.waiters) {
      if (!w.is(Waiter::kTaken) || w.address < first || w.address >= first + bytes) continue;
      change(w, w.state.load() & ~uint32_t{Waiter::kPhase});
      os::futex_wake(&w.state, INT_MAX);  // one that claimed it meanwhile may wait there too
    }
  }

  os::Fd memory_, event_;
  size_t size_ = 0;
  RunSet free_;
  std::map<std::byte*, size_t> pool_, offsets_;
  std::map<std::byte*, Mapped> mapped_;
  FaultSignal signal_;
};

}  // namespace

Result<std::unique_ptr<Mapper>> make_signal_mapper() {
  os::Fd memory(memfd_create("tasuki-pager", MFD_CLOEXEC)), event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!memory.valid() || !event.valid())
    return Status::error(errno, std::string("a memory file for pages: ") + strerror(errno));
  auto mapper = std::make_unique<SignalMapper>(std::move(memory), std::move(event));
  const Status started = mapper->start();
  if (!started.ok()) return started;
  return std::unique_ptr<Mapper>(std::move(mapper));
}

}  // namespace tasuki::pager
