#include "pager/core/protector.h"

#include <cerrno>

namespace tasuki::pager {

Status Protector::protect(void* p, size_t bytes, int protection) {
  std::byte* const begin = static_cast<std::byte*>(p);
  constexpr int kKnown = Protections::kUsual | Protections::kExecute;
  if (unit_of(begin) * kUnit != reinterpret_cast<uintptr_t>(p) || (protection & ~kKnown) != 0)
    return Status::error(EINVAL, "not the beginning of a page, or an unknown protection");
  Status status;
  commands_->run([&] {
    Region* const region = regions_.of(p);
    if (region == nullptr || bytes > static_cast<size_t>(region->end() - begin)) {
      status = Status::error(EINVAL, "not a range of one allocation in cluster memory");
      return true;
    }
    const uint64_t first = region->unit_of(begin), end = region->unit_of(begin + bytes + kUnit - 1);
    if (first == end) return true;
    if (region->watched() && !prepare(region, first, end, protection)) return false;
    status = mapper_->protect(begin, (end - first) * kUnit, protection);
    return true;
  });
  return status;
}

bool Protector::prepare(Region* region, uint64_t first, uint64_t end, int protection) {
  if ((protection & Protections::kRead) == 0 && residency_->any_sent_from_place(*region, first, end))
    return false;
  return residency_->cut(region, first) && residency_->cut(region, end);
}

}  // namespace tasuki::pager
