// The global view as C: directives become records and calls of include/tasuki/xmp_global.h, and references to distributed arrays
// become addresses (global_arrays.h). Loops have a file of their own (loop_lowering.h).
//
//     #pragma xmp template t(0:N-1)
//     #pragma xmp distribute t(block) onto p     static struct __tasuki_xmp_template __tasuki_template_t = {..};
//     #pragma xmp task on t(i)                   { if (tasuki_xmp_task_begin_on(&on, ..)) { .. } }
//     #pragma xmp reflect (a) width(1)           tasuki_xmp_reflect(&__xmp_record_a, &width, ..);
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/lower/global/omp_acc_names.h"
#include "compiler/meaning/coarray_operand.h"

namespace tasuki::cc {

// Tokens [first, last) that become other text.
struct Replacement {
  size_t first, last;
  std::function<std::string()> text;
};

struct GlobalLowered {
  // Text behind a token.
  std::vector<std::pair<size_t, std::string>> insertions = {};
  std::vector<PragmaChange> pragmas = {};
  bool templates = false, arrays = false;  // of file scope: some are to be registered
  bool used = false;                       // anything at all
};

// Hands each replacement to `add`; `in` must live as long as they do.
GlobalLowered lower_global_view(const CoarrayText& in, const std::function<void(const Replacement&)>& add);

// Declarations of what they call.
std::string global_declarations();

}  // namespace tasuki::cc
