// See os/memory/keys.h. The permission overlays of ARMv8.9 would be keys; nothing here uses them yet, so
// there are none: have_keys() says so before anybody asks for rights.
#pragma once

#include <cstdint>

namespace tasuki::os {

namespace arch {
inline bool have_keys() {
  return false;
}
}  // namespace arch

inline uint32_t key_rights() {
  return 0;
}
inline void set_key_rights(uint32_t) {}

}  // namespace tasuki::os
