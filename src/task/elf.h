// Reading ELF files: what a program needs and whether a second one can live beside it in one address space.
// The input is not trusted: any bytes give an answer, never a crash (fuzzed).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tasuki::task {

// The bytes of a file, or of a test.
struct ByteSource {
  int fd = -1;                    // >= 0: a file
  const uint8_t* data = nullptr;  // else memory
  uint64_t size = 0;

  bool read(uint64_t offset, void* to, size_t length) const;
};

// One PT_LOAD, as in the file.
struct Segment {
  uint64_t offset, address, file_size, memory_size;
  int protection;  // PROT_*
};

struct ElfImage {
  // What execve would do with it. `foreign`: not an ELF file of this machine, or one whose headers contradict
  // each other or the file's size. The kernel is the judge of those: they are never loaded here.
  enum class Kind { foreign, fixed_address, static_program, dynamic_program };
  Kind kind = Kind::foreign;
  std::string defect;               // for `foreign`: what is wrong, in a few words
  std::string interpreter;          // path in PT_INTERP, empty if none
  std::vector<std::string> needed;  // DT_NEEDED
  bool sanitizer = false;           // built with a sanitizer whose shadow memory has a fixed address
  uint64_t entry = 0;
  uint64_t program_headers = 0;  // address, relative to the load address, of the program header table
  uint16_t program_header_count = 0;
  uint64_t alignment = 0;         // largest of the segments'
  std::vector<Segment> segments;  // ascending, not overlapping, inside the file
};

ElfImage read_elf(const ByteSource& file);

// Where new mappings go: wherever the kernel likes, or, with a seed, at random places derived from it (the
// paper's advice against stray writes: load the tasks elsewhere in every run and compare).
class Placement {
 public:
  explicit Placement(uint64_t seed) : state_(seed) {}

  // Inaccessible address space; nullptr and errno as os::reserve.
  void* reserve(size_t length);
  // Moves what the kernel places next (program, libraries, heap) by a random distance.
  void shift();

 private:
  uint64_t next();
  uint64_t state_;  // 0: not random
};

// Loads a position-independent image (an interpreter) at a new address.
struct LoadedImage {
  uint64_t base;  // what is added to the image's addresses
  uint64_t begin, end;
};
Result<LoadedImage> load_image(const ElfImage& image, int fd, Placement* placement);

}  // namespace tasuki::task
