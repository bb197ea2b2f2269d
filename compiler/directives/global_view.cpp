#include "compiler/directives/global_view.h"

#include <algorithm>
#include <utility>

namespace tasuki::cc {
namespace {

struct Known {
  std::string_view name;
  GlobalKind kind;
  const char* form;
};

constexpr Known kKnown[] = {
    {"template", GlobalKind::template_, "template t(0:N-1), template t[N] or template t(:)"},
    {"distribute", GlobalKind::distribute, "distribute t(block) onto p, or cyclic, cyclic(n), gblock(m), *"},
    {"template_fix", GlobalKind::template_fix, "template_fix(block) t(0:N-1), or template_fix[block] t[N]"},
    {"align", GlobalKind::align, "align a[i][j] with t(j,i)"},
    {"shadow", GlobalKind::shadow, "shadow a[1][1:2][0]"},
    {"loop", GlobalKind::loop, "loop (i,j) on t(j,i) reduction(+:s), before a loop"},
    {"task", GlobalKind::task, "task on p(1:2), or task on t(i), before a block"},
    {"tasks", GlobalKind::tasks, "tasks, before a block of tasks"},
    {"array", GlobalKind::array, "array on t[0:n], before an array assignment"},
    {"reflect", GlobalKind::reflect,
     "reflect (a) width(1,/periodic/1:0) async(1); all but (a) may be left out"},
    {"reflect_init", GlobalKind::reflect_init, "reflect_init (a) width(1,/periodic/1:0) acc"},
    {"reflect_do", GlobalKind::reflect_do, "reflect_do (a) async(1) acc"},
    {"reduce_shadow", GlobalKind::reduce_shadow, "reduce_shadow (a) width(1,1)"},
    {"gmove", GlobalKind::gmove, "gmove, gmove in or gmove out, before an assignment"},
    {"reduction", GlobalKind::reduction, "reduction(+:s) on t(:), with +, *, &, |, ^, &&, ||, max or min"},
    {"bcast", GlobalKind::bcast, "bcast (x) from p(1) on p; from and on may be left out"},
    {"barrier", GlobalKind::barrier, "barrier, or barrier on p(1:2)"},
    {"wait_async", GlobalKind::wait_async, "wait_async (1)"},
    {"local_alias", GlobalKind::local_alias, "local_alias pointer => array"}};

const Known* find(std::string_view name) {
  const auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const Known& known) { return known.name == name; });
  return found == std::end(kKnown) ? nullptr : found;
}

constexpr const char* kOn = "a template or node array";

class Reader {
 public:
  Reader(const Text& text, size_t word, const Known& known, Diagnostics* diagnostics)
      : in_(text, word, known.form, diagnostics), text_(text) {
    d_.kind = known.kind;
    d_.word = word;
    d_.name = in_.name;
    d_.end = in_.end;
  }

  std::vector<GlobalDirective> run() {
    if (d_.end == kNone || !arguments() || !(in_.at_end() || in_.expected("the end of the directive")))
      return {};
    return {d_};
  }

 private:
  bool arguments() {
    switch (d_.kind) {
      case GlobalKind::template_:
        return in_.reference(&d_.on, "a template", false, true);
      case GlobalKind::distribute:
        return distribute();
      case GlobalKind::template_fix:
        return template_fix();
      case GlobalKind::align:
        return align();
      case GlobalKind::shadow:
        return shadow();
      case GlobalKind::loop:
        return words(&d_.indices, "the name of a loop's variable") && on(true) && clauses();
      case GlobalKind::task:
      case GlobalKind::array:
        return on(true) && clauses();
      case GlobalKind::tasks:
        return true;
      case GlobalKind::reduction:
        return reduction() && clauses();
      case GlobalKind::reflect:
      case GlobalKind::reflect_init:
      case GlobalKind::reflect_do:
      case GlobalKind::reduce_shadow:
      case GlobalKind::bcast:
      case GlobalKind::wait_async:
        return list() && clauses();
      case GlobalKind::gmove:
      case GlobalKind::barrier:
        return clauses();
      case GlobalKind::local_alias:
        return local_alias();
    }
    return false;
  }

  bool word(size_t* token, const char* what) {
    if (in_.at_end() || !text_.is_word(in_.at)) return in_.expected(what);
    *token = in_.at;
    in_.advance();
    return true;
  }

  // (block, cyclic(2)) or [block][*], and for template_fix also [block, *]
  bool formats() {
    const bool brackets = in_.is("[");
    if (!brackets && !in_.is("(")) return in_.expected("'(' or '['");
    do {
      do {
        in_.advance();
        Distribution one;
        if (!format(&one)) return false;
        d_.formats.push_back(one);
      } while (in_.is(","));
      if (!in_.take(brackets ? "]" : ")")) return false;
    } while (brackets && in_.is("["));
    if (brackets) std::reverse(d_.formats.begin(), d_.formats.end());
    return true;
  }

  bool format(Distribution* one) {
    if (in_.accept("*")) return true;
    if (in_.accept("gblock")) {
      one->format = Format::gblock;
      if (!in_.take("(")) return false;
      if (in_.is("*") && text_.is(text_.next(in_.at), ")"))
        in_.advance();
      else if (!in_.expression(&one->blocks, "an array of int, or *"))
        return false;
      return in_.take(")");
    }
    if (in_.accept("block"))
      one->format = Format::block;
    else if (in_.accept("cyclic"))
      one->format = Format::cyclic;
    else
      return in_.expected("'block', 'cyclic', 'gblock' or '*'");
    return !in_.is("(") || in_.in_parentheses(&one->width, "a number");
  }

  bool distribute() {
    return word(&d_.on.name, "the name of a template") && formats() && in_.take("onto") &&
           word(&d_.onto, "the name of a node array");
  }

  bool template_fix() {
    if ((in_.is("(") || in_.is("[")) && !formats()) return false;
    return in_.reference(&d_.on, "a template", false, d_.formats.empty());
  }

  bool align() {
    if (!word(&d_.what, "the name of an array")) return false;
    if (!in_.is("[")) return in_.expected("'['");
    while (in_.accept("[")) {
      if (in_.at_end() || !(text_.is_word(in_.at) || in_.is("*") || in_.is(":")))
        return in_.expected("a variable, '*' or ':'");
      d_.sources.push_back(in_.at);
      in_.advance();
      if (!in_.take("]")) return false;
    }
    if (!in_.accept("to") && !in_.take("with")) return false;
    d_.has_on = true;
    return in_.reference(&d_.on, "a template", false, true);
  }

  bool shadow() {
    if (!word(&d_.what, "the name of an array")) return false;
    if (!in_.is("[")) return in_.expected("'['");
    while (in_.accept("[")) {
      Width w;
      if (in_.is("*") && text_.is(text_.next(in_.at), "]")) {
        w.full = true;
        in_.advance();
      } else if (!width(&w, "")) {
        return false;
      }
      d_.widths.push_back(w);
      if (!in_.take("]")) return false;
    }
    return true;
  }

  // /periodic/1:2
  bool width(Width* w, const char* modifier) {
    if (in_.is("/")) {
      in_.advance();
      if (!in_.take(modifier) || !in_.take("/")) return false;
      w->modified = true;
    }
    w->below = {in_.at, in_.argument_end(true)};
    if (w->below.empty()) return in_.expected("a width");
    in_.at = w->below.last;
    w->above = w->below;
    return !in_.accept(":") || in_.expression(&w->above, "a width");
  }

  bool widths(const char* modifier) {
    d_.has_widths = true;
    if (!in_.take("(")) return false;
    do {
      Width w;
      if (!width(&w, modifier)) return false;
      d_.widths.push_back(w);
    } while (in_.accept(","));
    return in_.take(")");
  }

  // In parentheses, which may be left out.
  bool words(std::vector<size_t>* all, const char* expected) {
    if (!in_.is("(")) return true;
    do {
      in_.advance();
      size_t one = kNone;
      if (!word(&one, expected)) return false;
      all->push_back(one);
    } while (in_.is(","));
    return in_.take(")");
  }

  bool on(bool needed) {
    if (!in_.is("on")) return !needed || in_.expected("'on'");
    in_.advance();
    if (in_.accept("*")) return true;  // the executing nodes
    d_.has_on = true;
    return in_.reference(&d_.on, kOn, false, false);
  }

  bool list() {
    if (!in_.take("(")) return false;
    do {
      TokenRange one;
      if (!in_.expression(&one, d_.kind == GlobalKind::wait_async ? "a number" : "a variable")) return false;
      d_.variables.push_back(one);
    } while (in_.accept(","));
    return in_.take(")");
  }

  bool reduction() {
    if (!in_.take("(")) return false;
    Reduction r;
    for (; !in_.at_end() && !in_.is(":"); in_.advance()) r.operation += text_.spelling(in_.at);
    static constexpr std::string_view kOperations[] = {
        "+", "*", "-", "&", "|", "^", "&&", "||", "max", "min", "firstmax", "firstmin", "lastmax", "lastmin"};
    if (std::find(std::begin(kOperations), std::end(kOperations), r.operation) == std::end(kOperations))
      return in_.expected("a known operation");
    const bool located = r.operation.size() > 3;
    if (located && d_.kind == GlobalKind::reduction)
      return in_.expected("an operation other than " + r.operation + ", which belongs to loops,");
    do {
      in_.advance();
      Reduction::Variable v;
      v.variable = {in_.at, variable_end()};
      if (v.variable.empty()) return in_.expected("a variable");
      in_.at = v.variable.last;
      if (located && !in_.is("/"))
        return in_.expected("'/', with the variables that say where,", located_form(r));
      if (!located && in_.is("/"))
        return in_.expected(
            "')', as " + r.operation + " has no variables that say where,",
            "loop .. reduction(firstmax:variable/location,../), or firstmin, lastmax, lastmin");
      if (located && !locations(&v, located_form(r))) return false;
      r.variables.push_back(v);
    } while (in_.is(","));
    d_.reductions.push_back(r);
    return in_.take(")");
  }

  size_t variable_end() const {
    size_t i = in_.at;
    for (; i < in_.end && !text_.is_any(i, ",", ")", "/"); i = text_.next(i))
      if (text_.is_any(i, "(", "[") && in_.match(i) > i) i = in_.match(i);
    return i;
  }

  static std::string located_form(const Reduction& r) {
    return "reduction(" + r.operation + ":variable/location,../)";
  }

  bool locations(Reduction::Variable* v, const std::string& form) {
    do {
      in_.advance();
      v->locations.push_back({in_.at, variable_end()});
      if (v->locations.back().empty()) return in_.expected("a variable", form);
      in_.at = v->locations.back().last;
    } while (in_.is(","));
    return in_.accept("/") || in_.expected("'/'", form);
  }

  bool local_alias() {
    if (!word(&d_.what, "the name of a pointer")) return false;
    if (in_.is("=")) {
      in_.advance();
      if (!in_.take(">")) return false;
    } else if (!in_.take("=>")) {
      return false;
    }
    return word(&d_.from.name, "the name of a distributed array");
  }

  bool of(std::initializer_list<GlobalKind> kinds) const {
    return std::find(kinds.begin(), kinds.end(), d_.kind) != kinds.end();
  }

  bool clauses() {
    using K = GlobalKind;
    while (!in_.at_end()) {
      if (in_.is("on") && !d_.has_on && of({K::reduction, K::bcast, K::barrier, K::wait_async})) {
        if (!on(true)) return false;
      } else if (in_.is("from") && d_.kind == K::bcast && !d_.has_from) {
        in_.advance();
        d_.has_from = true;
        if (!in_.reference(&d_.from, kOn, false, true)) return false;
      } else if (in_.is("async") && d_.async.empty() &&
                 of({K::reflect, K::reflect_init, K::reflect_do, K::reduce_shadow, K::gmove, K::reduction,
                     K::bcast})) {
        in_.advance();
        if (!in_.in_parentheses(&d_.async, "a number")) return false;
      } else if (in_.is("width") && !d_.has_widths && of({K::reflect, K::reflect_init, K::reduce_shadow})) {
        in_.advance();
        if (!widths("periodic")) return false;
      } else if ((in_.is("expand") || in_.is("margin")) && d_.kind == K::loop && !d_.has_widths) {
        d_.is_margin = in_.is("margin");
        in_.advance();
        if (!widths("unbound")) return false;
      } else if (in_.is("reduction") && d_.kind == K::loop) {
        in_.advance();
        if (!reduction()) return false;
      } else if (in_.is("orthogonal") && of({K::reflect, K::reflect_init, K::reduce_shadow})) {
        in_.advance();
        d_.orthogonal = true;
      } else if (in_.is("nocomm") && of({K::task, K::loop, K::array})) {
        in_.advance();
        d_.no_communication = true;
      } else if (in_.is("in") && d_.kind == K::gmove && !d_.out) {
        in_.advance();
        d_.in = true;
      } else if (in_.is("out") && d_.kind == K::gmove && !d_.in) {
        in_.advance();
        d_.out = true;
      } else if (in_.is("acc") && !d_.on_device &&
                 of({K::reflect, K::reflect_init, K::reflect_do, K::reduce_shadow, K::gmove, K::reduction,
                     K::bcast, K::barrier, K::wait_async, K::loop})) {
        in_.advance();
        d_.on_device = true;
        if (d_.kind == K::gmove && !words(&d_.device_names, "the name of a variable in the assignment"))
          return false;
      } else if (in_.is("from_device") && d_.kind == K::bcast) {
        d_.from_device = in_.at;
        in_.at = in_.end;  // an error later on
      } else if (in_.is("host") &&
                 of({K::reflect, K::reduce_shadow, K::gmove, K::reduction, K::bcast, K::barrier})) {
        in_.advance();  // what there is without acc
      } else {
        return in_.expected("a clause or the end");
      }
    }
    return true;
  }

  DirectiveReader in_;
  const Text& text_;
  GlobalDirective d_;
};

}  // namespace

bool GlobalDirective::has_block() const {
  return kind == GlobalKind::loop || kind == GlobalKind::task || kind == GlobalKind::tasks ||
         kind == GlobalKind::array || kind == GlobalKind::gmove;
}

std::vector<TokenRange> GlobalDirective::numbers() const {
  std::vector<TokenRange> all;
  const auto add = [&](const TokenRange& range) {
    if (!range.empty()) all.push_back(range);
  };
  if (kind != GlobalKind::align && kind != GlobalKind::loop)
    for (const NodesReference* r : {&on, &from})
      for (const NodeSubscript& s : r->subscripts) add(s.lower), add(s.upper), add(s.stride);
  for (const Distribution& d : formats) add(d.width);
  for (const Width& w : widths) {
    add(w.below);
    if (w.above.first != w.below.first) add(w.above);
  }
  if (kind == GlobalKind::wait_async)
    for (const TokenRange& v : variables) add(v);
  add(async);
  return all;
}

std::vector<TokenRange> GlobalDirective::objects() const {
  std::vector<TokenRange> all;
  for (const Distribution& d : formats)
    if (!d.blocks.empty()) all.push_back(d.blocks);
  if (kind != GlobalKind::wait_async) all.insert(all.end(), variables.begin(), variables.end());
  for (const Reduction& r : reductions)
    for (const Reduction::Variable& v : r.variables) {
      all.push_back(v.variable);
      all.insert(all.end(), v.locations.begin(), v.locations.end());
    }
  return all;
}

bool is_global_directive(std::string_view name) {
  return find(name) != nullptr;
}

std::vector<GlobalDirective> read_global_directive(const Text& text, size_t word, Diagnostics* diagnostics) {
  const size_t name = text.next(word);
  const Known* known = text.is_word(name) ? find(text.spelling(name)) : nullptr;
  return known == nullptr ? std::vector<GlobalDirective>{} : Reader(text, word, *known, diagnostics).run();
}

}  // namespace tasuki::cc
