// libFuzzer target: ELF files (cmake -DTASUKI_FUZZERS=ON with clang; ./elf_fuzz CORPUS).
#include <cstddef>
#include <cstdint>

#include "task/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tasuki::task::read_elf({-1, data, size});
  return 0;
}
