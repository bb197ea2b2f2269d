// The dynamic section: a table of tags with values, and the strings that some values lie in. Inside src/elf.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "elf/image.h"

namespace tasuki::elf {

struct Dynamic {
  std::vector<Elf64_Dyn> entries;  // without DT_NULL and what follows it
  std::vector<char> strings;

  // Of the tag's last entry; 0 if it has none.
  uint64_t value(int64_t tag) const;
  // The string at an offset of the string table; false if it does not end there.
  bool text(uint64_t offset, std::string_view* text) const;
};

// Of an image that has one.
Result<Dynamic> read_dynamic(const ByteSource& file, const Image& image);

inline Status corrupt(const char* what) {
  return Status::error(EINVAL, what);
}

}  // namespace tasuki::elf
