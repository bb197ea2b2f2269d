// What the dynamic linker has loaded into this process. It is in memory, and the dynamic linker has judged
// it: nothing is checked here, and nothing that runs code of the dynamic linker's is called.
#pragma once

#include <link.h>

#include <cstdint>

namespace tasuki::elf {

struct LoadedRange {
  uintptr_t begin = UINTPTR_MAX, end = 0;

  bool holds(uintptr_t address) const { return address >= begin && address < end; }
};

// From the first byte of an object's segments to the end of the last one; what lies between them counts.
// Inline: a preloaded library has it without linking anything.
inline LoadedRange loaded_range(const dl_phdr_info& object) {
  LoadedRange range;
  for (int i = 0; i < object.dlpi_phnum; i++) {
    const ElfW(Phdr)& p = object.dlpi_phdr[i];
    if (p.p_type != PT_LOAD) continue;
    const uintptr_t begin = object.dlpi_addr + p.p_vaddr;
    range.begin = begin < range.begin ? begin : range.begin;
    range.end = begin + p.p_memsz > range.end ? begin + p.p_memsz : range.end;
  }
  return range;
}

// Its dynamic section; nullptr: none.
inline const ElfW(Dyn) * loaded_dynamic(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; i++)
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
      return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  return nullptr;
}

// What the dynamic section of a loaded object says about its symbols.
class LoadedSymbols {
 public:
  // `base`: where the object lies. The dynamic linker adds it to what stands in a dynamic section, but not in
  // the vDSO's.
  LoadedSymbols(const ElfW(Dyn) * dynamic, uintptr_t base);

  // Whether the object uses the name without defining it.
  bool refer_to(const char* name) const;
  bool define(const char* name) const;

 private:
  bool is(uint32_t i, const char* name, bool defined) const;

  const ElfW(Sym) * table_ = nullptr;
  const char* names_ = nullptr;
  const uint32_t* hash_ = nullptr;      // the classic table counts all symbols;
  const uint32_t* gnu_hash_ = nullptr;  // the GNU table says where the defined ones begin
};

}  // namespace tasuki::elf
