#include "pager/core/engine.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "base/log.h"
#include "os/signals.h"

namespace tasuki::pager {

double seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

namespace {

// How long the engine looks for the next fault before it sleeps: a woken thread costs the program more than that.
constexpr double kSpin = 50e-6;

// A thread of the program that holds a lock of the engine. A handler of a signal may come here too (by a system call on cluster memory),
// and would wait for its own thread: signals wait until the lock is free, except those that the thread brings about itself.
class Undisturbed : os::SignalsBlocked {
 public:
  Undisturbed() : SignalsBlocked(os::Blocked::all_but_faults) {}
};

// A thread that is cancelled ends behind this, not in it: others refer to what is on its stack.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

struct Way {
  const char* name;
  bool serves_kernel;
  Faults faults;  // that asks for it
  std::function<Result<std::unique_ptr<Mapper>>()> make;
};
const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"userfaultfd, pages moved", true, Faults::userfault, [] { return make_userfault_mapper(false); }},
      {"userfaultfd, pages copied", true, Faults::userfault, [] { return make_copy_mapper(false); }},
      {"userfaultfd (faults of user code), pages moved", false, Faults::userfault_user_mode,
       [] { return make_userfault_mapper(true); }},
      {"userfaultfd (faults of user code), pages copied", false, Faults::userfault_user_mode,
       [] { return make_copy_mapper(true); }},
      {"SIGSEGV, pages mapped", false, Faults::signal, [] { return make_signal_mapper(); }},
  };
  return all;
}

// The first way that works; the error is the first one's.
Result<std::unique_ptr<Mapper>> make_mapper(Faults faults) {
  if (faults == Faults::userfault_copy) return make_copy_mapper(false);
  Status refused;
  for (const Way& way : ways()) {
    if (faults != Faults::automatic && faults != way.faults) continue;
    Result<std::unique_ptr<Mapper>> mapper = way.make();
    if (mapper.ok()) return mapper;
    if (refused.ok()) refused = mapper.status();
  }
  return refused;
}

}  // namespace

std::vector<FaultWay> fault_ways() {
  std::vector<FaultWay> all;
  for (const Way& way : ways()) {
    const Result<std::unique_ptr<Mapper>> mapper = way.make();
    all.push_back({way.name, mapper.ok() ? "" : mapper.status().message(), way.serves_kernel});
  }
  return all;
}

size_t Pager::unit_bytes(const Options&) {
  return kUnit;
}

Result<std::unique_ptr<Pager>> Pager::create(const Options& options, Store* store) {
  if (options.page_bytes % kUnit != 0 || options.page_bytes > (2u << 20))
    return Status::error(EINVAL, "page size " + std::to_string(options.page_bytes) +
                                     ": must be a multiple of 4096 up to 2 MiB, or 0");
  if (store->unit_bytes() != kUnit)
    return Status::error(EINVAL, "the store's slots have " + std::to_string(store->unit_bytes()) +
                                     " bytes, the pager's units 4096");
  // Two pages at least: one that comes and one that goes.
  const size_t least = std::max<size_t>(64 * kUnit, 4 * options.page_bytes);
  if (options.local_bytes < least)
    return Status::error(EINVAL, "local memory of " + std::to_string(options.local_bytes) +
                                     " bytes: at least " + std::to_string(least) +
                                     " are needed with this page size");
  if (store->slots() >= UINT32_MAX)
    return Status::error(EINVAL, "more than 16 TiB of memory are not supported");
  Result<std::unique_ptr<Mapper>> mapper = make_mapper(options.faults);
  if (!mapper.ok()) return mapper.status();
  return std::unique_ptr<Pager>(std::make_unique<Engine>(options, store, std::move(mapper.value())));
}

Engine::Engine(const Options& options, Store* store, std::unique_ptr<Mapper> mapper)
    : options_(options),
      store_(store),
      mapper_(std::move(mapper)),
      streams_(single_swap() ? Prefetch::off : options.prefetch, options.local_bytes / kUnit),
      slots_(store->slots()),
      local_units_(options.local_bytes / kUnit),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (options.replacement == ReplacementPolicy::address)
    policy_ = std::make_unique<AddressOrder>();
  else
    policy_ = std::make_unique<Fifo>();
  free_slots_.add(0, slots_);
  page_limit_ = mapper_->page_limit();
  const uint64_t page = options.page_bytes / kUnit;
  spare_ = std::max<uint64_t>(page, std::min<uint64_t>(64, local_units_ / 4));
  low_ = std::clamp<uint64_t>(local_units_ / 32, std::min(spare_, local_units_ / 16), 1024);
  high_ = options.replacement == ReplacementPolicy::clock ? std::max(2 * low_, local_units_ / 10) : 2 * low_;
  stats_.page_bytes = options.page_bytes != 0 ? options.page_bytes : kUnit;
  stats_.local_bytes = local_units_ * kUnit;
  stats_.server_bytes = slots_ * kUnit;
}

Engine::~Engine() {
  for (auto& [at, region] : regions_) mapper_->release(region->at, region->units * kUnit, region->watched);
}

// Runs `work` in the engine's thread and waits for it. Without one (before serve and after it) here; what cannot be finished here
// waits for serve, and is given up after it.
void Engine::run(const std::function<bool()>& work) const {
  const NoCancellation complete;
  const Undisturbed undisturbed;
  std::unique_lock lock(mutex_);
  if (!serving_.load() && (work() || ended_)) return;
  Command command{work};
  commands_.push_back(&command);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
  done_.wait(lock, [&] { return command.done; });
}

bool Engine::run_commands() {
  uint64_t count;
  if (read(event_.get(), &count, sizeof count) != sizeof count && commands_waiting_ == 0) return false;
  std::unique_lock lock(mutex_);
  bool any = false;
  std::deque<Command*> again;
  while (!commands_.empty()) {
    Command* command = commands_.front();
    commands_.pop_front();
    lock.unlock();
    const bool done = command->work();
    lock.lock();
    if (done) {
      command->done = true;
      any = true;
    } else {
      again.push_back(command);
    }
  }
  commands_ = std::move(again);
  commands_waiting_ = commands_.size();
  if (any) done_.notify_all();
  return any;
}

uint64_t Engine::capacity() const {
  // A copy stays with the store, so there must be room for one of everything: pages without could not leave, and might come to fill the
  // local memory.
  if (options_.copies == Copies::cache) return std::max(local_units_, slots_);
  // What is on its way in or out is in both places for a moment; as long as all is local nothing is on its way. With two pages' worth of
  // room on one side or the other there is always a page that can leave, so that another one can come.
  const uint64_t moving =
      std::min(local_units_ / 2, std::max(std::max(spare_, high_) + spare_, 2 * largest_page()));
  return std::max(local_units_, local_units_ - moving + slots_);
}

Result<void*> Engine::allocate(size_t bytes, size_t alignment, size_t page_bytes) {
  if (bytes == 0) return Status::error(EINVAL, "0 bytes");
  if ((alignment & (alignment - 1)) != 0 || alignment > (1u << 30))
    return Status::error(EINVAL,
                         "alignment " + std::to_string(alignment) + ": must be a power of two up to 1 GiB");
  if (page_bytes % kUnit != 0 || page_bytes > (2u << 20))
    return Status::error(
        EINVAL, "page size " + std::to_string(page_bytes) + ": must be a multiple of 4096 up to 2 MiB, or 0");
  Result<void*> result(nullptr);
  run([&] {
    result = do_allocate(bytes, alignment, page_bytes);
    return true;
  });
  return result;
}

Result<void*> Engine::do_allocate(size_t bytes, size_t alignment, size_t page_bytes) {
  const uint64_t units = bytes / kUnit + (bytes % kUnit != 0);
  if (units > capacity() || allocated_units_ > capacity() - units)
    return Status::error(ENOMEM, "the cluster has no room for " + std::to_string(bytes) +
                                     " bytes: " + std::to_string(allocated_units_ * kUnit) + " of " +
                                     std::to_string(capacity() * kUnit) + " are in use");
  std::byte* at = mapper_->reserve(units * kUnit, alignment);
  if (at == nullptr) return Status::error(ENOMEM, "no address space for " + std::to_string(bytes) + " bytes");
  auto region = std::make_unique<Region>();
  region->id = next_region_++;
  region->at = at;
  region->bytes = bytes;
  region->units = units;
  if (page_bytes == 0) page_bytes = options_.page_bytes;
  region->locality.fixed = static_cast<uint32_t>(page_bytes / kUnit);
  spare_ = std::max(spare_, std::min(page_bytes / kUnit, local_units_ / 4));
  const bool fits = !watching_ && mapper_->watches_late() && allocated_units_ + units <= local_units_;
  Status status;
  if (!fits) {
    // Regions that cannot be watched now are tried again by the next allocation that needs it; until all of them are, everything fits,
    // so nothing has to leave and those that are watched already are served from what is here.
    if (!watching_)
      for (auto& [address, other] : regions_)
        if (status.ok()) status = watch(other.get());
    watching_ = watching_ || status.ok();
    if (status.ok()) status = watch(region.get());
  }
  if (!status.ok()) {
    mapper_->release(at, units * kUnit, region->watched);
    return status;
  }
  allocated_units_ += units;
  region_by_id_[region->id] = region.get();
  const std::lock_guard names(names_mutex_);
  const auto first = reinterpret_cast<uintptr_t>(at);
  lowest_.store(std::min(lowest_.load(), first));
  highest_.store(std::max(highest_.load(), first + units * kUnit));
  regions_.emplace(first, std::move(region));
  return static_cast<void*>(at);
}

// From now on accesses to absent units are faults; what the program has touched so far is resident.
Status Engine::watch(Region* region) {
  if (region->watched) return hold_pins(region);
  std::vector<uint8_t> present(region->units);
  const Status status = mapper_->watch(region->at, region->units * kUnit, present.data());
  if (!status.ok()) return status;
  region->watched = true;
  region->page.assign(region->units, kNoPage);
  region->slot.assign(region->units, 0);
  const uint64_t size =
      std::min<uint64_t>(region->locality.fixed != 0 ? region->locality.fixed : 16, largest_page());
  for (uint64_t first = 0; first < region->units;) {
    const uint64_t limit = std::min(region->units, first - first % size + size);
    uint64_t end = first;
    while (end < limit && present[end] != 0) end++;
    if (end > first) {
      const PageId id = new_page(region, first, static_cast<uint32_t>(end - first));
      Page& page = pages_[id];
      page.state.state = State::resident;
      page.state.writable = page.state.dirty = true;
      used_ += page.units;
      resident_units_ += page.units;
      resident_pages_++;
      list(id);
      first = end;
    } else {
      first++;
    }
  }
  return hold_pins(region);
}

// What was pinned before the region was watched.
Status Engine::hold_pins(Region* region) {
  while (!region->pins.empty()) {
    auto& [unit, end] = region->pins.back();
    for (; unit < end; unit++) {
      FetchPlan plan;
      plan.first = unit;
      plan.units = 1;
      const Wait nobody;
      // There is room: everything fitted so far.
      if (region->page[unit] == kNoPage && !bring(region, unit, plan, true, &nobody))
        return Status::error(ENOMEM, "no memory for what is pinned");
      hold(region->page[unit], false, 1);
    }
    region->pins.pop_back();
  }
  return {};
}

Status Engine::free(void* p) {
  Status status;
  bool unnamed = false;
  std::unique_ptr<Region> region;
  run([&] {
    if (!unnamed) {
      const auto at = regions_.find(reinterpret_cast<uintptr_t>(p));
      if (at == regions_.end()) {
        status = Status::error(EINVAL, "not the address of an allocation in cluster memory");
        return true;
      }
      const std::lock_guard names(names_mutex_);
      region = std::move(at->second);
      regions_.erase(at);
      last_region_ = nullptr;
      unnamed = true;
    }
    return do_free(region.get());
  });
  return status;
}

// False: transfers of its pages are under way.
bool Engine::do_free(Region* region) {
  std::erase_if(ahead_, [&](const Ahead& a) { return a.region == region->id; });
  if (region->watched) {
    for (uint64_t unit = 0; unit < region->units; unit++)
      if (region->page[unit] != kNoPage && (pages_[region->page[unit]].transfers > 0 ||
                                            pages_[region->page[unit]].state.state == State::arriving))
        return false;
    for (uint64_t unit = 0; unit < region->units; unit++) {
      const PageId id = region->page[unit];
      if (id == kNoPage) continue;
      Page& page = pages_[id];
      if (page.state.state == State::resident) {
        unlist(id);
        resident_units_ -= page.units;
        resident_pages_--;
        used_ -= page.units;
        end_page(id);
      } else {  // limbo
        limbo_.remove(id);
        limbo_units_ -= page.units;
        mapper_->discard(region->at + page.first * kUnit, page.units, &page.pieces);
        used_ -= page.units;
        end_page(id);
      }
    }
    take_slots(region, 0, region->units);
  }
  streams_.forget(region->id);
  region_by_id_.erase(region->id);
  allocated_units_ -= region->units;
  mapper_->release(region->at, region->units * kUnit, region->watched);
  return true;
}

Result<void*> Engine::reallocate(void* p, size_t bytes) {
  const size_t old = size_of(p);
  if (old == 0) return Status::error(EINVAL, "not the address of an allocation in cluster memory");
  size_t page_bytes = 0;
  bool in_place = false;
  const auto set_bytes = [&] {
    const std::lock_guard names(names_mutex_);
    regions_.at(reinterpret_cast<uintptr_t>(p))->bytes = bytes;
  };
  run([&] {
    const Region* region = regions_.at(reinterpret_cast<uintptr_t>(p)).get();
    page_bytes = region->locality.fixed * kUnit;
    in_place = bytes <= region->units * kUnit && bytes > region->units * kUnit / 2;
    if (in_place) set_bytes();
    return true;
  });
  if (in_place) {
    // What realloc shrinks and grows again inside the last unit is not promised to be zero, as with malloc.
    return p;
  }
  Result<void*> fresh = allocate(bytes, 1, page_bytes);
  if (!fresh.ok() && bytes > 0 && bytes <= old) {  // no room for a copy: it stays where it is
    run([&] {
      set_bytes();
      return true;
    });
    return p;
  }
  if (!fresh.ok()) return fresh;
  memcpy(fresh.value(), p, std::min(old, bytes));
  const Status freed = free(p);
  if (!freed.ok()) return freed;
  return fresh;
}

size_t Engine::size_of(const void* p) const {
  const Undisturbed undisturbed;
  const std::lock_guard names(names_mutex_);
  const auto at = regions_.find(reinterpret_cast<uintptr_t>(p));
  return at == regions_.end() ? 0 : at->second->bytes;
}

bool Engine::touches(const void* p, size_t bytes) const {
  const auto first = reinterpret_cast<uintptr_t>(p);
  if (bytes == 0 || first >= highest_.load(std::memory_order_relaxed) ||
      first + bytes <= lowest_.load(std::memory_order_relaxed))
    return false;
  const Undisturbed undisturbed;
  const std::lock_guard names(names_mutex_);
  auto at = regions_.upper_bound(first + bytes - 1);
  if (at == regions_.begin()) return false;
  --at;
  return at->first + at->second->units * kUnit > first;
}

Region* Engine::region_of(const void* address) const {
  const auto a = reinterpret_cast<uintptr_t>(address);
  if (last_region_ != nullptr) {
    const auto first = reinterpret_cast<uintptr_t>(last_region_->at);
    if (a >= first && a < first + last_region_->units * kUnit) return last_region_;
  }
  auto at = regions_.upper_bound(a);
  if (at == regions_.begin()) return nullptr;
  --at;
  if (a >= at->first + at->second->units * kUnit) return nullptr;
  last_region_ = at->second.get();
  return last_region_;
}

Stats Engine::stats() const {
  Stats stats;
  run([&] {
    stats = stats_;
    stats.in_seconds = coming_.busy;
    stats.out_seconds = going_.busy;
    stats.allocated_bytes = allocated_units_ * kUnit;
    stats.resident_bytes = (watching_ ? resident_units_ : allocated_units_) * kUnit;
    return true;
  });
  return stats;
}

std::vector<ThreadStats> Engine::thread_stats() const {
  std::vector<ThreadStats> all;
  run([&] {
    for (const auto& [tid, stats] : threads_) all.push_back(stats);
    return true;
  });
  std::sort(all.begin(), all.end(), [](const ThreadStats& a, const ThreadStats& b) { return a.tid < b.tid; });
  return all;
}

// as2: all MPI calls are made by one thread and faults are caught by another (DLM-MPI, figure 8). In the other protocols one thread does both,
// and a handover less.
void Engine::catch_faults() {
  pollfd fds[2] = {{mapper_->descriptor(), POLLIN, 0}, {catcher_end_.get(), POLLIN, 0}};
  for (;;) {
    poll(fds, 2, -1);
    if ((fds[1].revents & POLLIN) != 0) return;
    os::FaultEvent events[16];
    const size_t n = mapper_->faults(events, 16);
    if (n == 0) continue;
    const std::lock_guard lock(mutex_);
    caught_.insert(caught_.end(), events, events + n);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
  }
}

size_t Engine::next_faults(os::FaultEvent* events, size_t max) {
  if (options_.protocol != Protocol::as2) return mapper_->faults(events, max);
  const std::lock_guard lock(mutex_);
  const size_t n = std::min(max, caught_.size());
  std::copy_n(caught_.begin(), n, events);
  caught_.erase(caught_.begin(), caught_.begin() + static_cast<ptrdiff_t>(n));
  return n;
}

bool Engine::serve_faults() {
  bool any = false;
  // Those that had to wait, oldest first.
  for (size_t n = deferred_.size(); n > 0; n--) {
    Fault waiting = deferred_.front();
    deferred_.pop_front();
    if (serve(&waiting))
      any = true;
    else
      deferred_.push_back(waiting);
  }
  os::FaultEvent events[16];
  const size_t n = next_faults(events, 16);
  const double now = n > 0 ? seconds() : 0;
  for (size_t i = 0; i < n; i++) {
    stats_.faults++;
    threads_[events[i].thread].tid = events[i].thread;
    threads_[events[i].thread].faults++;
    Fault fault;
    fault.event = events[i];
    fault.since = now;
    if (!serve(&fault)) deferred_.push_back(fault);
  }
  return any || n > 0;
}

bool Engine::progress() {
  tickets_.clear();
  const Status status = store_->progress(&tickets_);
  if (!status.ok()) {
    fail(status);
    return false;
  }
  for (size_t i = 0; i < tickets_.size(); i++) completed(static_cast<PageId>(tickets_[i]));
  return !tickets_.empty();
}

void Engine::rest(bool idle) {
  if (!idle || store_->busy() || !deferred_.empty() || !ahead_.empty() || commands_waiting_ > 0) {
    idle_since_ = 0;
    return;
  }
  const double now = seconds();
  if (idle_since_ == 0) idle_since_ = now;
  if (now - idle_since_ < kSpin) return;
  // stop() may have come just before run_commands() took the event, and would not be heard again.
  if (stop_.load()) return;
  pollfd fds[2] = {{event_.get(), POLLIN, 0}, {mapper_->descriptor(), POLLIN, 0}};
  poll(fds, options_.protocol == Protocol::as2 ? 1 : 2, store_->longest_rest_ms());
}

Status Engine::serve() {
  {
    const std::lock_guard lock(mutex_);
    serving_.store(true);
  }
  std::thread catcher;
  if (options_.protocol == Protocol::as2) {
    catcher_end_ = os::Fd(eventfd(0, EFD_CLOEXEC));
    catcher = std::thread([this] { catch_faults(); });
  }
  while (!stop_.load(std::memory_order_relaxed) && failure_.ok()) {
    bool any = run_commands();
    any = serve_faults() || any;
    any = progress() || any;
    any = read_ahead() || any;
    any = keep_room() || any;
    rest(!any);
  }
  if (catcher.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(catcher_end_.get(), &one, sizeof one);
    catcher.join();
  }
  // The store outlives the pager: it must have no transfer from or to memory that will be gone.
  while (failure_.ok() && store_->busy()) progress();
  std::unique_lock lock(mutex_);
  serving_.store(false);
  ended_ = true;
  while (
      !commands_
           .empty()) {  // whoever came last, and who still waits for progress that there is none of any more
    Command* command = commands_.front();
    commands_.pop_front();
    command->work();
    command->done = true;
  }
  done_.notify_all();
  return failure_;
}

void Engine::stop() {
  stop_.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

void Engine::fail(const Status& status) {
  if (failure_.ok()) failure_ = status;
}

}  // namespace tasuki::pager
