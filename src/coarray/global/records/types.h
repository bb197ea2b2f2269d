// The element types of reductions (enum tasuki_xmp_type) as those of C++.
#pragma once

#include <complex>

#include "tasuki/compiler/global_view.h"

namespace tasuki::coarray {

// Calls function with a value of the type; false if there is no such type.
template <typename Function>
bool with_type(int type, Function function) {
  switch (type) {
    case TASUKI_XMP_BOOL:
      return function(bool()), true;
    case TASUKI_XMP_CHAR:
      return function(char()), true;
    case TASUKI_XMP_UNSIGNED_CHAR:
      return function(static_cast<unsigned char>(0)), true;
    case TASUKI_XMP_SHORT:
      return function(short()), true;
    case TASUKI_XMP_UNSIGNED_SHORT:
      return function(static_cast<unsigned short>(0)), true;
    case TASUKI_XMP_INT:
      return function(0), true;
    case TASUKI_XMP_UNSIGNED:
      return function(0U), true;
    case TASUKI_XMP_LONG:
      return function(0L), true;
    case TASUKI_XMP_UNSIGNED_LONG:
      return function(0UL), true;
    case TASUKI_XMP_LONG_LONG:
      return function(0LL), true;
    case TASUKI_XMP_UNSIGNED_LONG_LONG:
      return function(0ULL), true;
    case TASUKI_XMP_FLOAT:
      return function(0.0F), true;
    case TASUKI_XMP_DOUBLE:
      return function(0.0), true;
    case TASUKI_XMP_LONG_DOUBLE:
      return function(0.0L), true;
    case TASUKI_XMP_COMPLEX_FLOAT:
      return function(std::complex<float>()), true;
    case TASUKI_XMP_COMPLEX_DOUBLE:
      return function(std::complex<double>()), true;
    case TASUKI_XMP_COMPLEX_LONG_DOUBLE:
      return function(std::complex<long double>()), true;
    default:
      return false;
  }
}

}  // namespace tasuki::coarray
