// Arguments of the transformational procedures (XcalableMP 1.4, section 7.9), which are sections that are
// whole arrays:
//
//     xmp_transpose(x[:][:], a[:][:], 0)      xmp_transpose(xmp_desc_of(x), xmp_desc_of(a), 0)
//
// Later stages see the second form only. Other sections are an error.
#pragma once

#include <string>

#include "compiler/text/diagnostics.h"
#include "compiler/text/text.h"

namespace tasuki::cc {

std::string whole_arrays_as_descriptors(const Text& text, Diagnostics* diagnostics);

}  // namespace tasuki::cc
