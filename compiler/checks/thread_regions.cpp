#include "compiler/checks/thread_regions.h"

#include <algorithm>

#include "compiler/tokens/omp_acc_line.h"

namespace tasuki::cc {
namespace {

enum class Threads { as_around, many, one };

// Who executes the statement behind it. Of combined constructs the last word that says so counts: `parallel master`.
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
  Checker(const CoarrayText& in, const GlobalNames& names, const Statements& statements)
      : in_(in), text_(in.text), names_(names) {
    for (size_t i = 0; i < text_.tokens().size(); i++) {
      if (text_.tokens()[i].kind != TokenKind::directive) continue;
      const Pragma p(text_, i);
      if (p.word(0) != "pragma" || p.word(1) != "omp" || stands_alone(p)) continue;
      const Threads threads = threads_of(p);
      if (threads != Threads::as_around) regions_.push_back({{i, statements.end_of(i + 1)}, threads});
    }
  }

  void check(const GlobalDirective& d) const {
    const bool loop = d.kind == GlobalKind::loop;
    if (!meets_others(d) || !many_execute(loop ? before_pragmas(d.word) : d.word)) return;
    if (loop)
      return error(d, "the nodes would reduce once for each thread of the parallel region of OpenMP",
                   "end the region before this loop, and write #pragma omp parallel for directly before or "
                   "behind #pragma xmp loop");
    error(d,
          "each thread of the parallel region of OpenMP would execute '" +
              std::string(text_.spelling(d.name)) + "'",
          d.kind == GlobalKind::align ? "declare the distributed array outside of the region"
                                      : "write #pragma omp single or master before it, or end the region");
  }

 private:
  void error(const GlobalDirective& d, const std::string& what, const std::string& advice) const {
    in_.diagnostics.error(text_.begin_of(d.name), what, advice);
  }

  // Do nodes wait for each other, or is it said to all of a node's threads?
  bool meets_others(const GlobalDirective& d) const {
    switch (d.kind) {
      case GlobalKind::loop:
        return !d.reductions.empty();
      case GlobalKind::task:
        return d.has_on && !d.no_communication;
      case GlobalKind::align:
        return std::any_of(names_.arrays.begin(), names_.arrays.end(), [&](const DistributedArray& a) {
          return a.align == &d && a.kind == DistributedArray::Kind::array && !a.of_file();
        });
      case GlobalKind::template_fix:
      case GlobalKind::reflect:
      case GlobalKind::reflect_init:
      case GlobalKind::reflect_do:
      case GlobalKind::reduce_shadow:
      case GlobalKind::gmove:
      case GlobalKind::reduction:
      case GlobalKind::bcast:
      case GlobalKind::barrier:
      case GlobalKind::wait_async:
        return true;
      case GlobalKind::template_:
      case GlobalKind::distribute:
      case GlobalKind::shadow:
      case GlobalKind::tasks:
      case GlobalKind::array:
      case GlobalKind::local_alias:
        return false;
    }
    return false;
  }

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

  const CoarrayText& in_;
  const Text& text_;
  const GlobalNames& names_;
  std::vector<Region> regions_;
};

}  // namespace

void check_thread_regions(const CoarrayText& in, const GlobalNames& names, const Statements& statements) {
  if (!in.pragmas.threads) return;
  const Checker checker(in, names, statements);
  for (const GlobalDirective& d : in.tokens.globals) checker.check(d);
}

}  // namespace tasuki::cc
