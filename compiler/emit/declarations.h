// What tasukicc writes before the user's first line: the declarations of what the rewritten text calls. They
// are those of the headers in include/tasuki, and of helpers.h, with names that no program has
// (gen/emitted.py).
#pragma once

namespace tasuki::cc {

extern const char* const kDlmDeclarations;
// Of references to other images, and of all that needs the others; and what the global view has of its own.
extern const char* const kLocalDeclarations;
extern const char* const kGlobalDeclarations;

}  // namespace tasuki::cc
