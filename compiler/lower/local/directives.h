// Directives of the local view as calls of include/tasuki/compiler/local_view.h:
//
//     #pragma xmp post(p(2), 7)          tasuki_xmp_post(tasuki_xmp_node(&__tasuki_nodes_p, ..), 7, ..);
//     #pragma xmp nodes p(4)             a record of the node array
//     #pragma xmp image(p)               xmp_sync_image(2, NULL); behind it:
//                                        tasuki_xmp_sync_image_on(&__tasuki_nodes_p, .., 2, NULL);
#pragma once

#include <string>

#include "compiler/meaning/coarray_operand.h"
#include "compiler/tokens/xmp_directive.h"

namespace tasuki::cc {

// Errors are reported, and the result is empty.
std::string lower_directive(const Unit& in, const Directive& directive);

// Is this node array one of a function, made each time its declaration is reached: because its sizes are
// known then, or the nodes that execute it? Others are there before main.
bool is_automatic(const Unit& in, const Directive& nodes);

// The beginning of a call of a sync function, up to its first argument, that stands behind an image
// directive.
std::string lower_sync(const Unit& in, const Directive& image, size_t function);

}  // namespace tasuki::cc
