#include "schedule/schedule.h"

#include <cerrno>

#include "schedule/algorithms.h"

namespace tasuki::schedule {
namespace {

constexpr const Algorithm* kAll[] = {&kBinomial, &kChain, &kBinaryTree, &kTrinaryx3};

Status check(const Algorithm& a, const Parameters& p) {
  const auto wrong = [&](const std::string& what) {
    return Status::error(EINVAL, std::string(a.name) + ": " + what);
  };
  if (p.ranks == 0) return wrong("needs at least one rank");
  if (p.root >= p.ranks)
    return wrong("root " + std::to_string(p.root) + " is not one of " + std::to_string(p.ranks) + " ranks");
  if (p.shape.empty())
    return a.needs_shape ? wrong("needs the shape of a torus or mesh, for example 4x4x2") : Status();
  uint64_t nodes = 1;
  for (const uint32_t extent : p.shape) {
    if (extent == 0) return wrong("an extent of the shape is 0");
    nodes *= extent;
    if (nodes > UINT32_MAX) return wrong("the shape has too many nodes");
  }
  if (nodes != p.ranks)
    return wrong("the shape has " + std::to_string(nodes) + " nodes for " + std::to_string(p.ranks) +
                 " ranks");
  return Status();
}

}  // namespace

std::span<const Algorithm* const> algorithms() {
  return kAll;
}

const Algorithm* find(std::string_view name) {
  for (const Algorithm* a : kAll)
    if (name == a->name) return a;
  return nullptr;
}

Result<Schedule> make(const Algorithm& algorithm, const Parameters& parameters) {
  Status status = check(algorithm, parameters);
  if (!status.ok()) return status;
  return algorithm.make(parameters);
}

}  // namespace tasuki::schedule
