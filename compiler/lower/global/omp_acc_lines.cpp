#include "compiler/lower/global/omp_acc_lines.h"

#include <cstdlib>
#include <set>

#include "compiler/tokens/omp_acc_line.h"
#include "compiler/tokens/statements.h"

namespace tasuki::cc {
namespace {

bool is_active(const Unit& in, const Pragma& p) {
  if (p.word(0) != "pragma" || p.count() < 3) return false;
  return (p.word(1) == "omp" && in.options.openmp) || (p.word(1) == "acc" && in.options.openacc);
}

bool is_data_list(const Pragma& p, std::string_view clause) {
  return is_data(clause) || (p.construct() == "update" && one_of(clause, {"self", "host", "device"}));
}

class Finder {
 public:
  Finder(const Unit& in, GlobalArrays* arrays)
      : in_(in), text_(in.text), names_(in.global), statements_(in.text, in.tokens), arrays_(*arrays) {}

  GlobalPragmas run() {
    for (size_t i = 0; i < text_.tokens().size(); i++) {
      if (text_.tokens()[i].kind != TokenKind::directive) continue;
      const Pragma p(text_, i);
      if (is_active(in_, p)) read(p);
    }
    return std::move(result_);
  }

 private:
  void error(size_t offset, const std::string& what, const std::string& advice) {
    in_.diagnostics.error(offset, what, advice);
  }
  void change(size_t begin, size_t end, std::string what) {
    result_.changes.push_back({begin, end, std::move(what)});
  }

  void read(const Pragma& p) {
    const bool acc = p.word(1) == "acc";
    std::set<size_t> listed;
    bool only_present = false;
    each_clause(p, [&](size_t open) {
      const std::string_view clause = p.word(open - 1);
      if (one_of(clause, {"critical", "hint", "ordered"})) return;
      if (clause == "default") return read_default(p, open, acc, &only_present);
      // Those of acc_regions.h.
      if (acc && (p.construct() == "declare" || one_of(clause, {"use_device", "cache"}))) return;
      each_item(p, open, [&](size_t first, size_t last) {
        // reduction(+: x), map(tofrom: x); but linear(x: 1)
        for (size_t i = first; i < last && !p.line().is(i, "[") && !one_of(clause, {"linear", "aligned"});
             i++)
          if (p.line().is(i, ":")) first = i + 1;
        read_item(p, clause, first, last, &listed);
      });
    });
    if (acc && is_compute(p.construct())) add_uses(p, listed, only_present);
  }

  // With plain arrays it has been checked; the generated text has names of its own.
  void read_default(const Pragma& p, size_t open, bool acc, bool* only_present) {
    if (p.line().is(open + 1, "present")) *only_present = true;
    if (!p.line().is(open + 1, "none")) return;
    if (acc)
      change(p.offset(open - 1), p.end(p.match(open)), "");
    else
      change(p.offset(open + 1), p.end(open + 1), "shared");
  }

  size_t array_at(const Pragma& p, size_t i) const {
    if (!p.line().is_word(i) || p.line().is_any(p.line().previous(i), ".", "->")) return kNone;
    const Declaration* d = in_.analysis.find(p.word(i), p.offset(i));
    for (size_t k = 0; d != nullptr && k < names_.arrays.size(); k++)
      if (names_.arrays[k].declaration->entity == d->entity) return k;
    return kNone;
  }

  void read_item(const Pragma& p, std::string_view clause, size_t first, size_t last,
                 std::set<size_t>* listed) {
    const bool acc = p.is_acc();
    const size_t array = array_at(p, first);
    const bool is_list = (acc && is_data_list(p, clause)) || goes_to_device(clause, acc) ||
                         makes_copies(clause) || (!acc && wants_variable(clause));
    if (array == kNone || !is_list) return expression(p, first, last + 1);
    // These names are gone already (acc_regions.h).
    if (acc && (p.construct() == "declare" || one_of(clause, {"use_device", "cache"}))) return;
    const std::string name(p.word(first)), quoted_clause = "'" + std::string(clause) + "'";
    if (!acc && clause == "shared")
      return change(p.offset(first), p.end(first), names_.arrays[array].record());
    if (!acc || !is_data_list(p, clause) ||
        one_of(clause, {"deviceptr", "attach", "detach", "link", "device_resident"}))
      return refuse(p, first, clause, acc);
    if (is_declared(array) && (copies(clause) || one_of(p.construct(), {"enter", "exit"})))
      return error(
          p.offset(first),
          quoted_clause + " copies nothing here: '" + name + "' is in device memory from the beginning",
          "write present(" + name + "), and #pragma acc update self(..) or device(..) for copies");
    if (first != last)
      return error(
          p.offset(first),
          quoted_clause + " takes whole distributed arrays only, which means the part that this node has",
          "write " + std::string(clause) + "(" + name + ")");
    listed->insert(array);
    if (is_compute(p.construct())) {
      if (!needs_locals(p, array, p.offset(first))) return;
      return change(p.offset(first), p.end(first), arrays_.section(array));
    }
    if (wrapped_.insert({p.token(), array}).second) wrap(p, array);
    change(p.offset(first), p.end(first), pointer(p, array) + "[0:" + arrays_.allocated(array) + "]");
  }

  void refuse(const Pragma& p, size_t name, std::string_view clause, bool acc) {
    error(p.offset(name),
          "the distributed array '" + std::string(p.word(name)) + "' cannot stand in '" +
              std::string(clause) + "'",
          makes_copies(clause) ? "use an ordinary variable for the copies of threads"
          : acc                ? "write data, enter data or update, with copyin, copyout, create or present"
                               : "drop the clause, or copy what it needs into an ordinary array");
  }

  // In device memory as long as it lives, by declare create.
  bool is_declared(size_t array) const {
    return in_.acc.distributed.contains(names_.arrays[array].declaration->entity);
  }

  // The names that references to the array use must be there.
  bool needs_locals(const Pragma& p, size_t array, size_t offset) {
    const size_t inside = text_.skip_directives(p.token() + 1) + 1;  // of a loop directive behind it, too
    arrays_.note_use(array, inside);
    if (arrays_.has_locals(array, inside)) return true;
    error(offset,
          "the distributed pointer '" + names_.arrays[array].name + "' is used by a device outside of a loop",
          "write #pragma xmp loop before the loop");
    return false;
  }

  // A pointer for this directive.
  std::string pointer(const Pragma& p, size_t array) const {
    return "__tasuki_g" + std::to_string(p.token()) + "_" + std::to_string(array);
  }
  void wrap(const Pragma& p, size_t array) {
    const DistributedArray& a = names_.arrays[array];
    const std::string declaration =
        a.element_type() + "* const " + pointer(p, array) + " = " + a.record() + ".memory;";
    const bool has_region = !stands_alone(p);
    // A label may stand before it.
    result_.openers.push_back(
        {p.token(), text_.previous(p.token()), (has_region ? " { " : " ; ") + declaration});
    if (has_region) result_.closers.push_back({p.token(), statements_.end_of(p.token() + 1) - 1, " }"});
  }

  // Elements in [first, last), as values.
  void expression(const Pragma& p, size_t first, size_t last) {
    for (size_t i = first; i < last; i++) {
      const size_t array = array_at(p, i);
      if (array == kNone) continue;
      size_t end = i;
      const std::string element = element_at(p, i, array, &end);
      if (element.empty()) return;
      change(p.offset(i), p.end(end), element);
      i = end;
    }
  }

  // The element whose name is at `name`; *end: its last "]".
  std::string element_at(const Pragma& p, size_t name, size_t array, size_t* end) {
    const auto rank = static_cast<size_t>(names_.arrays[array].rank());
    std::vector<std::string> subscripts;
    for (*end = name; subscripts.size() < rank && p.line().is(*end + 1, "["); *end = p.match(*end + 1)) {
      std::string subscript;
      for (size_t i = *end + 2; i < p.match(*end + 1); i++) {
        const size_t inner = array_at(p, i);
        subscript += inner == kNone ? std::string(p.word(i)) : element_at(p, i, inner, &i);
        subscript += ' ';
      }
      subscripts.push_back(subscript);
    }
    if (subscripts.size() == rank) {
      arrays_.note_use(array, p.token());
      return arrays_.element(array, subscripts, p.token());
    }
    error(p.offset(name),
          "the distributed array '" + std::string(p.word(name)) + "' stands here without all its subscripts",
          "write one of its elements, or an ordinary variable");
    return "";
  }

  // What the region uses and no clause speaks of, as OpenACC has it for plain arrays.
  void add_uses(const Pragma& p, const std::set<size_t>& listed, bool only_present) {
    const size_t first = p.token() + 1, last = statements_.end_of(first);
    std::set<size_t> used;
    for (const ArrayUse& use : arrays_.uses())
      if (use.token >= first && use.token < last && !use.unevaluated && !listed.contains(use.array) &&
          used.insert(use.array).second && needs_locals(p, use.array, text_.begin_of(use.token)))
        change(text_.end_of(p.token()), text_.end_of(p.token()),
               (only_present || is_declared(use.array) ? " present(" : " copy(") +
                   arrays_.section(use.array) + ")");
  }

  const Unit& in_;
  const Text& text_;
  const GlobalNames& names_;
  const Statements statements_;
  GlobalArrays& arrays_;
  std::set<std::pair<size_t, size_t>> wrapped_;  // pragma, array
  GlobalPragmas result_;
};

bool divides_loops(const Pragma& p) {
  for (size_t i = 2; i < p.count() && !p.line().is(i, "("); i++)
    if (p.word(1) == "acc" ? p.word(i) == "loop"
                           : one_of(p.word(i), {"for", "simd", "distribute", "taskloop", "loop"}))
      return true;
  return false;
}

}  // namespace

GlobalPragmas lower_global_pragmas(const Unit& in, GlobalArrays* arrays) {
  return Finder(in, arrays).run();
}

LoopPragma loop_pragma_before(const Unit& in, size_t token) {
  for (size_t i = token; i-- > 0 && in.text.tokens()[i].kind == TokenKind::directive;) {
    const Pragma p(in.text, i);
    if (!is_active(in, p) || !divides_loops(p)) continue;
    LoopPragma result{i};
    each_clause(p, [&](size_t open) {
      if (p.word(open - 1) == "collapse") result.loops = std::atoi(std::string(p.word(open + 1)).c_str());
    });
    return result;
  }
  return {};
}

}  // namespace tasuki::cc
