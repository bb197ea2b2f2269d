// Directives of the local view as calls of include/tasuki/xmp_compiler.h:
//
//     #pragma xmp post(p(2), 7)          tasuki_xmp_post(tasuki_xmp_node(&__tasuki_nodes_p, ..), 7, ..);
//     #pragma xmp nodes p(4)             a record of the node array
#pragma once

#include <string>

#include "compiler/coarray_operand.h"
#include "compiler/xmp_directives.h"

namespace tasuki::cc {

// Errors are reported, and the result is empty.
std::string lower_directive(const CoarrayText& in, const Directive& directive);

}  // namespace tasuki::cc
