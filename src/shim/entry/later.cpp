// What makes indirect functions of the names that few libraries have (route.h). In the file they are ordinary
// functions: the dynamic linker warns of an indirect function in an object that is not relocated yet, and a
// library that binds all its symbols at once (Intel MPI's for Fortran) is relocated before this one. The
// program itself is relocated after it, and finds them indirect.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "os/raw.h"

extern "C" {
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
// The section of these functions (gen/generate.py). The shim for the standard ABI has none.
extern const unsigned char __start_tasuki_later[] __attribute__((weak, visibility("hidden")));
extern const unsigned char __stop_tasuki_later[] __attribute__((weak, visibility("hidden")));
}

namespace tasuki::shim::detail {
namespace {

// In that section each function stands so far behind the one that says where it is, if it is.
constexpr uintptr_t kBefore = 32;

uintptr_t base() {
  return reinterpret_cast<uintptr_t>(&__ehdr_start);
}

// Dynamic linkers add the base in the dynamic section itself, or not.
uintptr_t dynamic_address(ElfW(Sxword) tag) {
  for (const ElfW(Dyn)* d = _DYNAMIC; d->d_tag != DT_NULL; d++)
    if (d->d_tag == tag) return d->d_un.d_ptr < base() ? d->d_un.d_ptr + base() : d->d_un.d_ptr;
  return 0;
}

// The rights of the segment that holds an address; 0: none does.
ElfW(Word) rights_at(uintptr_t address) {
  const auto* p = reinterpret_cast<const ElfW(Phdr)*>(base() + __ehdr_start.e_phoff);
  for (int i = 0; i < __ehdr_start.e_phnum; i++)
    if (p[i].p_type == PT_LOAD && address - base() - p[i].p_vaddr < p[i].p_memsz) return p[i].p_flags;
  return 0;
}

template <typename Visit>
void each_defined(ElfW(Sym) * symbols, Visit visit) {
  // Number of buckets, first symbol, words of the filter, its shift; filter, buckets, chains.
  const auto* hash = reinterpret_cast<const uint32_t*>(dynamic_address(DT_GNU_HASH));
  if (hash == nullptr) return;
  const uint32_t* bucket = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + hash[0];
  for (uint32_t b = 0; b < hash[0]; b++)
    for (uint32_t i = bucket[b]; i != 0; i++) {
      visit(&symbols[i]);
      if ((chain[i - hash[1]] & 1) != 0) break;
    }
}

bool is_later(const ElfW(Sym) & symbol) {
  const uintptr_t at = base() + symbol.st_value;
  return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
         at >= reinterpret_cast<uintptr_t>(__start_tasuki_later) &&
         at < reinterpret_cast<uintptr_t>(__stop_tasuki_later);
}

// By system calls only: libc need not be relocated. What cannot be written stays as it is.
void become_indirect() {
  ElfW(Sym)* const symbols = reinterpret_cast<ElfW(Sym)*>(dynamic_address(DT_SYMTAB));
  if (symbols == nullptr) return;
  ElfW(Sym)* first = nullptr, *last = nullptr;
  each_defined(symbols, [&](ElfW(Sym) * symbol) {
    if (!is_later(*symbol)) return;
    if (first == nullptr || symbol < first) first = symbol;
    if (last == nullptr || symbol > last) last = symbol;
  });
  if (first == nullptr) return;
  // An executable page of this code must not lose that right for a moment.
  const ElfW(Word) rights = rights_at(reinterpret_cast<uintptr_t>(first));
  if ((rights & PF_R) == 0 || (rights & PF_X) != 0) return;
  constexpr uintptr_t kPage = 4096;  // larger ones, which only libc would know of, cannot be written this way
  const uintptr_t begin = reinterpret_cast<uintptr_t>(first) & ~(kPage - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(last + 1) + kPage - 1) & ~(kPage - 1);
  const long before = PROT_READ | ((rights & PF_W) != 0 ? PROT_WRITE : 0);
  const auto protect = [&](long protection) {
    return os::raw_syscall(SYS_mprotect, static_cast<long>(begin), static_cast<long>(end - begin),
                           protection) == 0;
  };
  if (!protect(PROT_READ | PROT_WRITE)) return;
  each_defined(symbols, [](ElfW(Sym) * symbol) {
    if (!is_later(*symbol)) return;
    symbol->st_value -= kBefore;
    symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
  });
  protect(before);
}

void do_nothing() {}

}  // namespace

// The dynamic linker calls this when it has done all else for this object, and before it relocates the
// program: earlier than any constructor.
extern "C" __attribute__((visibility("hidden"), used)) void (*tasuki_when_relocated())() {
  become_indirect();
  return &do_nothing;
}
extern "C" __attribute__((visibility("hidden"), ifunc("tasuki_when_relocated"))) void tasuki_relocated();
extern "C"
    __attribute__((visibility("hidden"), used)) void (*const volatile tasuki_asks)() = tasuki_relocated;

}  // namespace tasuki::shim::detail
