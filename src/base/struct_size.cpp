#include "base/struct_size.h"

#include <dlfcn.h>

namespace tasuki {

std::string struct_size_error(const char* what, const void* at, size_t size, size_t first, size_t alignment) {
  std::string message = std::string("the record of ") + what;
  Dl_info object;
  if (dladdr(at, &object) != 0 && object.dli_fname != nullptr)
    message += std::string(" in ") + object.dli_fname;
  message += " gives " + std::to_string(size) + " as its size in bytes, ";
  if (size > 0 && size <= kMostStructSize && size % alignment == 0)
    message += "and this library needs " + std::to_string(first) + " or more";
  else
    message += "which no version of it has";
  return message +
         ": it was compiled by another version of tasukicc; compile it again with the one that belongs "
         "to this library";
}

}  // namespace tasuki
