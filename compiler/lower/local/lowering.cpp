#include "compiler/lower/local/lowering.h"

#include <algorithm>
#include <map>

#include "compiler/lower/global/lowering.h"
#include "compiler/lower/local/array_assignment.h"
#include "compiler/lower/local/directives.h"
#include "compiler/meaning/coarray_operand.h"
#include "compiler/text/declarator.h"
#include "compiler/tokens/statements.h"
#include "tasuki/compiler/local_view.h"

namespace tasuki::cc {
namespace {

// Places in the text that change, each a run of tokens. One may hold others.
enum class Form {
  read,       // a[i]:[2]
  local,      // the same where only its type counts: sizeof a[i]:[2]
  assign,     // a[i]:[2] = e, a[i]:[2] += e
  increment,  // a[i]:[2]++, --a[i]:[2]
  get_into,   // x = a[i]:[2]; in a nonblock region
  sections,   // an array assignment
  directive,
  global  // what the global view has of its own
};

struct Construct {
  Form form;
  size_t begin, end;         // tokens
  size_t reference = kNone;  // where the coindexed operand begins
  size_t op = kNone;
  bool is_statement = false;
  const Directive* directive = nullptr;
  std::function<std::string()> text = {};
};

class Lowering {
 public:
  Lowering(Unit* unit, const std::function<std::string(size_t)>& token)
      : in_(*unit), text_(unit->text), statements_(unit->text, unit->tokens), token_(token) {
    in_.c = [this](size_t first, size_t last) { return render(first, last); };
  }
  ~Lowering() { in_.c = nullptr; }
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  Lowered run() {
    find_regions();
    for (const GlobalDirective& d : in_.tokens.globals)
      if (is_one_of<GmoveDirective, ArrayDirective>(d))
        global_statements_.push_back({place_of(d).end, statements_.end_of(place_of(d).end + 1)});
    for (const auto& [open, section] : in_.tokens.sections)
      if (!in_global_statement(open)) add_array_assignment(open);
    for (const Coindex& c : in_.tokens.coindices)
      if (!c.declares) add_reference(c);
    for (const Directive& d : in_.tokens.directives) add_directive(d);
    lower_global();
    size_t done = 0;
    for (const auto& [begin, construct] : constructs_) {
      if (begin < done) continue;  // inside one
      done = construct.end;
      result_.changes.push_back({text_.begin_of(begin), text_.end_of(construct.end - 1), lower(construct)});
    }
    return std::move(result_);
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    in_.diagnostics.error(text_.begin_of(token), what, advice);
  }

  std::string render(size_t first, size_t last) {
    std::string result;
    for (size_t i = first; i < last && i < text_.tokens().size();) {
      const auto found = constructs_.find(i);
      if (found != constructs_.end() && found->second.end <= last) {
        result += lower(found->second);
        i = found->second.end;
      } else {
        if (text_.tokens()[i].kind == TokenKind::directive) {
          i++;
          continue;
        }
        result += token_(i++);
      }
      if (i < last) result += ' ';
    }
    return result;
  }

  bool begins_statement(size_t token) const {
    const size_t before = text_.previous(token);
    if (text_.is_any(before, ";", "{", "}")) return !text_.is(before, ";") || !in_for_header(before);
    if (text_.is_any(before, "else", "do")) return true;
    if (text_.is(before, ")")) {
      const size_t head = text_.previous(in_.match(before));
      return text_.is_any(head, "if", "while", "for", "switch");
    }
    return false;
  }

  bool in_for_header(size_t semicolon) const {
    for (size_t i = semicolon; i-- > 0;) {
      if (text_.is_any(i, ")", "]", "}") && in_.match(i) < i)
        i = in_.match(i);
      else if (text_.is(i, "("))
        return text_.is(text_.previous(i), "for");
      else if (text_.is_any(i, "{", "}"))
        return false;
    }
    return false;
  }

  // ---- the global view

  bool in_global_statement(size_t token) const {
    return std::any_of(global_statements_.begin(), global_statements_.end(),
                       [&](const TokenRange& r) { return token > r.first && token < r.last; });
  }

  void lower_global() {
    const GlobalLowered lowered = lower_global_view(&in_, [this](const Replacement& r) {
      Construct construct{Form::global, r.first, r.last};
      construct.text = r.text;
      add(construct);
    });
    for (const auto& [token, text] : lowered.insertions)
      result_.changes.push_back({text_.end_of(token), text_.end_of(token), text});
    for (const PragmaChange& c : lowered.pragmas) result_.changes.push_back({c.begin, c.end, c.what});
    result_.templates = lowered.templates;
    result_.distributed_arrays = lowered.arrays;
    result_.global_view = lowered.used;
  }

  // ---- regions of nonblock

  void find_regions() {
    for (const Directive& d : in_.tokens.directives)
      if (d.kind == DirectiveKind::nonblock)
        regions_.push_back({d.end, statements_.end_of(d.end + 1),
                            d.option ? TASUKI_XMP_NONBLOCK_REMOTE : TASUKI_XMP_NONBLOCK});
  }

  // Of the innermost region.
  unsigned flags_at(size_t token) const {
    unsigned flags = 0;
    for (const Region& r : regions_)
      if (token > r.begin && token < r.end) flags = r.flags;
    return flags;
  }

  // ---- what there is

  void add(const Construct& construct) {
    const auto known = constructs_.find(construct.begin);
    if (known == constructs_.end() || known->second.end < construct.end)
      constructs_[construct.begin] = construct;
  }

  bool in_directive(size_t token) const {
    return std::any_of(in_.tokens.directives.begin(), in_.tokens.directives.end(),
                       [&](const Directive& d) { return token > d.word && token < d.end; });
  }

  void add_array_assignment(size_t open) {
    if (in_directive(open)) return error(open, "a section cannot stand in this directive", "name one object");
    const size_t begin = statements_.begin_of(open);
    if (constructs_.contains(begin) && constructs_[begin].form == Form::sections) return;
    size_t end = begin;
    for (; end < text_.tokens().size() && !text_.is_any(end, ";", "}"); end++)
      if (text_.is_any(end, "(", "[", "{") && in_.match(end) > end) end = in_.match(end);
    const bool declares = std::any_of(
        in_.analysis.declarations.begin(), in_.analysis.declarations.end(), [&](const Declaration& d) {
          return d.begin == text_.begin_of(begin) && d.what == Declares::variable;
        });
    if (begin > open || end >= text_.tokens().size() || !text_.is(end, ";") || declares ||
        text_.is_any(begin, "if", "while", "for", "switch", "return", "(", "case"))
      return error(open, "a section can stand in an array assignment only, which is a statement of its own",
                   "write section = expression; and use its elements afterwards");
    add({Form::sections, begin, end + 1});
  }

  bool is_unevaluated(size_t token) const {
    if (in_.analysis.is_unevaluated(text_.begin_of(token))) return true;
    for (size_t i = token; i-- > 0;) {
      if (text_.is_any(i, ";", "{")) return false;
      if (text_.is_any(i, ")", "]", "}") && in_.match(i) < i) {
        i = in_.match(i);
      } else if (text_.is(i, "(") && group_keyword(text_, in_.match(i)) != kNone) {
        return true;
      }
    }
    return false;
  }

  // Where the right side of an assignment ends.
  size_t right_end(size_t at) const {
    int questions = 0;
    for (; at < text_.tokens().size(); at++) {
      if (text_.is_any(at, ",", ";", ")", "]", "}")) break;
      if (text_.is(at, "?")) questions++;
      if (text_.is(at, ":") && !in_.tokens.colons.contains(at) && questions-- == 0) break;
      if (text_.is_any(at, "(", "[", "{") && in_.match(at) > at) at = in_.match(at);
    }
    return at;
  }

  void add_reference(const Coindex& c) {
    if (in_.tokens.has_section(c.begin, c.end)) {
      for (size_t i = c.begin; i < c.end; i++) {
        if (in_.tokens.sections.contains(i)) return;  // an operand of an array assignment
        if (text_.is_any(i, "[", "(") && in_.match(i) > i) i = in_.match(i);
      }
    }
    for (const Directive& d : in_.tokens.directives)
      if (!d.lock.empty() && c.begin == d.lock.first && c.end == d.lock.last) return;
    size_t begin = c.begin, end = operand_end(in_, c.begin);
    if (in_.tokens.has_section(c.end, end)) return;
    Construct construct{Form::read, begin, end, c.begin};
    if (is_unevaluated(begin)) {
      construct.form = Form::local;
      return add(construct);
    }
    // Parentheses around it.
    while (text_.is(text_.previous(begin), "(") &&
           in_.match(text_.previous(begin)) == text_.skip_directives(end) &&
           !text_.ends_operand(text_.previous(text_.previous(begin)))) {
      begin = text_.previous(begin);
      end = in_.match(begin) + 1;
    }
    const size_t before = text_.previous(begin), after = text_.skip_directives(end);
    if (text_.is(before, "&") && !text_.ends_operand(text_.previous(before)))
      return error(before, "an object in another image has no address here",
                   "copy it, or use the address of the local one");
    construct.op = after;
    if (text_.is_assignment(after)) {
      construct.form = Form::assign;
      construct.begin = begin;
      construct.end = right_end(after + 1);
      construct.is_statement = begins_statement(begin) && text_.is(text_.skip_directives(construct.end), ";");
    } else if (text_.is_any(after, "++", "--")) {
      construct.form = Form::increment;
      construct.begin = begin;
      construct.end = after + 1;
    } else if (text_.is_any(before, "++", "--") && !text_.ends_operand(text_.previous(before))) {
      construct.form = Form::increment;
      construct.begin = construct.op = before;
      construct.end = end;
    } else {
      add_get_into(construct);
    }
    add(construct);
  }

  // x = a[i]:[2]; need not be complete behind it in a nonblock region, and cannot be written by the host
  // where x is in device memory.
  void add_get_into(const Construct& read) {
    const size_t before = text_.previous(read.begin);
    const bool to_device =
        text_.is_assignment(before) && in_.acc.read_by_host(statements_.begin_of(before), before) != kNone;
    if (!to_device) {
      if ((flags_at(read.begin) & TASUKI_XMP_NONBLOCK) != 0) add_plain_get_into(read);
    } else if (!add_plain_get_into(read)) {
      error(before, "the host cannot assign to device memory",
            "write x = a[i]:[image]; with both of the same type, or an array assignment");
    }
  }

  bool add_plain_get_into(const Construct& read) {
    const size_t equals = text_.previous(read.begin);
    if (!text_.is(equals, "=") || !text_.is(text_.skip_directives(read.end), ";")) return false;
    const size_t left = postfix_begin(text_, in_.tokens, text_.previous(equals));
    if (!begins_statement(left) || operand_end(in_, left) != equals) return false;
    for (size_t i = left; i < equals; i++)
      if (in_.tokens.colons.contains(i)) return false;
    const ExpressionType *to = in_.type(left, equals), *from = in_.type(read.begin, read.end);
    if (to == nullptr || from == nullptr || to->name != from->name || to->shape == Shape::array) return false;
    if (is_member(left, equals) || is_bit_field(read)) return false;
    Construct construct = read;
    construct.form = Form::get_into;
    construct.begin = left;
    construct.op = equals;
    add(construct);
    return true;
  }

  bool is_bit_field(const Construct& c) const {
    const size_t last = text_.previous(c.end);
    return last != kNone && in_.analysis.bit_fields.contains(text_.begin_of(last));
  }

  // Members may be bit-fields, which have no address.
  bool is_member(size_t first, size_t last) const {
    for (size_t i = first; i < last; i++)
      if (text_.is_any(i, ".", "->", "(")) return true;
    return false;
  }

  // The image directive is for one call of a sync function, which is a statement.
  void add_image(const Directive& d) {
    const size_t function = text_.skip_directives(d.end + 1), open = text_.next(function);
    const bool is_call =
        text_.is_any(function, "xmp_sync_all", "xmp_sync_image", "xmp_sync_images", "xmp_sync_images_all") &&
        text_.is(open, "(") && text_.is(text_.next(in_.match(open)), ";");
    if (!is_call)
      return error(d.name, "'#pragma xmp image' must stand before a call of a sync function",
                   "write xmp_sync_all(..), xmp_sync_image(..), xmp_sync_images(..) or "
                   "xmp_sync_images_all(..); behind it");
    Construct call{Form::global, function, open + 1};
    call.text = [this, &d, function] { return lower_sync(in_, d, function); };
    add(call);
  }

  void add_directive(const Directive& d) {
    add({Form::directive, d.word, d.end + 1, kNone, kNone, false, &d});
    if (d.kind == DirectiveKind::nodes && !is_automatic(in_, d)) result_.node_arrays = true;
    for (const NodesReference* r : {&d.nodes, &d.whole}) {
      if (r->name == kNone || (r == &d.nodes && d.kind == DirectiveKind::nodes)) continue;
      const bool known = std::any_of(in_.tokens.directives.begin(), in_.tokens.directives.end(),
                                     [&](const Directive& other) {
                                       return other.kind == DirectiveKind::nodes && other.word < d.word &&
                                              text_.spelling(other.nodes.name) == text_.spelling(r->name);
                                     });
      if (!known)
        error(r->name, "there is no node array '" + std::string(text_.spelling(r->name)) + "' here",
              "declare it before: #pragma xmp nodes " + std::string(text_.spelling(r->name)) + "(4)");
    }
    if (d.kind == DirectiveKind::image) return add_image(d);
    if (!d.has_block()) return;
    const size_t begin = text_.skip_directives(d.end + 1);
    if (begin >= text_.tokens().size() || text_.is(begin, "}"))
      return error(d.name,
                   "'#pragma xmp " + std::string(text_.spelling(d.name)) + "' must stand before a block",
                   "write { .. } behind it");
  }

  // ---- what it becomes

  std::string lower(const Construct& c) {
    switch (c.form) {
      case Form::read:
        return read(c);
      case Form::local:
        return local(c);
      case Form::assign:
        return assign(c);
      case Form::increment:
        return increment(c);
      case Form::get_into:
        return get_into(c);
      case Form::sections:
        return lower_array_assignment(in_, c.begin, c.end, flags_at(c.begin));
      case Form::directive:
        return lower_directive(in_, *c.directive);
      case Form::global:
        return c.text();
    }
    return "";
  }

  Operand operand_of(const Construct& c) {
    Operand operand = read_operand(in_, c.reference, c.form == Form::local);
    if (operand.good && operand.coindex == nullptr) {
      error(c.reference, "this reference to another image cannot be read", "write name[index]:[image]");
      operand.good = false;
    }
    return operand;
  }

  std::string get(const Operand& from, const std::string& to, const std::string& address, size_t token,
                  unsigned flags) {
    if (from.device) flags |= TASUKI_XMP_DEVICE;
    return "tasuki_xmp_get(" + to + ", " + address + ", sizeof(" + from.typed + "), " + image_of(in_, from) +
           ", " + std::to_string(flags) + ", " + in_.place(token) + ")";
  }

  std::string local(const Construct& c) {
    const Operand operand = operand_of(c);
    return "(" + operand.typed + (operand.bit_field.empty() ? "" : "." + operand.bit_field) + ")";
  }

  // ---- bit-fields: of the structure __tasuki_b only the bytes from __tasuki_f to __tasuki_l are moved,
  // which hold it

  std::string get_bits(const Operand& from, const std::string& address, const std::string& image) {
    const std::string bytes = "((unsigned char*)&__tasuki_b)";
    return from.element_type() +
           " __tasuki_b; __builtin_memset(&__tasuki_b, 0, sizeof __tasuki_b); __tasuki_b." + from.bit_field +
           " = -1; unsigned long __tasuki_f = 0, __tasuki_l = sizeof __tasuki_b; while (" + bytes +
           "[__tasuki_f] == 0) __tasuki_f++; while (" + bytes +
           "[__tasuki_l - 1] == 0) __tasuki_l--; tasuki_xmp_get(" + bytes + " + __tasuki_f, (char*)" +
           address + " + __tasuki_f, __tasuki_l - __tasuki_f, " + image + ", " +
           std::to_string(from.device ? TASUKI_XMP_DEVICE : 0) + ", " + in_.place(from.begin) + "); ";
  }

  // What shares a byte with it is put back as it was.
  std::string change_bits(const Operand& to, unsigned flags, const std::string& change) {
    flags |= TASUKI_XMP_TEMPORARY | (to.device ? unsigned{TASUKI_XMP_DEVICE} : 0U);
    return "void* __tasuki_p = (void*)&" + to.object + "; int __tasuki_m = " + image_of(in_, to) + "; " +
           get_bits(to, "__tasuki_p", "__tasuki_m") + change +
           "tasuki_xmp_put((char*)__tasuki_p + __tasuki_f, (char*)&__tasuki_b + __tasuki_f, __tasuki_l - "
           "__tasuki_f, __tasuki_m, " +
           std::to_string(flags) + ", " + in_.place(to.begin) + "); ";
  }

  std::string read(const Construct& c) {
    const Operand from = operand_of(c);
    if (!from.good) return "";
    if (!from.bit_field.empty())
      return "({ " + get_bits(from, "&" + from.object, image_of(in_, from)) + "__tasuki_b." + from.bit_field +
             "; })";
    return "({ " + from.element_type() + " __tasuki_v; " +
           get(from, "&__tasuki_v", "&" + from.object, c.begin, 0) + "; __tasuki_v; })";
  }

  std::string get_into(const Construct& c) {
    const Operand from = operand_of(c);
    if (!from.good) return "";
    const unsigned local = is_on_device(in_, c.begin, c.op) ? TASUKI_XMP_DEVICE_LOCAL : 0;
    return get(from, "&" + render(c.begin, c.op), "&" + from.object, c.begin, flags_at(c.begin) | local);
  }

  // A variable of the same type as the whole right side: its own memory can be sent, and in a nonblock region
  // it must be.
  bool is_plain_source(const Construct& c, const Operand& to) const {
    const size_t right = text_.skip_directives(c.op + 1);
    const bool device = text_.is_word(right) && is_on_device(in_, right, right + 1);
    if ((flags_at(c.begin) == 0 && !device) || !c.is_statement || !text_.is(c.op, "=") ||
        !text_.is_word(right))
      return false;
    if (text_.skip_directives(operand_end(in_, right)) != text_.skip_directives(c.end) ||
        is_member(right, c.end))
      return false;
    for (size_t i = right; i < c.end; i++)
      if (in_.tokens.colons.contains(i)) return false;
    const ExpressionType *from = in_.type(right, c.end), *type = in_.type(to.begin, to.end);
    if (from == nullptr || type == nullptr || from->name != type->name || from->shape != Shape::other)
      return false;
    const auto reference = in_.analysis.references.find(text_.begin_of(right));
    if (reference == in_.analysis.references.end()) return false;
    return std::any_of(in_.analysis.declarations.begin(), in_.analysis.declarations.end(),
                       [&](const Declaration& d) {
                         return d.entity == reference->second &&
                                (d.what == Declares::variable || d.what == Declares::parameter) &&
                                !text_.is(text_.first_from(d.begin), "register");
                       });
  }

  std::string put(const Operand& to, const std::string& address, const std::string& from,
                  const std::string& image, unsigned flags) {
    if (to.device) flags |= TASUKI_XMP_DEVICE;
    return "tasuki_xmp_put(" + address + ", " + from + ", sizeof(" + to.typed + "), " + image + ", " +
           std::to_string(flags) + ", " + in_.place(to.begin) + ")";
  }

  std::string assign(const Construct& c) {
    const Operand to = operand_of(c);
    if (!to.good) return "";
    const unsigned flags = flags_at(c.begin);
    const std::string right = render(c.op + 1, c.end);
    if (!to.bit_field.empty()) {
      const std::string member = "__tasuki_b." + to.bit_field, op(text_.spelling(c.op));
      if (op != "=")
        return "({ " + change_bits(to, flags, member + " " + op + " (" + right + "); ") + member + "; })";
      return "({ __auto_type __tasuki_v = ((void)0, " + right + "); " +
             change_bits(to, flags, member + " = __tasuki_v; ") + member + "; })";
    }
    if (is_plain_source(c, to)) {
      const unsigned local = is_on_device(in_, c.op + 1, c.end) ? TASUKI_XMP_DEVICE_LOCAL : 0;
      return put(to, "&" + to.object, "&" + right, image_of(in_, to), flags | local);
    }
    if (const size_t wrong = in_.acc.read_by_host(c.op + 1, c.end); wrong != kNone) {
      error(wrong, read_on_host(wrong), kSameType);
      return "";
    }
    const std::string value = c.is_statement ? "" : " __tasuki_v;";
    if (text_.is(c.op, "="))
      return "({ " + to.element_type() + " __tasuki_v = (" + right + "); " +
             put(to, "&" + to.object, "&__tasuki_v", image_of(in_, to), flags | TASUKI_XMP_TEMPORARY) + ";" +
             value + " })";
    return "({ " +
           changed(to, flags, "__tasuki_v " + std::string(text_.spelling(c.op)) + " (" + right + "); ") +
           value + " })";
  }

  std::string read_on_host(size_t name) const {
    return "'" + std::string(text_.spelling(name)) +
           "' is in device memory here, and the host computes this value";
  }
  static constexpr const char* kSameType =
      "write a[i]:[image] = b[j]; with both of the same type, or copy the value to the host first";

  // Gets it, changes it, puts it back; address and image are computed once.
  std::string changed(const Operand& to, unsigned flags, const std::string& change) {
    return "void* __tasuki_p = (void*)&" + to.object + "; int __tasuki_m = " + image_of(in_, to) + "; " +
           to.element_type() + " __tasuki_v; tasuki_xmp_get(&__tasuki_v, __tasuki_p, sizeof(" + to.typed +
           "), __tasuki_m, " + std::to_string(to.device ? TASUKI_XMP_DEVICE : 0) + ", " +
           in_.place(to.begin) + "); " + change +
           put(to, "__tasuki_p", "&__tasuki_v", "__tasuki_m", flags | TASUKI_XMP_TEMPORARY) + ";";
  }

  std::string increment(const Construct& c) {
    const Operand to = operand_of(c);
    if (!to.good) return "";
    const std::string op(text_.spelling(c.op));
    const unsigned flags = flags_at(c.begin);
    if (!to.bit_field.empty()) {
      const std::string member = "__tasuki_b." + to.bit_field;
      if (c.op == c.begin) return "({ " + change_bits(to, flags, op + member + "; ") + member + "; })";
      return "({ " +
             change_bits(to, flags, "__typeof__(+" + member + ") __tasuki_w = " + member + op + "; ") +
             "__tasuki_w; })";
    }
    if (c.op == c.begin) return "({ " + changed(to, flags, op + "__tasuki_v; ") + " __tasuki_v; })";
    return "({ " + to.element_type() + " __tasuki_w; " +
           changed(to, flags, "__tasuki_w = __tasuki_v" + op + "; ") + " __tasuki_w; })";
  }

  struct Region {
    size_t begin, end;
    unsigned flags;
  };

  Unit& in_;
  const Text& text_;
  const Statements statements_;
  const std::function<std::string(size_t)> token_;
  std::vector<TokenRange> global_statements_;  // their sections are no array assignments of one node
  std::vector<Region> regions_;
  std::map<size_t, Construct> constructs_;  // by their first token
  Lowered result_;
};

}  // namespace

Lowered lower_coarrays(Unit* unit, const std::function<std::string(size_t)>& token) {
  return Lowering(unit, token).run();
}

}  // namespace tasuki::cc
