#include "compiler/meaning/global_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/meaning/coarray_operand.h"
#include "compiler/text/declarator.h"

namespace tasuki::cc {
namespace {

class Finder {
 public:
  explicit Finder(const Unit& in) : in_(in), text_(in.text) {}

  GlobalNames run() {
    find_scopes();
    for (const Directive& d : in_.tokens.directives)
      if (d.kind == DirectiveKind::nodes) nodes(d);
    for (const GlobalDirective& d : in_.tokens.globals) {
      if (declares(d) && is_of_file(place_of(d))) check_constants(numbers_of(d), kOfFile);
      if (const auto* t = std::get_if<TemplateDirective>(&d))
        declare(t->shape.name, "template", {t, scopes_[t->word], std::string(text_.spelling(t->shape.name))},
                &names_.templates);
      if (const auto* distributed = std::get_if<DistributeDirective>(&d)) distribute(*distributed);
      if (const auto* aligned = std::get_if<AlignDirective>(&d)) align(*aligned);
    }
    for (const GlobalDirective& d : in_.tokens.globals)
      if (const auto* shadowed = std::get_if<ShadowDirective>(&d)) shadow(*shadowed);
    return std::move(names_);
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    in_.diagnostics.error(text_.begin_of(token), what, advice);
  }

  // Where the names of a directive can be seen: to the end of the block around it.
  void find_scopes() {
    std::set<size_t> words;
    for (const Directive& d : in_.tokens.directives) words.insert(d.word);
    for (const GlobalDirective& d : in_.tokens.globals) words.insert(place_of(d).word);
    std::vector<size_t> ends = {text_.tokens().size()};
    for (size_t i = 0; i < text_.tokens().size(); i++) {
      if (text_.is(i, "{") && in_.match(i) > i) ends.push_back(in_.match(i));
      if (text_.is(i, "}") && ends.size() > 1) ends.pop_back();
      if (words.contains(i)) scopes_[i] = {i, ends.back()};
    }
    for (const GlobalDirective& d : in_.tokens.globals)
      if (const DirectivePlace& place = place_of(d); place.body != kNone)
        scopes_[place.word].last = in_.match(place.body);
  }

  template <typename Declared>
  void declare(size_t name, const std::string& what, Declared one, std::deque<Declared>* all) {
    for (const Declared& known : *all)
      if (known.name == one.name && known.scope.last == one.scope.last)
        return error(name, "the " + what + " '" + one.name + "' is declared already", "drop one of the two");
    all->push_back(std::move(one));
  }

  void nodes(const Directive& d) {
    const bool in_function = in_.analysis.function_at(text_.begin_of(d.word)) != kNone;
    for (const NodesReference* r : {&d.nodes, &d.whole})
      for (const NodeSubscript& s : r->subscripts)
        if (!in_function)
          check_constants({s.lower, s.upper, s.stride}, "the sizes of node arrays at file scope");
    declare(d.nodes.name, "node array", {&d, scopes_[d.word], std::string(text_.spelling(d.nodes.name))},
            &names_.nodes);
  }

  // Does it become an initial value of something static?
  static bool is_of_file(const DirectivePlace& declaration) {
    return !declaration.in_function && declaration.body == kNone;
  }

  static constexpr const char* kOfFile = "the numbers in declarations at file scope";
  void check_constants(const std::vector<TokenRange>& numbers, const std::string& what) {
    for (const TokenRange& range : numbers)
      if (const size_t i = variable_in(in_, range); i != kNone)
        return error(
            i,
            "'" + std::string(text_.spelling(i)) + "' is not a constant, and " + what + " must be constants",
            "write a number, an enumeration constant or a macro");
  }

  Template* known_template(size_t name) {
    const Template* found = names_.find_template(text_.spelling(name), name);
    if (found == nullptr)
      error(name, "there is no template '" + std::string(text_.spelling(name)) + "' here",
            "declare it before: #pragma xmp template " + std::string(text_.spelling(name)) + "(0:N-1)");
    return const_cast<Template*>(found);
  }

  void distribute(const DistributeDirective& d) {
    Template* t = known_template(d.template_);
    if (t == nullptr) return;
    if (t->distributed != nullptr)
      return error(d.template_, "the template '" + t->name + "' is distributed already",
                   "drop one of the two");
    if (static_cast<int>(d.formats.size()) != t->dimensions())
      return error(d.template_,
                   "the template '" + t->name + "' has " +
                       counted(static_cast<size_t>(t->dimensions()), "dimension") + ", and " +
                       counted_are(d.formats.size(), "format") + " given",
                   "write block, cyclic, gblock or * for each of its dimensions");
    const NodeArray* nodes = names_.find_nodes(text_.spelling(d.onto), d.onto);
    if (nodes == nullptr)
      return error(d.onto, "there is no node array '" + std::string(text_.spelling(d.onto)) + "' here",
                   "declare it before: #pragma xmp nodes " + std::string(text_.spelling(d.onto)) + "(4)");
    const auto distributed = std::count_if(d.formats.begin(), d.formats.end(),
                                           [](const auto& f) { return f.format != Format::duplicated; });
    if (distributed != nodes->dimensions())
      return error(d.onto,
                   "the node array '" + nodes->name + "' has " +
                       counted(static_cast<size_t>(nodes->dimensions()), "dimension") + ", and " +
                       counted(static_cast<size_t>(distributed), "dimension") + " of '" + t->name + "' " +
                       (distributed == 1 ? "is" : "are") + " distributed",
                   "write as many formats other than * as the node array has dimensions");
    t->distributed = &d;
    t->onto = nodes;
  }

  const Declaration* declaration_of(size_t name) const {
    const Declaration* found = in_.analysis.find(text_.spelling(name), text_.begin_of(name));
    const bool fits = found != nullptr && found->rank > 0 &&
                      (found->what == Declares::variable || found->what == Declares::parameter);
    return fits ? found : nullptr;
  }

  void align(const AlignDirective& d) {
    const std::string name(text_.spelling(d.array));
    const Declaration* declaration = declaration_of(d.array);
    if (declaration == nullptr)
      return error(d.array, "there is no array '" + name + "' here",
                   "declare it before the directive: double " + name + "[N];");
    const Template* t = known_template(d.with.name);
    if (t == nullptr) return;
    if (static_cast<int>(d.sources.size()) != declaration->rank)
      return error(d.array,
                   "'" + name + "' has " + counted(static_cast<size_t>(declaration->rank), "dimension") +
                       ", and " + counted_are(d.sources.size(), "bracket") + " given",
                   "write a variable, * or : for each of its dimensions");
    if (!check_subscripts(*t, d.with)) return;
    if (declaration->initialiser.end > 0)
      return error(d.array, "the distributed array '" + name + "' has initial values",
                   "assign them in a loop");
    for (const DistributedArray& known : names_.arrays)
      if (known.declaration->entity == declaration->entity && known.align->word != d.word &&
          scopes_[known.align->word].last >= d.word)
        return error(d.array, "'" + name + "' is aligned already", "drop one of the two");
    DistributedArray a{.name = name, .declaration = declaration, .align = &d, .template_ = t};
    if (declaration->what == Declares::parameter)
      a.kind = DistributedArray::Kind::parameter;
    else if (declaration->shape == Shape::pointer)
      a.kind = DistributedArray::Kind::pointer;
    if (a.kind == DistributedArray::Kind::array && !t->fixed())
      return error(d.array,
                   "the template '" + t->name + "' has no shape yet, and the array '" + name + "' needs one",
                   "declare a pointer, and give it memory with xmp_malloc behind template_fix");
    if (declaration->function != kNone && declaration->global_storage &&
        a.kind == DistributedArray::Kind::array)
      return error(d.array, "'" + name + "' is static or extern in a function",
                   "move the declaration and the directive out of the function");
    if (d.in_function && a.of_file())
      return error(
          d.array, "'" + name + "' is an array at file scope, and this directive is in a function",
          "put the directive behind the array's declaration: its memory is there from the beginning");
    a.dimensions.resize(d.sources.size());
    a.shadowed.resize(d.sources.size());
    a.one.resize(static_cast<size_t>(t->dimensions()));
    if (!match_dimensions(d, &a)) return;
    if (is_of_file(d)) {
      std::vector<TokenRange> numbers = a.one;
      for (const DistributedArray::Dimension& one : a.dimensions)
        numbers.insert(numbers.end(), {one.offset.before, one.offset.after});
      check_constants(numbers, kOfFile);
    }
    const Declarator declarator = declarator_of(text_, text_.token_at(declaration->offset));
    const bool bound = declarator.open != kNone && text_.next(declarator.open) != declarator.close;
    if (a.kind == DistributedArray::Kind::parameter && a.dimensions[0].with < 0 && !bound)
      return error(d.array,
                   "it is not known how large the first dimension of the parameter '" + name + "' is",
                   "declare it with its bound: " + name + "[n]");
    names_.arrays.push_back(std::move(a));
  }

  bool check_subscripts(const Template& t, const NodesReference& r) {
    if (static_cast<int>(r.subscripts.size()) == t.dimensions()) return true;
    error(r.name,
          "the template '" + t.name + "' has " + counted(static_cast<size_t>(t.dimensions()), "dimension") +
              ", and " + counted_are(r.subscripts.size(), "subscript") + " given",
          "write a subscript, * or : for each of its dimensions");
    return false;
  }

  // Which dimension of the array goes with which of the template.
  bool match_dimensions(const AlignDirective& d, DistributedArray* a) {
    std::vector<size_t> colons;  // of the array, the last dimension first
    for (size_t k = d.sources.size(); k-- > 0;)
      if (text_.is(d.sources[k], ":")) colons.push_back(k);
    size_t colon = 0;
    for (size_t k = 0; k < d.with.subscripts.size(); k++) {
      const NodeSubscript& s = d.with.subscripts[k];
      if (s.own) continue;
      if (s.is_range) {
        if (!s.lower.empty() || !s.upper.empty() || colon >= colons.size()) return mismatch(d);
        a->dimensions[colons[colon++]].with = static_cast<int>(k);
        continue;
      }
      Shifted shifted;
      const auto is_source = [&](size_t token) {
        return std::any_of(d.sources.begin(), d.sources.end(), [&](size_t source) {
          return text_.is_word(source) && text_.spelling(source) == text_.spelling(token);
        });
      };
      bool variable = false;
      for (size_t i = s.lower.first; i < s.lower.last; i++)
        variable = variable || (text_.is_word(i) && is_source(i));
      if (!variable) {
        a->one[k] = s.lower;
        continue;
      }
      if (!read_shifted(text_, s.lower, is_source, &shifted)) {
        error(s.lower.first, "an array must be aligned with i, i+n or i-n, for one of its variables i",
              "write align a[i] with t(i+1)");
        return false;
      }
      for (size_t n = 0; n < d.sources.size(); n++) {
        if (!text_.is_word(d.sources[n]) || text_.spelling(d.sources[n]) != text_.spelling(shifted.variable))
          continue;
        if (a->dimensions[n].with >= 0) {
          error(shifted.variable, "this variable stands for two dimensions of the template",
                "use each variable once on each side");
          return false;
        }
        a->dimensions[n] = {static_cast<int>(k), shifted};
      }
    }
    for (size_t n = 0; n < d.sources.size(); n++)
      if (!text_.is(d.sources[n], "*") && a->dimensions[n].with < 0) return mismatch(d);
    return true;
  }

  bool mismatch(const AlignDirective& d) {
    error(d.array, "each variable and each : must stand once at the array and once at the template",
          "write align a[i][j] with t(j,i), or * for dimensions that are not distributed");
    return false;
  }

  void shadow(const ShadowDirective& d) {
    const std::string name(text_.spelling(d.array));
    const size_t found = names_.find_array(text_, in_.analysis, d.array);
    if (found == kNone)
      return error(d.array, "'" + name + "' is no distributed array",
                   "align it first: #pragma xmp align " + name + "[i] with t(i)");
    DistributedArray& a = names_.arrays[found];
    if (a.shadow != nullptr)
      return error(d.array, "'" + name + "' has a shadow already", "drop one of the two");
    if (d.widths.size() != a.dimensions.size())
      return error(d.array,
                   "'" + name + "' has " + counted(a.dimensions.size(), "dimension") + ", and " +
                       counted_are(d.widths.size(), "width") + " given",
                   "write a width for each of its dimensions; 0 for none");
    for (size_t k = 0; k < d.widths.size(); k++)
      if (!d.widths[k].full && a.format(static_cast<int>(k)) == Format::cyclic && !zero(d.widths[k]))
        return error(d.widths[k].below.first, "a cyclic dimension has no neighbours: its shadow is 0 or *",
                     "write 0 or * here, or distribute the template in blocks");
    a.shadow = &d;
    for (size_t k = 0; k < d.widths.size(); k++)
      a.shadowed[k] =
          d.widths[k].full ? a.format(static_cast<int>(k)) != Format::duplicated : !zero(d.widths[k]);
  }

  bool zero(const Width& w) const {
    const auto is_zero = [&](const TokenRange& r) {
      return text_.next(r.first) == r.last && text_.spelling(r.first) == "0";
    };
    return is_zero(w.below) && is_zero(w.above);
  }

  const Unit& in_;
  const Text& text_;
  GlobalNames names_;
  std::map<size_t, TokenRange> scopes_;  // by the directive's word
};

template <typename All>
auto* innermost(const All& all, std::string_view name, size_t token) {
  decltype(&all.front()) found = nullptr;
  for (const auto& one : all)
    if (one.name == name && one.scope.first < token && token < one.scope.last) found = &one;
  return found;
}

}  // namespace

bool read_shifted(const Text& text, const TokenRange& range, const std::function<bool(size_t)>& is_variable,
                  Shifted* result) {
  for (size_t i = range.first; i < range.last; i++) {
    if (text.tokens()[i].kind == TokenKind::directive) continue;
    if (text.is_any(i, "(", "[") && text.tokens()[i].match > i) {
      for (size_t k = i; k < text.tokens()[i].match; k++)
        if (text.is_word(k) && is_variable(k)) return false;
      i = text.tokens()[i].match;
    } else if (text.is_word(i) && is_variable(i)) {
      if (result->variable != kNone) return false;
      result->variable = i;
    } else if (text.tokens()[i].kind == TokenKind::punctuator &&
               !text.is_any(i, "+", "-", "*", "/", "%", ".", "->")) {
      return false;
    }
  }
  if (result->variable == kNone) return false;
  const size_t behind = text.next(result->variable);
  if (behind < range.last) {
    if (!text.is_any(behind, "+", "-")) return false;
    result->after = {behind, range.last};
  }
  if (result->variable > range.first) {
    const size_t plus = text.previous(result->variable);
    if (!text.is(plus, "+") || plus == range.first) return false;
    result->before = {range.first, plus};
  }
  return true;
}

std::string shift_of(const Unit& in, const Shifted& s) {
  std::string result = s.before.empty() ? "0" : "(" + in.c(s.before.first, s.before.last) + ")";
  if (!s.after.empty()) result += " " + in.c(s.after.first, s.after.last);
  return result;
}

Format Template::format(int dimension) const {
  return distributed == nullptr ? Format::duplicated
                                : distributed->formats[static_cast<size_t>(dimension)].format;
}

int Template::nodes(int dimension) const {
  if (format(dimension) == Format::duplicated) return -1;
  int result = 0;
  for (int d = 0; d < dimension; d++)
    if (format(d) != Format::duplicated) result++;
  return result;
}

bool Template::fixed() const {
  for (const NodeSubscript& s : declared->shape.subscripts)
    if (s.is_range && s.lower.empty() && s.upper.empty()) return false;
  for (int d = 0; d < dimensions(); d++)
    if (format(d) == Format::gblock && distributed->formats[static_cast<size_t>(d)].blocks.empty())
      return false;
  return true;
}

std::string DistributedArray::part(int subscripts) const {
  std::string result = typed();
  for (int k = 0; k < subscripts; k++) result += "[0]";
  return result;
}

const NodeArray* GlobalNames::find_nodes(std::string_view name, size_t token) const {
  return innermost(nodes, name, token);
}

const Template* GlobalNames::find_template(std::string_view name, size_t token) const {
  return innermost(templates, name, token);
}

size_t GlobalNames::find_array(const Text& text, const Analysis& analysis, size_t token) const {
  const std::string_view name = text.spelling(token);
  if (std::none_of(arrays.begin(), arrays.end(), [&](const auto& a) { return a.name == name; })) return kNone;
  const size_t offset = text.begin_of(token);
  const auto reference = analysis.references.find(offset);
  size_t entity = kNone;
  if (reference != analysis.references.end()) {
    entity = reference->second;
  } else {
    if (analysis.other_names.contains(offset) ||
        text.is_any(text.previous(token), ".", "->", "struct", "union", "enum", "goto"))
      return kNone;
    const Declaration* d = analysis.find(name, offset);
    if (d != nullptr) entity = d->entity;
  }
  for (size_t i = 0; i < arrays.size(); i++)
    if (arrays[i].declaration->entity == entity) return i;
  return kNone;
}

GlobalNames find_global_names(const Unit& in) {
  return Finder(in).run();
}

}  // namespace tasuki::cc
