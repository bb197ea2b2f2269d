#include "mpi/entry/profiler.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace tasuki::mpi::detail {

namespace {

// What the dynamic section of a loaded object says about its symbols.
struct Symbols {
  const ElfW(Sym) * table = nullptr;
  const char* names = nullptr;
  uint32_t undefined_end = 0;  // the undefined symbols are among the entries [1, undefined_end)
};

Symbols symbols_of(const link_map* object) {
  Symbols symbols;
  const uint32_t* hash = nullptr;
  const uint32_t* gnu_hash = nullptr;
  for (const ElfW(Dyn)* d = object->l_ld; d->d_tag != DT_NULL; ++d) {
    switch (d->d_tag) {
      case DT_SYMTAB:
        symbols.table = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
        break;
      case DT_STRTAB:
        symbols.names = reinterpret_cast<const char*>(d->d_un.d_ptr);
        break;
      case DT_HASH:
        hash = reinterpret_cast<const uint32_t*>(d->d_un.d_ptr);
        break;
      case DT_GNU_HASH:
        gnu_hash = reinterpret_cast<const uint32_t*>(d->d_un.d_ptr);
        break;
    }
  }
  // The classic table counts all symbols; the GNU table says where the defined ones begin.
  if (gnu_hash)
    symbols.undefined_end = gnu_hash[1];
  else if (hash)
    symbols.undefined_end = hash[1];
  return symbols;
}

bool refers_to(const link_map* object, const char* name) {
  const Symbols symbols = symbols_of(object);
  if (!symbols.table || !symbols.names) return false;
  for (uint32_t i = 1; i < symbols.undefined_end; ++i) {
    const ElfW(Sym)& s = symbols.table[i];
    if (s.st_shndx == SHN_UNDEF && strcmp(symbols.names + s.st_name, name) == 0) return true;
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

}  // namespace tasuki::mpi::detail
