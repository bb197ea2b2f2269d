// Elements that the processor adds and compares in one instruction.
#pragma once

#include <cstdint>

namespace tasuki {

enum class Number : uint8_t {
  none,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64
};

// visit(T{}) for the type of a number; false: it is none.
template <typename Visit>
[[gnu::always_inline]] inline bool with_type(Number number, Visit visit) {
  switch (number) {
    case Number::int8:
      return visit(int8_t{});
    case Number::int16:
      return visit(int16_t{});
    case Number::int32:
      return visit(int32_t{});
    case Number::int64:
      return visit(int64_t{});
    case Number::uint8:
      return visit(uint8_t{});
    case Number::uint16:
      return visit(uint16_t{});
    case Number::uint32:
      return visit(uint32_t{});
    case Number::uint64:
      return visit(uint64_t{});
    case Number::float32:
      return visit(float{});
    case Number::float64:
      return visit(double{});
    case Number::none:
      break;
  }
  return false;
}

}  // namespace tasuki
