#include "pager/core/protector.h"

#include <cerrno>

namespace tasuki::pager {

Status Protector::protect(void* p, size_t bytes, int protection) {
  std::byte* const begin = static_cast<std::byte*>(p);
  constexpr int kKnown = Protections::kUsual | Protections::kExecute, kSemaphores = 8;
  protection &= ~kSemaphores;  // PROT_SEM is nothing here
  if (unit_of(begin) * unit_size() != reinterpret_cast<uintptr_t>(p) || (protection & ~kKnown) != 0)
    return Status::error(EINVAL, "not the beginning of a page, or an unknown protection");
  Status status;
  commands_->run([&] {
    Region* const region = regions_.of(p);
    if (region == nullptr || bytes > static_cast<size_t>(region->end() - begin)) {
      status = Status::error(EINVAL, "not a range of one allocation in cluster memory");
      return true;
    }
    const uint64_t first = region->unit_of(begin), end = region->unit_of(begin + bytes + unit_size() - 1);
    if (first == end) return true;
    if (region->watched() && !prepare(region, first, end, protection)) return false;
    status = mapper_->protect(begin, (end - first) * unit_size(), protection);
    return true;
  });
  return status;
}

bool Protector::prepare(Region* region, uint64_t first, uint64_t end, int protection) {
  if ((protection & Protections::kRead) == 0 && residency_->any_sent_from_place(*region, first, end))
    return false;
  return pins_->cut(region, first) && pins_->cut(region, end);
}

int Protector::protection(const void* p, size_t bytes) const {
  int all = 0;
  commands_->run([&] {
    all = known(p, bytes);
    return true;
  });
  return all;
}

int Protector::known(const void* p, size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(p);
  const uint64_t first = unit_of(begin);
  return mapper_->protections().of_all(first, unit_of(begin + bytes + unit_size() - 1) - first);
}

}  // namespace tasuki::pager
