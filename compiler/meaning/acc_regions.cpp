#include "compiler/meaning/acc_regions.h"

#include <algorithm>

#include "compiler/meaning/unit.h"
#include "compiler/tokens/omp_acc_line.h"
#include "compiler/tokens/statements.h"

namespace tasuki::cc {
namespace {

constexpr const char* kDeclare = "write #pragma acc declare create(name) behind its declaration";

// A clause by its "(", and the items of its list that go, by their first token.
using Leaving = std::pair<size_t, std::vector<size_t>>;

// Takes items out of the clauses' lists; the directive itself if nothing is left of any of them.
void take_out(const Text& text, const Pragma& p, const std::vector<Leaving>& clauses,
              std::vector<AccRegions::Change>* changes) {
  const auto cut = [&](size_t begin, size_t end) { changes->push_back({begin, end, kNone, kNone, "", ""}); };
  const auto left = [&](const Leaving& clause) {
    size_t all = 0;
    each_item(p, clause.first, [&](size_t, size_t) { all++; });
    return all - clause.second.size();
  };
  if (std::all_of(clauses.begin(), clauses.end(), [&](const Leaving& c) { return left(c) == 0; }))
    return cut(text.begin_of(p.token()), text.end_of(p.token()));
  for (const Leaving& clause : clauses) {
    const size_t open = clause.first;
    if (left(clause) == 0) {
      cut(p.offset(open - 1), p.end(p.match(open)));
      continue;
    }
    bool kept = false;
    each_item(p, open, [&](size_t first, size_t last) {
      const bool out = std::find(clause.second.begin(), clause.second.end(), first) != clause.second.end();
      const size_t comma = first - 1;  // or "("
      if (out)
        cut(p.offset(kept && p.line().is(comma, ",") ? comma : first), p.end(last));
      else if (!kept && p.line().is(comma, ","))
        cut(p.offset(comma), p.end(comma));
      kept = kept || !out;
    });
  }
}

class Finder {
 public:
  explicit Finder(const Unit& unit)
      : text_(unit.text),
        tokens_(unit.tokens),
        analysis_(unit.analysis),
        coarrays_(unit.arrays),
        names_(unit.names),
        diagnostics_(unit.diagnostics) {}

  AccRegions run() {
    std::vector<Pragma> pragmas;
    for (size_t i = 0; i < text_.tokens().size(); i++)
      if (text_.tokens()[i].kind == TokenKind::directive)
        if (Pragma p(text_, i); p.is_acc()) pragmas.push_back(std::move(p));
    find_operands();
    find_distributed();
    for (const GlobalDirective& d : tokens_.globals)
      if (const auto* loop = std::get_if<LoopDirective>(&d);
          loop != nullptr && loop->on_device && loop->reductions.empty())
        error(text_.begin_of(loop->name),
              "'acc' says that the reduction of this loop is on the device, and the loop has no reduction",
              "drop acc, or write reduction(..) before it");
    for (const Pragma& p : pragmas)
      if (p.construct() == "declare") declare(p);
    for (const Pragma& p : pragmas)
      if (is_compute(p.construct())) compute(p);
    for (const Pragma& p : pragmas)
      if (p.construct() == "host_data") host_data(p);
    // Of the one device of an image.
    for (const Pragma& p : pragmas)
      if (p.construct() == "barrier_device")
        result_.changes.push_back({p.offset(2), p.end(2), kNone, kNone, "wait", ""});
    for (const Pragma& p : pragmas)
      if (p.construct() != "declare" && p.construct() != "host_data") clauses(p);
    return std::move(result_);
  }

 private:
  struct Region {
    size_t first, last;  // tokens
  };

  void error(size_t offset, const std::string& what, const std::string& advice) {
    diagnostics_.error(offset, what, advice);
  }

  // ---- names

  // What a name in a directive means: its entity, or kNone.
  size_t entity(const Pragma& p, size_t i) const {
    if (!p.line().is_word(i)) return kNone;
    const Declaration* d = analysis_.find(p.word(i), p.offset(i));
    return d != nullptr ? d->entity : kNone;
  }
  bool is_coarray(size_t entity) const { return names_.codimensions.contains(entity); }
  bool is_distributed(size_t entity) const { return entity != kNone && distributed_.contains(entity); }
  void find_distributed() {
    for (const GlobalDirective& d : tokens_.globals) {
      const auto* align = std::get_if<AlignDirective>(&d);
      if (align == nullptr) continue;
      const Declaration* known = analysis_.find(text_.spelling(align->array), text_.begin_of(align->array));
      if (known != nullptr) distributed_.insert(known->entity);
    }
  }

  void replace(size_t begin, size_t end, size_t array, std::string before, std::string after) {
    result_.changes.push_back(
        {begin, end, array, analysis_.function_at(begin), std::move(before), std::move(after)});
  }

  // ---- which coarrays are in device memory

  void declare(const Pragma& p) {
    std::vector<Leaving> out;
    bool any = false;
    each_clause(p, [&](size_t i) {
      out.emplace_back(i, std::vector<size_t>());
      each_item(p, i, [&](size_t first, size_t) {
        const size_t known = entity(p, first), array = coarrays_.find(known);
        const bool distributed = is_distributed(known);
        if (!is_coarray(known) && !distributed) return;
        any = true;
        out.back().second.push_back(first);
        const std::string name(p.word(first));
        if (p.word(i - 1) != "create")
          error(
              p.offset(first),
              "a " + std::string(distributed ? "distributed array" : "coarray") +
                  " cannot stand in 'declare " + std::string(p.word(i - 1)) +
                  "': its device memory is that of 'declare create', and begins with the values of the host",
              "write declare create(" + name + ")");
        else if (distributed)
          result_.distributed.insert(known);
        else if (array == kNone && is_pointer_of_file(known))
          result_.allocated.insert(known);
        else if (array == kNone)
          error(p.offset(first),
                "'" + name + "' is no coarray of file scope; only those can be in device memory",
                "declare the coarray itself at file scope, and put it into declare create");
        else
          result_.device_arrays.insert(array);
      });
    });
    if (any) take_out(text_, p, out, &result_.changes);
  }

  bool is_pointer_of_file(size_t entity) const {
    return std::any_of(analysis_.declarations.begin(), analysis_.declarations.end(),
                       [&](const Declaration& d) {
                         return d.entity == entity && d.what == Declares::variable && d.function == kNone;
                       });
  }

  // ---- regions

  Region region_of(const Pragma& p) const {
    return {p.token() + 1, Statements(text_, tokens_).end_of(p.token() + 1)};
  }

  void compute(const Pragma& p) {
    const Region region = region_of(p);
    result_.compute.emplace_back(region.first, region.last);
    const std::string where = "a compute region of OpenACC: the device reaches its own memory only";
    const std::string advice = "write it before or behind the region";
    for (const Coindex& c : tokens_.coindices)
      if (c.colon >= region.first && c.colon < region.last)
        return error(text_.begin_of(c.colon), "a reference to another image cannot stand in " + where,
                     advice);
    const auto section = tokens_.sections.lower_bound(region.first);
    if (section != tokens_.sections.end() && section->first < region.last)
      return error(text_.begin_of(section->first), "an array assignment cannot stand in " + where, advice);
    for (const Directive& d : tokens_.directives)
      if (d.word >= region.first && d.word < region.last)
        return error(text_.begin_of(d.name), "'#pragma xmp' cannot stand in " + where, advice);
    const size_t begin = text_.skip_directives(region.first);
    for (const GlobalDirective& directive : tokens_.globals) {
      const DirectivePlace& d = place_of(directive);
      if (d.word < region.first || d.word >= region.last) continue;
      const std::string name = "'#pragma xmp " + std::string(text_.spelling(d.name)) + "'";
      const auto* loop = std::get_if<LoopDirective>(&directive);
      if (loop == nullptr) return error(text_.begin_of(d.name), name + " cannot stand in " + where, advice);
      // Directly behind the directive it is the region's loop, and its reduction comes behind the region.
      if (!loop->reductions.empty() && d.word != begin)
        return error(text_.begin_of(d.name), name + " with a reduction cannot stand in " + where,
                     "write it directly behind #pragma acc parallel loop, with acc");
    }
  }

  bool in_compute(size_t token) const {
    return std::any_of(result_.compute.begin(), result_.compute.end(),
                       [&](const auto& r) { return token >= r.first && token < r.second; });
  }

  // The names that begin operands: in `(v)[0:3]` those in the parentheses.
  void find_operands() {
    const auto add = [&](size_t begin) {
      result_.operands.insert(begin);
      if (text_.is(begin, "("))
        for (size_t i = begin; i < text_.tokens()[begin].match; i++) result_.operands.insert(i);
    };
    for (const Coindex& c : tokens_.coindices)
      if (!c.declares) add(c.begin);
    for (const auto& [open, section] : tokens_.sections)
      add(postfix_begin(text_, tokens_, text_.previous(open)));
  }

  void host_data(const Pragma& p) {
    std::set<size_t> entities;
    std::vector<Leaving> out;
    bool conditional = false, any = false;
    each_clause(p, [&](size_t i) {
      conditional = conditional || p.word(i - 1) == "if";
      if (p.word(i - 1) != "use_device") return;
      out.emplace_back(i, std::vector<size_t>());
      each_item(p, i, [&](size_t first, size_t) {
        const size_t known = entity(p, first), array = coarrays_.find(known);
        if (known == kNone) return;  // the user's compiler has said so
        entities.insert(known);
        if (!is_coarray(known) && !is_distributed(known)) return;
        any = true;
        out.back().second.push_back(first);
        if (array != kNone && !result_.device_arrays.contains(array))
          error(p.offset(first), "the coarray '" + std::string(p.word(first)) + "' has no device memory",
                kDeclare);
      });
    });
    if (any && conditional)
      return error(p.offset(2), "'if' cannot stand in a host_data directive with coarrays",
                   "write two statements, one in a host_data region and one without");
    if (any) take_out(text_, p, out, &result_.changes);
    note_names(region_of(p), entities);
  }

  void note_names(const Region& region, const std::set<size_t>& entities) {
    for (size_t i = region.first; i < region.last; i++) {
      if (!text_.is_word(i)) continue;
      const size_t offset = text_.begin_of(i);
      const auto reference = analysis_.references.find(offset);
      if (reference == analysis_.references.end() || !entities.contains(reference->second)) continue;
      if (in_compute(i) || analysis_.is_unevaluated(offset)) continue;
      result_.device_names.insert(i);
      if (is_distributed(reference->second)) continue;
      if (is_coarray(reference->second) && coarrays_.find(reference->second) == kNone)
        result_.device_pointers.insert(i);
    }
  }

  // ---- clauses of all other directives

  void clauses(const Pragma& p) {
    const std::string_view construct = p.construct();
    std::set<size_t> listed;
    each_clause(p, [&](size_t i) {
      const std::string_view clause = p.word(i - 1);
      const bool is_list = is_data(clause) || is_private(clause) ||
                           (construct == "update" && one_of(clause, {"self", "host", "device"}));
      if (clause == "cache" || construct == "cache")
        take_from_cache(p, i);
      else if (is_list)
        list(p, i, &listed);
      else
        expression(p, i + 1, p.match(i));
    });
    if (is_compute(construct)) add_uses(p, listed);
  }

  // The device keeps what it likes near; without these arrays it is as good.
  void take_from_cache(const Pragma& p, size_t open) {
    std::vector<size_t> out;
    each_item(p, open, [&](size_t first, size_t) {
      const size_t known = entity(p, first);
      if (coarrays_.find(known) != kNone || is_distributed(known)) out.push_back(first);
    });
    if (!out.empty()) take_out(text_, p, {{open, out}}, &result_.changes);
  }

  void list(const Pragma& p, size_t open, std::set<size_t>* listed) {
    const std::string_view construct = p.construct(), clause = p.word(open - 1);
    each_item(p, open, [&](size_t first, size_t last) {
      // reduction(+: x), copyin(readonly: x)
      for (size_t i = first; i < last; i++) {
        if (p.line().is(i, "[")) break;
        if (p.line().is(i, ":")) first = i + 1;
      }
      const size_t array = coarrays_.find(entity(p, first));
      if (array == kNone) return expression(p, first, last + 1);
      if (!check(p, first, array, construct, clause)) return;
      listed->insert(array);
      const bool member = p.line().is(first + 1, ".");
      replace(p.offset(first), p.end(member ? first + 1 : first), array, "", member ? "->" : "[0:1]");
      expression(p, first + 1, last + 1);
    });
  }

  bool check(const Pragma& p, size_t name, size_t array, std::string_view construct,
             std::string_view clause) {
    const std::string quoted_name = "'" + std::string(p.word(name)) + "'",
                      quoted_clause = "'" + std::string(clause) + "'";
    const bool declared = result_.device_arrays.contains(array);
    const size_t before = static_cast<size_t>(diagnostics_.errors());
    if (is_private(clause))
      error(p.offset(name),
            "a coarray cannot stand in " + quoted_clause + ": no thread has a copy of " + quoted_name,
            "use an ordinary variable for the copies");
    else if (one_of(construct, {"enter", "exit"}))
      error(p.offset(name), "only 'declare create' puts a coarray into device memory, where it stays",
            kDeclare);
    else if (one_of(clause, {"deviceptr", "attach", "detach", "link", "device_resident"}))
      error(p.offset(name),
            "a coarray cannot stand in " + quoted_clause + ": it is no pointer of the program",
            declared ? "write present(" + std::string(p.word(name)) + ")" : kDeclare);
    else if (declared && copies(clause))
      error(
          p.offset(name),
          quoted_clause + " copies nothing here: " + quoted_name + " is in device memory from the beginning",
          "write present(" + std::string(p.word(name)) +
              "), and #pragma acc update self(..) or device(..) for copies");
    return static_cast<size_t>(diagnostics_.errors()) == before;
  }

  // Names of coarrays in [first, last), as values.
  void expression(const Pragma& p, size_t first, size_t last) {
    for (size_t i = first; i < last; i++) {
      if (!p.line().is_word(i) || p.line().is_any(p.line().previous(i), ".", "->")) continue;
      const size_t array = coarrays_.find(entity(p, i));
      if (array != kNone) replace(p.offset(i), p.end(i), array, "(*", ")");
    }
  }

  // What the region uses and no clause speaks of. As OpenACC has it for the array that the pointer stands
  // for.
  void add_uses(const Pragma& p, const std::set<size_t>& listed) {
    const Region region = region_of(p);
    std::set<size_t> used;
    for (const Use& use : coarrays_.uses)
      if (use.token >= region.first && use.token < region.last && !listed.contains(use.array))
        used.insert(use.array);
    for (size_t array : used) {
      const Declaration& d = *coarrays_.arrays[array].declarations.front().what;
      const bool scalar = d.shape != Shape::array && p.construct() != "kernels";
      const char* clause = result_.device_arrays.contains(array) ? " present("
                           : scalar                              ? " copyin("
                                                                 : " copy(";
      const size_t end = text_.end_of(p.token());
      result_.changes.push_back(
          {end, end, array, analysis_.function_at(text_.begin_of(p.token())), clause, "[0:1])"});
    }
  }

  const Text& text_;
  const CoarrayTokens& tokens_;
  const Analysis& analysis_;
  const RuntimeArrays& coarrays_;
  const CoarrayNames& names_;
  Diagnostics& diagnostics_;
  std::set<size_t> distributed_;  // entities of distributed arrays
  AccRegions result_;
};

}  // namespace

size_t AccRegions::read_by_host(size_t first, size_t last) const {
  for (auto i = device_names.lower_bound(first); i != device_names.end() && *i < last; ++i)
    if (!operands.contains(*i)) return *i;
  return kNone;
}

void check_device_sets(const Unit& unit) {
  const Text& text = unit.text;
  for (size_t token = 0; token < text.tokens().size(); token++) {
    if (text.tokens()[token].kind != TokenKind::directive) continue;
    const Pragma p(text, token);
    if (!p.is_acc()) continue;
    const int known = unit.diagnostics.errors();
    const auto refuse = [&](size_t i, const std::string& advice) {
      unit.diagnostics.error(
          p.offset(i),
          "'" + std::string(p.word(i)) +
              "' belongs to XcalableACC's device sets, which Tasuki does not have: each image has one device",
          advice);
    };
    if (p.construct() == "devices")
      refuse(2, "start as many images as there are devices; ACC_DEVICE_NUM chooses one");
    else if (p.construct() == "reflect")
      refuse(2, "write #pragma xmp reflect (..) acc, for arrays that are distributed over images");
    else
      each_clause(p, [&](size_t open) {
        const std::string_view clause = p.word(open - 1);
        if (unit.diagnostics.errors() > known) return;
        if (one_of(clause, {"on_device", "layout"}) || (clause == "shadow" && p.construct() == "declare"))
          refuse(open - 1, "distribute the array over images, with #pragma xmp align");
      });
  }
}

void hide_coarrays(Unit* unit) {
  const Text& text = unit->text;
  std::set<std::string_view> coarrays;
  for (const Coindex& c : unit->tokens.coindices)
    if (c.declares) coarrays.insert(text.spelling(c.begin));
  for (size_t token = 0; token < text.tokens().size(); token++) {
    if (text.tokens()[token].kind != TokenKind::directive) continue;
    const Pragma p(text, token);
    if (p.is_acc() && p.construct() == "barrier_device") unit->neutral.instead[token] = "#pragma acc wait";
    if (!p.is_acc() || p.construct() != "host_data") continue;
    std::vector<Leaving> out;
    bool any = false;
    each_clause(p, [&](size_t i) {
      if (p.word(i - 1) != "use_device") return;
      out.emplace_back(i, std::vector<size_t>());
      each_item(p, i, [&](size_t first, size_t last) {
        if (first != last || !coarrays.contains(p.word(first))) return;
        out.back().second.push_back(first);
        any = true;
      });
    });
    if (!any) continue;
    std::vector<AccRegions::Change> changes;
    take_out(text, p, out, &changes);
    std::string line(text.spelling(token));
    std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.begin > b.begin; });
    for (const AccRegions::Change& c : changes) line.erase(c.begin - text.begin_of(token), c.end - c.begin);
    unit->neutral.instead[token] = line;
  }
}

AccRegions find_acc_regions(const Unit& unit) {
  return Finder(unit).run();
}

}  // namespace tasuki::cc
