#include "compiler/array_directive.h"

#include <algorithm>

#include "compiler/declarator.h"
#include "compiler/node_sets.h"

namespace tasuki::cc {
namespace {

class Lowering {
 public:
  Lowering(const CoarrayText& in, const GlobalNames& names, const GlobalArrays& arrays,
           const GlobalDirective& d, const TokenRange& statement)
      : in_(in),
        text_(in.text),
        names_(names),
        arrays_(arrays),
        d_(d),
        first_(statement.first),
        end_(text_.previous(statement.last)),
        space_(find_space(in, names, d.on)) {}

  std::string run() {
    if (!space_) return "";
    if (space_.template_ == nullptr) {
      error(d_.on.name, "an array assignment is divided over a template", "write array on t[0:n]");
      return "";
    }
    const size_t left_end = operand_end(in_, first_), op = text_.skip_directives(left_end);
    if (!text_.is(end_, ";") || !text_.is_word(first_) || !text_.is_assignment(op)) {
      error(first_, "'#pragma xmp array' stands before an array assignment",
            "write a[0:n] = expression; behind it");
      return "";
    }
    if (!find_ranges(left_end)) return "";
    const std::string left = element_text(first_, left_end), right = element_text(op + 1, end_),
                      sign(text_.spelling(op));
    if (!good_) return "";
    std::string result = "{ " + setup();
    if (!is_shifted(op, left_end)) return result + nest(left + " " + sign + " " + right + ";") + " }";
    const std::string place = in_.place(d_.name);
    for (size_t k = 0; k < ranges_.size(); k++)
      result += "const long long " + number("q", k) + " = 0; ";  // for its type
    result += "unsigned long __tasuki_n = 0; " + nest("__tasuki_n++;") + " __typeof__((void)0, " + left +
              ")* __tasuki_t = tasuki_xmp_temporary(__tasuki_n, sizeof *__tasuki_t, " + place +
              "); __tasuki_n = 0; " + nest("__tasuki_t[__tasuki_n++] = " + right + ";") +
              " __tasuki_n = 0; " + nest(left + " " + sign + " __tasuki_t[__tasuki_n++];") +
              " tasuki_xmp_release(__tasuki_t); }";
    return result;
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    if (good_) in_.diagnostics.error(text_.begin_of(token), what, advice);
    good_ = false;
  }

  // The ranges of the template, one for each section of the left side: the last goes with what varies fastest.
  bool find_ranges(size_t left_end) {
    int sections = 0;
    for (size_t i = first_; i < left_end; i++) {
      if (in_.tokens.sections.contains(i)) sections++;
      if (text_.is_any(i, "[", "(") && in_.match(i) > i) i = in_.match(i);
    }
    for (int k = 0; k < space_.dimensions(); k++)
      if (d_.on.subscripts.empty() || d_.on.subscripts[static_cast<size_t>(k)].is_range)
        ranges_.insert(ranges_.begin(), k);
    if (sections == static_cast<int>(ranges_.size()) && sections > 0) return true;
    error(d_.on.name,
          "the template has " + counted(ranges_.size(), "range") + " here, and the left side " +
              counted(static_cast<size_t>(sections), "section"),
          "write a range of the template for each section");
    return false;
  }

  std::string number(const char* what, size_t k) const {
    return "__tasuki_" + std::string(what) + std::to_string(k);
  }

  std::string setup() {
    std::string result;
    for (size_t k = 0; k < ranges_.size(); k++) {
      const std::string field = space_.record() + ".dimension[" + std::to_string(ranges_[k]) + "].";
      std::string lower = field + "lower", upper = field + "upper", step = "1";
      if (!d_.on.subscripts.empty()) {
        const NodeSubscript& s = d_.on.subscripts[static_cast<size_t>(ranges_[k])];
        const auto part = [&](const TokenRange& r) { return "(" + in_.c(r.first, r.last) + ")"; };
        if (!s.stride.empty()) step = part(s.stride);
        if (!s.lower.empty()) lower = part(s.lower);
        if (!s.upper.empty())
          upper = d_.on.brackets ? lower + " + (" + part(s.upper) + " - 1) * " + step : part(s.upper);
      }
      const std::string iterations = number("l", k), begin = number("b", k), stride = number("i", k);
      result += "const long long " + begin + " = " + lower + ", " + stride + " = " + step +
                "; struct __tasuki_xmp_iterations " + iterations + "; tasuki_xmp_loop(&" + iterations +
                ", &" + space_.record() + ", " + std::to_string(ranges_[k]) + ", " + begin + ", (" + upper +
                " - " + begin + ") / " + stride + " + 1, " + stride + ", 0, 0, 0, 0, " + in_.place(d_.name) +
                "); ";
    }
    return result;
  }

  std::string nest(const std::string& statement) {
    std::string result;
    const bool all =
        d_.on.subscripts.empty() || std::all_of(d_.on.subscripts.begin(), d_.on.subscripts.end(),
                                                [](const NodeSubscript& s) { return s.is_range || s.own; });
    if (!all)
      result += "if (tasuki_xmp_executes(" +
                node_set(in_, space_, d_.on, std::set<int>(ranges_.begin(), ranges_.end())) + ", " +
                in_.place(d_.name) + ")) ";
    for (size_t k = 0; k < ranges_.size(); k++) {
      const std::string l = number("l", k), r = number("r", k), e = number("e", k), s = number("s", k),
                        x = number("x", k);
      result += "for (long long " + r + " = 0, " + e + ", " + s + "; " + r + " < " + l +
                ".runs && (tasuki_xmp_run(&" + l + ", " + r + "), " + s + " = " + l + ".step, " + e + " = " +
                l + ".begin + " + l + ".count * " + s + ", 1); " + r + "++) for (long long " + x + " = " + l +
                ".begin; " + x + " < " + e + "; " + x + " += " + s + ") ";
    }
    for (size_t k = 0; k < ranges_.size(); k++)
      result += (k == 0 ? "{ " : "") + ("const long long " + number("q", k)) + " = (" + number("x", k) +
                " - " + number("b", k) + ") / " + number("i", k) + "; ";
    return result + statement + " }";
  }

  // [first, last) with a number for each section.
  std::string element_text(size_t first, size_t last) {
    std::string result;
    for (size_t i = first; i < last;) {
      if (text_.tokens()[i].kind == TokenKind::directive) {
        i++;
        continue;
      }
      const size_t array = text_.is_word(i) ? names_.find_array(text_, in_.analysis, i) : kNone;
      if (in_.tokens.has_section(i, operand_stop(i, last))) {
        result += operand(i, array, &i) + " ";
        continue;
      }
      const size_t stop = array != kNone ? operand_stop(i, last) : i + 1;
      result += in_.c(i, stop) + " ";
      i = stop;
    }
    return result;
  }

  // Behind the brackets of a name.
  size_t operand_stop(size_t begin, size_t last) const {
    size_t end = begin + 1;
    if (!text_.is_word(begin)) return end;
    for (size_t open = text_.next(begin); open < last && text_.is(open, "["); open = text_.next(end - 1))
      end = in_.match(open) + 1;
    return end;
  }

  std::string operand(size_t begin, size_t array, size_t* end) {
    std::vector<std::string> subscripts;
    size_t section = 0;
    *end = begin + 1;
    for (size_t open = text_.next(begin); text_.is(open, "["); open = text_.next(*end - 1)) {
      const size_t close = in_.match(open);
      const auto known = in_.tokens.sections.find(open);
      if (known == in_.tokens.sections.end()) {
        subscripts.push_back(in_.c(open + 1, close));
      } else {
        const SectionBracket& s = known->second;
        const bool strided = s.second_colon != kNone && text_.next(s.second_colon) != close;
        const std::string lower = text_.next(open) == s.colon ? "0" : "(" + in_.c(open + 1, s.colon) + ")";
        subscripts.push_back(lower + " + " + number("q", section++) +
                             (strided ? " * (" + in_.c(s.second_colon + 1, close) + ")" : ""));
      }
      *end = close + 1;
    }
    if (section != ranges_.size())
      error(
          begin,
          "this has " + counted(section, "section") + ", and the left side " + std::to_string(ranges_.size()),
          "give all the same shape");
    if (array != kNone && static_cast<int>(subscripts.size()) == names_.arrays[array].rank())
      return arrays_.element(array, subscripts, begin);
    std::string result(text_.spelling(begin));
    if (array == kNone) result = in_.c(begin, begin + 1);
    for (const std::string& s : subscripts) result += "[" + s + "]";
    return result;
  }

  // Does the right side read what the left side changes, at another place?
  bool is_shifted(size_t op, size_t left_end) const {
    const std::string left = joined(text_, first_, left_end);
    for (size_t i = op; i < end_; i++) {
      if (!text_.is_word(i) || text_.spelling(i) != text_.spelling(first_) ||
          text_.is_any(text_.previous(i), ".", "->"))
        continue;
      if (joined(text_, i, operand_end(in_, i)) != left) return true;
    }
    return false;
  }

  const CoarrayText& in_;
  const Text& text_;
  const GlobalNames& names_;
  const GlobalArrays& arrays_;
  const GlobalDirective& d_;
  size_t first_, end_;  // the assignment, and its semicolon
  NodeSpace space_;
  std::vector<int> ranges_;  // dimensions of the template with a range, the slowest first
  bool good_ = true;
};

}  // namespace

std::string lower_array_directive(const CoarrayText& in, const GlobalNames& names, const GlobalArrays& arrays,
                                  const GlobalDirective& directive, const TokenRange& statement) {
  return Lowering(in, names, arrays, directive, statement).run();
}

}  // namespace tasuki::cc
