#include "pager/pages/regions.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "pager/undisturbed.h"

namespace tasuki::pager {
namespace {

uintptr_t number(const void* p) {
  return reinterpret_cast<uintptr_t>(p);
}

}  // namespace

Regions::~Regions() {
  for (const auto& [at, region] : regions_) release(*region);
}

Result<std::unique_ptr<Region>> Regions::reserve(size_t bytes, size_t alignment, uint32_t fixed_page) {
  const uint64_t units = bytes / unit_size() + (bytes % unit_size() != 0);
  std::byte* at = mapper_->reserve(units * unit_size(), alignment);
  if (at == nullptr) return Status::error(ENOMEM, "no address space for " + std::to_string(bytes) + " bytes");
  return std::make_unique<Region>(next_id_++, at, bytes, units, fixed_page);
}

Status Regions::watch(Region* region, std::vector<uint8_t>* present) {
  present->assign(region->units(), 0);
  const Status status = mapper_->watch(region->at(), region->units() * unit_size(), present->data());
  if (!status.ok()) return status;
  region->watched_ = true;
  return {};
}

void Regions::release(const Region& region) {
  mapper_->release(region.at(), region.units() * unit_size(), region.watched());
}

Region* Regions::add(std::unique_ptr<Region> region) {
  Region* added = region.get();
  units_ += added->units();
  by_id_[added->id()] = added;
  const std::lock_guard names(names_mutex_);
  lowest_.store(std::min(lowest_.load(), number(added->at())));
  highest_.store(std::max(highest_.load(), number(added->end())));
  regions_.emplace(number(added->at()), std::move(region));
  return added;
}

std::unique_ptr<Region> Regions::take_name(void* p) {
  const auto at = regions_.find(number(p));
  if (at == regions_.end()) return nullptr;
  const std::lock_guard names(names_mutex_);
  std::unique_ptr<Region> region = std::move(at->second);
  regions_.erase(at);
  last_ = nullptr;
  return region;
}

void Regions::forget(const Region& region) {
  by_id_.erase(region.id());
  units_ -= region.units();
}

void Regions::leave(const Region& region, double now) {
  left_[left_next_++ % left_.size()] = {number(region.at()), number(region.end()), now};
}

bool Regions::left_lately(const void* address, double now) const {
  constexpr double kMoment = 1;
  return std::any_of(left_.begin(), left_.end(), [&](const Left& left) {
    return number(address) >= left.begin && number(address) < left.end && now < left.since + kMoment;
  });
}

Region* Regions::at(const void* begin) const {
  const auto at = regions_.find(number(begin));
  return at == regions_.end() ? nullptr : at->second.get();
}

Region* Regions::with_id(uint32_t id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : at->second;
}

Region* Regions::of(const void* address) const {
  const uintptr_t a = number(address);
  if (last_ != nullptr && a >= number(last_->at()) && a < number(last_->end())) return last_;
  auto at = regions_.upper_bound(a);
  if (at == regions_.begin()) return nullptr;
  --at;
  if (a >= number(at->second->end())) return nullptr;
  last_ = at->second.get();
  return last_;
}

Region* Regions::of(const std::byte* address, const std::byte** end) const {
  Region* region = of(address);
  if (region != nullptr) {
    *end = std::min<const std::byte*>(*end, region->end());
  } else if (const auto after = regions_.upper_bound(number(address)); after != regions_.end()) {
    *end = std::min<const std::byte*>(*end, after->second->at());
  }
  return region;
}

std::vector<Region*> Regions::all() const {
  std::vector<Region*> all;
  for (const auto& [at, region] : regions_) all.push_back(region.get());
  return all;
}

void Regions::resize(Region* region, size_t bytes) {
  const std::lock_guard names(names_mutex_);
  region->bytes_ = bytes;
}

size_t Regions::size_of(const void* p) const {
  const Undisturbed undisturbed;
  const std::lock_guard names(names_mutex_);
  const auto at = regions_.find(number(p));
  return at == regions_.end() ? 0 : at->second->bytes_;
}

bool Regions::touches(const void* p, size_t bytes) const {
  const uintptr_t first = number(p);
  if (bytes == 0 || first >= highest_.load(std::memory_order_relaxed) ||
      first + bytes <= lowest_.load(std::memory_order_relaxed))
    return false;
  const Undisturbed undisturbed;
  const std::lock_guard names(names_mutex_);
  auto at = regions_.upper_bound(first + bytes - 1);
  if (at == regions_.begin()) return false;
  --at;
  return number(at->second->end()) > first;
}

}  // namespace tasuki::pager
