// What a layout costs, in the words of the message layer's choices (message/cost/cost.h): how long its runs
// are, and how many bytes of memory it spreads over for each byte that it carries.
#include <cstdio>

#include "layout/expression.h"

namespace tasuki::layout {
namespace {

// Runs this long keep the memory system busy by themselves: the loop around them costs nothing (measured).
constexpr uint64_t kLargeBlock = 512;
// Up to this size, sparse, a cache line is moved for each run.
constexpr uint64_t kFineRun = 16;

}  // namespace

const char* name_of(CostClass c) {
  switch (c) {
    case CostClass::empty:
      return "empty";
    case CostClass::dense:
      return "dense";
    case CostClass::large_blocks:
      return "large blocks";
    case CostClass::small_blocks:
      return "small blocks";
    case CostClass::finely_scattered:
      return "finely scattered";
  }
  return "";
}

Cost cost_of(const Layout* l) {
  if (size(l) == 0) return {CostClass::empty, "no byte is copied"};
  const uint64_t runs = run_count(l), run = typical_run(l);
  if (runs == 1) return {CostClass::dense, "one run: copied as memcpy would"};
  const double spread = static_cast<double>(true_extent(l)) / static_cast<double>(size(l));
  char text[200];
  snprintf(text, sizeof text, "%llu runs of %llu B on average, %.1f bytes of memory for each byte; ",
           static_cast<unsigned long long>(runs), static_cast<unsigned long long>(run), spread);
  const std::string facts = text;
  if (run >= kLargeBlock)
    return {CostClass::large_blocks, facts + "runs of 512 B and more are copied at the speed of memory"};
  if (run > kFineRun || spread < 2)
    return {
        CostClass::small_blocks,
        facts + (run > kFineRun
                     ? "the loop over the runs costs as much as the bytes; both sides of a message share it"
                     : "the runs are short, but a cache line holds several")};
  return {CostClass::finely_scattered, facts +
                                           "a cache line is moved for each run: messages between two such "
                                           "sides may go through a dense buffer"};
}

}  // namespace tasuki::layout
