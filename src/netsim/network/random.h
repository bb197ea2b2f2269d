// Random numbers by counter: mix(counter) is the same on any number of threads.
#pragma once

#include <cstdint>

namespace tasuki::netsim {

// 64 well mixed bits (the finaliser of SplitMix64): random numbers, and the hash of results.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace tasuki::netsim
