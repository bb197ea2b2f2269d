#include "shim/entry/profiler.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace tasuki::shim::detail {

namespace {

// What the dynamic section of a loaded object says about its symbols.
struct Symbols {
  const ElfW(Sym) * table = nullptr;
  const char* names = nullptr;
  const uint32_t* hash = nullptr;      // the classic table counts all symbols;
  const uint32_t* gnu_hash = nullptr;  // the GNU table says where the defined ones begin

  bool is(uint32_t i, const char* name, bool defined) const {
    return (table[i].st_shndx != SHN_UNDEF) == defined && strcmp(names + table[i].st_name, name) == 0;
  }
};

// `base`: where the object lies. The dynamic linker adds it to what stands in a dynamic section, but not in
// the vDSO's.
Symbols symbols_of(const ElfW(Dyn) * dynamic, uintptr_t base) {
  Symbols symbols;
  const auto address = [base](const ElfW(Dyn) * d) {
    return d->d_un.d_ptr < base ? d->d_un.d_ptr + base : d->d_un.d_ptr;
  };
  for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
    switch (d->d_tag) {
      case DT_SYMTAB:
        symbols.table = reinterpret_cast<const ElfW(Sym)*>(address(d));
        break;
      case DT_STRTAB:
        symbols.names = reinterpret_cast<const char*>(address(d));
        break;
      case DT_HASH:
        symbols.hash = reinterpret_cast<const uint32_t*>(address(d));
        break;
      case DT_GNU_HASH:
        symbols.gnu_hash = reinterpret_cast<const uint32_t*>(address(d));
        break;
    }
  }
  return symbols;
}

bool refers_to(const link_map* object, const char* name) {
  const Symbols s = symbols_of(object->l_ld, object->l_addr);
  if (!s.table || !s.names) return false;
  const uint32_t end = s.gnu_hash ? s.gnu_hash[1] : s.hash ? s.hash[1] : 0;
  for (uint32_t i = 1; i < end; ++i)
    if (s.is(i, name, false)) return true;
  return false;
}

bool defines(const Symbols& s, const char* name) {
  if (!s.table || !s.names) return false;
  if (!s.gnu_hash) {
    for (uint32_t i = 1; s.hash && i < s.hash[1]; ++i)
      if (s.is(i, name, true)) return true;
    return false;
  }
  // Number of buckets, first symbol, words of the filter, its shift; filter, buckets, chains.
  const uint32_t buckets = s.gnu_hash[0], first = s.gnu_hash[1];
  const uint32_t* bucket = s.gnu_hash + 4 + s.gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  if (buckets == 0) return false;
  uint32_t h = 5381;
  for (const char* c = name; *c != 0; ++c) h = h * 33 + static_cast<unsigned char>(*c);
  for (uint32_t i = bucket[h % buckets]; i >= first && i != 0; ++i) {
    if ((chain[i - first] | 1) == (h | 1) && s.is(i, name, true)) return true;
    if ((chain[i - first] & 1) != 0) break;
  }
  return false;
}

}  // namespace

void* profiler_symbol(const char* mpi_name, const char* pmpi_name) {
  void* next = dlsym(RTLD_NEXT, mpi_name);
  if (!next) return nullptr;
  Dl_info info;
  link_map* object = nullptr;
  if (!dladdr1(next, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) || !object) return nullptr;
  return refers_to(object, pmpi_name) ? next : nullptr;
}

bool defined_elsewhere(const char* name, const void* here) {
  struct Search {
    const char* name;
    uintptr_t here;
  } search{name, reinterpret_cast<uintptr_t>(here)};
  return dl_iterate_phdr(
             [](dl_phdr_info* object, size_t, void* data) {
               const Search& wanted = *static_cast<const Search*>(data);
               const ElfW(Dyn)* dynamic = nullptr;
               for (int i = 0; i < object->dlpi_phnum; ++i) {
                 const ElfW(Phdr)& p = object->dlpi_phdr[i];
                 const uintptr_t begin = object->dlpi_addr + p.p_vaddr;
                 if (p.p_type == PT_LOAD && wanted.here - begin < p.p_memsz) return 0;
                 if (p.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
               }
               return dynamic && defines(symbols_of(dynamic, object->dlpi_addr), wanted.name) ? 1 : 0;
             },
             &search) != 0;
}

}  // namespace tasuki::shim::detail
