#include "os/memory/keys.h"

#include <cpuid.h>
#include <sys/mman.h>

#include "os/memory/mapping.h"
#include "os/raw.h"

namespace tasuki::os {

bool have_keys() {
  unsigned a, b, c, d;
  constexpr unsigned kEnabledByKernel = 1u << 4;  // OSPKE
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & kEnabledByKernel) != 0;
}

int take_key() {
  const long key = raw_syscall(SYS_pkey_alloc, 0, 0);
  return key > 0 && key < kKeys ? static_cast<int>(key) : -1;
}

bool set_key(void* at, size_t length, int protection, int key) {
  return raw_syscall(SYS_pkey_mprotect, raw_arg(at), static_cast<long>(length), protection, key) == 0;
}

void* map_open_memory(size_t length) {
  void* at = map_memory(length);
  if (g_guarded && at != nullptr) set_key(at, length, PROT_READ | PROT_WRITE, 0);
  return at;
}

}  // namespace tasuki::os
