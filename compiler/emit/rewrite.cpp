#include "compiler/emit/rewrite.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/emit/declarations.h"
#include "compiler/lower/local/lowering.h"
#include "compiler/text/edits.h"
#include "tasuki/compiler/local_view.h"

namespace tasuki::cc {
namespace {

// The records of all objects of a program share a section, which the linker gives these names.
std::string section_bounds(const std::string& record, const std::string& section, bool may_be_none = false) {
  const std::string attribute =
      std::string("[] __attribute__((visibility(\"hidden\")") + (may_be_none ? ", weak" : "") + ")); ";
  return "extern " + record + "* __start_" + section + attribute + "extern " + record + "* __stop_" +
         section + attribute;
}

// What registers the records of one kind, which stand in a section of their own. Where there may be none of
// them, the section is weak.
struct Registration {
  const char *type, *what;
  bool may_be_none = false;

  std::string declarations() const {
    return section_bounds(std::string("struct __tasuki_xmp_") + type, name(), may_be_none);
  }
  std::string statement() const { return call() + "(__start_" + name() + ", __stop_" + name() + "); "; }

 private:
  std::string name() const { return std::string("tasuki_xmp") + what; }
  std::string call() const { return std::string("tasuki_xmp_register") + (*what ? "_" : "") + what; }
};
constexpr Registration kCoarrays{"coarray", ""}, kNodes{"nodes", "nodes"},
    kTemplates{"template", "templates"}, kDistributed{"array", "arrays", true};

// Behind the user's last line. Objects of the same program share the section, so each registers all of it.
constexpr const char* kConstructor =
    "static void __attribute__((constructor, used)) __tasuki_register(void) { "
    "tasuki_dlm_register(__start_tasuki_dlm, __stop_tasuki_dlm); }\n";

bool is_on_device(const GlobalDirective& directive) {
  return std::visit(
      [](const auto& d) {
        if constexpr (requires { d.on_device; }) return d.on_device;
        return false;
      },
      directive);
}

class Rewriter {
 public:
  explicit Rewriter(Unit* unit)
      : unit_(*unit),
        text_(unit->text),
        analysis_(unit->analysis),
        arrays_(unit->arrays),
        acc_(unit->acc),
        edits_(unit->text) {
    for (const Array& array : arrays_.arrays) pointers_.push_back(pointer_name(array));
  }

  std::string dlm_arrays() {
    change_names();
    change_declarations();
    return result(kDlmDeclarations + section_bounds("struct __tasuki_dlm_array", "tasuki_dlm"), kConstructor);
  }

  std::string coarrays() {
    const CoarrayTokens& tokens = unit_.tokens;
    const bool uses_device =
        unit_.options.openacc && std::any_of(tokens.globals.begin(), tokens.globals.end(), is_on_device);
    change_names();
    const auto token = [&](size_t i) { return edits_.part(text_.begin_of(i), text_.end_of(i)); };
    const Lowered lowered = lower_coarrays(&unit_, token);
    if (unit_.diagnostics.errors() > 0) return "";
    for (const Coindex& c : tokens.coindices)
      for (size_t i = c.colon; c.declares && i < c.end; i++) blank(i);
    change_declarations();
    for (const Change& change : lowered.changes) {
      if (change.begin == change.end)
        edits_.insert(change.begin, change.what);
      else
        edits_.cut(change.begin, change.end, change.what);
    }
    const bool records = !file_records().empty() || has_block_records();
    std::string declarations = kLocalDeclarations, registers;
    const auto add = [&](const Registration& r) {
      declarations += r.declarations();
      registers += r.statement();
    };
    const bool needs_device = uses_device || !acc_.allocated.empty();
    if (lowered.global_view || needs_device) declarations += kGlobalDeclarations;
    if (records) add(kCoarrays);
    if (lowered.node_arrays) add(kNodes);
    if (lowered.templates) add(kTemplates);
    if (lowered.distributed_arrays) add(kDistributed);
    if (needs_device) registers += "tasuki_xmp_use_device(); ";
    if (!registers.empty())
      registers =
          "static void __attribute__((constructor, used)) __tasuki_register(void) { " + registers + "}\n";
    return result(declarations, registers);
  }

 private:
  // Names in expressions and pragmas.
  void change_names() {
    for (const Use& use : arrays_.uses) note_local(use.array, use.function);
    for (const PragmaUse& use : unit_.pragma_uses) note_local(use.array, use.function);
    for (const AccRegions::Change& change : acc_.changes)
      if (change.array != kNone) note_local(change.array, change.function);
    note_block_locals();
    for (size_t token : unit_.dlm.specifiers) blank(token);
    for (const Use& use : arrays_.uses) {
      std::string name = pointer(use.array, use.function, text_.begin_of(use.token));
      if (acc_.is_address_of_device(use.token)) name = device_address(name);
      edits_.replace(text_.begin_of(use.token), text_.end_of(use.token), "(*" + name + ")");
    }
    for (const PragmaUse& use : unit_.pragma_uses) {
      const std::string name = pointer(use.array, use.function, use.begin);
      edits_.replace(use.begin, use.end, use.as_variable ? name : "(*" + name + ")");
    }
    change_acc();
  }

  static std::string device_address(const std::string& pointer) {
    return "((__typeof__(" + pointer + "))tasuki_xmp_device_address((const void*)" + pointer + "))";
  }

  void change_acc() {
    for (const AccRegions::Change& c : acc_.changes)
      edits_.replace(c.begin, c.end,
                     c.before + (c.array != kNone ? pointer(c.array, c.function, c.begin) : "") + c.after);
    for (size_t token : acc_.device_pointers)
      if (acc_.is_address_of_device(token))
        edits_.replace(text_.begin_of(token), text_.end_of(token),
                       device_address(std::string(text_.spelling(token))));
  }

  // What follows takes over parts of the text, with the changes above in them.
  void change_declarations() {
    for (size_t i = 0; i < arrays_.arrays.size(); i++)
      for (const ArrayDeclaration& d : arrays_.arrays[i].declarations) declare(i, d);
    for (const LateVariable& late : arrays_.late) make_late(late);
    insert_locals();
  }

  std::string result(const std::string& declarations, const std::string& constructor) {
    const size_t first = first_token();
    if (first == kNone) return edits_.all();
    edits_.insert(text_.begin_of(first), declarations);
    std::string result = edits_.all();
    if (!result.ends_with('\n')) result += '\n';
    return result + tail_ + "# 1 \"<tasukicc>\"\n" + file_records() + constructor;
  }

  bool has_block_records() const {
    return std::any_of(arrays_.arrays.begin(), arrays_.arrays.end(),
                       [](const Array& a) { return a.block_scope; });
  }

  size_t first_token() const {
    for (size_t i = 0; i < text_.tokens().size(); i++)
      if (text_.tokens()[i].kind != TokenKind::directive) return i;
    return kNone;
  }

  void blank(size_t token) { edits_.replace(text_.begin_of(token), text_.end_of(token), ""); }

  // An array of a function that hides others has the number of its level in its name. Its declaration may
  // speak of those, as in `static dlm int a[sizeof a] = {1}`, and what stands behind the new pointer must not
  // mean that one: the image, the record.
  std::string pointer_name(const Array& array) const {
    const size_t offset = array.declarations.front().what->offset;
    const auto hidden = std::count_if(arrays_.arrays.begin(), arrays_.arrays.end(), [&](const Array& other) {
      return array.block_scope && &other != &array && other.name == array.name &&
             std::any_of(other.declarations.begin(), other.declarations.end(),
                         [&](const ArrayDeclaration& d) {
                           return d.what->offset < offset && d.what->scope.holds(offset);
                         });
    });
    return (arrays_.kind == ArrayKind::dlm ? "__dlm" : "__xmp") +
           (hidden == 0 ? std::string() : std::to_string(hidden + 1)) + "_" + array.name;
  }

  const std::string& pointer_of(const Array& array) const {
    return pointers_[static_cast<size_t>(&array - arrays_.arrays.data())];
  }
  std::string local_of(size_t array) const {
    return "__tasuki_local" + std::to_string(array) + "_" + arrays_.arrays[array].name;
  }

  // In functions a constant copy of the pointer is used: the compiler then knows that no store into the
  // arrays changes it, which it could not know of the pointer itself where bytes are stored (measured: 20
  // times on a loop over chars).
  void note_local(size_t array, size_t function) {
    if (function == kNone || arrays_.arrays[array].block_scope) return;
    const Function& f = analysis_.functions[function];
    const size_t open = text_.token_at(f.body.begin);
    if (!text_.is(open, "{") || text_.is(text_.next(open), "__label__")) return;
    for (const ArrayDeclaration& d : arrays_.arrays[array].declarations)
      if (d.what->function == kNone && d.what->offset < f.body.begin) locals_[function].insert(array);
  }

  std::string pointer(size_t array, size_t function, size_t offset) const {
    const auto found = locals_.find(function);
    if (found != locals_.end() && found->second.contains(array)) return local_of(array);
    const auto block = block_locals_.find(array);
    if (block != block_locals_.end() && offset > block->second) return local_of(array);
    return pointer_of(arrays_.arrays[array]);
  }

  static std::string copy_of(const std::string& pointer, const std::string& local) {
    return "__typeof__(" + pointer + ") const " + local + " = " + pointer + ";";
  }

  void insert_locals() {
    for (const auto& [function, arrays] : locals_) {
      std::string all;
      for (size_t array : arrays) all += " " + copy_of(pointer_of(arrays_.arrays[array]), local_of(array));
      edits_.insert(text_.end_of(text_.token_at(analysis_.functions[function].body.begin)), all);
    }
  }

  void note_block_locals() {
    for (size_t i = 0; i < arrays_.arrays.size(); i++) {
      const Array& array = arrays_.arrays[i];
      if (!array.block_scope || !is_straight(array.declarations.front().what->function)) continue;
      const size_t end = end_of_declaration(array.declarations.front().declarator);
      if (end != kNone) block_locals_[i] = text_.begin_of(end);
    }
  }

  // Nothing jumps over the declarations in this function.
  bool is_straight(size_t function) const {
    const Range body = analysis_.functions[function].body;
    for (size_t i = text_.first_from(body.begin); i != kNone && i < text_.tokens().size(); i++) {
      if (text_.begin_of(i) >= body.end) break;
      if (text_.is_any(i, "goto", "switch")) return false;
    }
    return true;
  }

  void declare(size_t index, const ArrayDeclaration& d) {
    const Array& array = arrays_.arrays[index];
    const Declarator& declarator = d.declarator;
    edits_.replace(text_.begin_of(declarator.name), text_.end_of(declarator.name),
                   "(*" + pointer_of(array) + ")");
    for (size_t token : d.blanks) blank(token);
    if (declarator.open != kNone && text_.next(declarator.open) == declarator.close && d.initialised)
      edits_.insert(text_.begin_of(declarator.close), std::to_string(d.what->count));
    if (d.initialised) {
      const size_t equals = text_.begin_of(declarator.equals);
      if (d.computed) {
        edits_.cut(equals, text_.begin_of(declarator.end), d.is_extern ? "= 0 " : "");
        make_computed(array, d);
      } else {
        edits_.insert(equals, (d.is_extern ? "= 0 , " : ", ") + image_declarator(array, d) + " ");
      }
    }
    if (array.block_scope && d.is_definition) {
      const size_t end = end_of_declaration(declarator);
      if (end == kNone) return;
      std::string behind = " " + record(array, d, d.initialised && !d.computed, "");
      if (block_locals_.contains(index)) behind += " " + copy_of(pointer_of(array), local_of(index));
      edits_.insert(text_.end_of(end), behind);
    }
  }

  size_t end_of_declaration(const Declarator& declarator) const {
    size_t at = declarator.end;
    for (; at != kNone && !text_.is(at, ";"); at = text_.next(at))
      if (text_.tokens()[at].match > at) at = text_.tokens()[at].match;
    return at;
  }

  // The initial values, as an array of their own beside the pointer. Without its outermost bound it is as
  // long as what the user wrote, and not as the whole array.
  std::string image_declarator(const Array& array, const ArrayDeclaration& d) const {
    const Declarator& declarator = d.declarator;
    std::string result;
    std::set<size_t> skipped;
    for (const Group& group : declarator.attributes) {
      bool needed = false;
      for (const Attribute& a : attributes_in(text_, group))
        needed = needed || a.name == "vector_size" || a.name == "weak";
      for (size_t i = group.keyword; !needed && i <= group.close; i++) skipped.insert(i);
    }
    skipped.insert(d.blanks.begin(), d.blanks.end());
    for (size_t i = declarator.first; i < declarator.stop(); i++) {
      if (text_.tokens()[i].kind == TokenKind::directive || skipped.contains(i)) continue;
      if (i == declarator.name)
        result += "__tasuki_image_" + array.name;
      else if (declarator.open == kNone || i <= declarator.open || i >= declarator.close)
        result += edits_.part(text_.begin_of(i), text_.end_of(i));
      result += ' ';
    }
    return result;
  }

  std::string record(const Array& array, const ArrayDeclaration& d, bool image,
                     const std::string& compute) const {
    const bool device = acc_.device_arrays.contains(static_cast<size_t>(&array - arrays_.arrays.data()));
    const std::string name = pointer_of(array), image_name = "__tasuki_image_" + array.name;
    // A tentative definition that is never completed has one element.
    const bool complete =
        std::any_of(array.declarations.begin(), array.declarations.end(), [&](const ArrayDeclaration& other) {
          return other.initialised || other.declarator.open == kNone ||
                 text_.next(other.declarator.open) != other.declarator.close;
        });
    const std::string bytes = complete ? "sizeof(*" + name + ")" : "sizeof((*" + name + ")[0])";
    std::string alignment = "__alignof__((*" + name + ")[0])";
    if (complete) alignment = "__alignof__(*" + name + ")";
    for (const std::string& other : array.alignments)
      alignment = "((" + alignment + ") > (" + other + ") ? (" + alignment + ") : (" + other + "))";
    const Place place = text_.place(d.what->offset);
    const std::string tag = std::to_string(d.what->offset);
    std::string memory = "(void*)&" + name + ", " + bytes + ", " + alignment + ", ";
    if (image)
      memory += "(const void*)" + image_address(d, image_name) + ", (sizeof(" + image_name + ") < " + bytes +
                " ? sizeof(" + image_name + ") : " + bytes + "), ";
    else
      memory += "0, 0, ";
    return record_text(tag, memory + (compute.empty() ? "0" : compute), array.name, place,
                       device ? TASUKI_XMP_DEVICE : 0);
  }

  static std::string image_address(const ArrayDeclaration& d, const std::string& image_name) {
    return d.what->shape == Shape::array ? image_name : "&" + image_name;
  }

  std::string record_text(const std::string& tag, const std::string& memory, const std::string& name,
                          const Place& place, unsigned flags = 0) const {
    const bool dlm = arrays_.kind == ArrayKind::dlm;
    const std::string type = dlm ? "__tasuki_dlm_array" : "__tasuki_xmp_coarray";
    return "static struct " + type + " __tasuki_record" + tag + " = {sizeof(struct " + type + "), " + memory +
           ", " + (dlm ? std::string() : std::to_string(flags) + ", ") + quoted(name) + ", " +
           quoted(place.file) + ", " + std::to_string(place.line) + ", {0, 0}}; static struct " + type +
           "* __tasuki_entry" + tag + " __attribute__((used, section(\"" +
           (dlm ? "tasuki_dlm" : "tasuki_xmp") + "\"))) = &__tasuki_record" + tag + ";";
  }

  // One record for each array that is defined at file scope, with its initial values where one of its
  // definitions has some.
  std::string file_records() const {
    std::string result;
    for (const Array& array : arrays_.arrays) {
      if (array.block_scope) continue;
      const ArrayDeclaration* chosen = nullptr;
      for (const ArrayDeclaration& d : array.declarations)
        if (d.is_definition && (chosen == nullptr || d.initialised)) chosen = &d;
      // A coarray of another file: what defines it there need not know that it is in device memory.
      if (chosen == nullptr &&
          acc_.device_arrays.contains(static_cast<size_t>(&array - arrays_.arrays.data())))
        chosen = &array.declarations.front();
      if (chosen == nullptr) continue;
      const auto computed = computed_.find(&array);
      result += record(array, *chosen, chosen->initialised && !chosen->computed,
                       computed != computed_.end() ? computed->second : "") +
                "\n";
    }
    for (const auto& [late, function] : late_) {
      const std::string tag = std::to_string(late->what->offset);
      const Place place = text_.place(late->what->offset);
      result += record_text(tag, "0, 0, 0, 0, 0, " + function, late->what->name, place) + "\n";
    }
    return result;
  }

  // A function that computes an initialiser at startup, with the user's text at the user's lines.
  std::string computing_function(const Declaration& d, const Declarator& declarator, const std::string& type,
                                 const std::string& target, const std::string& bytes) {
    const std::string name = "__tasuki_compute" + std::to_string(d.offset);
    const size_t begin = text_.end_of(declarator.equals);
    const Place place = text_.place(begin);
    tail_ += "# " + std::to_string(place.line) + " " + quoted(place.file) + "\nstatic void " + name +
             "(void) { " + type + " = " + edits_.part(begin, text_.begin_of(declarator.end)) +
             "; __builtin_memcpy((void*)" + target + ", (const void*)&__tasuki_value, " + bytes + "); }\n";
    return name;
  }

  void make_computed(const Array& array, const ArrayDeclaration& d) {
    const std::string name = pointer_of(array);
    if (d.what->shape != Shape::array) {
      computed_[&array] = computing_function(
          *d.what, d.declarator, "__typeof__(*" + name + ") __tasuki_value", name, "sizeof __tasuki_value");
      return;
    }
    computed_[&array] = computing_function(
        *d.what, d.declarator, "__typeof__((*" + name + ")[0]) __tasuki_value[]", "*" + name,
        "sizeof __tasuki_value < sizeof *" + name + " ? sizeof __tasuki_value : sizeof *" + name);
  }

  void make_late(const LateVariable& late) {
    const std::string& name = late.what->name;
    late_[&late] = computing_function(*late.what, late.declarator, "__typeof__(" + name + ") __tasuki_value",
                                      "&" + name, "sizeof __tasuki_value");
    for (size_t token : late.blanks) blank(token);
    if (late.declarator.open != kNone && text_.next(late.declarator.open) == late.declarator.close)
      edits_.insert(text_.begin_of(late.declarator.close), std::to_string(late.what->count));
    edits_.cut(text_.end_of(late.declarator.equals), text_.begin_of(late.declarator.end), " {0}");
  }

  Unit& unit_;
  const Text& text_;
  const Analysis& analysis_;
  const RuntimeArrays& arrays_;
  const AccRegions& acc_;
  Edits edits_;
  std::vector<std::string> pointers_;                // of each array
  std::map<size_t, std::set<size_t>> locals_;        // function -> arrays
  std::map<size_t, size_t> block_locals_;            // array -> where its declaration ends
  std::map<const Array*, std::string> computed_;     // -> its function
  std::map<const LateVariable*, std::string> late_;  // -> its function
  std::string tail_;
};

}  // namespace

std::string rewrite(Unit* unit) {
  Rewriter rewriter(unit);
  return unit->arrays.kind == ArrayKind::dlm ? rewriter.dlm_arrays() : rewriter.coarrays();
}

}  // namespace tasuki::cc
