// What the random programs about collective operations have in common: errors, the clock, bytes.
#include <time.h>

#include <cstring>

#include "collectives.h"

namespace collectives {

void must(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(std::string(call) + ": " + text);
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Bytes random_bytes(uint64_t seed, size_t first, size_t n) {
  Bytes bytes(n);
  size_t i = 0;
  const auto byte = [&](size_t at) {
    return static_cast<unsigned char>(word_of(seed, at / 8) >> (8 * (at % 8)));
  };
  for (; i < n && (first + i) % 8 != 0; i++) bytes[i] = byte(first + i);
  for (; i + 8 <= n; i += 8) {
    const uint64_t word = word_of(seed, (first + i) / 8);
    memcpy(bytes.data() + i, &word, 8);
  }
  for (; i < n; i++) bytes[i] = byte(first + i);
  return bytes;
}

}  // namespace collectives
