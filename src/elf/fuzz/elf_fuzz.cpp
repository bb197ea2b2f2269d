// libFuzzer target: ELF files (cmake -DTASUKI_FUZZERS=ON with clang; ./elf_fuzz CORPUS).
#include <cstddef>
#include <cstdint>

#include "elf/image.h"
#include "elf/linking.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tasuki::elf::ByteSource file{-1, data, size};
  const tasuki::Result<tasuki::elf::Image> image = tasuki::elf::read_image(file);
  if (image.ok() && image.value().dynamic) (void)tasuki::elf::read_linking(file, image.value()).ok();
  return 0;
}
