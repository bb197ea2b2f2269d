#include "elf/loaded.h"

#include <cstring>

namespace tasuki::elf {

LoadedSymbols::LoadedSymbols(const ElfW(Dyn) * dynamic, uintptr_t base) {
  const auto address = [base](const ElfW(Dyn) * d) {
    return d->d_un.d_ptr < base ? d->d_un.d_ptr + base : d->d_un.d_ptr;
  };
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
    switch (d->d_tag) {
      case DT_SYMTAB:
        table_ = reinterpret_cast<const ElfW(Sym)*>(address(d));
        break;
      case DT_STRTAB:
        names_ = reinterpret_cast<const char*>(address(d));
        break;
      case DT_HASH:
        hash_ = reinterpret_cast<const uint32_t*>(address(d));
        break;
      case DT_GNU_HASH:
        gnu_hash_ = reinterpret_cast<const uint32_t*>(address(d));
        break;
    }
  }
}

bool LoadedSymbols::is(uint32_t i, const char* name, bool defined) const {
  return (table_[i].st_shndx != SHN_UNDEF) == defined && strcmp(names_ + table_[i].st_name, name) == 0;
}

bool LoadedSymbols::refer_to(const char* name) const {
  if (!table_ || !names_) return false;
  const uint32_t end = gnu_hash_ ? gnu_hash_[1] : hash_ ? hash_[1] : 0;
  for (uint32_t i = 1; i < end; ++i)
    if (is(i, name, false)) return true;
  return false;
}

bool LoadedSymbols::define(const char* name) const {
  if (!table_ || !names_) return false;
  if (!gnu_hash_) {
    for (uint32_t i = 1; hash_ && i < hash_[1]; ++i)
      if (is(i, name, true)) return true;
    return false;
  }
  // Number of buckets, first symbol, words of the filter, its shift; filter, buckets, chains.
  const uint32_t buckets = gnu_hash_[0], first = gnu_hash_[1];
  const uint32_t* bucket = gnu_hash_ + 4 + gnu_hash_[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  if (buckets == 0) return false;
  uint32_t h = 5381;
  for (const char* c = name; *c != 0; ++c) h = h * 33 + static_cast<unsigned char>(*c);
  for (uint32_t i = bucket[h % buckets]; i >= first && i != 0; ++i) {
    if ((chain[i - first] | 1) == (h | 1) && is(i, name, true)) return true;
    if ((chain[i - first] & 1) != 0) break;
  }
  return false;
}

}  // namespace tasuki::elf
