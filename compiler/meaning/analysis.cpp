#include "compiler/meaning/analysis.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>

#include "compiler/meaning/analysis_text.h"
#include "compiler/meaning/libclang.h"
#include "compiler/meaning/unit.h"

namespace tasuki::cc {
namespace {

constexpr const char* kFile = "tasukicc.i";

std::string string_of(CXString text) {
  const char* bytes = libclang().getCString(text);
  std::string result = bytes != nullptr ? bytes : "";
  libclang().disposeString(text);
  return result;
}

struct Close {
  void operator()(void* index) const { libclang().disposeIndex(index); }
  void operator()(CXTranslationUnitImpl* unit) const { libclang().disposeTranslationUnit(unit); }
};
using Index = std::unique_ptr<void, Close>;
using Parsed = std::unique_ptr<CXTranslationUnitImpl, Close>;

Parsed parse(CXIndex index, const AnalysisText& text, const std::vector<std::string>& flags) {
  std::vector<const char*> arguments;
  for (const std::string& flag : flags) arguments.push_back(flag.c_str());
  // All the errors, and expressions in spite of them: what the user's compiler accepts must not end the
  // reading.
  for (const char* flag :
       {"-x", "cpp-output", "-w", "-ferror-limit=0", "-fbracket-depth=100000", "-Xclang", "-frecovery-ast"})
    arguments.push_back(flag);
  CXUnsavedFile file{kFile, text.bytes().data(), text.bytes().size()};
  CXTranslationUnit unit = nullptr;
  const CXErrorCode failed =
      libclang().parseTranslationUnit2(index, kFile, arguments.data(), static_cast<int>(arguments.size()),
                                       &file, 1, CXTranslationUnit_KeepGoing, &unit);
  return Parsed(failed == CXError_Success ? unit : nullptr);
}

bool is_error(CXDiagnostic diagnostic) {
  return libclang().getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error;
}

template <typename Visit>
void each_diagnostic(CXTranslationUnit unit, Visit visit) {
  for (unsigned i = 0; i < libclang().getNumDiagnostics(unit); i++) {
    CXDiagnostic diagnostic = libclang().getDiagnostic(unit, i);
    visit(diagnostic);
    libclang().disposeDiagnostic(diagnostic);
  }
}

// Built-in functions of the user's compiler that libclang complains about. Taken for ordinary functions their
// arguments are read like all others.
std::set<std::string> unknown_builtins(CXTranslationUnit unit) {
  std::set<std::string> result;
  each_diagnostic(unit, [&](CXDiagnostic diagnostic) {
    const std::string text = string_of(libclang().getDiagnosticSpelling(diagnostic));
    const std::string start = "use of unknown builtin '";
    if (!text.starts_with(start)) return;
    const size_t end = text.find('\'', start.size());
    if (end != std::string::npos) result.insert(text.substr(start.size(), end - start.size()));
  });
  return result;
}

Shape shape_of(CXType type) {
  switch (libclang().getCanonicalType(type).kind) {
    case CXType_ConstantArray:
    case CXType_IncompleteArray:
      return Shape::array;
    case CXType_VariableArray:
    case CXType_DependentSizedArray:
      return Shape::variable_array;
    case CXType_Pointer:
    case CXType_BlockPointer:
      return Shape::pointer;
    default:
      return Shape::other;
  }
}

bool is_const(CXType type) {
  type = libclang().getCanonicalType(type);
  while (true) {
    if (libclang().isConstQualifiedType(type)) return true;
    if (shape_of(type) != Shape::array) return false;
    type = libclang().getCanonicalType(libclang().getArrayElementType(type));
  }
}

int rank_of(CXType type) {
  int rank = 0;
  for (bool first = true;; first = false, rank++) {
    type = libclang().getCanonicalType(type);
    const Shape shape = shape_of(type);
    if (shape == Shape::array || shape == Shape::variable_array)
      type = libclang().getArrayElementType(type);
    else if (shape == Shape::pointer && first)
      type = libclang().getPointeeType(type);
    else
      return rank;
  }
}

Declares what_of(CXCursorKind kind) {
  switch (kind) {
    case CXCursor_VarDecl:
      return Declares::variable;
    case CXCursor_ParmDecl:
      return Declares::parameter;
    case CXCursor_FieldDecl:
      return Declares::field;
    case CXCursor_TypedefDecl:
      return Declares::type;
    case CXCursor_FunctionDecl:
      return Declares::function;
    case CXCursor_EnumConstantDecl:
      return Declares::constant;
    default:
      return Declares::other;
  }
}

class Visitor {
 public:
  Visitor(const AnalysisText& text, bool with_types, Analysis* analysis)
      : text_(text), with_types_(with_types), analysis_(*analysis) {}

  void visit_unit(CXTranslationUnit unit) {
    scopes_.push_back({0, kNone});
    CXCursor top = libclang().getTranslationUnitCursor(unit);
    libclang().visitChildren(top, &Visitor::each, this);
  }

 private:
  static CXChildVisitResult each(CXCursor cursor, CXCursor parent, CXClientData data) {
    static_cast<Visitor*>(data)->visit(cursor, parent);
    return CXChildVisit_Continue;
  }

  size_t offset_of(CXSourceLocation location) const {
    unsigned offset = 0;
    libclang().getFileLocation(location, nullptr, nullptr, nullptr, &offset);
    return text_.original(offset);
  }
  size_t offset_of(CXCursor cursor) const { return offset_of(libclang().getCursorLocation(cursor)); }
  Range range_of(CXCursor cursor) const {
    const CXSourceRange range = libclang().getCursorExtent(cursor);
    return {offset_of(libclang().getRangeStart(range)), offset_of(libclang().getRangeEnd(range))};
  }

  void visit(CXCursor cursor, CXCursor parent) {
    const CXCursorKind kind = libclang().getCursorKind(cursor);
    bool scope = false;
    switch (kind) {
      case CXCursor_AnnotateAttr:
        annotate(cursor, parent);
        break;
      case CXCursor_DeclRefExpr: {
        const CXCursor target = libclang().getCursorReferenced(cursor);
        if (!libclang().Cursor_isNull(target))
          analysis_.references[offset_of(cursor)] = offset_of(libclang().getCanonicalCursor(target));
        break;
      }
      case CXCursor_MemberRefExpr:
        if (libclang().Cursor_isBitField(libclang().getCursorReferenced(cursor)) != 0)
          analysis_.bit_fields.insert(offset_of(cursor));
        analysis_.other_names[offset_of(cursor)] = true;
        break;
      case CXCursor_MemberRef:
      case CXCursor_LabelRef:
      case CXCursor_LabelStmt:
      case CXCursor_TypeRef:
      case CXCursor_StructDecl:
      case CXCursor_UnionDecl:
      case CXCursor_EnumDecl:
        analysis_.other_names[offset_of(cursor)] = true;
        break;
      case CXCursor_UnaryExpr:  // sizeof, _Alignof
        analysis_.unevaluated.push_back(range_of(cursor));
        break;
      case CXCursor_CompoundLiteralExpr:
        analysis_.compound_literals.push_back(range_of(cursor));
        break;
      case CXCursor_CompoundStmt:
      case CXCursor_ForStmt:
      case CXCursor_IfStmt:
      case CXCursor_SwitchStmt:
      case CXCursor_WhileStmt:
      case CXCursor_DoStmt:
        scope = true;
        break;
      default:
        if (libclang().isDeclaration(kind)) scope = declare(cursor, kind, parent);
        break;
    }
    const size_t function = function_;
    if (with_types_ && function_ != kNone && libclang().isExpression(kind)) note_type(cursor);
    if (kind == CXCursor_CompoundStmt) analysis_.blocks[range_of(cursor).begin] = true;
    if (kind == CXCursor_CompoundStmt && libclang().getCursorKind(parent) == CXCursor_FunctionDecl)
      body(cursor);
    if (scope) scopes_.push_back(range_of(cursor));
    libclang().visitChildren(cursor, &Visitor::each, this);
    if (scope) scopes_.pop_back();
    function_ = function;
  }

  void body(CXCursor cursor) {
    for (size_t i = analysis_.functions.size(); i-- > 0;) {
      const Range range = range_of(cursor);
      if (!analysis_.functions[i].extent.holds(range.begin)) continue;
      analysis_.functions[i].body = range;
      function_ = i;
      return;
    }
  }

  // True if the declaration makes a scope of its own: that of a function's parameters.
  bool declare(CXCursor cursor, CXCursorKind kind, CXCursor parent) {
    Declaration d;
    d.what = what_of(kind);
    if (d.what == Declares::other) return false;
    d.name = string_of(libclang().getCursorSpelling(cursor));
    d.offset = offset_of(cursor);
    d.begin = range_of(cursor).begin;
    d.entity = offset_of(libclang().getCanonicalCursor(cursor));
    d.function = function_;
    // A parameter of a prototype is seen in that prototype only.
    d.scope = d.what == Declares::parameter ? range_of(parent) : scopes_.back();
    if (d.what == Declares::variable) describe_variable(cursor, &d);
    if (d.what == Declares::variable || d.what == Declares::parameter)
      d.rank = rank_of(libclang().getCursorType(cursor));
    if (d.what == Declares::function) {
      analysis_.functions.push_back({d.name, range_of(cursor), {}});
    }
    const bool makes_scope = d.what == Declares::function;
    if (d.what == Declares::field) analysis_.other_names[d.offset] = true;
    current_[d.offset] = analysis_.declarations.size();
    analysis_.declarations.push_back(std::move(d));
    return makes_scope;
  }

  void describe_variable(CXCursor cursor, Declaration* d) const {
    const CXType type = libclang().getCursorType(cursor);
    d->shape = shape_of(type);
    d->global_storage = libclang().Cursor_hasVarDeclGlobalStorage(cursor) == 1;
    d->thread_local_storage = libclang().getCursorTLSKind(cursor) != CXTLS_None;
    d->is_const = is_const(type);
    if (d->shape == Shape::array) d->count = libclang().getArraySize(libclang().getCanonicalType(type));
    d->bytes = std::max<long long>(libclang().Type_getSizeOf(type), -1);
    const CXCursor initialiser = libclang().Cursor_getVarDeclInitializer(cursor);
    if (!libclang().Cursor_isNull(initialiser)) d->initialiser = range_of(initialiser);
  }

  // The attribute that a `dlm` became, as a child of what it marks. Redeclarations inherit it: that of the
  // first stands in front of a later one's, so the place tells them apart.
  void annotate(CXCursor attribute, CXCursor parent) {
    const std::string text = string_of(libclang().getCursorSpelling(attribute));
    if (!text.starts_with("dlm:")) return;
    const auto known = current_.find(offset_of(parent));
    if (known == current_.end()) return;
    analysis_.declarations[known->second].dlm.push_back(strtoull(text.c_str() + 4, nullptr, 10));
  }

  // An implicit conversion has the range of what it converts, and comes before it.
  void note_type(CXCursor cursor) {
    const Range range = range_of(cursor);
    const CXType type = libclang().getCanonicalType(libclang().getCursorType(cursor));
    ExpressionType known{shape_of(type), -1, string_of(libclang().getTypeSpelling(type))};
    // libclang gives a parameter the type that is written.
    const bool is_name = libclang().getCursorKind(cursor) == CXCursor_DeclRefExpr;
    if (is_name && libclang().getCursorKind(libclang().getCursorReferenced(cursor)) == CXCursor_ParmDecl &&
        (known.shape == Shape::array || known.shape == Shape::variable_array))
      known.shape = Shape::pointer, known.decayed = true;
    if (known.shape == Shape::array || known.decayed) known.count = libclang().getArraySize(type);
    for (const char* qualifier : {"const ", "volatile "})
      if (known.name.starts_with(qualifier)) known.name.erase(0, std::string(qualifier).size());
    analysis_.types[{range.begin, range.end}] = std::move(known);
  }

  const AnalysisText& text_;
  bool with_types_;
  Analysis& analysis_;
  std::vector<Range> scopes_;
  std::map<size_t, size_t> current_;  // offset of a declared name -> its declaration
  size_t function_ = kNone;
};

// After an error of meaning libclang drops a statement, but not the declarations around it. After one of form
// it may have taken a declaration for something else.
bool may_lose_declarations(const std::string& message) {
  for (const char* start :
       {"expected ", "use of undeclared identifier", "unknown type name",
        "function definition is not allowed", "extraneous ", "type name ", "cannot combine"})
    if (message.starts_with(start)) return true;
  return message.find("must use ") != std::string::npos ||
         message.find("type specifier") != std::string::npos;
}

// Where top-level declarations end: libclang recovers there.
std::vector<size_t> top_level_borders(const Text& text) {
  std::vector<size_t> borders = {0};
  for (size_t i = 0; i < text.tokens().size(); i++) {
    const size_t match = text.tokens()[i].match;
    if (match > i) i = match;
    if (text.is_any(i, ";", "}")) borders.push_back(text.end_of(i));
  }
  borders.push_back(text.bytes().size() + 1);
  return borders;
}

void find_broken(CXTranslationUnit unit, const Text& text, const AnalysisText& readable, Analysis* analysis) {
  const std::vector<size_t> borders = top_level_borders(text);
  each_diagnostic(unit, [&](CXDiagnostic diagnostic) {
    if (!is_error(diagnostic)) return;
    unsigned offset = 0;
    libclang().getFileLocation(libclang().getDiagnosticLocation(diagnostic), nullptr, nullptr, nullptr,
                               &offset);
    const size_t at = readable.original(offset);
    const auto after = std::upper_bound(borders.begin(), borders.end(), at);
    if (after == borders.begin() || after == borders.end()) return;
    const std::string message = string_of(libclang().getDiagnosticSpelling(diagnostic));
    const bool misread = may_lose_declarations(message);
    Broken& piece = analysis->broken[*(after - 1)];
    piece.end = *after;
    if (piece.message.empty() || (misread && !piece.misread)) piece.message = message;
    piece.misread = piece.misread || misread;
  });
}

}  // namespace

const Declaration* Analysis::find(std::string_view name, size_t offset) const {
  const Declaration* found = nullptr;
  for (const Declaration& d : declarations) {
    if (d.name != name || d.what == Declares::field || d.offset >= offset || !d.scope.holds(offset)) continue;
    if (found == nullptr || d.scope.begin >= found->scope.begin) found = &d;
  }
  return found;
}

size_t Analysis::function_at(size_t offset) const {
  for (size_t i = 0; i < functions.size(); i++)
    if (functions[i].body.holds(offset)) return i;
  return kNone;
}

const Broken* Analysis::broken_at(size_t offset) const {
  const auto after = broken.upper_bound(offset);
  if (after == broken.begin()) return nullptr;
  const auto piece = std::prev(after);
  return offset < piece->second.end ? &piece->second : nullptr;
}

bool Analysis::is_unevaluated(size_t offset) const {
  return std::any_of(unevaluated.begin(), unevaluated.end(), [&](const Range& r) { return r.holds(offset); });
}

bool analyse(Unit* unit) {
  if (std::string error; !load_libclang(&error)) {
    fprintf(stderr, "tasukicc: %s\n", error.c_str());
    return false;
  }
  const Index index(libclang().createIndex(0, 0));
  std::set<std::string> unknown;
  auto readable = std::make_unique<AnalysisText>(unit->text, unit->dlm, unit->neutral, unknown);
  Parsed parsed = parse(index.get(), *readable, unit->options.meaning);
  if (parsed == nullptr) {
    fprintf(stderr, "tasukicc: libclang does not read this file (%s)\n",
            string_of(libclang().getClangVersion()).c_str());
    return false;
  }
  unknown = unknown_builtins(parsed.get());
  if (!unknown.empty()) {
    readable = std::make_unique<AnalysisText>(unit->text, unit->dlm, unit->neutral, unknown);
    parsed = parse(index.get(), *readable, unit->options.meaning);
    if (parsed == nullptr) return false;
  }
  Visitor(*readable, !unit->neutral.empty(), &unit->analysis).visit_unit(parsed.get());
  find_broken(parsed.get(), unit->text, *readable, &unit->analysis);
  return true;
}

}  // namespace tasuki::cc
