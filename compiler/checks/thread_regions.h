// Directives that every thread of a parallel region would execute. XcalableMP's are for one thread of each
// node (XcalableMP 1.4, chapter 8): a node that entered a barrier once for each thread would never meet the
// others.
//
//     #pragma omp parallel
//     {
//       #pragma omp for
//       #pragma xmp loop on t(i)                    allowed: nobody is told of it
//       for (..) ..
//       #pragma omp single                          or master, masked, critical, ordered, sections
//       #pragma xmp reduction(+ : s)                allowed
//       #pragma xmp reduction(+ : s)                an error
//     }
//
// What a function does that is called in such a region is not seen.
#pragma once

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

// Reports them.
void check_thread_regions(const Unit& in);

}  // namespace tasuki::cc
