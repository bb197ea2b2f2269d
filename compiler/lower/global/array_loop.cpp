#include "compiler/lower/global/array_loop.h"

#include <algorithm>

#include "compiler/lower/global/node_sets.h"
#include "compiler/meaning/coarray_operand.h"
#include "compiler/text/declarator.h"

namespace tasuki::cc {
namespace {

// A variable or array on one of the two sides, with the sections and indices behind its name.
struct Term {
  size_t begin = kNone, end = kNone;  // from its name to behind its last bracket
  size_t array = kNone;               // kNone: it is not distributed
  std::vector<size_t> opens = {};
  std::vector<int> loops = {};  // by bracket: which of the left side's sections it goes with; -1: an index
  std::string subscripts = "";  // as the user has written them

  int sections() const {
    return static_cast<int>(std::count_if(loops.begin(), loops.end(), [](int l) { return l >= 0; }));
  }
};

class Lowering {
 public:
  Lowering(const Unit& in, const GlobalArrays& arrays, const ArrayDirective& d, const TokenRange& statement)
      : in_(in),
        text_(in.text),
        names_(in.global),
        arrays_(arrays),
        d_(d),
        on_(d.on.value_or(NodesReference{})),
        first_(statement.first),
        end_(text_.previous(statement.last)) {}

  std::string run() {
    if (d_.on) space_ = find_space(in_, on_);
    if (d_.on && !space_) return "";
    if (space_.template_ == nullptr) {
      error(d_.on ? on_.name : d_.name, "'#pragma xmp array' needs a template behind 'on'",
            "write array on t[0:n]");
      return "";
    }
    const size_t left_end = operand_end(in_, first_), op = text_.skip_directives(left_end);
    if (!text_.is(end_, ";") || !text_.is_word(first_) || !text_.is_assignment(op)) {
      error(first_, "'#pragma xmp array' must stand before an array assignment",
            "write a[0:n] = expression; behind it");
      return "";
    }
    find_terms(first_, left_end);
    const size_t left_terms = terms_.size();
    find_terms(op + 1, end_);
    if (!good_ || !find_loops(left_terms) || !pair()) return "";
    const std::string sign(text_.spelling(op)), setup = begin(left_terms),
                                                left = element_text(first_, left_end);
    std::string right = element_text(op + 1, end_), value;
    // One value for all elements is computed once.
    if (is_one_value(left_terms)) {
      value = "__auto_type __tasuki_v = ((void)0, " + right + "); ";
      right = "__tasuki_v";
    }
    if (!good_) return "";
    const std::string result = "{ " + setup + "{ " + value;
    if (!is_shifted(left_terms)) return result + nest(left + " " + sign + " " + right + ";") + " } }";
    const std::string place = in_.place(d_.name);
    std::string indices;
    for (size_t j = 0; j < loops_.size(); j++)
      indices +=
          "const long long " + number("q", j) + " = 0; (void)" + number("q", j) + "; ";  // for its type
    return result + indices + "unsigned long __tasuki_n = 0; " + nest("__tasuki_n++;") +
           " __typeof__((void)0, " + left +
           ")* __tasuki_t = tasuki_xmp_temporary(__tasuki_n, sizeof *__tasuki_t, " + place +
           "); __tasuki_n = 0; " + nest("__tasuki_t[__tasuki_n++] = " + right + ";") + " __tasuki_n = 0; " +
           nest(left + " " + sign + " __tasuki_t[__tasuki_n++];") + " tasuki_xmp_release(__tasuki_t); } }";
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    if (good_) in_.diagnostics.error(text_.begin_of(token), what, advice);
    good_ = false;
  }

  bool is_one_value(size_t left_terms) const {
    return std::none_of(terms_.begin() + static_cast<long>(left_terms), terms_.end(),
                        [](const Term& p) { return p.sections() > 0; });
  }

  // ---- what the statement names

  void find_terms(size_t first, size_t last) {
    for (size_t i = first; i < last; i++) {
      if (in_.tokens.colons.contains(i) && in_.tokens.coindex_at(i)->end <= last)
        return error(i, "an array assignment that is divided over a template cannot read another image",
                     "copy what is needed with gmove, or with an array assignment of its own");
      if (!text_.is_word(i) || in_.analysis.is_unevaluated(text_.begin_of(i))) continue;
      Term p{.begin = i, .end = i + 1};
      if (!text_.is_any(text_.previous(i), ".", "->")) p.array = names_.find_array(text_, in_.analysis, i);
      for (size_t open = text_.next(i); open < last && text_.is(open, "["); open = text_.next(p.end - 1)) {
        // What stands behind all subscripts of an element belongs to the element.
        if (p.array != kNone && p.opens.size() == names_.arrays[p.array].dimensions.size()) break;
        const bool section = in_.tokens.sections.contains(open);
        p.opens.push_back(open);
        p.loops.push_back(section ? p.sections() : -1);
        p.end = in_.match(open) + 1;
        if (has_section_inside(open))
          return error(text_.next(open), "a section cannot stand in a subscript",
                       "assign it to an array first");
      }
      if (p.opens.empty() && p.array == kNone && text_.spelling(i) != text_.spelling(first_)) continue;
      p.subscripts = joined(text_, i + 1, p.end);
      if (p.array != kNone && p.sections() > 0 &&
          static_cast<int>(p.opens.size()) != names_.arrays[p.array].rank())
        return error(i,
                     "'" + names_.arrays[p.array].name + "' has " +
                         counted(names_.arrays[p.array].dimensions.size(), "dimension") + ", and " +
                         counted_are(p.opens.size(), "subscript") + " given",
                     "write an index or a section for each, such as [:]");
      terms_.push_back(std::move(p));
    }
  }

  bool has_section_inside(size_t open) const {
    for (const auto& [other, s] : in_.tokens.sections)
      if (other > open && other < in_.match(open)) return true;
    return false;
  }

  // The sections of the left side are the loops.
  bool find_loops(size_t left_terms) {
    left_ = 0;
    while (left_ < left_terms && terms_[left_].sections() == 0) left_++;
    if (left_ == left_terms) {
      shapes_differ(0);
      return false;
    }
    loops_.resize(static_cast<size_t>(terms_[left_].sections()), -1);
    for (size_t i = 0; i < terms_.size(); i++) {
      const Term& p = terms_[i];
      if (p.sections() == 0) continue;
      if (i != left_ && i < left_terms) {
        error(p.begin, "the left side has sections of two arrays", "write a loop");
        return false;
      }
      if (p.sections() != static_cast<int>(loops_.size())) {
        error(p.begin,
              "this has " + counted(static_cast<size_t>(p.sections()), "section") + ", and the left side " +
                  std::to_string(loops_.size()),
              "give all the same shape");
        return false;
      }
    }
    return true;
  }

  bool is_range(int dimension) const {
    return on_.subscripts.empty() || on_.subscripts[static_cast<size_t>(dimension)].is_range;
  }

  // Which of the left side's sections go with which ranges of the template: as the left side is aligned with
  // it, else as what is read is. Sections that are aligned with no range are executed as a whole, and ranges
  // that no section is aligned with only say who executes.
  bool pair() {
    const auto pairs = [&](const Term& p) {
      return p.array != kNone && p.sections() > 0 && names_.arrays[p.array].template_ == space_.template_;
    };
    auto by = terms_.begin() + static_cast<long>(left_);
    if (!pairs(*by)) by = std::find_if(terms_.begin(), terms_.end(), pairs);
    if (by != terms_.end()) {
      for (size_t k = 0; k < by->loops.size(); k++) {
        const int with = names_.arrays[by->array].dimensions[k].with;
        if (by->loops[k] < 0 || with < 0 || !is_range(with)) continue;
        loops_[static_cast<size_t>(by->loops[k])] = with;
      }
      return true;
    }
    // Nothing here is aligned with the template: the last section goes with what varies fastest.
    const std::vector<int> ranges = open_ranges();
    if (ranges.size() == loops_.size()) {
      loops_ = ranges;
      return true;
    }
    shapes_differ(loops_.size());
    return false;
  }

  std::vector<int> open_ranges() const {
    std::vector<int> ranges;
    for (int k = space_.dimensions(); k-- > 0;)
      if (is_range(k)) ranges.push_back(k);
    return ranges;
  }
  void shapes_differ(size_t sections) {
    error(on_.name,
          "the template has " + counted(open_ranges().size(), "range") + " here, and the left side " +
              counted(sections, "section"),
          "write a range of the template for each section");
  }

  // ---- what is computed before the loops

  static std::string number(const char* what, size_t k) {
    return "__tasuki_" + std::string(what) + std::to_string(k);
  }
  // The lower bound, the number of elements and the stride of a section; the index beside a section.
  static std::string part_of(const char* what, size_t term, size_t bracket) {
    return "__tasuki_" + std::string(what) + std::to_string(term) + "_" + std::to_string(bracket);
  }
  std::string text_of(const TokenRange& r) const { return "(" + in_.c(r.first, r.last) + ")"; }

  // The elements of a dimension; empty: nobody knows.
  std::string extent(const Term& p, size_t bracket) const {
    if (p.array != kNone) return names_.arrays[p.array].record() + ".extent[" + std::to_string(bracket) + "]";
    const size_t begin = postfix_begin(text_, in_.tokens, p.begin);
    const ExpressionType* type = in_.type(begin, p.opens[bracket]);
    if (type == nullptr || (type->shape != Shape::array && type->shape != Shape::variable_array)) return "";
    std::string typed = in_.c(begin, p.begin + 1);
    for (size_t k = 0; k < bracket; k++) typed += "[0]";
    return "(long long)(sizeof(" + typed + ") / sizeof(" + typed + "[0]))";
  }

  std::string sections_of(size_t term) {
    const Term& p = terms_[term];
    std::string result;
    for (size_t k = 0; p.sections() > 0 && k < p.opens.size(); k++) {
      if (p.loops[k] < 0) {
        result += "const long long " + part_of("f", term, k) + " = " +
                  in_.c(p.opens[k] + 1, in_.match(p.opens[k])) + "; ";
        continue;
      }
      const SectionBracket& s = in_.tokens.sections.at(p.opens[k]);
      const size_t close = in_.match(s.open), length_end = s.second_colon != kNone ? s.second_colon : close;
      const bool strided = s.second_colon != kNone && text_.next(s.second_colon) != close;
      const std::string lower = part_of("f", term, k), count = part_of("m", term, k),
                        step = part_of("s", term, k);
      result += "const long long " + lower + " = " +
                (text_.next(s.open) == s.colon ? "0" : in_.c(s.open + 1, s.colon)) + ", " + step + " = " +
                (strided ? in_.c(s.second_colon + 1, close) : "1") + ", " + count + " = ";
      const std::string all = extent(p, k);
      if (text_.next(s.colon) != length_end) {
        result += in_.c(s.colon + 1, length_end);
      } else if (!all.empty()) {
        result += "__tasuki_length(" + all + ", " + lower + ", " + step + ")";
      } else if (term == left_) {
        error(s.open, "a section of a pointer needs a length: nobody knows where the memory ends",
              "write [lower:length]");
      } else {
        result += kOpen;
      }
      result += "; ";
    }
    return result;
  }

  // What an operand takes in each of its dimensions, for the library to check.
  std::string accesses_of(size_t term, size_t left_terms, int* number_of) {
    const Term& p = terms_[term];
    const std::string record = p.array == kNone ? "0" : "&" + names_.arrays[p.array].record();
    std::string result;
    if (p.sections() == 0 && (!is_element(p) || is_checked_here(p))) return "";
    for (size_t k = 0; k < p.opens.size(); k++) {
      const bool section = p.loops[k] >= 0;
      if (!section && p.array == kNone) continue;
      std::string subscript = part_of("f", term, k) + ", ";
      if (p.sections() == 0) subscript = in_.c(p.opens[k] + 1, in_.match(p.opens[k])) + ", ";
      subscript += section ? part_of("s", term, k) + ", " + part_of("m", term, k) : "0, 1";
      result += (result.empty() ? "{" : ", {") + record + ", " + std::to_string(k) + ", " +
                std::to_string(p.loops[k]) + ", " + subscript + ", " +
                (term == left_ && term < left_terms ? "1" : "0") + ", " +
                quoted(std::string(text_.spelling(p.begin))) + "}";
      ++*number_of;
    }
    return result;
  }

  bool is_element(const Term& p) const {
    return p.array != kNone && static_cast<int>(p.opens.size()) == names_.arrays[p.array].rank();
  }

  // Can it be looked at only where it is used: because that may be nowhere, or changes something?
  bool is_checked_here(const Term& p) const {
    if (p.sections() > 0 || !is_element(p)) return false;
    for (size_t i = first_; i < end_; i++)
      if (text_.is_any(i, "?", "&&", "||")) return true;
    for (size_t i = p.begin; i < p.end; i++)
      if (text_.is_any(i, "++", "--") || text_.is_assignment(i) ||
          (text_.is(i, "(") && text_.is_word(text_.previous(i))))
        return true;
    return false;
  }

  // Of a loop that is divided: iterations of the template's range.
  std::string divide(size_t loop) {
    const int k = loops_[loop];
    const Term& left = terms_[left_];
    const auto bracket = static_cast<size_t>(
        std::find(left.loops.begin(), left.loops.end(), static_cast<int>(loop)) - left.loops.begin());
    const std::string elements = part_of("m", left_, bracket), begin = number("b", loop),
                      step = number("i", loop);
    const std::string field = space_.record() + ".dimension[" + std::to_string(k) + "].";
    std::string lower = field + "lower", stride = "1", count = field + "upper - " + field + "lower + 1";
    const bool aligned = left.array != kNone && names_.arrays[left.array].template_ == space_.template_ &&
                         names_.arrays[left.array].dimensions[bracket].with == k;
    const NodeSubscript* s = on_.subscripts.empty() ? nullptr : &on_.subscripts[static_cast<size_t>(k)];
    if (aligned && (s == nullptr || (s->lower.empty() && s->upper.empty() && s->stride.empty()))) {
      // All of the template: the part of it that the section is aligned with.
      lower = part_of("f", left_, bracket) + " + " + names_.arrays[left.array].record() + ".offset[" +
              std::to_string(bracket) + "]";
      stride = part_of("s", left_, bracket);
      count = elements;
    } else if (s != nullptr) {
      if (!s->stride.empty()) stride = text_of(s->stride);
      if (!s->lower.empty()) lower = text_of(s->lower);
      const std::string upper = s->upper.empty()
                                    ? "(" + step + " > 0 ? " + field + "upper : " + field + "lower)"
                                    : text_of(s->upper);
      count = !s->upper.empty() && on_.brackets
                  ? upper
                  : "__tasuki_range_count(" + begin + ", " + upper + ", " + step + ")";
    }
    return "const long long " + begin + " = " + lower + ", " + step + " = " + stride +
           "; struct __tasuki_xmp_iterations " + number("l", loop) + "; tasuki_xmp_divide(&" +
           number("l", loop) + ", &" + space_.record() + ", " + std::to_string(k) + ", " + begin + ", " +
           count + ", " + step + ", " + elements + ", " + in_.place(d_.name) + "); ";
  }

  // All of a dimension that no section goes with: all nodes, also those that have none of its elements, and
  // all copies of what is replicated; but of an array that is with one element of it, the node of that.
  NodesReference executing(const std::set<int>& paired) const {
    NodesReference on = on_;
    NodeSubscript whole;
    whole.is_range = true;
    if (on.subscripts.empty()) on.subscripts.assign(static_cast<size_t>(space_.dimensions()), whole);
    const Term& left = terms_[left_];
    const bool aligned = left.array != kNone && names_.arrays[left.array].template_ == space_.template_;
    for (size_t k = 0; k < on.subscripts.size(); k++) {
      NodeSubscript& s = on.subscripts[k];
      if (!s.is_range || paired.contains(static_cast<int>(k))) continue;
      if (!s.lower.empty() || !s.upper.empty() || !s.stride.empty()) continue;
      s.own = !aligned || names_.arrays[left.array].one[k].empty();
      s.is_range = false;
      if (!s.own) s.lower = names_.arrays[left.array].one[k];
    }
    return on;
  }

  // Ends with if (..): has this node anything to do? All operands are looked at before the first element is
  // changed.
  std::string begin(size_t left_terms) {
    std::string result, loops, accesses;
    for (size_t i = 0; i < terms_.size(); i++) result += sections_of(i);
    std::set<int> paired;
    for (size_t j = 0; j < loops_.size(); j++) {
      if (loops_[j] >= 0) {
        paired.insert(loops_[j]);
        result += divide(j);
      }
      const Term& left = terms_[left_];
      const auto bracket = static_cast<size_t>(
          std::find(left.loops.begin(), left.loops.end(), static_cast<int>(j)) - left.loops.begin());
      loops +=
          (j > 0 ? ", {" : "{") +
          (loops_[j] < 0 ? "0, 0, 1" : "&" + number("l", j) + ", " + number("b", j) + ", " + number("i", j)) +
          ", " + part_of("m", left_, bracket) + "}";
    }
    int number_of = 0;
    for (size_t i = 0; i < terms_.size(); i++) {
      const std::string one = accesses_of(i, left_terms, &number_of);
      accesses += (accesses.empty() || one.empty() ? "" : ", ") + one;
    }
    const bool all = static_cast<int>(paired.size()) == space_.dimensions();
    return result + "if (tasuki_xmp_array_begin(" +
           (all ? "0" : node_set(in_, space_, executing(paired), paired)) + ", " +
           std::to_string(loops_.size()) + ", (const struct __tasuki_xmp_array_loop[]){" + loops + "}, " +
           std::to_string(number_of) + ", (const struct __tasuki_xmp_array_access[]){" + accesses + "}, " +
           in_.place(d_.name) + ")) ";
  }

  // ---- the loops

  std::string nest(const std::string& statement) const {
    const Term& left = terms_[left_];
    std::string result, indices;
    for (size_t j = 0, bracket = 0; j < loops_.size(); j++, bracket++) {
      const std::string l = number("l", j), r = number("r", j), o = number("o", j), e = number("e", j),
                        s = number("t", j), x = number("x", j), q = number("q", j);
      while (left.loops[bracket] < 0) bracket++;
      if (loops_[j] < 0) {
        result +=
            "for (long long " + q + " = 0; " + q + " < " + part_of("m", left_, bracket) + "; " + q + "++) ";
        continue;
      }
      // Of a run: the first element of the section, how many there are, and how far the next one is.
      result += "for (long long " + r + " = 0, " + o + ", " + e + ", " + s + "; " + r + " < " + l +
                ".runs && (tasuki_xmp_run(&" + l + ", " + r + "), " + o + " = (" + l + ".begin - " +
                number("b", j) + ") / " + number("i", j) + ", " + s + " = " + l + ".step / " +
                number("i", j) + ", " + e + " = " + l + ".count, 1); " + r + "++) for (long long " + x +
                " = 0; " + x + " < " + e + "; " + x + "++) ";
      indices += "const long long " + q + " = " + o + " + " + x + " * " + s + "; (void)" + q + "; ";
    }
    return result + "{ " + indices + statement + " }";
  }

  // [first, last) with a number for each section.
  std::string element_text(size_t first, size_t last) {
    std::string result;
    size_t from = first;
    for (size_t k = 0; k < terms_.size(); k++) {
      const Term& p = terms_[k];
      if (p.begin < from || p.begin >= last || (p.sections() == 0 && !is_checked_here(p))) continue;
      if (from < p.begin) result += in_.c(from, p.begin) + " ";
      result += element_of(k) + " ";
      from = p.end;
    }
    return from < last ? result + in_.c(from, last) : result;
  }

  std::string element_of(size_t term) {
    const Term& p = terms_[term];
    std::vector<std::string> subscripts;
    for (size_t k = 0; k < p.opens.size(); k++) {
      if (p.sections() == 0)
        subscripts.push_back("tasuki_xmp_owned(&" + names_.arrays[p.array].record() + ", " +
                             std::to_string(k) + ", " + in_.c(p.opens[k] + 1, in_.match(p.opens[k])) + ", " +
                             in_.place(p.begin) + ")");
      else if (p.loops[k] < 0)
        subscripts.push_back(part_of("f", term, k));
      else
        subscripts.push_back(part_of("f", term, k) + " + " + number("q", static_cast<size_t>(p.loops[k])) +
                             " * " + part_of("s", term, k));
    }
    if (p.array != kNone) return arrays_.element(p.array, subscripts, p.begin);
    std::string result = in_.c(p.begin, p.begin + 1);
    for (const std::string& s : subscripts) result += "[" + s + "]";
    return result;
  }

  // Could the right side read what the left side changes, at another place? Other names may stand for the
  // same memory only where they are pointers; a distributed array's memory begins with the same element under
  // all of its names.
  bool is_shifted(size_t left_terms) const {
    if (is_one_value(left_terms)) return false;
    const Term& left = terms_[left_];
    const bool left_points = is_pointer(left);
    for (size_t i = left_terms; i < terms_.size(); i++) {
      const Term& p = terms_[i];
      if (p.opens.empty() && p.array == kNone) return true;
      if ((p.array == kNone) != (left.array == kNone)) continue;
      const bool same_name = text_.spelling(p.begin) == text_.spelling(left.begin);
      if (!same_name && !left_points && !is_pointer(p)) continue;
      if (p.subscripts != left.subscripts || left.subscripts.find('(') != std::string::npos ||
          left.subscripts.find("++") != std::string::npos || left.subscripts.find("--") != std::string::npos)
        return true;
      if (left.array == kNone && (!same_name || left.begin != first_)) return true;
    }
    return false;
  }

  bool is_pointer(const Term& p) const {
    if (p.array != kNone) return names_.arrays[p.array].kind != DistributedArray::Kind::array;
    const Declaration* d = in_.analysis.find(text_.spelling(p.begin), text_.begin_of(p.begin));
    return d == nullptr || d->what == Declares::parameter || d->shape == Shape::pointer ||
           text_.is_any(text_.previous(p.begin), ".", "->");
  }

  const Unit& in_;
  const Text& text_;
  const GlobalNames& names_;
  const GlobalArrays& arrays_;
  const ArrayDirective& d_;
  const NodesReference on_;
  size_t first_, end_;  // the assignment, and its semicolon
  NodeSpace space_;
  std::vector<Term> terms_;  // in their order
  size_t left_ = 0;          // the one that is assigned to
  std::vector<int> loops_;  // by section of the left side: the template's dimension that divides it; -1: none
  bool good_ = true;
};

}  // namespace

std::string lower_array_directive(const Unit& in, const GlobalArrays& arrays, const ArrayDirective& directive,
                                  const TokenRange& statement) {
  return Lowering(in, arrays, directive, statement).run();
}

}  // namespace tasuki::cc
