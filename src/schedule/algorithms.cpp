#include "schedule/algorithms.h"

namespace tasuki::schedule {
namespace {

constexpr const Algorithm* kAll[] = {
    &kBinomial, &kChain,  &kBinaryTree, &kTrinaryx3,         &kA2at,          &kPairwise,      &kRing,
    &kBruck,    &kLinear, &kSpread,     &kRecursiveDoubling, &kRingAllreduce, &kDissemination, &kHalo};

}  // namespace

std::span<const Algorithm* const> algorithms() {
  return kAll;
}

const Algorithm* find(std::string_view name) {
  for (const Algorithm* a : kAll)
    if (name == a->name || (a->alias != nullptr && name == a->alias)) return a;
  return nullptr;
}

}  // namespace tasuki::schedule
