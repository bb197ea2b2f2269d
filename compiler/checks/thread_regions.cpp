#include "compiler/checks/thread_regions.h"

#include <algorithm>

#include "compiler/tokens/omp_acc_line.h"
#include "compiler/tokens/statements.h"

namespace tasuki::cc {
namespace {

enum class Threads { as_around, many, one };

// Who executes the statement behind it. Of combined constructs the last word that says so counts: `parallel
// master`.
Threads threads_of(const Pragma& p) {
  Threads result = p.construct() == "ordered" ? Threads::one : Threads::as_around;  // elsewhere a clause
  for (size_t i = 2; i < p.count() && !p.line().is(i, "("); i++) {
    if (one_of(p.word(i), {"parallel", "teams", "taskloop"})) result = Threads::many;
    if (one_of(p.word(i), {"single", "master", "masked", "critical", "sections", "section"}))
      result = Threads::one;
  }
  return result;
}

struct Region {
  TokenRange range;
  Threads threads;
};

class Checker {
 public:
  explicit Checker(const Unit& in) : in_(in), text_(in.text), names_(in.global) {
    const Statements statements(text_, in.tokens);
    for (size_t i = 0; i < text_.tokens().size(); i++) {
      if (text_.tokens()[i].kind != TokenKind::directive) continue;
      const Pragma p(text_, i);
      if (p.word(0) != "pragma" || p.word(1) != "omp" || stands_alone(p)) continue;
      const Threads threads = threads_of(p);
      if (threads != Threads::as_around) regions_.push_back({{i, statements.end_of(i + 1)}, threads});
    }
  }

  void check(const GlobalDirective& directive) const {
    const DirectivePlace& d = place_of(directive);
    const bool loop = std::holds_alternative<LoopDirective>(directive);
    const bool meets = std::visit([this](const auto& one) { return meets_others(one); }, directive);
    if (!meets || !many_execute(loop ? before_pragmas(d.word) : d.word)) return;
    if (loop)
      return error(d, "the nodes would reduce once for each thread of the parallel region of OpenMP",
                   "end the region before this loop, and write #pragma omp parallel for directly before or "
                   "behind #pragma xmp loop");
    error(d,
          "each thread of the parallel region of OpenMP would execute '" +
              std::string(text_.spelling(d.name)) + "'",
          std::holds_alternative<AlignDirective>(directive)
              ? "declare the distributed array outside of the region"
              : "write #pragma omp single or master before it, or end the region");
  }

 private:
  void error(const DirectivePlace& d, const std::string& what, const std::string& advice) const {
    in_.diagnostics.error(text_.begin_of(d.name), what, advice);
  }

  // Do nodes wait for each other, or is it said to all of a node's threads?
  bool meets_others(const LoopDirective& d) const { return !d.reductions.empty(); }
  bool meets_others(const TaskDirective& d) const { return d.on && !d.no_communication; }
  bool meets_others(const AlignDirective& d) const {
    return std::any_of(names_.arrays.begin(), names_.arrays.end(), [&](const DistributedArray& a) {
      return a.align == &d && a.kind == DistributedArray::Kind::array && !a.of_file();
    });
  }
  bool meets_others(const TemplateDirective&) const { return false; }
  bool meets_others(const DistributeDirective&) const { return false; }
  bool meets_others(const ShadowDirective&) const { return false; }
  bool meets_others(const TasksDirective&) const { return false; }
  bool meets_others(const ArrayDirective&) const { return false; }
  bool meets_others(const LocalAliasDirective&) const { return false; }
  bool meets_others(const DirectivePlace&) const { return true; }  // of all others

  // A divided loop's reduction is behind what the pragmas directly before the loop say.
  size_t before_pragmas(size_t word) const {
    while (word > 0 && text_.tokens()[word - 1].kind == TokenKind::directive &&
           !stands_alone(Pragma(text_, word - 1)))
      word--;
    return word;
  }

  // Regions come in the order in which they begin: the last one around it is the innermost.
  bool many_execute(size_t token) const {
    const auto around = std::find_if(regions_.rbegin(), regions_.rend(), [&](const Region& r) {
      return r.range.first < token && token < r.range.last;
    });
    return around != regions_.rend() && around->threads == Threads::many;
  }

  const Unit& in_;
  const Text& text_;
  const GlobalNames& names_;
  std::vector<Region> regions_;
};

}  // namespace

void check_thread_regions(const Unit& in) {
  if (!in.options.threads) return;
  const Checker checker(in);
  for (const GlobalDirective& d : in.tokens.globals) checker.check(d);
}

}  // namespace tasuki::cc
