// The processor, with the sizes of pages that it has. Each architecture has a file of its own, with the
// same names in it; no other code asks which one it is compiled for.
//
//   cpu_relax()         to be called in every turn of a loop that polls memory: frees the core's resources for
//                       its other hardware thread and ends speculation on the polled line
//   fetch_to_write(p)   asks for a cache line that will be written; a no-operation on processors that lack it.
//                       Stores to lines of another core otherwise wait for each other, one by one
//   kKeepsOrder         whether others see the stores of a processor in the program's order, and its loads take
//                       place in it
//   stream_line(to, from)   copies 64 bytes past the caches; `to` is a multiple of 16
//   finish_streams()        others see those stores before all that follow
//   kAddressBits            of the addresses that programs get
//   page_size()             bytes of this kernel's pages; a constant where all kernels have the same
//   kLargestPage            what pages have at most: a multiple of page_size() that the compiler knows
//
// Vectors of 32 bytes are instructions that a processor may lack. A function that TASUKI_WIDE_VECTORS marks
// uses them, and is to be called only where has_wide_vectors(). Both that and memcpy_is_slow_behind() may
// be asked when prepare_questions() has been called: before main, the order of constructors is not known.
//
//   memcpy_is_slow_behind()   whether memcpy is slow where base/copy.h says
#pragma once

#if defined(__x86_64__)
#include "base/cpu/x86_64.h"
#elif defined(__aarch64__)
#include "base/cpu/aarch64.h"
#else
#error "Tasuki is implemented for x86-64 and for aarch64"
#endif
