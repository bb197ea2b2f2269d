#include "compiler/lower/global/reductions.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "compiler/lower/global/element_types.h"
#include "compiler/text/declarator.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::cc {
namespace {

struct KnownOperation {
  std::string_view name;
  tasuki_xmp_operation operation;
  const char* identity;  // nullptr: the old value, which changes nothing
};
constexpr KnownOperation kOperations[] = {{"+", TASUKI_XMP_SUM, "0"},
                                          {"*", TASUKI_XMP_PRODUCT, "1"},
                                          {"-", TASUKI_XMP_DIFFERENCE, "0"},
                                          {"&", TASUKI_XMP_BIT_AND, "~0"},
                                          {"|", TASUKI_XMP_BIT_OR, "0"},
                                          {"^", TASUKI_XMP_BIT_XOR, "0"},
                                          {"&&", TASUKI_XMP_AND, "1"},
                                          {"||", TASUKI_XMP_OR, "0"},
                                          {"max", TASUKI_XMP_MAX, nullptr},
                                          {"min", TASUKI_XMP_MIN, nullptr},
                                          {"firstmax", TASUKI_XMP_FIRST_MAX, nullptr},
                                          {"firstmin", TASUKI_XMP_FIRST_MIN, nullptr},
                                          {"lastmax", TASUKI_XMP_LAST_MAX, nullptr},
                                          {"lastmin", TASUKI_XMP_LAST_MIN, nullptr}};

const KnownOperation& known_operation(const Reduction& r) {
  return *std::find_if(std::begin(kOperations), std::end(kOperations),
                       [&](const KnownOperation& known) { return known.name == r.operation; });
}

// A variable: its memory as a run of elements.
struct Memory {
  std::string data, count, element;  // an address, a number, a type
  int type = -1;
  std::string array = "0";
  bool is_array = false;
};

// What the first bound of a parameter is, whose type has lost it; empty after an error.
std::string first_bound(const Unit& in, size_t name, const ExpressionType& type) {
  if (type.count >= 0) return std::to_string(type.count);
  const std::string spelled(in.text.spelling(name));
  const Declaration* d = in.analysis.find(spelled, in.text.begin_of(name));
  const Declarator declarator =
      d != nullptr ? declarator_of(in.text, in.text.token_at(d->offset)) : Declarator{};
  std::string bound;
  for (size_t i = declarator.open; i != kNone && ++i < declarator.close;)
    if (!in.text.is_any(i, "static", "const", "restrict", "volatile") &&
        !(in.text.is(i, "*") && in.text.next(i) == declarator.close))
      bound += in.c(i, i + 1) + " ";
  if (bound.empty()) {
    in.diagnostics.error(in.text.begin_of(name),
                         "it is not known how many elements the parameter '" + spelled + "' has",
                         "declare it with its bound, " + spelled + "[n]");
    return "";
  }
  // The bound as it was when the function was called.
  const Function* function = nullptr;
  for (const Function& f : in.analysis.functions)
    if (f.body.holds(in.text.begin_of(name))) function = &f;
  for (size_t i = declarator.open + 1; i < declarator.close; i++) {
    if (!in.text.is_word(i)) continue;
    const Declaration* used = in.analysis.find(in.text.spelling(i), in.text.begin_of(i));
    if (used == nullptr || used->what == Declares::constant || used->what == Declares::type) continue;
    const Declaration* now = in.analysis.find(in.text.spelling(i), in.text.begin_of(name));
    bool changed = now == nullptr || now->entity != used->entity;
    for (size_t k = declarator.close;
         function != nullptr && k < in.text.tokens().size() && in.text.begin_of(k) < function->body.end;
         k++) {
      if (!in.text.is_word(k) || in.text.spelling(k) != in.text.spelling(i)) continue;
      const size_t before = in.text.previous(k), behind = in.text.next(k);
      changed = changed || in.text.is_assignment(behind) || in.text.is_any(behind, "++", "--") ||
                in.text.is_any(before, "++", "--") ||
                (in.text.is(before, "&") && !in.text.ends_operand(in.text.previous(before)));
    }
    if (!changed) continue;
    in.diagnostics.error(in.text.begin_of(name),
                         "the bound of the parameter '" + spelled + "' is '" +
                             std::string(in.text.spelling(i)) +
                             "' as it was when the function was called, and that may have changed",
                         "give the bound a name that nothing changes");
    return "";
  }
  return bound;
}

bool memory_of(const Unit& in, TokenRange range, Memory* m) {
  while (in.text.is(range.first, "(") && in.text.next(in.match(range.first)) == range.last)
    range = {in.text.next(range.first), in.match(range.first)};
  const ExpressionType* type = in.type(range.first, range.last);
  if (type == nullptr) {
    in.diagnostics.error(in.text.begin_of(range.first), "this is no variable",
                         "write the name of a variable");
    return false;
  }
  std::string name = type->name.substr(0, std::min(type->name.find('['), type->name.size()));
  while (name.ends_with(' ')) name.pop_back();
  for (const std::string qualifier : {"const ", "volatile "})
    if (name.starts_with(qualifier)) name.erase(0, qualifier.size());
  const auto known =
      std::find_if(std::begin(kElementTypes), std::end(kElementTypes), [&](const ElementType& t) {
        return t.name == name || (name.starts_with("enum ") && t.type == TASUKI_XMP_INT);
      });
  if (known != std::end(kElementTypes)) m->type = known->type;
  const size_t array = in.text.next(range.first) == range.last
                           ? in.global.find_array(in.text, in.analysis, range.first)
                           : kNone;
  if (array != kNone) {
    const DistributedArray& a = in.global.arrays[array];
    m->element = a.element_type();
    m->array = "&" + a.record();
    m->data = a.record() + ".memory";
    m->count = "__tasuki_allocated(" + m->array + ")";
    m->is_array = true;
    std::string base = type->name;
    const auto element =
        std::find_if(std::begin(kElementTypes), std::end(kElementTypes), [&](const ElementType& t) {
          return base.starts_with(std::string(t.name) + "[") ||
                 base.starts_with(std::string(t.name) + " (*)") ||
                 base.starts_with(std::string(t.name) + " *");
        });
    if (element != std::end(kElementTypes)) m->type = element->type;
    return true;
  }
  const std::string object = in.c(range.first, range.last);
  if (type->shape == Shape::pointer && !type->decayed) {
    in.diagnostics.error(in.text.begin_of(range.first),
                         "'" + joined(in.text, range.first, range.last) +
                             "' is a pointer: an address means nothing on other nodes, and how much memory "
                             "it points to is not known",
                         "name an array, or one element such as *p or p[0]");
    return false;
  }
  m->is_array = type->decayed || type->shape == Shape::array || type->shape == Shape::variable_array;
  m->data = (type->decayed ? "(void*)(" : "(void*)&(") + object + ")";
  m->element = "__typeof__(" + object;
  for (size_t at = type->name.find('['); m->is_array && at != std::string::npos;
       at = type->name.find('[', at + 1))
    m->element += "[0]";
  m->element += ")";
  m->count = "sizeof(" + object + ") / sizeof(" + m->element + ")";
  if (type->decayed) {
    const std::string bound = first_bound(in, range.first, *type);
    m->count = "(unsigned long)(" + bound + ") * (sizeof((" + object + ")[0]) / sizeof(" + m->element + "))";
    return !bound.empty();
  }
  return true;
}

bool check_type(const Unit& in, const TokenRange& range, const Memory& m) {
  if (m.type >= 0) return true;
  in.diagnostics.error(
      in.text.begin_of(range.first),
      "a variable of type '" + in.type(range.first, range.last)->name + "' cannot be reduced",
      "reduce numbers, and arrays of them");
  return false;
}

// The operator that joins two parts.
std::string join_of(const Reduction& r) {
  return r.operation == "-" ? "+" : r.operation;
}

// A variable of a function: no other function changes it by its name.
bool is_private(const Unit& in, const TokenRange& range) {
  if (!in.text.is_word(range.first) || in.text.next(range.first) != range.last) return false;
  const Declaration* d = in.analysis.find(in.text.spelling(range.first), in.text.begin_of(range.first));
  return d != nullptr && (d->what == Declares::parameter || (d->function != kNone && !d->global_storage)) &&
         d->rank == 0;
}

// A copy of a variable, by which a change of it is seen.
struct Copy {
  std::string declaration, differs, keep, restore;
};
Copy copy_of(const Unit& in, const TokenRange& range, const Memory& m, const std::string& name) {
  const std::string object = "(" + in.c(range.first, range.last) + ")";
  if (m.type >= 0 && !m.is_array)
    return {m.element + " " + name + " = " + object + "; ", object + " != " + name, name + " = " + object,
            object + " = " + name};
  const std::string size = "sizeof(" + m.element + ") * (" + m.count + ")",
                    both = m.data + ", " + name + ", " + size,
                    keep = "__builtin_memcpy(" + name + ", " + m.data + ", " + size + ")";
  return {"char " + name + "[" + size + "]; " + keep + "; ", "__builtin_memcmp(" + both + ")", keep,
          "__builtin_memcpy(" + both + ")"};
}

std::string initialiser(const Memory& m) {
  return "{" + m.data + ", " + m.count + ", sizeof(" + m.element + "), " +
         std::to_string(std::max(m.type, 0)) + ", " + m.array + "}";
}

}  // namespace

std::string variable_of(const Unit& in, const TokenRange& range, bool reduced) {
  Memory m;
  if (!memory_of(in, range, &m) || (reduced && !check_type(in, range, m))) return "";
  return initialiser(m);
}

int operation_of(const Reduction& r) {
  return known_operation(r).operation;
}

LoopReduction reduce_loop(const Unit& in, const LoopDirective& loop, const std::string& space,
                          unsigned dimensions, size_t positions) {
  LoopReduction result;
  std::string begins, ends, kept;  // of the block with private variables
  std::set<std::string> reduced;
  int number = 0;
  for (const Reduction& r : loop.reductions) {
    const KnownOperation& operation = known_operation(r);
    for (const Reduction::Variable& v : r.variables) {
      Memory m;
      if (!memory_of(in, v.variable, &m) || !check_type(in, v.variable, m)) continue;
      const std::string spelled = joined(in.text, v.variable.first, v.variable.last);
      if (!reduced.insert(spelled).second) {
        in.diagnostics.error(in.text.begin_of(v.variable.first), "'" + spelled + "' is reduced twice",
                             "drop one of the two");
        continue;
      }
      const std::string id = std::to_string(loop.word) + "_" + std::to_string(number++),
                        old = "__tasuki_v" + id, all = "__tasuki_a" + id, n = "__tasuki_n" + id,
                        place = in.place(loop.name);
      std::string joined_with_old;
      // acc: what the region has on the device is brought to the host for this, and goes back.
      const auto update = [&](const char* to_device) {
        return loop.on_device ? "tasuki_xmp_device_update(" + m.data + ", sizeof(" + m.element + ") * (" +
                                    m.count + "), " + to_device + "); "
                              : std::string();
      };
      // What OpenACC has on the device is found by the variable itself.
      if (!loop.on_device && is_private(in, v.variable)) {
        // A variable of the same name, whose address nobody has.
        const std::string name(in.text.spelling(v.variable.first));
        result.before += m.element + "* const " + all + " = &" + name + "; " + m.element + " " + old + "; ";
        begins += m.element + " " + name + " = " +
                  (operation.identity != nullptr ? operation.identity : "*" + all) + "; ";
        ends += " " + old + " = " + name + ";";
        m.data = "&" + old;
        joined_with_old = " *" + all + " = " + old + ";";
        if (operation.identity != nullptr)
          joined_with_old = " *" + all + " = *" + all + " " + join_of(r) + " " + old + ";";
      } else if (operation.identity != nullptr) {
        // The elements one by one; a single variable is an array of one.
        const std::string each = "for (unsigned long __tasuki_q = 0; __tasuki_q < " + n + "; __tasuki_q++) ";
        result.before += update("0") + m.element + "* const " + all + " = " + m.data +
                         "; const unsigned long " + n + " = " + m.count + "; " + m.element + "* const " +
                         old + " = tasuki_xmp_temporary(" + n + ", sizeof *" + old + ", " + place + "); " +
                         each + old + "[__tasuki_q] = " + all + "[__tasuki_q], " + all +
                         "[__tasuki_q] = " + operation.identity + "; " + update("1");
        joined_with_old = " " + each + all + "[__tasuki_q] = " + old + "[__tasuki_q] " + join_of(r) + " " +
                          all + "[__tasuki_q]; tasuki_xmp_release(" + old + ");";
      }
      const bool ordered = positions > 0 && !v.locations.empty() && m.array == "0",
                 last = r.operation.starts_with("last");
      const std::string position = "__tasuki_w" + id, copy = "__tasuki_y" + id;
      LoopReduction::Taken taken = {"", "", position};
      if (ordered) {
        const Copy c = copy_of(in, v.variable, m, copy);
        result.before += "long long " + position + "[" + std::to_string(positions) + "] = {";
        for (size_t i = 0; i < positions; i++) result.before += "-0x7fffffffffffffffLL - 1, ";
        result.before += "}; ";
        begins += c.declaration;
        taken.changed = c.differs;
        taken.keep = c.keep;
      }
      std::string locations;
      for (const TokenRange& l : v.locations) {
        Memory told;
        if (!memory_of(in, l, &told)) continue;
        locations += (locations.empty() ? "" : ", ") + initialiser(told);
        if (!ordered || told.array != "0") continue;
        // The last iteration may take a value that the variable has already: then the locations tell.
        const Copy c = copy_of(in, l, told, copy + "_" + std::to_string(l.first));
        begins += c.declaration;
        if (last) taken.changed += " || " + c.differs;
        taken.keep += ", " + c.keep;
        kept += " " + c.restore + ";";
      }
      if (ordered) result.taken.push_back(taken);
      result.behind +=
          " " + update("0") + "tasuki_xmp_loop_reduction(" + std::to_string(operation.operation) +
          ", &(const struct __tasuki_xmp_variable)" + initialiser(m) + ", " +
          std::to_string(v.locations.size()) + ", " +
          (locations.empty() ? "0" : "(const struct __tasuki_xmp_variable[]){" + locations + "}") + ", " +
          (ordered ? std::to_string(positions) + ", " + position : "0, 0") + ", &" + space + ", " +
          std::to_string(dimensions) + ", 0, " + place + ");";
      result.behind += joined_with_old + " " + update("1");
    }
  }
  result.before += "{ " + begins;
  result.behind = kept + ends + " }" + result.behind;
  return result;
}

}  // namespace tasuki::cc
