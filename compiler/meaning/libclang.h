// libclang, loaded when the first file is read. tasukicc is not linked with it: one tasukicc works with the
// libclang that a system or a Python environment has, whatever its name and version there.
#pragma once

#include <clang-c/Index.h>

#include <string>

namespace tasuki::cc {

// The functions of clang-c/Index.h that tasukicc calls, without their prefix clang_.
#define TASUKI_LIBCLANG(X)          \
  X(Cursor_getVarDeclInitializer)   \
  X(Cursor_hasVarDeclGlobalStorage) \
  X(Cursor_isBitField)              \
  X(Cursor_isNull)                  \
  X(Type_getSizeOf)                 \
  X(createIndex)                    \
  X(disposeDiagnostic)              \
  X(disposeIndex)                   \
  X(disposeString)                  \
  X(disposeTranslationUnit)         \
  X(getArrayElementType)            \
  X(getArraySize)                   \
  X(getCString)                     \
  X(getCanonicalCursor)             \
  X(getCanonicalType)               \
  X(getClangVersion)                \
  X(getCursorExtent)                \
  X(getCursorKind)                  \
  X(getCursorLocation)              \
  X(getCursorReferenced)            \
  X(getCursorSpelling)              \
  X(getCursorTLSKind)               \
  X(getCursorType)                  \
  X(getDiagnostic)                  \
  X(getDiagnosticLocation)          \
  X(getDiagnosticSeverity)          \
  X(getDiagnosticSpelling)          \
  X(getFileLocation)                \
  X(getNumDiagnostics)              \
  X(getPointeeType)                 \
  X(getRangeEnd)                    \
  X(getRangeStart)                  \
  X(getTranslationUnitCursor)       \
  X(getTypeSpelling)                \
  X(isConstQualifiedType)           \
  X(isDeclaration)                  \
  X(isExpression)                   \
  X(parseTranslationUnit2)          \
  X(visitChildren)

struct Libclang {
#define TASUKI_LIBCLANG_POINTER(name) decltype(&::clang_##name) name = nullptr;
  TASUKI_LIBCLANG(TASUKI_LIBCLANG_POINTER)
#undef TASUKI_LIBCLANG_POINTER
};

// Finds and loads libclang, once: the file that TASUKI_LIBCLANG names; else that of the Python package
// libclang in the environment that tasukicc is installed in; else the newest that the system has. False: what
// was looked for, and what to install, is in *error.
bool load_libclang(std::string* error);

// What load_libclang() loaded.
const Libclang& libclang();

}  // namespace tasuki::cc
