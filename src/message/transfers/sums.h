// Sums of numbers, element by element: what most updates of a window are. Knows layouts, not locks.
#pragma once

#include <cstring>
#include <type_traits>

#include "base/number.h"
#include "layout/layout.h"

namespace tasuki::message {

// Signed numbers are added as unsigned ones: sums wrap around.
template <typename T>
using Summand =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

template <typename T>
void add_one(char* target, const char* origin) {
  Summand<T> a, b;
  memcpy(&a, target, sizeof a);
  memcpy(&b, origin, sizeof b);
  a = static_cast<Summand<T>>(b + a);
  memcpy(target, &a, sizeof a);
}

// target += origin, for `bytes` of elements that lie in a row. False, with nothing done: not numbers.
bool add_row(Number number, char* target, const char* origin, uint64_t bytes);

// The same for packed bytes [from, from + bytes) of two regions of such elements; whole ones, at addresses of
// any alignment.
void add_region(Number number, const layout::Region& target, const layout::Region& origin, uint64_t from,
                uint64_t bytes);

}  // namespace tasuki::message
