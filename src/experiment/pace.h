// Pacing as an expression of `hops`: how users write the gap between the packets of a message, in packet
// times. "0", "hops-1+1.25" (the paper's gap with a bias of 1.25), "max(hops, 2) * 3/4".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tasuki::experiment {

class PaceExpression {
 public:
  // Numbers, hops, + - * / ( ), min(a, b), max(a, b). An error says where the text stops making sense.
  static Result<PaceExpression> parse(std::string_view text);

  double packets(uint32_t hops) const;  // may be negative: there is no gap then
  uint32_t gap(uint32_t hops) const;    // in 1 / schedule::kGapUnit packet times, never negative
  const std::string& text() const { return text_; }

 private:
  // In the order of evaluation on a stack.
  enum class Op : uint8_t { number, hops, add, subtract, multiply, divide, least, most, negate };
  struct Item {
    Op op;
    double number;
  };
  friend class PaceParser;
  std::vector<Item> items_;
  std::string text_;
};

}  // namespace tasuki::experiment
