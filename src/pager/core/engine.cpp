#include "pager/core/engine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "os/clock.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "pager/mappers/ways.h"

namespace tasuki::pager {

size_t Pager::unit_bytes(const Options&) {
  return unit_size();
}

Result<std::unique_ptr<Pager>> Pager::create(const Options& options, Store* store) {
  if (options.page_bytes % unit_size() != 0 || options.page_bytes > (2u << 20))
    return Status::error(EINVAL, "page size " + std::to_string(options.page_bytes) +
                                     ": must be a multiple of " + std::to_string(unit_size()) +
                                     " up to 2 MiB, or 0");
  if (store->unit_bytes() != unit_size())
    return Status::error(EINVAL, "the store's slots have " + std::to_string(store->unit_bytes()) +
                                     " bytes, the pager's units " + std::to_string(unit_size()));
  // Two pages at least: one that comes and one that goes.
  const size_t least = std::max<size_t>(64 * unit_size(), 4 * options.page_bytes);
  if (options.local_bytes < least)
    return Status::error(EINVAL, "local memory of " + std::to_string(options.local_bytes) +
                                     " bytes: at least " + std::to_string(least) +
                                     " are needed with this page size");
  if (store->slots() >= UINT32_MAX)
    return Status::error(EINVAL, "more than 16 TiB of memory are not supported");
  if (options.threadless &&
      (options.protocol != Protocol::cs || options.faults != Faults::userfault_sigbus || !options.lost))
    return Status::error(EINVAL, "without a thread of the pager's only protocol cs with faults by SIGBUS");
  Result<std::unique_ptr<Mapper>> mapper = make_mapper(options);
  if (!mapper.ok()) return mapper.status();
  return std::unique_ptr<Pager>(std::make_unique<Engine>(options, store, std::move(mapper.value())));
}

Engine::Engine(const Options& options, Store* store, std::unique_ptr<Mapper> mapper)
    : options_(options),
      mapper_(std::move(mapper)),
      store_(store),
      commands_(&wakeup_, &turn_, options.enter, options.leave),
      regions_(mapper_.get()),
      slots_(store, &failure_),
      transport_(store, &slots_, &failure_),
      residency_(options, mapper_.get(), &slots_, &transport_, &wait_times_, &failure_),
      swaps_(options, &residency_, &transport_, &failure_),
      read_ahead_(&regions_, &residency_, &transport_, &swaps_),
      forks_(mapper_.get(), &slots_),
      loop_(options, {mapper_.get(), &regions_, &residency_, &transport_, &swaps_, &read_ahead_, &forks_,
                      &wait_times_, &commands_, &turn_, &wakeup_, &failure_}),
      pins_(&regions_, &residency_, &swaps_, &loop_, &commands_),
      advisor_(&regions_, &residency_, &swaps_, &read_ahead_, &commands_),
      protector_(&regions_, mapper_.get(), &residency_, &pins_, &commands_),
      withdrawal_(mapper_.get(), &residency_, &slots_, store) {}

Result<void*> Engine::allocate(size_t bytes, size_t alignment, size_t page_bytes) {
  if (child_ != nullptr) return Status::error(ENOMEM, "a forked child has only what its parent had");
  if (bytes == 0) return Status::error(EINVAL, "0 bytes");
  if ((alignment & (alignment - 1)) != 0 || alignment > (1u << 30))
    return Status::error(EINVAL,
                         "alignment " + std::to_string(alignment) + ": must be a power of two up to 1 GiB");
  if (page_bytes % unit_size() != 0 || page_bytes > (2u << 20))
    return Status::error(EINVAL, "page size " + std::to_string(page_bytes) + ": must be a multiple of " +
                                     std::to_string(unit_size()) + " up to 2 MiB, or 0");
  Result<void*> result(nullptr);
  commands_.run([&] {
    result = do_allocate(bytes, alignment, page_bytes);
    return true;
  });
  return result;
}

Result<void*> Engine::do_allocate(size_t bytes, size_t alignment, size_t page_bytes) {
  const uint64_t units = bytes / unit_size() + (bytes % unit_size() != 0);
  const uint64_t capacity = residency_.budget().capacity(slots_.count(), options_.copies);
  if (units > capacity || regions_.units() > capacity - units)
    return Status::error(ENOMEM, "the cluster has no room for " + std::to_string(bytes) +
                                     " bytes: " + std::to_string(regions_.units() * unit_size()) + " of " +
                                     std::to_string(capacity * unit_size()) + " are in use");
  if (page_bytes == 0) page_bytes = options_.page_bytes;
  const auto page_units = static_cast<uint32_t>(page_bytes / unit_size());
  Result<std::unique_ptr<Region>> region = regions_.reserve(bytes, alignment, page_units);
  if (!region.ok()) return region.status();
  residency_.prepare_for(page_units);
  const bool fits =
      !watching_ && mapper_->watches_late() && regions_.units() + units <= residency_.budget().local();
  if (!fits) {
    Status status = slots_.reserve(regions_.units() + units);
    if (status.ok()) status = watch_all();
    if (status.ok()) status = watch(region.value().get());
    if (!status.ok()) {
      regions_.release(*region.value());
      return status;
    }
  }
  return static_cast<void*>(regions_.add(std::move(region.value()))->at());
}

// Regions that cannot be watched now are tried again by the next allocation that needs it; until all of them
// are, everything fits, so nothing has to leave and those that are watched already are served from what is
// here.
Status Engine::watch_all() {
  if (watching_) return {};
  for (Region* region : regions_.all())
    if (Status status = watch(region); !status.ok()) return status;
  watching_ = true;
  return {};
}

// From now on accesses to absent units are faults; what the program has touched so far is resident.
Status Engine::watch(Region* region) {
  if (!region->watched()) {
    std::vector<uint8_t> present;
    const Status status = regions_.watch(region, &present);
    if (!status.ok()) return status;
    residency_.adopt(region, present);
  }
  return pins_.hold(region);
}

Status Engine::free(void* p) {
  if (child_ != nullptr) return {};  // its copy goes with it
  Status status;
  std::unique_ptr<Region> region;
  commands_.run([&] {
    if (region == nullptr) region = regions_.take_name(p);
    if (region == nullptr) {
      status = Status::error(EINVAL, "not the address of an allocation in cluster memory");
      return true;
    }
    return do_free(region.get());
  });
  return status;
}

bool Engine::do_free(Region* region) {
  if (!forget(region)) return false;
  regions_.release(*region);
  return true;
}

// Nobody here knows the region any more. False: transfers of its pages are under way.
bool Engine::forget(Region* region) {
  read_ahead_.forget(*region);
  if (!residency_.abandon(region)) return false;
  loop_.forget(*region);
  pins_.forget(*region);
  regions_.forget(*region);
  slots_.needs_only(regions_.units());
  return true;
}

Status Engine::let_go(void* p) {
  if (child_ != nullptr) return Status::error(EBUSY, "a forked child has only what its parent had");
  Status status;
  std::unique_ptr<Region> gone;
  commands_.run([&] {
    Region* const region = regions_.at(p);
    if (region == nullptr) {
      status = Status::error(EINVAL, "not the address of an allocation in cluster memory");
      return true;
    }
    if (region->watched() && !withdrawal_.complete(region, &status)) return false;
    if (status.ok()) status = mapper_->forget(region->at(), region->units() * unit_size(), region->watched());
    if (!status.ok()) return true;
    regions_.leave(*region, os::monotonic_seconds());
    gone = regions_.take_name(p);
    return forget(region);  // nothing is under way
  });
  return status;
}

Result<void*> Engine::reallocate(void* p, size_t bytes) {
  if (child_ != nullptr) return Status::error(ENOMEM, "a forked child has only what its parent had");
  const size_t old = size_of(p);
  size_t page_bytes = 0;
  bool found = false, in_place = false, readable = true;
  commands_.run([&] {
    Region* region = regions_.at(p);
    found = region != nullptr;
    if (!found) return true;
    page_bytes = region->fixed_page() * unit_size();
    readable = !residency_.any_inaccessible(*region, 0, region->units());
    in_place =
        bytes <= region->units() * unit_size() && (bytes > region->units() * unit_size() / 2 || !readable);
    if (in_place) regions_.resize(region, bytes);
    return true;
  });
  if (!found) return Status::error(EINVAL, "not the address of an allocation in cluster memory");
  // What realloc shrinks and grows again inside the last unit is not promised to be zero, as with malloc.
  if (in_place) return p;
  if (!readable) return Status::error(EFAULT, "memory that may not be accessed cannot be copied");
  Result<void*> fresh = allocate(bytes, 1, page_bytes);
  if (!fresh.ok() && bytes > 0 && bytes <= old) {  // no room for a copy: it stays where it is
    commands_.run([&] {
      if (Region* region = regions_.at(p)) regions_.resize(region, bytes);
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

Status Engine::discard(void* p, size_t bytes) {
  std::byte* const begin = static_cast<std::byte*>(p);
  if (child_ != nullptr) {
    child_->discard(begin, bytes);
    return {};
  }
  Status status;
  std::vector<std::pair<std::byte*, std::byte*>> left;  // to be cleared by hand
  commands_.run([&] {
    left.clear();
    Region* const region = regions_.of(p);
    if (region == nullptr || bytes > static_cast<size_t>(region->end() - begin)) {
      status = Status::error(EINVAL, "not a range of one allocation in cluster memory");
      return true;
    }
    const uint64_t first = region->unit_of(begin + unit_size() - 1), end = region->unit_of(begin + bytes);
    if (first >= end) {
      left.emplace_back(begin, begin + bytes);
      return true;
    }
    left.emplace_back(begin, region->address(first));
    left.emplace_back(region->address(end), begin + bytes);
    const bool constant = residency_.any_protected(*region, first, end);
    if (region->watched()) {
      if (constant && !(pins_.cut(region, first) && pins_.cut(region, end))) return false;
      return residency_.clear(region, first, end, [&](uint64_t from, uint64_t to) {
        left.emplace_back(region->address(from), region->address(to));
      });
    }
    // Locked memory, which the kernel leaves as it is, is cleared by writing, if that is permitted.
    std::byte* const from = region->address(first);
    const size_t length = (end - first) * unit_size();
    if (!(constant ? os::discard_unlocked(from, length) : os::discard(from, length)))
      left.emplace_back(from, from + length);
    return true;
  });
  for (const auto& [from, to] : left) memset(from, 0, static_cast<size_t>(to - from));
  return status;
}

Status Engine::protect(void* p, size_t bytes, int protection) {
  if (child_ == nullptr) return protector_.protect(p, bytes, protection);
  if (os::protect(p, os::page_ceil(bytes), protection)) return {};
  return Status::error(errno, "mprotect");
}

size_t Engine::pin(const void* p, size_t bytes, bool write) {
  if (child_ == nullptr) return pins_.pin(p, bytes, write);
  child_->bring(p, bytes);
  return bytes;
}

void Engine::unpin(const void* p, size_t bytes) {
  if (child_ == nullptr) pins_.unpin(p, bytes);
}

bool Engine::before_fork() {
  if (child_ != nullptr) {
    child_->lock();
  } else {
    if (!loop_.hold()) return false;
    // What nobody watches is ordinary memory, and must not be watched before the fork is over.
    inherits_ = watching_ && store_->can_read_aside() && forks_.begin();
    if (watching_ && !inherits_) {
      loop_.release();
      return false;
    }
  }
  regions_.lock_names();
  return true;
}

void Engine::after_fork() {
  regions_.unlock_names();
  if (child_ != nullptr) return child_->unlock();
  if (inherits_) forks_.end();
  loop_.release();
}

// The turn stays taken: nobody has one here any more.
Status Engine::after_fork_in_child() {
  Sleeper::end_sleep();
  regions_.unlock_names();
  if (child_ == nullptr)
    child_ = std::make_unique<ForkedChild>(&regions_, &residency_, &slots_, store_);
  else
    child_->unlock();
  return watching_ ? child_->start() : Status();
}

Stats Engine::stats() const {
  Stats stats;
  if (child_ != nullptr) {
    stats.local_bytes = options_.local_bytes;
    return stats;
  }
  commands_.run([&] {
    const Budget& budget = residency_.budget();
    stats.page_bytes = options_.page_bytes != 0 ? options_.page_bytes : unit_size();
    stats.local_bytes = budget.local() * unit_size();
    stats.server_bytes = slots_.count() * unit_size();
    stats.allocated_bytes = regions_.units() * unit_size();
    stats.resident_bytes = (watching_ ? budget.resident() : regions_.units()) * unit_size();
    transport_.report(&stats);
    residency_.report(&stats);
    wait_times_.report(&stats);
    return true;
  });
  return stats;
}

std::vector<ThreadStats> Engine::thread_stats() const {
  std::vector<ThreadStats> all;
  if (child_ != nullptr) return all;
  commands_.run([&] {
    all = wait_times_.threads();
    return true;
  });
  std::sort(all.begin(), all.end(), [](const ThreadStats& a, const ThreadStats& b) { return a.tid < b.tid; });
  return all;
}

}  // namespace tasuki::pager
