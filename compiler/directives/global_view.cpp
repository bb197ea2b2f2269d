#include "compiler/directives/global_view.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace tasuki::cc {
namespace {

struct Known {
  std::string_view name;
  GlobalDirective kind;
  const char* form;
};

const Known* find(std::string_view name) {
  static const Known kKnown[] = {
      {"template", TemplateDirective{}, "template t(0:N-1), template t[N] or template t(:)"},
      {"distribute", DistributeDirective{}, "distribute t(block) onto p, or cyclic, cyclic(n), gblock(m), *"},
      {"template_fix", TemplateFixDirective{}, "template_fix(block) t(0:N-1), or template_fix[block] t[N]"},
      {"align", AlignDirective{}, "align a[i][j] with t(j,i)"},
      {"shadow", ShadowDirective{}, "shadow a[1][1:2][0]"},
      {"loop", LoopDirective{}, "loop (i,j) on t(j,i) reduction(+:s), before a loop"},
      {"task", TaskDirective{}, "task on p(1:2), or task on t(i), before a block"},
      {"tasks", TasksDirective{}, "tasks, before a block of tasks"},
      {"array", ArrayDirective{}, "array on t[0:n], before an array assignment"},
      {"reflect", ReflectDirective{},
       "reflect (a) width(1,/periodic/1:0) async(1); all but (a) may be left out"},
      {"reflect_init", ReflectDirective{{}, ShadowExchange::reflect_init},
       "reflect_init (a) width(1,/periodic/1:0) acc"},
      {"reflect_do", ReflectDirective{{}, ShadowExchange::reflect_do}, "reflect_do (a) async(1) acc"},
      {"reduce_shadow", ReflectDirective{{}, ShadowExchange::reduce_shadow}, "reduce_shadow (a) width(1,1)"},
      {"gmove", GmoveDirective{}, "gmove, gmove in or gmove out, before an assignment"},
      {"reduction", ReductionDirective{}, "reduction(+:s) on t(:), with +, *, &, |, ^, &&, ||, max or min"},
      {"bcast", BcastDirective{}, "bcast (x) from p(1) on p; from and on may be left out"},
      {"barrier", BarrierDirective{}, "barrier, or barrier on p(1:2)"},
      {"wait_async", WaitAsyncDirective{}, "wait_async (1)"},
      {"local_alias", LocalAliasDirective{}, "local_alias pointer => array"}};
  const auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const Known& known) { return known.name == name; });
  return found == std::end(kKnown) ? nullptr : found;
}

constexpr const char* kOn = "a template or node array";

template <typename Directive, typename... Kinds>
constexpr bool kIs = (std::is_same_v<Directive, Kinds> || ...);

class Reader {
 public:
  Reader(const Text& text, size_t word, const Known& known, Diagnostics* diagnostics)
      : in_(text, word, known.form, diagnostics), text_(text), word_(word) {}

  std::optional<GlobalDirective> run(GlobalDirective directive) {
    const bool good = std::visit(
        [&](auto& d) {
          d.word = word_;
          d.name = in_.name;
          d.end = in_.end;
          return d.end != kNone && arguments(&d) &&
                 (in_.at_end() || in_.expected("the end of the directive"));
        },
        directive);
    return good ? std::optional(std::move(directive)) : std::nullopt;
  }

 private:
  bool arguments(TemplateDirective* d) { return in_.reference(&d->shape, "a template", false, true); }

  bool arguments(DistributeDirective* d) {
    return word(&d->template_, "the name of a template") && formats(&d->formats) && in_.take("onto") &&
           word(&d->onto, "the name of a node array");
  }

  bool arguments(TemplateFixDirective* d) {
    if ((in_.is("(") || in_.is("[")) && !formats(&d->formats)) return false;
    return in_.reference(&d->shape, "a template", false, d->formats.empty());
  }

  bool arguments(AlignDirective* d) {
    if (!word(&d->array, "the name of an array")) return false;
    if (!in_.is("[")) return in_.expected("'['");
    while (in_.accept("[")) {
      if (in_.at_end() || !(text_.is_word(in_.at) || in_.is("*") || in_.is(":")))
        return in_.expected("a variable, '*' or ':'");
      d->sources.push_back(in_.at);
      in_.advance();
      if (!in_.take("]")) return false;
    }
    if (!in_.accept("to") && !in_.take("with")) return false;
    return in_.reference(&d->with, "a template", false, true);
  }

  bool arguments(ShadowDirective* d) {
    if (!word(&d->array, "the name of an array")) return false;
    if (!in_.is("[")) return in_.expected("'['");
    while (in_.accept("[")) {
      Width w;
      if (in_.is("*") && text_.is(text_.next(in_.at), "]")) {
        w.full = true;
        in_.advance();
      } else if (!width(&w, "")) {
        return false;
      }
      d->widths.push_back(w);
      if (!in_.take("]")) return false;
    }
    return true;
  }

  bool arguments(LoopDirective* d) {
    return words(&d->indices, "the name of a loop's variable") && on(&d->on) && clauses(d);
  }
  bool arguments(TaskDirective* d) { return on(&d->on) && clauses(d); }
  bool arguments(TasksDirective*) { return true; }
  bool arguments(ArrayDirective* d) { return on(&d->on) && clauses(d); }
  bool arguments(ReflectDirective* d) { return list(&d->variables, "a variable") && clauses(d); }
  bool arguments(GmoveDirective* d) { return clauses(d); }
  bool arguments(ReductionDirective* d) { return reduction(&d->reductions, false) && clauses(d); }
  bool arguments(BcastDirective* d) { return list(&d->variables, "a variable") && clauses(d); }
  bool arguments(BarrierDirective* d) { return clauses(d); }
  bool arguments(WaitAsyncDirective* d) { return list(&d->ids, "a number") && clauses(d); }

  bool arguments(LocalAliasDirective* d) {
    if (!word(&d->pointer, "the name of a pointer")) return false;
    if (in_.is("=")) {
      in_.advance();
      if (!in_.take(">")) return false;
    } else if (!in_.take("=>")) {
      return false;
    }
    return word(&d->array, "the name of a distributed array");
  }

  bool word(size_t* token, const char* what) {
    if (in_.at_end() || !text_.is_word(in_.at)) return in_.expected(what);
    *token = in_.at;
    in_.advance();
    return true;
  }

  // (block, cyclic(2)) or [block][*], and for template_fix also [block, *]
  bool formats(std::vector<Distribution>* all) {
    const bool brackets = in_.is("[");
    if (!brackets && !in_.is("(")) return in_.expected("'(' or '['");
    do {
      do {
        in_.advance();
        Distribution one;
        if (!format(&one)) return false;
        all->push_back(one);
      } while (in_.is(","));
      if (!in_.take(brackets ? "]" : ")")) return false;
    } while (brackets && in_.is("["));
    if (brackets) std::reverse(all->begin(), all->end());
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

  bool widths(std::vector<Width>* all, const char* modifier) {
    if (!in_.take("(")) return false;
    do {
      Width w;
      if (!width(&w, modifier)) return false;
      all->push_back(w);
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

  bool on(std::optional<NodesReference>* nodes) {
    if (!in_.take("on")) return false;
    if (in_.accept("*")) return true;
    nodes->emplace();
    return in_.reference(&nodes->value(), kOn, false, false);
  }

  bool list(std::vector<TokenRange>* all, const char* what) {
    if (!in_.take("(")) return false;
    do {
      TokenRange one;
      if (!in_.expression(&one, what)) return false;
      all->push_back(one);
    } while (in_.accept(","));
    return in_.take(")");
  }

  bool reduction(std::vector<Reduction>* all, bool of_loop) {
    if (!in_.take("(")) return false;
    Reduction r;
    for (; !in_.at_end() && !in_.is(":"); in_.advance()) r.operation += text_.spelling(in_.at);
    static constexpr std::string_view kOperations[] = {
        "+", "*", "-", "&", "|", "^", "&&", "||", "max", "min", "firstmax", "firstmin", "lastmax", "lastmin"};
    if (std::find(std::begin(kOperations), std::end(kOperations), r.operation) == std::end(kOperations))
      return in_.expected("a known operation");
    const bool located = r.operation.size() > 3;
    if (located && !of_loop)
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
    all->push_back(r);
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

  template <typename Directive>
  bool clauses(Directive* d) {
    while (good_ && !in_.at_end())
      if (!clause(d)) return in_.expected("a clause or the end");
    return good_;
  }

  // Reads one, if there is one here that this directive has, and may have once more.
  template <typename Directive>
  bool clause(Directive* d) {
    if constexpr (kIs<Directive, ReductionDirective, BcastDirective, BarrierDirective, WaitAsyncDirective>)
      if (in_.is("on") && !d->on) return parsed(on(&d->on));
    if constexpr (requires { d->async; })
      if (d->async.empty() && in_.accept("async")) return parsed(in_.in_parentheses(&d->async, "a number"));
    if constexpr (requires { d->no_communication; })
      if (in_.accept("nocomm")) return d->no_communication = true;
    if constexpr (requires { d->on_device; })
      if (!d->on_device && in_.accept("acc")) {
        d->on_device = true;
        if constexpr (requires { d->device_names; })
          return parsed(words(&d->device_names, "the name of a variable in the assignment"));
        return true;
      }
    if constexpr (kIs<Directive, GmoveDirective, ReductionDirective, BcastDirective, BarrierDirective>)
      if (in_.accept("host")) return true;  // what there is without acc
    return own_clause(d);
  }

  // Those of one kind of directives only.
  bool own_clause(DirectivePlace*) { return false; }

  bool own_clause(LoopDirective* d) {
    if ((in_.is("expand") || in_.is("margin")) && d->widths.empty()) {
      d->is_margin = in_.is("margin");
      in_.advance();
      return parsed(widths(&d->widths, "unbound"));
    }
    return in_.accept("reduction") && parsed(reduction(&d->reductions, true));
  }

  bool own_clause(ReflectDirective* d) {
    const bool is_do = d->what == ShadowExchange::reflect_do,
               is_init = d->what == ShadowExchange::reflect_init;
    if (!is_do && d->widths.empty() && in_.accept("width")) return parsed(widths(&d->widths, "periodic"));
    if (!is_do && in_.accept("orthogonal")) return d->orthogonal = true;
    return !is_do && !is_init && in_.accept("host");
  }

  bool own_clause(GmoveDirective* d) {
    if (!d->out && in_.accept("in")) return d->in = true;
    return !d->in && in_.accept("out") && (d->out = true);
  }

  bool own_clause(BcastDirective* d) {
    if (!d->from && in_.accept("from")) {
      d->from.emplace();
      return parsed(in_.reference(&d->from.value(), kOn, false, true));
    }
    if (!in_.is("from_device")) return false;
    d->from_device = in_.at;
    in_.at = in_.end;  // an error later on
    return true;
  }

  // There is this clause here; what is wrong in it has been reported.
  bool parsed(bool good) {
    good_ = good;
    return true;
  }

  DirectiveReader in_;
  const Text& text_;
  const size_t word_;
  bool good_ = true;
};

}  // namespace

const DirectivePlace& place_of(const GlobalDirective& d) {
  return std::visit([](const auto& one) -> const DirectivePlace& { return one; }, d);
}

std::vector<TokenRange> numbers_of(const GlobalDirective& directive) {
  std::vector<TokenRange> all;
  const auto add = [&](const TokenRange& range) {
    if (!range.empty()) all.push_back(range);
  };
  const auto add_subscripts = [&](const NodesReference& r) {
    for (const NodeSubscript& s : r.subscripts) add(s.lower), add(s.upper), add(s.stride);
  };
  std::visit(
      [&]<typename Directive>(const Directive& d) {
        if constexpr (requires { d.shape; }) add_subscripts(d.shape);
        if constexpr (requires { d.on; } && !kIs<Directive, LoopDirective>)
          if (d.on) add_subscripts(*d.on);
        if constexpr (requires { d.from; })
          if (d.from) add_subscripts(*d.from);
        if constexpr (requires { d.formats; })
          for (const Distribution& f : d.formats) add(f.width);
        if constexpr (requires { d.widths; })
          for (const Width& w : d.widths) {
            add(w.below);
            if (w.above.first != w.below.first) add(w.above);
          }
        if constexpr (requires { d.ids; })
          for (const TokenRange& id : d.ids) add(id);
        if constexpr (requires { d.async; }) add(d.async);
      },
      directive);
  return all;
}

std::vector<TokenRange> objects_of(const GlobalDirective& directive) {
  std::vector<TokenRange> all;
  std::visit(
      [&](const auto& d) {
        if constexpr (requires { d.formats; })
          for (const Distribution& f : d.formats)
            if (!f.blocks.empty()) all.push_back(f.blocks);
        if constexpr (requires { d.variables; })
          all.insert(all.end(), d.variables.begin(), d.variables.end());
        if constexpr (requires { d.reductions; })
          for (const Reduction& r : d.reductions)
            for (const Reduction::Variable& v : r.variables) {
              all.push_back(v.variable);
              all.insert(all.end(), v.locations.begin(), v.locations.end());
            }
      },
      directive);
  return all;
}

bool is_global_directive(std::string_view name) {
  return find(name) != nullptr;
}

std::optional<GlobalDirective> read_global_directive(const Text& text, size_t word,
                                                     Diagnostics* diagnostics) {
  const size_t name = text.next(word);
  const Known* known = text.is_word(name) ? find(text.spelling(name)) : nullptr;
  return known == nullptr ? std::nullopt : Reader(text, word, *known, diagnostics).run(known->kind);
}

}  // namespace tasuki::cc
