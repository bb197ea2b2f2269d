// How an event's data are packed: kind (8 bits), byte (8), middle (16), low (32); or kind and a pointer.
#pragma once

#include <cstdint>

namespace tasuki::netsim {

struct Transit;

constexpr uint64_t make_data(uint8_t kind, uint32_t byte, uint32_t middle, uint32_t low) {
  return uint64_t{kind} << 56 | uint64_t{byte & 0xff} << 48 | uint64_t{middle & 0xffff} << 32 | low;
}
constexpr uint8_t kind_of(uint64_t data) {
  return static_cast<uint8_t>(data >> 56);
}
constexpr uint32_t byte_of(uint64_t data) {
  return static_cast<uint32_t>(data >> 48 & 0xff);
}
constexpr uint32_t middle_of(uint64_t data) {
  return static_cast<uint32_t>(data >> 32 & 0xffff);
}
constexpr uint32_t low_of(uint64_t data) {
  return static_cast<uint32_t>(data);
}
inline uint64_t make_pointer_data(uint8_t kind, Transit* pointer) {
  return uint64_t{kind} << 56 | reinterpret_cast<uintptr_t>(pointer);  // user addresses have at most 56 bits
}
inline Transit* pointer_of(uint64_t data) {
  return reinterpret_cast<Transit*>(data & 0x00ffffffffffffffu);
}

}  // namespace tasuki::netsim
