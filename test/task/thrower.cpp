#include <stdexcept>
#include <string>

__attribute__((visibility("default"))) void throw_from_library(int value);

void throw_from_library(int value) {
  throw std::runtime_error("thrown " + std::to_string(value));
}
