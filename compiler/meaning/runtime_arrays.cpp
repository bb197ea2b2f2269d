#include "compiler/meaning/runtime_arrays.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {
namespace {

constexpr const char* kStatic =
    "write 'static dlm', or move the declaration out of the function; for a size that is known only at run "
    "time use "
    "dlm_alloc (dlm.h)";

// A temporary of this size is made on the stack when an initialiser is computed at startup.
constexpr long long kMostComputed = 1 << 20;

class Finder {
 public:
  Finder(Unit* unit, ArrayKind kind)
      : unit_(*unit),
        text_(unit->text),
        noun_(kind == ArrayKind::dlm ? "dlm array" : "coarray"),
        mark_(kind == ArrayKind::dlm ? "dlm" : "codimensions"),
        analysis_(unit->analysis),
        result_(unit->arrays) {
    result_.kind = kind;
  }

  void run() {
    if (result_.kind == ArrayKind::dlm) {
      collect();
      check_specifiers();
    } else {
      for (const Coindex& c : unit_.tokens.coindices)
        if (c.declares) check_coarray(c);
    }
    check_redeclarations();
    if (unit_.diagnostics.errors() > 0) {
      result_.arrays.clear();
      result_.entities.clear();
      return;
    }
    find_uses();
    find_late();
  }

 private:
  void error(size_t offset, const std::string& what, const std::string& advice) {
    unit_.diagnostics.error(offset, what, advice);
  }

  void unreadable(size_t offset, const Broken& broken) {
    error(offset, "this declaration cannot be read (libclang: " + broken.message + ")",
          noun_ + "s and what their declarations need must be C that clang 14 takes too");
  }

  // The declarations that each dlm marks. A redeclaration inherits the mark of an earlier one; it counts only
  // where it is written.
  void collect() {
    marked_.resize(unit_.dlm.specifiers.size());
    for (const Declaration& d : analysis_.declarations) {
      const size_t name = text_.token_at(d.offset);
      if (name == kNone || text_.spelling(name) != d.name) continue;
      for (size_t n : d.dlm) {
        if (n >= unit_.dlm.specifiers.size() || unit_.dlm.specifiers[n] > name) continue;
        if (!in_one_declaration(unit_.dlm.specifiers[n], name)) continue;
        auto& marks = marked_[n];
        if (std::find(marks.begin(), marks.end(), &d) == marks.end()) marks.push_back(&d);
      }
    }
    for (auto& marks : marked_)
      std::sort(marks.begin(), marks.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  }

  // No ";" between the two, those in the braces of a structure or an initialiser aside.
  bool in_one_declaration(size_t specifier, size_t name) const {
    for (size_t i = specifier; i < name; i++) {
      if (text_.is(i, ";")) return false;
      const size_t match = text_.tokens()[i].match;
      if (match > i && match < name) i = match;
    }
    return true;
  }

  void check_specifiers() {
    for (size_t n = 0; n < unit_.dlm.specifiers.size(); n++) {
      const size_t offset = text_.begin_of(unit_.dlm.specifiers[n]);
      if (marked_[n].empty()) {
        if (const Broken* broken = analysis_.broken_at(offset))
          unreadable(offset, *broken);
        else
          error(offset, "'dlm' declares no array here",
                "write it among the specifiers of an array's declaration: dlm double a[N];");
        continue;
      }
      const Specifiers specifiers =
          specifiers_of(text_, unit_.dlm.specifiers[n], text_.token_at(marked_[n].front()->offset));
      for (const Declaration* d : marked_[n]) check(*d, specifiers);
    }
  }

  void check(const Declaration& d, const Specifiers& specifiers) {
    const size_t name = text_.token_at(d.offset);
    const std::string quoted_name = "'" + d.name + "'";
    switch (d.what) {
      case Declares::parameter:
        return error(d.offset,
                     "the parameter " + quoted_name + " cannot be dlm: it points to memory of the caller",
                     "put dlm where the array itself is declared; functions take it as any other array");
      case Declares::field:
        return error(
            d.offset, "the member " + quoted_name + " cannot be dlm",
            "put dlm before a whole array of such structures, or let the member point to dlm_alloc's memory");
      case Declares::type:
        return error(d.offset, "dlm is not part of a type: 'typedef dlm'",
                     "put dlm where an array of this type is declared");
      case Declares::function:
        return error(d.offset, "the function " + quoted_name + " cannot be dlm",
                     "only arrays live in cluster memory");
      case Declares::variable:
        break;
      default:
        return error(d.offset, quoted_name + " cannot be dlm", "only arrays live in cluster memory");
    }
    if (d.thread_local_storage)
      return error(
          d.offset,
          quoted_name + " is thread-local and cannot be dlm: cluster memory is shared by all threads",
          "drop _Thread_local, or add a dimension for the threads");
    if (!d.global_storage)
      return error(d.offset,
                   quoted_name + " is an automatic variable: a dlm array lives as long as the program",
                   kStatic);
    if (const Broken* broken = analysis_.broken_at(d.offset); broken != nullptr && d.shape == Shape::other)
      return unreadable(d.offset, *broken);
    if (d.shape == Shape::variable_array)
      return error(d.offset, quoted_name + " has a size that is known only at run time",
                   "use dlm_alloc (dlm.h)");
    if (d.shape == Shape::pointer)
      return error(
          d.offset, quoted_name + " is a pointer, not an array; it stays in local memory",
          "declare it without dlm, and let it point to cluster memory: " + d.name + " = dlm_alloc(bytes)");
    if (d.shape != Shape::array)
      return error(d.offset, quoted_name + " is not an array; only arrays live in cluster memory",
                   "declare it without dlm, or as an array of one element: " + d.name + "[1]");
    Array& array = array_of(d);
    if (std::any_of(array.declarations.begin(), array.declarations.end(),
                    [&](const ArrayDeclaration& known) { return known.what == &d; }))
      return;  // dlm written twice
    add(d, name, specifiers, {}, &array);
  }

  void add(const Declaration& d, size_t name, const Specifiers& specifiers, std::vector<size_t> blanks,
           Array* array) {
    ArrayDeclaration declaration{.declarator = declarator_of(text_, name), .what = &d};
    declaration.is_extern = specifiers.is_extern;
    declaration.initialised = declaration.declarator.equals != kNone;
    declaration.is_definition = !specifiers.is_extern || declaration.initialised;
    declaration.blanks = std::move(blanks);
    array->block_scope = d.function != kNone && !specifiers.is_extern;
    if (check_attributes(specifiers, &declaration, array))
      array->declarations.push_back(std::move(declaration));
  }

  // The declaration whose declarator the codimensions end: the name stands before the brackets, in
  // parentheses at most.
  const Declaration* declared_by(const Coindex& c) const {
    const Declaration* found = nullptr;
    for (const Declaration& d : analysis_.declarations) {
      const size_t name = text_.token_at(d.offset);
      if (name == kNone || name < c.begin || name >= c.colon || text_.spelling(name) != d.name) continue;
      if (found == nullptr || d.offset < found->offset) found = &d;
    }
    return found;
  }

  void check_coarray(const Coindex& c) {
    const size_t colon = text_.begin_of(c.colon);
    const Declaration* found = declared_by(c);
    if (found == nullptr) {
      if (const Broken* broken = analysis_.broken_at(colon)) return unreadable(colon, *broken);
      return error(colon, "codimensions must stand behind the name that is declared", "write int a[N]:[*];");
    }
    const Declaration& d = *found;
    const std::string quoted_name = "'" + d.name + "'";
    unit_.names.codimensions.emplace(d.entity, &c);
    switch (d.what) {
      case Declares::parameter:
        return;
      case Declares::field:
        return error(
            d.offset, "the member " + quoted_name + " cannot be a coarray",
            "declare a coarray of such structures, or a pointer to a coarray outside of the structure");
      case Declares::type:
        return error(d.offset, "codimensions are not part of a type: 'typedef'",
                     "put them where an object of this type is declared");
      case Declares::function:
        return error(d.offset, "the function " + quoted_name + " cannot be a coarray",
                     "only objects are coarrays");
      case Declares::variable:
        break;
      default:
        return error(d.offset, quoted_name + " cannot be a coarray", "only objects are coarrays");
    }
    if (d.shape == Shape::pointer) return;  // to a coarray; itself it is an ordinary variable
    if (d.thread_local_storage)
      return error(d.offset,
                   quoted_name + " is thread-local and cannot be a coarray: there is one in each image",
                   "drop _Thread_local, or add a dimension for the threads");
    const size_t name = text_.token_at(d.offset);
    const Specifiers specifiers = specifiers_of(text_, text_.first_from(d.begin), name);
    if (!d.global_storage)
      return error(
          d.offset,
          quoted_name + " is an automatic variable: a coarray lives as long as the program, in all images",
          "write 'static', or use a pointer: T *" + d.name + ":[*] = xmp_comalloc(bytes)");
    if (const Broken* broken = analysis_.broken_at(d.offset); broken != nullptr && d.shape == Shape::other)
      return unreadable(d.offset, *broken);
    if (d.shape == Shape::variable_array)
      return error(d.offset, quoted_name + " has a size that is known only at run time",
                   "use xmp_comalloc (xmp.h)");
    std::vector<size_t> codimensions;
    for (size_t i = c.colon; i < c.end; i++) codimensions.push_back(i);
    add(d, name, specifiers, std::move(codimensions), &array_of(d));
  }

  Array& array_of(const Declaration& d) {
    const size_t known = result_.find(d.entity);
    if (known != kNone) return result_.arrays[known];
    result_.entities.push_back(d.entity);
    result_.arrays.push_back({.name = d.name});
    return result_.arrays.back();
  }

  // Attributes of the array would fall to the pointer that takes its place. An alignment is taken over, what
  // speaks of the executable's own memory has no meaning.
  bool check_attributes(const Specifiers& specifiers, ArrayDeclaration* declaration, Array* array) {
    std::vector<Group> groups = specifiers.attributes;
    groups.insert(groups.end(), declaration->declarator.attributes.begin(),
                  declaration->declarator.attributes.end());
    const auto blank = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; i++) declaration->blanks.push_back(i);
    };
    for (const Group& group : groups) {
      for (const Attribute& a : attributes_in(text_, group)) {
        if (a.name == "aligned") {
          array->alignments.push_back(a.argument.empty() ? "__BIGGEST_ALIGNMENT__" : a.argument);
          blank(a.begin, a.end);
        } else if (a.name == "section" || a.name == "alias" || a.name == "tls_model" || a.name == "common") {
          error(text_.begin_of(a.begin),
                "the attribute '" + a.name + "' applies to memory of the executable, and a " + noun_ +
                    " is not there",
                "drop the attribute, or " + mark_);
          return false;
        }
      }
    }
    const size_t before = text_.previous(specifiers.begin);
    if (text_.is(before, "]") && text_.is(text_.previous(before), "]")) {
      error(text_.begin_of(text_.tokens()[before].match), "[[...]] cannot stand before a " + noun_,
            "write __attribute__((...))");
      return false;
    }
    for (const Group& group : specifiers.alignments) {
      const size_t open = text_.next(group.keyword);
      // A type or a number: the same in a structure.
      array->alignments.push_back("_Alignof(struct { _Alignas(" + joined(text_, open + 1, group.close) +
                                  ") char c; })");
      blank(group.keyword, group.close + 1);
    }
    if (declaration->declarator.asm_label != kNone) {
      error(text_.begin_of(declaration->declarator.asm_label),
            "a " + noun_ + " is no symbol of the executable and has no asm name",
            "drop asm(...), or " + mark_);
      return false;
    }
    return true;
  }

  // All declarations of an array say dlm, or none: what is not marked is looked for in the executable's own
  // memory.
  void check_redeclarations() {
    for (const Declaration& d : analysis_.declarations) {
      if (d.what != Declares::variable) continue;
      const size_t array = result_.find(d.entity);
      if (array == kNone || result_.arrays[array].declarations.empty()) continue;
      const auto& known = result_.arrays[array].declarations;
      if (std::any_of(known.begin(), known.end(),
                      [&](const ArrayDeclaration& k) { return k.what->offset == d.offset; }))
        continue;
      error(d.offset,
            "'" + d.name + "' is declared without " + mark_ + " here, and with " + mark_ + " elsewhere",
            "add " + mark_ + " to every declaration of it");
      unit_.diagnostics.note(known.front().what->offset, "declared with " + mark_ + " here");
    }
  }

  void find_uses() {
    std::set<std::string, std::less<>> names;
    for (const Array& array : result_.arrays) names.insert(array.name);
    std::set<size_t> declared;
    for (const Declaration& d : analysis_.declarations) declared.insert(d.offset);
    for (size_t i = 0; i < text_.tokens().size(); i++) {
      if (!text_.is_word(i) || !names.contains(text_.spelling(i)) || declared.contains(text_.begin_of(i)))
        continue;
      const size_t array = meaning(i);
      if (array != kNone) result_.uses.push_back({i, array, analysis_.function_at(text_.begin_of(i))});
    }
  }

  // The array that a name stands for, or kNone.
  size_t meaning(size_t token) {
    const size_t offset = text_.begin_of(token);
    const auto reference = analysis_.references.find(offset);
    if (reference != analysis_.references.end()) return result_.find(reference->second);
    if (analysis_.other_names.contains(offset) || is_other_name(token)) return kNone;
    // libclang shows no expressions in attributes and in the types of _Generic. There the name is looked up
    // here.
    const Declaration* d = analysis_.find(text_.spelling(token), offset);
    const size_t array = d != nullptr ? result_.find(d->entity) : kNone;
    if (array == kNone || text_.place(offset).system) return kNone;
    const Broken* broken = analysis_.broken_at(offset);
    if (broken != nullptr && !is_plain_use(token, *broken)) {
      error(
          offset,
          "cannot tell what '" + std::string(text_.spelling(token)) +
              "' means here (libclang: " + broken->message + ")",
          "give a name here that no " + noun_ + " has, or write this function in C that clang 14 takes too");
      return kNone;
    }
    return array;
  }

  // In a function with something that libclang does not take, it drops statements. A name in such a statement
  // can be looked up if the block around it was read, so that its declarations are known, and if it is no
  // declaration itself.
  bool is_plain_use(size_t token, const Broken& broken) const {
    if (broken.misread) return false;
    const size_t before = text_.previous(token);
    if (text_.is_word(before) && !text_.is_any(before, "return", "case", "sizeof", "else", "do"))
      return false;
    for (size_t i = token; i-- > 0;) {
      const size_t match = text_.tokens()[i].match;
      if (match < i) {
        i = match;  // passed over
      } else if (match > i && text_.is(i, "(")) {
        if (text_.is(text_.previous(i), "for")) return false;  // may declare it
      } else if (match > i && text_.is(i, "{")) {
        if (analysis_.blocks.contains(text_.begin_of(i))) return true;
        if (!text_.is_any(text_.previous(i), "=", ",", "{", ")"))
          return false;  // not the braces of an initialiser
      }
    }
    return false;
  }

  // Names of other kinds in places that libclang does not show.
  bool is_other_name(size_t token) const {
    const size_t before = text_.previous(token), after = text_.next(token);
    if (text_.is_any(before, ".", "->", "struct", "union", "enum", "goto")) return true;
    if (text_.is(before, "&&") && !text_.ends_operand(text_.previous(before)))
      return true;  // the address of a label
    if (text_.is(after, ":") && text_.is_any(before, ";", "{", "}", ":", ")")) return true;  // a label
    // asm("..." : [name] "=r"(x))
    if (text_.is(before, "[") && text_.is(after, "]") && text_.next(after) != kNone &&
        text_.tokens()[text_.next(after)].kind == TokenKind::string)
      return true;
    return is_attribute_name(token) || is_old_parameter(token);
  }

  // In __attribute__((name, name(argument))) only the arguments of some are expressions.
  bool is_attribute_name(size_t token) const {
    for (size_t i = token, groups = 0; i-- > 0 && token - i < 200;) {
      if (text_.is(i, ")") && text_.tokens()[i].match < i) i = text_.tokens()[i].match;
      if (text_.is_any(i, ";", "{", "}")) return false;
      if (text_.is(i, "(") && text_.tokens()[i].match > token) groups++;
      if (is_attribute(text_, i) && text_.tokens()[text_.next(i)].match > token) {
        if (groups == 2) return true;
        for (const Attribute& a : attributes_in(text_, {i, text_.tokens()[text_.next(i)].match}))
          if (token > a.begin && token < a.end) return a.name != "aligned" && a.name != "vector_size";
        return true;
      }
    }
    return false;
  }

  // f(a, b) double a; int b; { ... }
  bool is_old_parameter(size_t token) const {
    const size_t offset = text_.begin_of(token);
    for (const Function& f : analysis_.functions) {
      if (!f.extent.holds(offset) || f.body.holds(offset)) continue;
      return std::any_of(analysis_.declarations.begin(), analysis_.declarations.end(),
                         [&](const Declaration& d) {
                           return d.what == Declares::parameter && f.extent.holds(d.offset) &&
                                  d.name == text_.spelling(token);
                         });
    }
    return false;
  }

  // Initialisers of static objects that need the address of a dlm array: no constant any more.
  void find_late() {
    std::vector<const Declaration*> statics;
    for (const Declaration& d : analysis_.declarations)
      if (d.what == Declares::variable && d.global_storage && d.initialiser.end > 0) statics.push_back(&d);
    std::map<const Declaration*, size_t> first_use;
    for (const Use& use : result_.uses) {
      const size_t offset = text_.begin_of(use.token);
      if (analysis_.is_unevaluated(offset)) continue;
      for (const Declaration* d : statics)
        if (d->initialiser.holds(offset)) first_use.emplace(d, offset);
    }
    for (const auto& [d, use] : first_use) add_late(*d, use);
    std::sort(result_.late.begin(), result_.late.end(),
              [](const LateVariable& a, const LateVariable& b) { return a.what->offset < b.what->offset; });
  }

  void add_late(const Declaration& d, size_t use) {
    const std::string address = "the address of '" + std::string(text_.spelling(text_.token_at(use))) +
                                "' is known only when the program has started: ";
    if (d.function != kNone)
      return error(
          use,
          address + "the static variable '" + d.name + "' of a function cannot hold it from the beginning",
          "assign it in the function, or declare '" + d.name + "' outside of it");
    if (d.thread_local_storage)
      return error(use, address + "the thread-local '" + d.name + "' cannot hold it from the beginning",
                   "assign it in each thread");
    if (std::any_of(analysis_.compound_literals.begin(), analysis_.compound_literals.end(),
                    [&](const Range& r) { return d.initialiser.holds(r.begin); }))
      return error(use,
                   address + "the compound literal in the initialiser of '" + d.name + "' cannot hold it",
                   "give the literal a name of its own");
    if (d.bytes > kMostComputed)
      return error(use,
                   address + "the initialiser of '" + d.name +
                       "' would have to be computed then, and it is too large for that (1 MiB at most)",
                   "assign these addresses in main");
    const size_t array = result_.find(d.entity);
    if (array != kNone) {
      for (ArrayDeclaration& declaration : result_.arrays[array].declarations)
        if (declaration.what == &d) declaration.computed = true;
      return;
    }
    LateVariable late{&d, declarator_of(text_, text_.token_at(d.offset)), {}};
    if (late.declarator.equals == kNone) return;
    if (d.is_const && !find_const(&late))
      return error(use, address + "'" + d.name + "' is const and cannot be assigned then",
                   "drop const, or assign it in main");
    result_.late.push_back(std::move(late));
  }

  // The tokens that make the variable itself const: those right of the last "*", or the specifiers' own. It
  // must become writable, so other declarations of it would contradict.
  bool find_const(LateVariable* late) const {
    const auto same = [&](const Declaration& d) {
      return d.what == Declares::variable && d.entity == late->what->entity;
    };
    if (std::count_if(analysis_.declarations.begin(), analysis_.declarations.end(), same) > 1) return false;
    size_t star = kNone;
    for (size_t i = late->declarator.first; i < late->declarator.name; i++)
      if (text_.is(i, "*")) star = i;
    const size_t from = star != kNone ? star : text_.first_from(late->what->begin);
    for (size_t i = from; i != kNone && i < late->declarator.name; i = text_.next(i)) {
      const size_t after = text_.next(i);
      if (text_.is(after, "(") && group_keyword(text_, text_.tokens()[after].match) == i) i = after;
      if (text_.is_any(i, "(", "{")) i = text_.tokens()[i].match;
      if (text_.is_any(i, ",", "=")) break;  // the specifiers are over
      if (text_.is_any(i, "const", "__const", "__const__")) late->blanks.push_back(i);
    }
    return !late->blanks.empty();
  }

  Unit& unit_;
  const Text& text_;
  const std::string noun_, mark_;
  const Analysis& analysis_;
  RuntimeArrays& result_;
  std::vector<std::vector<const Declaration*>> marked_;
};

}  // namespace

size_t RuntimeArrays::find(size_t entity) const {
  const auto found = std::find(entities.begin(), entities.end(), entity);
  return found == entities.end() ? kNone : static_cast<size_t>(found - entities.begin());
}

void find_dlm_arrays(Unit* unit) {
  Finder(unit, ArrayKind::dlm).run();
}

void find_coarrays(Unit* unit) {
  Finder(unit, ArrayKind::coarray).run();
}

}  // namespace tasuki::cc
