#include "compiler/lower/global/arrays.h"

#include <algorithm>

#include "compiler/lower/global/element_types.h"
#include "compiler/text/declarator.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::cc {

using Kind = DistributedArray::Kind;

GlobalArrays::GlobalArrays(const Unit& in) : in_(in), text_(in.text), names_(in.global) {
  std::map<std::string, std::pair<size_t, int>> known;
  for (size_t i = 0; i < names_.arrays.size(); i++) {
    const DistributedArray& a = names_.arrays[i];
    strides_.emplace_back();
    for (int k = 0; k < a.rank(); k++) {
      const std::pair<size_t, int> own = {i, k};
      const bool shares = a.of_file() && a.kind == Kind::array;
      strides_.back().push_back(shares ? known.emplace(layout_text(a, k), own).first->second : own);
    }
  }
  find_uses();
}

// What the stride of a dimension follows from: the dimensions behind it.
std::string GlobalArrays::layout_text(const DistributedArray& a, int dimension) const {
  const Declarator declarator = declarator_of(text_, text_.token_at(a.declaration->offset));
  std::string result = a.template_->record() + std::to_string(a.template_->declared->word);
  if (declarator.open == kNone) return a.name + std::to_string(dimension);  // a type of its own
  int k = 0;
  for (size_t open = declarator.open; text_.is(open, "["); open = text_.next(in_.match(open)), k++) {
    if (k <= dimension || k >= a.rank()) continue;
    const DistributedArray::Dimension& d = a.dimensions[static_cast<size_t>(k)];
    result += " [" + joined(text_, open + 1, in_.match(open)) + "] " + std::to_string(d.with) + " " +
              joined(text_, d.offset.before.first, d.offset.before.last) + " " +
              joined(text_, d.offset.after.first, d.offset.after.last);
    if (!a.shadowed[static_cast<size_t>(k)]) continue;
    const Width& w = a.shadow->widths[static_cast<size_t>(k)];
    result += w.full ? "*"
                     : joined(text_, w.below.first, w.below.last) + ":" +
                           joined(text_, w.above.first, w.above.last);
  }
  // A type may add dimensions behind those that are written.
  return k == a.rank() ? result : a.name + std::to_string(dimension);
}

void GlobalArrays::find_uses() {
  std::set<size_t> declared;
  for (const Declaration& d : in_.analysis.declarations) declared.insert(d.offset);
  std::set<size_t> hidden;  // what is no expression in directives
  for (const Directive& d : in_.tokens.directives)
    if (d.kind == DirectiveKind::nodes)
      for (size_t i = d.word; i < d.end; i++) hidden.insert(i);
  for (const GlobalDirective& d : in_.tokens.globals) {
    for (size_t i = place_of(d).word; i < place_of(d).end; i++) hidden.insert(i);
    std::vector<TokenRange> expressions = numbers_of(d);
    for (const TokenRange& range : objects_of(d)) expressions.push_back(range);
    if (const auto* loop = std::get_if<LoopDirective>(&d); loop != nullptr && loop->on)
      for (const NodeSubscript& s : loop->on->subscripts)
        for (const TokenRange& range : {s.lower, s.upper, s.stride})
          if (!range.empty()) expressions.push_back(range);
    for (const TokenRange& range : expressions)
      for (size_t i = range.first; i < range.last; i++) hidden.erase(i);
  }
  for (size_t i = 0; i < text_.tokens().size(); i++) {
    if (!text_.is_word(i) || hidden.contains(i) || declared.contains(text_.begin_of(i))) continue;
    const size_t array = names_.find_array(text_, in_.analysis, i);
    if (array == kNone || text_.is(text_.previous(text_.previous(i)), "xmp_desc_of")) continue;
    const DistributedArray& a = names_.arrays[array];
    ArrayUse use{i, array, in_.analysis.function_at(text_.begin_of(i))};
    use.end = i + 1;
    for (size_t open = text_.next(i); text_.is(open, "[") && in_.match(open) > open;
         open = text_.next(use.end - 1)) {
      if (use.opens.size() == a.dimensions.size()) break;
      use.opens.push_back(open);
      use.end = in_.match(open) + 1;
    }
    use.unevaluated = in_.analysis.is_unevaluated(text_.begin_of(i));
    for (size_t before = text_.previous(i); !use.unevaluated && text_.is(before, "(");
         before = text_.previous(before))
      use.unevaluated = group_keyword(text_, in_.match(before)) != kNone;
    const std::string name = "'" + a.name + "'";
    if (use.function == kNone && !use.unevaluated && a.kind != Kind::parameter)
      in_.diagnostics.error(text_.begin_of(i),
                            "the address of " + name + " is known only when the program has started",
                            "assign it in a function");
    else if (i < a.align->word && a.kind != Kind::parameter && !use.unevaluated)
      in_.diagnostics.error(text_.begin_of(i), name + " is used before its align directive",
                            "put the directive directly behind the declaration");
    const size_t open = text_.previous(i);
    if (a.kind == Kind::pointer && use.opens.empty() && text_.is(open, "(") &&
        text_.is_any(text_.previous(open), "free", "realloc"))
      in_.diagnostics.error(text_.begin_of(i),
                            "the memory of the distributed array " + name +
                                " belongs to all nodes and does not come from malloc",
                            "give it back with xmp_free(" + a.name + "), on all of them");
    uses_.push_back(std::move(use));
  }
}

bool GlobalArrays::has_locals(size_t array, size_t token) const {
  const DistributedArray& a = names_.arrays[array];
  if (a.kind != Kind::pointer) return true;
  return std::any_of(loops_.begin(), loops_.end(),
                     [&](const TokenRange& l) { return token > l.first && token < l.last; });
}

std::string GlobalArrays::field(size_t array, const char* field, int dimension, bool local) const {
  const std::string number = "[" + std::to_string(dimension) + "]";
  return local ? "__tasuki_" + std::string(field) + std::to_string(array) + "_" + std::to_string(dimension)
               : names_.arrays[array].record() + "." + field + number;
}

std::string GlobalArrays::stride(size_t array, int dimension, bool local) const {
  const DistributedArray& a = names_.arrays[array];
  bool constant = true;
  for (int k = dimension + 1; k < a.rank(); k++) constant = constant && a.is_whole(k);
  if (constant)
    return "(long long)(sizeof(" + a.part(dimension + 1) + ") / sizeof(" + a.part(a.rank()) + "))";
  if (!local) return field(array, "stride", dimension, false);
  const auto& [first, its_dimension] = strides_[array][static_cast<size_t>(dimension)];
  return field(first, "stride", its_dimension, true);
}

std::string GlobalArrays::index(size_t array, int dimension, const std::string& subscript, bool local,
                                size_t token) const {
  const DistributedArray& a = names_.arrays[array];
  std::string x = "(long long)(" + subscript + ")";
  if (in_.options.checked)
    x = "tasuki_xmp_owned(&" + a.record() + ", " + std::to_string(dimension) + ", " + x + ", " +
        in_.place(token) + ")";
  if (a.format(dimension) != Format::cyclic) return x;
  const auto part = [&](const char* name) { return field(array, name, dimension, local); };
  const Distribution& d =
      a.template_->distributed
          ->formats[static_cast<size_t>(a.dimensions[static_cast<size_t>(dimension)].with)];
  return "__tasuki_cyclic_index(" + x + " - " + part("first") + ", " +
         (d.width.empty() ? "1" : part("width")) + ", " + part("nodes") + ")";
}

std::string GlobalArrays::element(size_t array, const std::vector<std::string>& subscripts,
                                  size_t token) const {
  const DistributedArray& a = names_.arrays[array];
  const bool local = has_locals(array, token);
  std::string offset;
  for (int k = 0; k < a.rank(); k++) {
    offset += (k > 0 ? " + " : "") + index(array, k, subscripts[static_cast<size_t>(k)], local, token);
    if (k + 1 < a.rank()) offset += " * " + stride(array, k, local);
  }
  const std::string base =
      local ? "__tasuki_p" + std::to_string(array) : "((" + a.element_type() + "*)" + a.record() + ".origin)";
  return "(" + base + "[" + offset + "])";
}

std::string GlobalArrays::allocated(size_t array) const {
  return "__tasuki_allocated(&" + names_.arrays[array].record() + ")";
}

std::string GlobalArrays::section(size_t array) const {
  const DistributedArray& a = names_.arrays[array];
  const std::string pointer = "__tasuki_p" + std::to_string(array);
  return pointer + "[(" + a.element_type() + "*)" + a.record() + ".memory - " + pointer + ":" +
         allocated(array) + "]";
}

// In a host_data region that names the array: the same on the device.
std::string GlobalArrays::use(const ArrayUse& use) const {
  const std::string here = use_here(use);
  if (use.unevaluated || !in_.acc.is_address_of_device(use.token)) return here;
  const auto device = [](const std::string& type, const std::string& address) {
    return "((" + type + ")tasuki_xmp_device_address((const void*)" + address + "))";
  };
  if (use.opens.size() < names_.arrays[use.array].dimensions.size())
    return device("__typeof__(" + here + ")", here);
  return "(*" + device("__typeof__(&" + here + ")", "&" + here) + ")";
}

std::string GlobalArrays::use_here(const ArrayUse& use) const {
  const DistributedArray& a = names_.arrays[use.array];
  if (use.unevaluated) {
    std::string result = a.typed();
    for (size_t open : use.opens) result += "[" + in_.c(open + 1, in_.match(open)) + "]";
    return result;
  }
  std::vector<std::string> subscripts;
  for (size_t open : use.opens) {
    subscripts.push_back(in_.c(open + 1, in_.match(open)));
  }
  const int count = static_cast<int>(subscripts.size());
  if (count == a.rank()) return element(use.array, subscripts, use.token);
  if (count == 0)
    return a.kind == Kind::array ? "((__typeof__(&" + a.part(1) + "))" + a.record() + ".memory)" : a.name;
  std::string list;
  for (const std::string& s : subscripts) list += (list.empty() ? "" : ", ") + s;
  return "((__typeof__(&" + a.part(count + 1) + "))tasuki_xmp_row(&" + a.record() + ", " +
         std::to_string(count) + ", (const long long[]){" + list + "}))";
}

std::string GlobalArrays::locals(size_t array, std::set<std::string>* known) const {
  const DistributedArray& a = names_.arrays[array];
  const std::string number = std::to_string(array);
  std::string result =
      " " + a.element_type() + "* const __tasuki_p" + number + " = " + a.record() + ".origin;";
  for (int k = 0; k < a.rank(); k++) {
    const std::string local = stride(array, k, true);
    if (k + 1 < a.rank() && local.starts_with("__") && known->insert(local).second)
      result += " const long long " + local + " = " + stride(array, k, false) + ";";
    if (a.format(k) != Format::cyclic) continue;
    for (const char* name : {"first", "width"})
      result +=
          " const long long " + field(array, name, k, true) + " = " + field(array, name, k, false) + ";";
    result += " const int " + field(array, "nodes", k, true) + " = " + field(array, "nodes", k, false) + ";";
  }
  return result;
}

std::map<size_t, std::string> GlobalArrays::function_locals() const {
  std::map<size_t, std::set<size_t>> used;
  for (const std::vector<ArrayUse>* uses : {&uses_, &others_})
    for (const ArrayUse& u : *uses) {
      const DistributedArray& a = names_.arrays[u.array];
      if (!u.unevaluated && u.function != kNone && a.of_file() && a.kind == Kind::array)
        used[u.function].insert(u.array);
    }
  std::map<size_t, std::string> result;
  for (const auto& [function, arrays] : used) {
    std::set<std::string> layouts;
    std::string& all = result[text_.token_at(in_.analysis.functions[function].body.begin)];
    for (size_t array : arrays) all += locals(array, &layouts);
  }
  return result;
}

std::string GlobalArrays::loop_locals(const TokenRange& loop) const {
  std::set<size_t> used;
  std::set<std::string> layouts;
  for (const std::vector<ArrayUse>* uses : {&uses_, &others_})
    for (const ArrayUse& u : *uses)
      if (u.token > loop.first && u.token < loop.last && !u.unevaluated &&
          names_.arrays[u.array].kind == Kind::pointer)
        used.insert(u.array);
  std::string result;
  for (size_t array : used) result += locals(array, &layouts);
  return result;
}

std::map<size_t, std::string> GlobalArrays::declared_names() const {
  std::map<size_t, std::string> result;
  for (const DistributedArray& a : names_.arrays) {
    if (a.kind != Kind::array) continue;
    for (const Declaration& d : in_.analysis.declarations)
      if (d.what == Declares::variable && d.entity == a.declaration->entity)
        result[text_.token_at(d.offset)] = a.typed();
  }
  return result;
}

bool GlobalArrays::any_of_file() const {
  return std::any_of(names_.arrays.begin(), names_.arrays.end(), [](const auto& a) { return a.of_file(); });
}

// The first bound of a parameter, which its type has lost; without one, as far as the template goes.
std::string GlobalArrays::first_extent(const DistributedArray& a) const {
  if (a.kind == Kind::array) return "sizeof(" + a.part(0) + ") / sizeof(" + a.part(1) + ")";
  if (a.kind == Kind::pointer) return "0";
  const Declarator d = declarator_of(text_, text_.token_at(a.declaration->offset));
  std::string bound;
  for (size_t i = d.open; i != kNone && ++i < d.close;)
    if (!text_.is_any(i, "static", "const", "restrict", "volatile") &&
        !(text_.is(i, "*") && text_.next(i) == d.close))
      bound += in_.c(i, i + 1) + " ";
  const DistributedArray::Dimension& first = a.dimensions[0];
  if (!bound.empty() || first.with < 0) return bound.empty() ? "1" : bound;
  return a.template_->record() + ".dimension[" + std::to_string(first.with) + "].upper - (" +
         shift_of(in_, first.offset) + ") + 1";
}

// Which of enum tasuki_xmp_type, from 1; 0: none of them.
static std::string type_number(const std::string& element) {
  std::string result = "_Generic(*(__typeof__(" + element + ")*)0";
  for (const auto& [name, type] : kElementTypes)
    result += ", " + std::string(name) + ": " + std::to_string(1 + type);
  return result + ", default: 0)";
}

std::string GlobalArrays::initialiser(size_t array) const {
  const DistributedArray& a = names_.arrays[array];
  const auto join = [](std::string* list, const std::string& one) {
    *list += (list->empty() ? "" : ", ") + one;
  };
  std::string extents, with, offsets, at_one, ones, shadows;
  for (int k = 0; k < a.rank(); k++) {
    const DistributedArray::Dimension& d = a.dimensions[static_cast<size_t>(k)];
    join(&extents, k == 0 ? first_extent(a) : "sizeof(" + a.part(k) + ") / sizeof(" + a.part(k + 1) + ")");
    join(&with, std::to_string(d.with));
    join(&offsets, shift_of(in_, d.offset));
    if (a.shadow == nullptr) continue;
    const Width& w = a.shadow->widths[static_cast<size_t>(k)];
    const auto width = [&](const TokenRange& r) { return in_.c(r.first, r.last); };
    join(&shadows, w.full ? "{-1, -1}" : "{" + width(w.below) + ", " + width(w.above) + "}");
  }
  for (const TokenRange& one : a.one) {
    join(&at_one, one.empty() ? "0" : "1");
    join(&ones, one.empty() ? "0" : in_.c(one.first, one.last));
  }
  return "{" + std::to_string(TASUKI_XMP_KIND_ARRAY) + ", sizeof(struct __tasuki_xmp_array), " +
         std::to_string(a.rank()) + ", sizeof(" + a.part(a.rank()) + "), {" + extents + "}, &" +
         a.template_->record() + ", {" + with + "}, {" + offsets + "}, {" + at_one + "}, {" + ones + "}, {" +
         (shadows.empty() ? "{0, 0}" : shadows) + "}, " +
         (in_.acc.distributed.contains(a.declaration->entity) ? std::to_string(TASUKI_XMP_DEVICE) : "0") +
         ", " + quoted(a.name) + ", " + in_.place(a.align->name) + ", " + type_number(a.part(a.rank())) + "}";
}

std::string GlobalArrays::define(size_t array) const {
  const DistributedArray& a = names_.arrays[array];
  const std::string type = "struct __tasuki_xmp_array", record = a.record(), place = in_.place(a.align->name);
  if (!a.of_file()) {
    const bool parameter = a.kind == Kind::parameter;
    std::string result = type + " " + record +
                         (parameter ? "" : " __attribute__((cleanup(tasuki_xmp_array_release)))") + " = " +
                         initialiser(array) + ";";
    result += parameter
                  ? " tasuki_xmp_array_parameter(&" + record + ", (void*)" + a.name + ", " + place + ");"
                  : " tasuki_xmp_array_define(&" + record + ", " + place + ");";
    std::set<std::string> layouts;
    return a.kind == Kind::pointer ? result : result + locals(array, &layouts);
  }
  bool defined = false, is_static = false;
  for (const Declaration& d : in_.analysis.declarations) {
    if (d.what != Declares::variable || d.entity != a.declaration->entity) continue;
    const Specifiers s = specifiers_of(text_, text_.first_from(d.begin), text_.token_at(d.offset));
    defined = defined || !s.is_extern;
    is_static = is_static || s.is_static;
  }
  if (!defined) return "extern " + type + " " + record + ";";
  return (is_static ? "static " : "") + type + " " + record + " = " + initialiser(array) + "; static " +
         type + "* " + record + "_entry __attribute__((used, section(\"tasuki_xmparrays\"))) = &" + record +
         ";";
}

}  // namespace tasuki::cc
