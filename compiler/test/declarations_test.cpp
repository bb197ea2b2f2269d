// What tasukicc writes before the user's first line is made from the headers in include/tasuki/compiler:
// with names of structures that no program has, and without typedefs and macros. Both are read with libclang,
// which knows what the types are.
#include <clang-c/Index.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/emit/declarations.h"

namespace tasuki::cc {
namespace {

std::string string_of(CXString text) {
  std::string result = clang_getCString(text);
  clang_disposeString(text);
  return result;
}

// In terms of the headers: `struct __tasuki_xmp_array` is their `struct tasuki_xmp_array`.
std::string public_name(std::string text) {
  for (size_t at = 0; (at = text.find("__tasuki_", at)) != std::string::npos;) text.erase(at, 2);
  return text;
}

std::string type_of(CXType type) {
  return public_name(string_of(clang_getTypeSpelling(clang_getCanonicalType(type))));
}

struct Declared {
  std::map<std::string, std::string> structures;  // name -> type, name and offset of each member
  std::map<std::string, std::string> functions;   // name -> type; without those that are defined there
  std::map<std::string, bool> prototypes;         // name -> its parameters are declared
};

CXVisitorResult add_member(CXCursor member, CXClientData to) {
  *static_cast<std::string*>(to) += type_of(clang_getCursorType(member)) + " " +
                                    string_of(clang_getCursorSpelling(member)) + " at " +
                                    std::to_string(clang_Cursor_getOffsetOfField(member) / 8) + "; ";
  return CXVisit_Continue;
}

CXChildVisitResult add_declaration(CXCursor cursor, CXCursor, CXClientData to) {
  Declared& declared = *static_cast<Declared*>(to);
  const std::string name = public_name(string_of(clang_getCursorSpelling(cursor)));
  const CXType type = clang_getCursorType(cursor);
  if (clang_getCursorKind(cursor) == CXCursor_StructDecl && clang_isCursorDefinition(cursor) != 0) {
    std::string& members = declared.structures[name];
    clang_Type_visitFields(type, add_member, &members);
    members += std::to_string(clang_Type_getSizeOf(type)) + " bytes";
  } else if (clang_getCursorKind(cursor) == CXCursor_FunctionDecl && clang_isCursorDefinition(cursor) == 0) {
    declared.functions[name] = type_of(type);
    declared.prototypes[name] = clang_getCanonicalType(type).kind == CXType_FunctionProto;
  }
  return CXChildVisit_Continue;
}

Declared declared_in(const std::string& text) {
  Declared result;
  const std::unique_ptr<void, decltype(&clang_disposeIndex)> index(clang_createIndex(0, 0),
                                                                   clang_disposeIndex);
  const char* arguments[] = {"-std=gnu11", "-I" TASUKI_INCLUDE};
  CXUnsavedFile file{"declarations.c", text.data(), text.size()};
  const std::unique_ptr<CXTranslationUnitImpl, decltype(&clang_disposeTranslationUnit)> unit(
      clang_parseTranslationUnit(index.get(), file.Filename, arguments, 2, &file, 1, 0),
      clang_disposeTranslationUnit);
  EXPECT_NE(unit, nullptr);
  if (unit == nullptr) return result;
  for (unsigned i = 0; i < clang_getNumDiagnostics(unit.get()); i++) {
    CXDiagnostic diagnostic = clang_getDiagnostic(unit.get(), i);
    EXPECT_LT(clang_getDiagnosticSeverity(diagnostic), CXDiagnostic_Error)
        << string_of(clang_formatDiagnostic(diagnostic, clang_defaultDiagnosticDisplayOptions()));
    clang_disposeDiagnostic(diagnostic);
  }
  clang_visitChildren(clang_getTranslationUnitCursor(unit.get()), add_declaration, &result);
  return result;
}

TEST(Declarations, AreThoseOfTheHeaders) {
  Declared emitted = declared_in(std::string(kLocalDeclarations) + kGlobalDeclarations + kDlmDeclarations);
  Declared headers =
      declared_in("#include <tasuki/compiler/dlm_arrays.h>\n#include <tasuki/compiler/global_view.h>\n");
  EXPECT_GE(emitted.structures.size(), 15U);
  EXPECT_GE(emitted.functions.size(), 50U);
  for (const auto& [name, members] : emitted.structures) {
    EXPECT_TRUE(headers.structures.contains(name)) << name;
    EXPECT_EQ(members, headers.structures[name]) << name;
  }
  for (const auto& [name, type] : emitted.functions) {
    EXPECT_TRUE(headers.functions.contains(name)) << name;
    std::string expected = headers.functions[name];
    // xmp_lock_t has no tag that could be declared without xmp.h.
    if (const size_t at = expected.find("xmp_lock_t *"); at != std::string::npos)
      expected.replace(at, 12, "void *");
    EXPECT_TRUE(emitted.prototypes[name]) << name;
    EXPECT_EQ(type, expected) << name;
  }
}

}  // namespace
}  // namespace tasuki::cc
