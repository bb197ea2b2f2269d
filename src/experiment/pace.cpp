#include "experiment/pace.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>

#include "schedule/schedule.h"

namespace tasuki::experiment {

// Recursive descent: sum = product {(+|-) product}, product = factor {(*|/) factor}, factor = [-] atom.
class PaceParser {
 public:
  explicit PaceParser(std::string_view text) : text_(text) {}

  bool parse(PaceExpression* e) {
    e_ = e;
    return sum(0) && (blanks(), at_ == text_.size());
  }
  size_t at() const { return at_; }

 private:
  using Op = PaceExpression::Op;
  static constexpr int kDeepest = 50;

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) at_++;
  }
  bool take(std::string_view word) {
    blanks();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool emit(Op op, double number = 0) {
    e_->items_.push_back({op, number});
    return true;
  }
  bool sum(int depth) {
    if (depth > kDeepest || !product(depth)) return false;
    for (;;) {
      if (take("+")) {
        if (!product(depth)) return false;
        emit(Op::add);
      } else if (take("-")) {
        if (!product(depth)) return false;
        emit(Op::subtract);
      } else {
        return true;
      }
    }
  }
  bool product(int depth) {
    if (!factor(depth)) return false;
    for (;;) {
      if (take("*")) {
        if (!factor(depth)) return false;
        emit(Op::multiply);
      } else if (take("/")) {
        if (!factor(depth)) return false;
        emit(Op::divide);
      } else {
        return true;
      }
    }
  }
  bool factor(int depth) {
    if (depth > kDeepest) return false;
    if (take("-")) return factor(depth + 1) && emit(Op::negate);
    if (take("(")) return sum(depth + 1) && take(")");
    if (take("min(")) return pair(depth) && emit(Op::least);
    if (take("max(")) return pair(depth) && emit(Op::most);
    if (take("hops")) return emit(Op::hops);
    blanks();
    double number = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc() || !std::isfinite(number)) return false;
    at_ = static_cast<size_t>(end - text_.data());
    return emit(Op::number, number);
  }
  bool pair(int depth) { return sum(depth + 1) && take(",") && sum(depth + 1) && take(")"); }

  std::string_view text_;
  size_t at_ = 0;
  PaceExpression* e_ = nullptr;
};

Result<PaceExpression> PaceExpression::parse(std::string_view text) {
  PaceExpression e;
  e.text_ = text;
  PaceParser parser(text);
  if (parser.parse(&e)) return e;
  return Status::error(
      EINVAL, "pace '" + e.text_ + "': not understood from character " + std::to_string(parser.at() + 1) +
                  " on; expected numbers, hops, + - * / ( ), min(a, b), max(a, b), for example hops-1+1.25");
}

double PaceExpression::packets(uint32_t hops) const {
  std::vector<double> stack;
  for (const Item& item : items_) {
    if (item.op == Op::number || item.op == Op::hops) {
      stack.push_back(item.op == Op::number ? item.number : hops);
      continue;
    }
    if (item.op == Op::negate) {
      stack.back() = -stack.back();
      continue;
    }
    const double right = stack.back();
    stack.pop_back();
    double& left = stack.back();
    switch (item.op) {
      case Op::add:
        left += right;
        break;
      case Op::subtract:
        left -= right;
        break;
      case Op::multiply:
        left *= right;
        break;
      case Op::divide:
        left = right == 0 ? 0 : left / right;
        break;
      case Op::least:
        left = std::min(left, right);
        break;
      default:
        left = std::max(left, right);
        break;
    }
  }
  return stack.back();
}

uint32_t PaceExpression::gap(uint32_t hops) const {
  constexpr double kMost = 1e6;  // packet times: far beyond all use, and far from overflow
  const double p = packets(hops);
  if (!(p > 0)) return 0;  // also what is no number: the difference of two infinite ones
  return static_cast<uint32_t>(std::lround(std::min(p, kMost) * schedule::kGapUnit));
}

}  // namespace tasuki::experiment
