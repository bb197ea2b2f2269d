// What a dynamic linker reads of an ELF file: symbols, relocations, constructors, where to search libraries.
// As elf/image.h: any bytes give an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elf/image.h"

namespace tasuki::elf {

struct Symbol {
  std::string_view name;  // belongs to the Linking
  uint64_t value = 0, size = 0;
  bool defined = false, weak = false;  // defined: here, for others to use; not if it is thread-local
  bool resolver = false;               // STT_GNU_IFUNC: a function that says where the meant one is
};

struct Relocation {
  uint64_t where;
  uint32_t type;    // as in elf/machine.h; those of DT_RELR are kRelative
  uint32_t symbol;  // index; 0: none
  int64_t addend;
};

struct Linking {
  Linking() = default;
  Linking(Linking&&) = default;  // not copied: names point into `strings`
  Linking& operator=(Linking&&) = default;

  std::string search_path;              // DT_RUNPATH, or else DT_RPATH: folders with ':' between them
  std::vector<Symbol> symbols;          // [0] is nobody; relocations[i].symbol is an index that is there
  std::vector<Relocation> relocations;  // each of a word of 8 bytes, or a copy (kCopy)
  bool text_relocations = false;        // DT_TEXTREL: if not set, all words are in writable segments
  uint64_t init = 0, fini = 0;          // 0: none
  Range preinit_array, init_array, fini_array;
  uint64_t unwind_table = 0;  // .eh_frame; 0: none, or not where compilers put it

  // A defined one; nullptr: none.
  const Symbol* find(std::string_view name) const;

  std::vector<char> strings;
  std::unordered_map<std::string_view, uint32_t> defined;  // indices of symbols
};

// Of an image that has a dynamic section. Errors as of read_image.
Result<Linking> read_linking(const ByteSource& file, const Image& image);

}  // namespace tasuki::elf
