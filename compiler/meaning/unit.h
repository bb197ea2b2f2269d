// A translation unit on its way through the stages of tasukicc, which command/translate.cpp lists. A stage
// reads what those before it have found, and leaves here what it finds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/meaning/acc_regions.h"
#include "compiler/meaning/analysis.h"
#include "compiler/meaning/global_names.h"
#include "compiler/meaning/omp_acc_uses.h"
#include "compiler/meaning/runtime_arrays.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/text.h"
#include "compiler/tokens/coarray.h"
#include "compiler/tokens/dlm.h"

namespace tasuki::cc {

// What the user's options say of the language.
struct Options {
  bool openmp = false, openacc = false;   // which pragmas the user's compiler will obey
  bool threads = false;                   // OpenMP's parallel regions, too
  bool checked = false;                   // -fcheck=bounds
  std::vector<std::string> meaning = {};  // those that change what C means, for libclang
};

struct Unit {
  Unit() = default;
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  Options options;
  Text text{""};  // as the last stage has left it; once there are tokens, it changes no more
  // An error is no finding: stages that only read a unit report errors, too.
  mutable Diagnostics diagnostics{text};

  DlmTokens dlm;
  CoarrayTokens tokens;
  Neutral neutral;
  Analysis analysis;
  RuntimeArrays arrays;
  CoarrayNames names;
  AccRegions acc;
  std::vector<PragmaUse> pragma_uses;
  GlobalNames global;
  // While the unit is lowered: the C for the tokens [first, last), on one line, with the references in them
  // lowered.
  std::function<std::string(size_t first, size_t last)> c;

  size_t match(size_t open) const { return text.tokens()[open].match; }
  // "file", line
  std::string place(size_t token) const;
  // Of the expression that these tokens are; nullptr if it is not known.
  const ExpressionType* type(size_t first, size_t last) const;
};

}  // namespace tasuki::cc
