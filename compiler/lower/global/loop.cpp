#include "compiler/lower/global/loop.h"

#include <algorithm>
#include <set>

#include "compiler/lower/global/node_sets.h"
#include "compiler/lower/global/omp_acc_lines.h"
#include "compiler/lower/global/reductions.h"
#include "compiler/meaning/for_header.h"
#include "compiler/text/declarator.h"
#include "compiler/tokens/statements.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::cc {
namespace {

struct Loop {
  ForHeader head;
  size_t end = kNone;  // behind its statement
  int dimension = -1;  // of the template
  Shifted shift = {};
  bool divided = false;          // that dimension is distributed
  bool several = false;          // runs of iterations
  bool hoisted = true;           // its part is known before the nest
  const Loop* around = nullptr;  // the divided loop that it is in; `level`: how many there are
  size_t level = 0;
};

class Lowering {
 public:
  Lowering(const Unit& in, const LoopDirective& d, const std::vector<const LoopDirective*>& outer)
      : in_(in),
        text_(in.text),
        names_(in.global),
        statements_(in.text, in.tokens),
        d_(d),
        on_(d.on.value_or(NodesReference{})),
        outer_(outer) {}

  LoweredLoop run(const std::string& locals) {
    if (!d_.on) {
      error(d_.name, "'#pragma xmp loop' needs a template or node array behind 'on'", "write loop on t(i)");
      return {};
    }
    space_ = find_space(in_, on_);
    first_ = text_.skip_directives(d_.end + 1);
    if (!text_.is(first_, "for")) {
      error(d_.name, "'#pragma xmp loop' must stand before a loop",
            "write for (i = 0; i < n; i++) behind it");
      return {};
    }
    end_ = statements_.end_of(first_);
    if (!space_ || on_.subscripts.empty()) {
      if (space_) error(on_.name, "a loop needs subscripts with its variables", "write loop (i) on t(i)");
      return {};
    }
    if (!check_widths() || !find_loops() || !classify()) return {};
    if (!check_pragmas() || !check_locations()) return {};
    if (is_ordered()) find_levels();
    LoweredLoop result = by_condition_ ? conditional(locals) : divide(locals);
    for (const Loop& l : loops_)
      if (l.divided || by_condition_) result.divided.push_back({l.head.keyword, l.end});
    return result;
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    in_.diagnostics.error(text_.begin_of(token), what, advice);
  }
  std::string text_of(const TokenRange& r) const { return in_.c(r.first, r.last); }

  bool check_widths() {
    if (d_.widths.empty() || d_.widths.size() == on_.subscripts.size()) return true;
    error(d_.name,
          std::string(d_.is_margin ? "margin" : "expand") + " needs a width for each subscript behind on",
          "write 0 for a subscript that needs no more");
    return false;
  }

  bool same(size_t a, size_t b) const { return text_.spelling(a) == text_.spelling(b); }
  bool wanted(size_t variable) const {
    if (d_.indices.empty()) return subscript_with(variable) >= 0;
    return std::any_of(d_.indices.begin(), d_.indices.end(), [&](size_t i) { return same(i, variable); });
  }
  bool has_word(const TokenRange& r, size_t word) const {
    for (size_t i = r.first; i < r.last; i++)
      if (text_.is_word(i) && same(i, word) && !text_.is_any(text_.previous(i), ".", "->")) return true;
    return false;
  }
  int subscript_with(size_t variable) const {
    for (size_t k = 0; k < on_.subscripts.size(); k++) {
      const NodeSubscript& s = on_.subscripts[k];
      for (const TokenRange& r : {s.lower, s.upper, s.stride})
        if (!r.empty() && has_word(r, variable)) return static_cast<int>(k);
    }
    return -1;
  }

  bool find_loops() {
    for (size_t i = first_; i < end_; i++) {
      if (text_.is(i, kDirectiveWord)) break;
      const size_t variable = loop_variable(text_, i);
      if (variable == kNone || !wanted(variable)) continue;
      if (std::any_of(loops_.begin(), loops_.end(),
                      [&](const Loop& l) { return same(l.head.variable, variable); }))
        continue;
      Loop loop;
      if (!read_for(in_, i, &loop.head)) return false;
      loop.end = statements_.end_of(i);
      loops_.push_back(loop);
    }
    for (size_t index : d_.indices)
      if (std::none_of(loops_.begin(), loops_.end(),
                       [&](const Loop& l) { return same(l.head.variable, index); })) {
        error(index,
              "there is no loop with the variable '" + std::string(text_.spelling(index)) + "' behind this",
              "write for (" + std::string(text_.spelling(index)) + " = ..");
        return false;
      }
    if (!loops_.empty()) return true;
    error(d_.name, "none of the variables behind 'on' is the variable of a loop here",
          "write loop on t(i) before for (i = ..");
    return false;
  }

  // Which dimension each loop goes with, and how.
  bool classify() {
    std::set<int> used;
    for (Loop& l : loops_) {
      l.dimension = subscript_with(l.head.variable);
      if (l.dimension < 0) continue;
      const NodeSubscript& s = on_.subscripts[static_cast<size_t>(l.dimension)];
      const auto is_variable = [&](size_t token) { return same(token, l.head.variable); };
      if (space_.nodes != nullptr || s.is_range || !used.insert(l.dimension).second ||
          !read_shifted(text_, s.lower, is_variable, &l.shift))
        by_condition_ = true;
      dimensions_ |= 1U << l.dimension;
      l.divided = space_.is_distributed(l.dimension);
      l.several = d_.is_margin || !l.head.upwards() ||
                  (space_.template_ != nullptr && space_.template_->format(l.dimension) == Format::cyclic);
      l.hoisted = is_hoisted(l);
    }
    if (by_condition_ && !d_.widths.empty()) {
      error(d_.name, "expand and margin are for subscripts of the form i, i+n or i-n of a template",
            "drop the clause, or write such subscripts");
      return false;
    }
    return true;
  }

  // OpenMP and OpenACC divide loops of one form, with nothing between those that they divide together.
  bool check_pragmas() {
    for (const Loop& outer : loops_) {
      LoopPragma pragma = loop_pragma_before(in_, outer.head.keyword);
      if (pragma.token == kNone && outer.head.keyword == first_) pragma = loop_pragma_before(in_, d_.word);
      if (pragma.token == kNone) continue;
      for (const Loop& l : loops_) {
        if (l.head.keyword < outer.head.keyword || l.head.keyword >= outer.end) continue;
        int depth = 0;
        for (size_t i = outer.head.keyword; i < l.head.keyword; i++) depth += text_.is(i, "for") ? 1 : 0;
        if (depth >= pragma.loops || !(by_condition_ || (l.divided && (l.several || !l.hoisted)))) continue;
        const char* why = by_condition_ ? "it becomes a condition in each iteration"
                          : !l.several  ? "its bounds are known in the loop around it only"
                          : l.head.upwards()
                              ? "a cyclic distribution, or margin, gives each node several parts of it"
                              : "it runs downwards";
        error(l.head.keyword, std::string("OpenMP and OpenACC cannot divide this loop once more: ") + why,
              "write the pragma before a loop that #pragma xmp does not divide, or divide it in blocks, "
              "upwards");
        return false;
      }
    }
    return true;
  }

  // The variable of a loop has another value in each iteration, and none that lasts if the loop declares it.
  bool check_locations() const {
    for (const Reduction& r : d_.reductions)
      for (const Reduction::Variable& v : r.variables)
        for (const TokenRange& range : v.locations)
          for (const Loop& l : loops_) {
            if (text_.next(range.first) != range.last || !same(range.first, l.head.variable)) continue;
            if (l.head.type.empty() && r.operation.starts_with("first")) continue;
            in_.diagnostics.error(text_.begin_of(range.first),
                                  "'" + std::string(text_.spelling(range.first)) +
                                      "' cannot tell where the value is: it is the variable of the loop",
                                  "assign it to another variable where the loop assigns to '" +
                                      joined(text_, v.variable.first, v.variable.last) + "'");
            return false;
          }
    return true;
  }

  // Nothing in its bounds changes between the beginning of the nest and its own.
  bool is_hoisted(const Loop& l) const {
    if (l.head.keyword == first_) return true;
    const size_t function = in_.analysis.function_at(text_.begin_of(first_));
    for (const TokenRange& r : {l.head.lower, l.head.bound, l.head.step, l.shift.before, l.shift.after}) {
      for (size_t i = r.first; !r.empty() && i < r.last; i++) {
        if (text_.is_any(i, "[", "->", ".")) return false;
        if (!text_.is_word(i)) continue;
        const size_t behind = text_.next(i);
        if (text_.is(behind, "(")) return false;
        const Declaration* d = in_.analysis.find(text_.spelling(i), text_.begin_of(i));
        if (d == nullptr || d->what == Declares::type || d->what == Declares::constant) continue;
        if (d->offset > text_.begin_of(first_) || changes(i)) return false;
        const bool local = d->what == Declares::parameter || (d->function == function && !d->global_storage);
        if (!local && !d->is_const && has_calls()) return false;
      }
    }
    return true;
  }

  bool changes(size_t word) const {
    for (size_t i = first_; i < end_; i++) {
      if (!text_.is_word(i) || !same(i, word)) continue;
      const size_t before = text_.previous(i), behind = text_.next(i);
      if (text_.is_assignment(behind) || text_.is_any(behind, "++", "--") ||
          text_.is_any(before, "++", "--", "&"))
        return true;
    }
    return false;
  }

  bool has_calls() const {
    for (size_t i = first_; i < end_; i++)
      if (text_.is_word(i) && text_.is(text_.next(i), "(") &&
          !text_.is_any(i, "for", "while", "if", "switch", "sizeof", "return"))
        return true;
    return false;
  }

  // ---- nodes that do not own the other subscripts

  // What is behind `on` and no variable of these loops, unless a loop around this one has divided it already.
  bool needs_condition() const {
    for (int k = 0; k < space_.dimensions(); k++) {
      const NodeSubscript& s = on_.subscripts[static_cast<size_t>(k)];
      if ((dimensions_ & 1U << k) != 0 || s.own || !space_.is_distributed(k)) continue;
      if (s.is_range && s.lower.empty() && s.upper.empty()) continue;
      if (!divided_outside(k, s)) return true;
    }
    return false;
  }

  bool divided_outside(int dimension, const NodeSubscript& s) const {
    if (s.is_range || space_.template_ == nullptr) return false;
    return std::any_of(outer_.begin(), outer_.end(), [&](const LoopDirective* o) {
      if (!o->on || names_.find_template(text_.spelling(o->on->name), o->on->name) != space_.template_)
        return false;
      const size_t k = static_cast<size_t>(dimension);
      return k < o->on->subscripts.size() && !o->on->subscripts[k].is_range && !o->on->subscripts[k].own &&
             joined(text_, o->on->subscripts[k].lower.first, o->on->subscripts[k].lower.last) ==
                 joined(text_, s.lower.first, s.lower.last);
    });
  }

  std::set<int> loop_dimensions() const {
    std::set<int> all;
    for (int k = 0; k < space_.dimensions(); k++)
      if ((dimensions_ & 1U << k) != 0) all.insert(k);
    return all;
  }

  // ---- firstmax and its kin: which of equal values comes first in the user's nest
  //
  // Where an iteration is in the sequential order is told by a number for each divided loop around it, its
  // variable, growing in the loop's direction; before it comes, where the loop does not stand alone in the
  // one around, how often such a loop has been arrived at in that one's iteration. Nodes agree on these
  // numbers, for all of them execute what is not divided. They are compared from the outermost on.

  // Threads and devices execute iterations in an order of their own: ties go by nodes.
  bool is_ordered() const {
    if (std::none_of(d_.reductions.begin(), d_.reductions.end(), [](const Reduction& r) {
          return !r.variables.empty() && !r.variables[0].locations.empty();
        }))
      return false;
    if (d_.on_device || loop_pragma_before(in_, d_.word).token != kNone) return false;
    if (std::any_of(loops_.begin(), loops_.end(),
                    [&](const Loop& l) { return loop_pragma_before(in_, l.head.keyword).token != kNone; }))
      return false;
    return std::none_of(in_.acc.compute.begin(), in_.acc.compute.end(), [&](const auto& region) {
      return d_.word >= region.first && d_.word < region.second;
    });
  }

  void find_levels() {
    if (by_condition_) return void(counted_.push_back(true));
    for (Loop& l : loops_) {
      if (!l.divided) continue;
      for (const Loop& o : loops_)
        if (o.divided && o.head.keyword < l.head.keyword && l.end <= o.end) l.around = &o;
      l.level = l.around != nullptr ? l.around->level + 1 : 0;
      if (counted_.size() <= l.level) counted_.push_back(false);
      size_t alone = l.around != nullptr ? text_.next(l.around->head.close) : first_;
      while (text_.is(alone, "{")) alone = text_.next(alone);
      if (alone != l.head.keyword) counted_[l.level] = true;
    }
  }

  size_t positions() const {
    return by_condition_
               ? counted_.size()
               : counted_.size() + static_cast<size_t>(std::count(counted_.begin(), counted_.end(), true));
  }
  std::string counters() const {
    std::string result;
    for (size_t level = 0; level < counted_.size(); level++)
      if (counted_[level]) result += "long long " + name("o", level) + " = 0; ";
    return result;
  }

  // Expressions, each with a comma, that note it if a value was taken in this iteration of a loop; nullptr:
  // behind all loops.
  std::string note(const LoopReduction& reduction, const Loop* of) const {
    std::string result;
    for (const LoopReduction::Taken& t : reduction.taken) {
      result += "((" + t.changed + ") && (" + t.keep;
      size_t number = 0;
      const auto add = [&](const std::string& value) {
        result += ", " + t.position + "[" + std::to_string(number++) + "] = " + value;
      };
      for (size_t level = 0; level < counted_.size(); level++) {
        if (counted_[level]) add(name("o", level));
        if (by_condition_) continue;
        const Loop* l = of;
        while (l != nullptr && l->level > level) l = l->around;
        add(l == nullptr || l->level < level
                ? "0x7fffffffffffffffLL"
                : (l->head.upwards() ? "" : "-") + ("(long long)" + variable_of(*l)));
      }
      result += ", 1)), ";
    }
    if (of != nullptr && by_condition_ && !reduction.taken.empty()) result += name("o", 0) + "++, ";
    if (of != nullptr && !by_condition_ && of->level + 1 < counted_.size() && counted_[of->level + 1])
      result += name("o", of->level + 1) + " = 0, ";
    return result;
  }

  std::string note_behind(const LoopReduction& reduction) const {
    return reduction.taken.empty() ? "" : note(reduction, nullptr) + "(void)0;";
  }

  // ---- what it becomes

  std::string variable_of(const Loop& l) const { return std::string(text_.spelling(l.head.variable)); }

  std::string name(const char* what, size_t k) const {
    return "__tasuki_" + std::string(what) + std::to_string(d_.word) + "_" + std::to_string(k);
  }
  std::string type_of(const Loop& l) const {
    return l.head.type.empty() ? "__typeof__(" + std::string(text_.spelling(l.head.variable)) + ")"
                               : text_of(l.head.type);
  }

  // The user's loop, and in it a condition.
  LoweredLoop conditional(const std::string& locals) {
    const LoopReduction reduction = reduce_loop(in_, d_, space_.record(), dimensions_, positions());
    const Loop* inner = &loops_.front();
    for (const Loop& l : loops_)
      if (l.dimension >= 0) inner = &l;
    LoweredLoop result{"{" + locals + " " + counters() + reduction.before};
    const std::string set = node_set(in_, space_, on_) + ", " + in_.place(d_.name);
    std::string condition = " if (tasuki_xmp_executes(" + set + "))";
    if (space_.nodes != nullptr && !d_.no_communication)
      condition = " for (int __tasuki_in = tasuki_xmp_task_begin_on(" + set +
                  "); __tasuki_in; __tasuki_in = (tasuki_xmp_task_end(), 0))";
    result.headers.push_back({inner->head.keyword, inner->head.close + 1,
                              "for " + in_.c(inner->head.keyword + 1, inner->head.change.first) +
                                  note(reduction, inner) +
                                  in_.c(inner->head.change.first, inner->head.close + 1) + condition});
    result.behind.emplace_back(end_, " " + note_behind(reduction) + reduction.behind + " }");
    return result;
  }

  LoweredLoop divide(const std::string& locals) {
    const LoopReduction reduction = reduce_loop(in_, d_, space_.record(), dimensions_, positions());
    const auto divided = std::count_if(loops_.begin(), loops_.end(), [](const Loop& l) { return l.divided; });
    LoweredLoop result{"{" + locals + " "};
    result.known_before = !needs_condition() && std::all_of(loops_.begin(), loops_.end(), [](const Loop& l) {
      return !l.divided || (l.hoisted && !l.several);
    });
    if (needs_condition())
      result.before += "if (tasuki_xmp_executes(" + node_set(in_, space_, on_, loop_dimensions()) + ", " +
                       in_.place(d_.name) + ")) ";
    result.before += "{ " + counters() + reduction.before;
    const std::string part = "__tasuki_m" + std::to_string(d_.word);
    if (d_.is_margin)
      result.before +=
          "for (int " + part + " = 0; " + part + " < " + std::to_string(2 * divided) + "; " + part + "++) { ";
    size_t number = 0;
    for (size_t k = 0; k < loops_.size(); k++) {
      const Loop& l = loops_[k];
      if (!l.divided) continue;
      const std::string setup = part_of(l, k, number++, static_cast<size_t>(divided), part);
      if (l.hoisted) result.before += setup;
      result.headers.push_back({l.head.keyword, l.head.close + 1,
                                (l.hoisted ? "" : "{ " + setup) + header(l, k, note(reduction, &l))});
      if (!l.hoisted) result.behind.emplace_back(l.end, " }");
    }
    result.behind.emplace_back(
        end_, (d_.is_margin ? " } " : " ") + note_behind(reduction) + reduction.behind + " } }");
    return result;
  }

  // The iterations of this node.
  std::string part_of(const Loop& l, size_t k, size_t number, size_t divided, const std::string& part) const {
    const ForHeader& h = l.head;
    // The user's expressions are evaluated once.
    const std::string iterations = name("l", k), lower = name("f", k), step = name("d", k);
    const std::string bound = "(" + text_of(h.bound) + ")",
                      difference = h.step.empty() ? "1" : "(" + text_of(h.step) + ")";
    const std::string last = h.op == "<=" ? " + 1" : h.op == ">=" ? " - 1" : "";
    std::string below = "0", above = "0", flags = "0";
    if (!d_.widths.empty()) {
      const size_t n = d_.widths.size(), dimension = static_cast<size_t>(l.dimension);
      const Width& w = d_.widths[on_.brackets ? n - 1 - dimension : dimension];
      below = text_of(w.below);
      above = text_of(w.above);
      flags = std::to_string(w.modified ? TASUKI_XMP_UNBOUND : 0);
      if (d_.is_margin)
        flags += " | __tasuki_margin(" + part + ", " + std::to_string(number) + ", " +
                 std::to_string(divided) + ")";
    }
    std::string result = "const long long " + lower + " = " + text_of(h.lower) + ", " + step + " = " +
                         (h.negative ? "-" : "") + difference + "; struct __tasuki_xmp_iterations " +
                         iterations + "; tasuki_xmp_loop(&" + iterations + ", &" + space_.record() + ", " +
                         std::to_string(l.dimension) + ", " + lower + ", __tasuki_count(" + lower +
                         ", (long long)" + bound + last + ", " + step + "), " + step + ", " +
                         shift_of(in_, l.shift) + ", " + below + ", " + above + ", " + flags + ", " +
                         in_.place(d_.name) + "); ";
    if (l.several) return result;
    const std::string type = "const " + type_of(l) + " ";
    return result + "if (" + iterations + ".runs > 0) tasuki_xmp_run(&" + iterations + ", 0); " + type +
           name("b", k) + " = " + iterations + ".begin; " + type + name("e", k) + " = " + iterations +
           ".begin + " + iterations + ".count * " + iterations + ".step; ";
  }

  std::string header(const Loop& l, size_t k, const std::string& note) const {
    const ForHeader& h = l.head;
    const std::string variable = variable_of(l), iterations = name("l", k);
    const auto first = [&](const std::string& value) {
      const bool counted = l.level < counted_.size() && counted_[l.level];
      return counted ? "(" + name("o", l.level) + "++, " + value + ")" : value;
    };
    const std::string declared = (h.type.empty() ? "" : text_of(h.type) + " ") + variable;
    if (!l.several)
      return "for (" + declared + " = " + first(name("b", k)) + "; " + variable + " < " + name("e", k) +
             "; " + note + text_of(h.change) + ")";
    const std::string run = name("r", k), count = name("n", k), step = name("s", k);
    std::string result = "for (long long " + run + " = " + first("0") + ", " + count + ", " + step + "; " +
                         run + " < " + iterations + ".runs && (tasuki_xmp_run(&" + iterations + ", " + run +
                         "), " + count + " = " + iterations + ".count, " + step + " = " + iterations +
                         ".step, 1); " + run + "++) ";
    if (h.upwards())  // then `count` is the end
      return result + "for (" + declared + " = (" + count + " = " + iterations + ".begin + " + count + " * " +
             step + ", " + iterations + ".begin); " + variable + " < " + count + "; " + note + variable +
             " += " + step + ")";
    return result + "for (" + declared + " = " + iterations + ".begin; " + count + " > 0; " + note + count +
           "--, " + variable + " += " + step + ")";
  }

  const Unit& in_;
  const Text& text_;
  const GlobalNames& names_;
  const Statements statements_;
  const LoopDirective& d_;
  const NodesReference on_;
  const std::vector<const LoopDirective*>& outer_;
  NodeSpace space_;
  size_t first_ = kNone, end_ = kNone;  // the loop behind the directive
  std::vector<Loop> loops_;
  bool by_condition_ = false;
  unsigned dimensions_ = 0;    // of the template, that loops divide
  std::vector<bool> counted_;  // a level of divided loops each, whether arrivals are counted; empty: no order
};

}  // namespace

LoweredLoop lower_loop(const Unit& in, const LoopDirective& directive,
                       const std::vector<const LoopDirective*>& outer, const std::string& locals) {
  return Lowering(in, directive, outer).run(locals);
}

}  // namespace tasuki::cc
