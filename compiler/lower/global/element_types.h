// The types of C that reductions and procedures can compute with, as enum tasuki_xmp_type.
#pragma once

#include <string_view>

#include "tasuki/compiler/global_view.h"

namespace tasuki::cc {

struct ElementType {
  std::string_view name;  // as libclang writes it
  tasuki_xmp_type type;
};
inline constexpr ElementType kElementTypes[] = {{"_Bool", TASUKI_XMP_BOOL},
                                                {"char", TASUKI_XMP_CHAR},
                                                {"signed char", TASUKI_XMP_CHAR},
                                                {"unsigned char", TASUKI_XMP_UNSIGNED_CHAR},
                                                {"short", TASUKI_XMP_SHORT},
                                                {"unsigned short", TASUKI_XMP_UNSIGNED_SHORT},
                                                {"int", TASUKI_XMP_INT},
                                                {"unsigned int", TASUKI_XMP_UNSIGNED},
                                                {"long", TASUKI_XMP_LONG},
                                                {"unsigned long", TASUKI_XMP_UNSIGNED_LONG},
                                                {"long long", TASUKI_XMP_LONG_LONG},
                                                {"unsigned long long", TASUKI_XMP_UNSIGNED_LONG_LONG},
                                                {"float", TASUKI_XMP_FLOAT},
                                                {"double", TASUKI_XMP_DOUBLE},
                                                {"long double", TASUKI_XMP_LONG_DOUBLE},
                                                {"_Complex float", TASUKI_XMP_COMPLEX_FLOAT},
                                                {"_Complex double", TASUKI_XMP_COMPLEX_DOUBLE},
                                                {"_Complex long double", TASUKI_XMP_COMPLEX_LONG_DOUBLE}};

}  // namespace tasuki::cc
