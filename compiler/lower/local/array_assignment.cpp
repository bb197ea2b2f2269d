#include "compiler/lower/local/array_assignment.h"

#include <algorithm>
#include <vector>

#include "tasuki/compiler/local_view.h"

namespace tasuki::cc {
namespace {

// What an expression has become. Scalars stay tokens until it is known whether they meet a section.
struct Piece {
  size_t first, last;
  bool section = false;
  std::string text = {};  // of one with sections: its value for one element
  int gathered = -1;      // of a section itself: which of those that gather() has made
};

int precedence(const Text& text, size_t token) {
  static constexpr struct {
    const char* op;
    int level;
  } kLevels[] = {{"*", 10}, {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<<", 8},
                 {">>", 8}, {"<", 7},  {">", 7},  {"<=", 7}, {">=", 7}, {"==", 6},
                 {"!=", 6}, {"&", 5},  {"^", 4},  {"|", 3},  {"&&", 2}, {"||", 1}};
  for (const auto& l : kLevels)
    if (text.is(token, l.op)) return l.level;
  return 0;
}

class Assignment {
 public:
  Assignment(const Unit& in, size_t first, size_t last, unsigned flags)
      : in_(in), first_(first), end_(in.text.previous(last)), flags_(flags), place_(in.place(first)) {}

  std::string run() {
    const Operand left = read_operand(in_, first_);
    if (!left.good) return "";
    const size_t op = left.end < end_ ? in_.text.skip_directives(left.end) : end_;
    if (!in_.text.is_assignment(op)) {
      error(first_, "a section can stand in an array assignment only, which is a statement of its own",
            "write section = expression;");
      return "";
    }
    if (left.rank == 0) {
      error(op, "a section on the right side needs one on the left side",
            "write a section that takes all the elements");
      return "";
    }
    right_ = in_.text.skip_directives(op + 1);
    if (right_ >= end_) return "";
    if (!in_.tokens.has_section(right_, end_) && in_.text.is(op, "=") && !is_device_object(left))
      return broadcast(left);
    if (in_.text.is(op, "=") && is_operand(right_)) {
      const Operand right = read_operand(in_, right_);
      if (!right.good) return "";
      const ExpressionType *to = in_.type(left.begin, left.end), *from = in_.type(right.begin, right.end);
      only_converts_ = true;
      if ((right.rank > 0 || right.device) && to != nullptr && from != nullptr && to->name == from->name)
        return copy(left, right);
    }
    return elemental(left, op);
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    if (good_) in_.diagnostics.error(in_.text.begin_of(token), what, advice);
    good_ = false;
  }
  std::string flags(unsigned more = 0) const { return std::to_string(flags_ | more); }

  // Is the rest one operand with a section?
  bool is_operand(size_t begin) const {
    return (in_.text.is_word(begin) || in_.text.is(begin, "(")) &&
           in_.text.skip_directives(operand_end(in_, begin)) == end_ && !in_.text.is(begin, "sizeof");
  }

  // Is the right side one object in device memory, which the library reads?
  bool is_device_object(const Operand& left) const {
    if (!is_operand(right_) || !is_on_device(in_, right_, end_)) return false;
    const ExpressionType *to = in_.type(left.begin, left.end),
                         *from = in_.type(right_, in_.text.previous(end_) + 1);
    return to != nullptr && from != nullptr && to->name == from->name;
  }

  // The host computes with these tokens.
  void refuse_device(size_t first, size_t last) {
    const size_t wrong = in_.acc.read_by_host(first, last);
    if (wrong == kNone) return;
    error(wrong,
          "'" + std::string(in_.text.spelling(wrong)) +
              "' is in device memory here, and the host computes this value",
          "write it as a section, or copy the value to the host first");
  }

  std::string section(const Operand& operand) const {
    return "&(struct __tasuki_xmp_section)" + section_of(in_, operand);
  }

  // One value for all elements.
  std::string broadcast(const Operand& left) {
    for (size_t i = right_; i < end_; i++) {
      if (in_.text.is(i, ",")) {
        error(i, "an array assignment is a statement of its own", "write two statements");
        return "";
      }
      if (in_.text.is_any(i, "(", "[", "{") && in_.match(i) > i) i = in_.match(i);
    }
    refuse_device(right_, end_);
    const ExpressionType *to = in_.type(left.begin, left.end), *from = in_.type(right_, end_);
    if (is_operand(right_) && from != nullptr && from->shape == Shape::array && to != nullptr &&
        to->shape != Shape::pointer) {
      error(right_, "this is an array: a value for all elements, or a section, is expected",
            "write " + as_section(in_, right_, end_, *from));
      return "";
    }
    return "{ " + left.element_type() + " __tasuki_v = (" + in_.c(right_, end_) + "); tasuki_xmp_copy(" +
           section(left) +
           ", &(struct __tasuki_xmp_section){&__tasuki_v, sizeof __tasuki_v, 0, 0, 0, 0, \"\"}, " +
           flags(TASUKI_XMP_TEMPORARY) + ", " + place_ + "); }";
  }

  bool same_count(const Operand& left, const Operand& right) {
    if (right.rank == 0 || left.elements < 0 || right.elements < 0 || left.elements == right.elements)
      return true;
    const auto elements = [](long long n) { return std::to_string(n) + (n == 1 ? " element" : " elements"); };
    error(right.begin,
          "this section has " + elements(right.elements) + ", and that on the left side has " +
              elements(left.elements),
          "give both the same number of elements");
    return false;
  }

  std::string copy(const Operand& left, const Operand& right) {
    if (!same_count(left, right)) return "";
    return "tasuki_xmp_copy(" + section(left) + ", " + section(right) + ", " + flags() + ", " + place_ + ");";
  }

  // All operands are gathered, the loop computes into memory of its own, and the result is copied: nothing is
  // overwritten that is still to be read.
  std::string elemental(const Operand& left, size_t op) {
    left_ = &left;
    std::string old;
    if (!in_.text.is(op, "=")) {
      std::string sign(in_.text.spelling(op));
      sign.pop_back();
      old = gather("(*__tasuki_l)", left) + " " + sign + " ";
      // Of a compound assignment only the left side is a section.
    }
    at_ = right_;
    const Piece right = assignment_expression();
    if (good_ && at_ < end_)
      error(at_, "this cannot stand in an array assignment", "assign the value to a variable first");
    if (!good_) return "";
    const std::string value = old + "(" + value_of(right, true) + ")";
    return "{ const struct __tasuki_xmp_section* __tasuki_l = " + section(left) +
           "; unsigned long __tasuki_n = tasuki_xmp_elements(__tasuki_l, " + place_ + "); " + before_ +
           left.element_type() + "* __tasuki_r = tasuki_xmp_temporary(__tasuki_n, sizeof *__tasuki_r, " +
           place_ +
           "); for (unsigned long __tasuki_i = 0; __tasuki_i < __tasuki_n; __tasuki_i++) "
           "__tasuki_r[__tasuki_i] = " +
           value + "; tasuki_xmp_copy(__tasuki_l, " + dense("__tasuki_r") + ", " +
           flags(TASUKI_XMP_TEMPORARY) + ", " + place_ + "); tasuki_xmp_release(__tasuki_r); " + after_ + "}";
  }

  static std::string dense(const std::string& pointer) {
    return "&(struct __tasuki_xmp_section){" + pointer + ", sizeof *" + pointer +
           ", (const struct __tasuki_xmp_dimension[]){{0, __tasuki_n, 1, __tasuki_n, sizeof *" + pointer +
           "}}, 1, 0, 0, \"\"}";
  }

  // Memory with the elements of an operand; what is returned is one of them.
  std::string gather(const std::string& known, const Operand& operand) {
    const std::string number = std::to_string(operands_++), pointer = "__tasuki_o" + number;
    std::string from = "__tasuki_s" + number;
    if (known.empty())
      before_ += "const struct __tasuki_xmp_section* " + from + " = " + section(operand) +
                 "; tasuki_xmp_same(tasuki_xmp_elements(" + from + ", " + place_ + "), __tasuki_n, " +
                 quoted(operand.name) + ", " + place_ + "); ";
    else
      from = "__tasuki_l";
    before_ += operand.element_type() + "* " + pointer + " = tasuki_xmp_temporary(__tasuki_n, sizeof *" +
               pointer + ", " + place_ + "); tasuki_xmp_copy(" + dense(pointer) + ", " + from + ", 0, " +
               place_ + "); ";
    after_ += "tasuki_xmp_release(" + pointer + "); ";
    return pointer + "[__tasuki_i]";
  }

  // A scalar is computed once, before the loop; not so where C would perhaps not compute it at all.
  std::string value_of(const Piece& piece, bool always) {
    if (piece.section) return piece.text;
    const TokenKind kind = in_.text.tokens()[piece.first].kind;
    const bool constant = in_.text.next(piece.first) == piece.last &&
                          (kind == TokenKind::number || kind == TokenKind::character);
    refuse_device(piece.first, piece.last);
    const std::string text = in_.c(piece.first, piece.last);
    if (constant || !always) return "(" + text + ")";
    const std::string name = "__tasuki_c" + std::to_string(scalars_++);
    before_ += "__auto_type " + name + " = ((void)0, " + text + "); ";
    return name;
  }

  size_t take() {
    const size_t token = at_;
    at_ = in_.text.skip_directives(at_ + 1);
    return token;
  }
  bool is(const char* what) const { return at_ < end_ && in_.text.is(at_, what); }

  Piece assignment_expression() {
    Piece left = conditional();
    if (!good_ || at_ >= end_ || !in_.text.is_assignment(at_)) return left;
    const size_t op = take();
    const Piece right = assignment_expression();
    if (left.section || right.section)
      error(op, "an array assignment is a statement of its own", "write two statements");
    return {left.first, at_};
  }

  Piece conditional() {
    Piece condition = binary(1);
    if (!good_ || !is("?")) return condition;
    take();
    Piece yes = condition;
    const bool short_form = is(":");
    if (!short_form) yes = assignment_expression();
    if (!good_ || !is(":")) return condition;
    take();
    const Piece no = conditional();
    Piece result{condition.first, at_, condition.section || yes.section || no.section};
    if (result.section)
      result.text = "(" + value_of(condition, true) + " ? " + (short_form ? "" : value_of(yes, false)) +
                    " : " + value_of(no, false) + ")";
    return result;
  }

  Piece binary(int level) {
    Piece left = unary();
    while (good_ && at_ < end_ && precedence(in_.text, at_) >= level) {
      const size_t op = take();
      const Piece right = binary(precedence(in_.text, op) + 1);
      const bool conditional = in_.text.is_any(op, "&&", "||");
      if (left.section || right.section) {
        // From left to right.
        const std::string a = value_of(left, true);
        left.text =
            "(" + a + " " + std::string(in_.text.spelling(op)) + " " + value_of(right, !conditional) + ")";
        left.section = true;
      }
      left.last = at_;
    }
    return left;
  }

  // Is this "(" the begin of a cast or of a compound literal?
  bool is_type(size_t open) const {
    const size_t inside = in_.text.next(open);
    if (!in_.text.is_word(inside)) return false;
    for (const char* word :
         {"void",       "char",      "short",       "int",        "long",     "float",   "double",
          "signed",     "unsigned",  "_Bool",       "_Complex",   "struct",   "union",   "enum",
          "const",      "volatile",  "typeof",      "__typeof__", "__typeof", "_Atomic", "__int128",
          "__float128", "_Float128", "__complex__", "__signed__"})
      if (in_.text.is(inside, word)) return true;
    const Declaration* d = in_.analysis.find(in_.text.spelling(inside), in_.text.begin_of(inside));
    return d != nullptr && d->what == Declares::type;
  }

  Piece unary() {
    const size_t first = at_;
    if (at_ >= end_) {
      error(end_, "an expression is expected", "write section = expression;");
      return {first, first};
    }
    if (is("++") || is("--") || is("&") || is("&&")) {
      const size_t op = take();
      const Piece operand = unary();
      if (operand.section)
        error(op, "'" + std::string(in_.text.spelling(op)) + "' cannot be applied to a section",
              "write an array assignment");
      return {first, at_};
    }
    if (is("sizeof") || is("_Alignof") || is("__alignof__")) {
      take();
      if (is("(") && is_type(at_))
        at_ = in_.text.skip_directives(in_.match(at_) + 1);
      else if (unary().section)
        error(first, "a section has no size of its own", "take the size of an element");
      return {first, at_};
    }
    for (const char* op : {"+", "-", "!", "~", "*", "__extension__", "__real__", "__imag__"}) {
      if (!is(op)) continue;
      take();
      Piece operand = unary();
      if (operand.section) operand.text = "(" + std::string(op) + " " + operand.text + ")";
      operand.first = first;
      return operand;
    }
    if (is("(") && is_type(at_)) {
      const size_t close = in_.match(at_);
      if (!in_.text.is(in_.text.next(close), "{")) {
        at_ = in_.text.skip_directives(close + 1);
        Piece operand = unary();
        if (operand.section) operand.text = "((" + in_.c(first + 1, close) + ") " + operand.text + ")";
        operand.first = first;
        return operand;
      }
      at_ = in_.text.skip_directives(in_.match(in_.text.next(close)) + 1);  // a compound literal
      return {first, postfix_rest()};
    }
    return postfix();
  }

  // Behind a scalar operand: [..], .x, (..), ++.
  size_t postfix_rest() {
    while (at_ < end_) {
      if (is("[") || is("("))
        at_ = in_.match(at_) + 1;
      else if (is(".") || is("->"))
        at_ = in_.text.next(at_) + 1;
      else if (is("++") || is("--"))
        at_++;
      else if (in_.tokens.colons.contains(at_))
        at_ = in_.tokens.coindex_at(at_)->end;
      else
        break;
      at_ = in_.text.skip_directives(at_);
    }
    return at_;
  }

  Piece postfix() {
    const size_t first = at_;
    const TokenKind kind = in_.text.tokens()[first].kind;
    if (is("(") && !in_.text.is(in_.text.next(at_), "{")) {
      const size_t close = in_.match(at_);
      if (in_.tokens.has_section(first, close) &&
          (close + 1 >= end_ || !in_.text.is_any(close + 1, "[", ".", "->"))) {
        take();
        Piece inside = assignment_expression();
        if (good_ && at_ != close)
          error(at_, "this cannot stand in an array assignment", "assign the value to a variable first");
        at_ = in_.text.skip_directives(close + 1);
        if (!inside.section) return {first, postfix_rest()};
        return {first, at_, true, "(" + inside.text + ")", inside.gathered};
      }
    }
    if (is("(") || kind != TokenKind::punctuator) {
      const size_t end = std::min(operand_end(in_, first), end_);
      // A call with sections among its arguments is made for each element.
      if (kind == TokenKind::word && is_call_with_sections(first, end)) return call(first, end);
      if (has_own_section(first, end)) {
        const Operand operand = read_operand(in_, first);
        if (!operand.good) {
          good_ = false;
          return {first, end};
        }
        if (!same_count(*left_, operand)) return {first, end};
        if (operand.rank != left_->rank && !only_converts_)
          error(first,
                "in an expression all sections must have the same shape: this one has " +
                    std::to_string(operand.rank) + (operand.rank == 1 ? " dimension" : " dimensions") +
                    ", and that on the left side has " + std::to_string(left_->rank),
                "give both the same number of dimensions");
        at_ = in_.text.skip_directives(end);
        const int number = operands_;
        return {first, at_, true, gather("", operand), number};
      }
      if (is("("))
        at_ = in_.text.skip_directives(in_.match(at_) + 1);
      else
        take();
      while (kind == TokenKind::string && at_ < end_ && in_.text.tokens()[at_].kind == TokenKind::string)
        take();
      return {first, postfix_rest()};
    }
    error(first, "'" + std::string(in_.text.spelling(first)) + "' cannot stand here in an array assignment",
          "write section = expression;");
    return {first, end_};
  }

  // In its own brackets, not in those inside them or in arguments.
  bool has_own_section(size_t first, size_t last) const {
    for (size_t i = first; i < last; i++) {
      if (in_.tokens.sections.contains(i)) return true;
      if (in_.text.is_any(i, "[", "(") && in_.match(i) > i) i = in_.match(i);
    }
    return false;
  }

  bool is_call_with_sections(size_t first, size_t end) const {
    const size_t open = in_.text.next(first);
    return open < end && in_.text.is(open, "(") && in_.tokens.has_section(open, in_.match(open));
  }

  // frexp(x[:], &n[:]): the function stores into each element.
  Piece address() {
    const size_t op = take(), name = at_;
    Piece operand = unary();
    if (!good_ || !operand.section) return {op, at_};
    if (operand.gathered < 0 || (at_ < end_ && !in_.text.is_any(at_, ",", ")"))) {
      error(op, "'&' cannot be applied to this", "write the address of a section alone: &a[:]");
      return operand;
    }
    const std::string number = std::to_string(operand.gathered), pointer = "__tasuki_o" + number;
    if (!is_const(name))
      after_ = "tasuki_xmp_copy(__tasuki_s" + number + ", " + dense(pointer) + ", " +
               flags(TASUKI_XMP_TEMPORARY) + ", " + place_ + "); " + after_;
    operand.text = "(&" + operand.text + ")";
    return operand;
  }

  bool is_const(size_t name) const {
    const auto reference = in_.analysis.references.find(in_.text.begin_of(name));
    return reference != in_.analysis.references.end() &&
           std::any_of(in_.analysis.declarations.begin(), in_.analysis.declarations.end(),
                       [&](const Declaration& d) { return d.entity == reference->second && d.is_const; });
  }

  Piece call(size_t first, size_t end) {
    const size_t open = in_.text.next(first), close = in_.match(open);
    if (in_.text.skip_directives(close + 1) != in_.text.skip_directives(end)) {
      error(close, "the value of a function of sections is a section itself", "write two statements");
      return {first, end};
    }
    std::string text = std::string(in_.text.spelling(first)) + "(";
    bool section = false;
    std::vector<Piece> arguments;
    for (at_ = in_.text.skip_directives(open + 1); good_ && at_ < close;) {
      arguments.push_back(is("&") && in_.tokens.has_section(at_, close) ? address()
                                                                        : assignment_expression());
      section = section || arguments.back().section;
      if (at_ < close && !is(","))
        error(at_, "this cannot stand in an array assignment", "assign the value to a variable first");
      if (at_ < close) take();
    }
    at_ = in_.text.skip_directives(close + 1);
    if (!section) return {first, at_};
    for (size_t i = 0; i < arguments.size(); i++) text += (i > 0 ? ", " : "") + value_of(arguments[i], true);
    return {first, at_, true, text + ")"};
  }

  const Unit& in_;
  const size_t first_, end_;  // end_: the semicolon
  const unsigned flags_;
  const std::string place_;
  size_t right_ = kNone, at_ = kNone;
  const Operand* left_ = nullptr;
  std::string before_, after_;
  int operands_ = 0, scalars_ = 0;
  bool only_converts_ = false;  // the right side is one section: its shape is free
  bool good_ = true;
};

}  // namespace

std::string lower_array_assignment(const Unit& in, size_t first, size_t last, unsigned flags) {
  return Assignment(in, first, last, flags).run();
}

}  // namespace tasuki::cc
