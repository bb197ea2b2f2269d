#include "os/memory/keys.h"

#include <sys/mman.h>

#include "os/memory/mapping.h"
#include "os/raw.h"

namespace tasuki::os {

bool have_keys() {
  return arch::have_keys();
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
