// Reading ELF files: what the headers of a program, a loader or a library say. The input is not trusted: any
// bytes give an answer, never a crash (fuzzed). What a dynamic linker needs besides is in elf/linking.h.
//
// Light: linked by what is preloaded into programs (no iostream, no locale).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace tasuki::elf {

// The bytes of a file, or of a test.
struct ByteSource {
  int fd = -1;                    // >= 0: a file
  const uint8_t* data = nullptr;  // else memory
  uint64_t size = 0;

  // False if not all of them are there.
  bool read(uint64_t offset, void* to, size_t length) const;
};

// One PT_LOAD, as in the file.
struct Segment {
  uint64_t offset, address, file_size, memory_size;
  int protection;  // PROT_*
};

// Memory of an image. Addresses are relative to where it is loaded, here and below.
struct Range {
  uint64_t address = 0, size = 0;
};

struct Image {
  // What execve would do with it. `foreign`: nothing that read_image takes. The kernel is the judge of such
  // files: they are never loaded here. A library is a static program: it names no interpreter.
  enum class Kind { foreign, fixed_address, static_program, dynamic_program };
  Kind kind = Kind::foreign;
  bool position_independent = false;  // ET_DYN
  std::string interpreter;            // path in PT_INTERP, empty if none
  std::vector<std::string> needed;    // DT_NEEDED
  bool sanitizer = false;             // built with a sanitizer whose shadow memory has a fixed address,
  bool address_sanitizer = false;     //   AddressSanitizer
  uint64_t entry = 0;
  uint64_t program_headers = 0;  // address of the program header table
  uint16_t program_header_count = 0;
  uint64_t alignment = 0;                       // largest of the segments'
  std::vector<Segment> segments;                // ascending, not overlapping, inside the file; not empty
  std::optional<Range> dynamic, unwind_header;  // PT_DYNAMIC, PT_GNU_EH_FRAME
  uint64_t thread_local_size = 0;               // PT_TLS

  // Bytes of address space from address 0 to the end of the last segment's last page.
  uint64_t span() const;
  // Where in the file the bytes of this memory are; false if not all of them are in one segment's file part.
  bool file_offset(uint64_t address, uint64_t length, uint64_t* offset) const;
  // Whether this is memory of one segment, of one that a program may write if `writable`.
  bool holds(uint64_t address, uint64_t length, bool writable) const;
};

// The one form of all errors of this part: a message in a few words, whose subject is the file, and
//   ENOEXEC: this is not an ELF file,
//   ENOTSUP: it is for another machine,
//   EINVAL: it is no program, or its parts contradict each other or the file's size.
Result<Image> read_image(const ByteSource& file);

}  // namespace tasuki::elf
