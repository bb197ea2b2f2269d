// The global view as C: directives become records and calls of include/tasuki/compiler/global_view.h, and
// references to distributed arrays become addresses (arrays.h). Loops have a file of their own (loop.h).
//
//     #pragma xmp template t(0:N-1)
//     #pragma xmp distribute t(block) onto p     static struct __tasuki_xmp_template __tasuki_template_t = {..};
//     #pragma xmp task on t(i)                   { if (tasuki_xmp_task_begin_on(&on, ..)) { .. } }
//     #pragma xmp reflect (a) width(1)           tasuki_xmp_reflect(&__xmp_record_a, &width, ..);
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/lower/global/omp_acc_lines.h"
#include "compiler/meaning/unit.h"

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

// Finds what the names in the directives mean, unit->global, and hands each replacement to `add`; the unit
// must live as long as they do.
GlobalLowered lower_global_view(Unit* unit, const std::function<void(const Replacement&)>& add);

}  // namespace tasuki::cc
