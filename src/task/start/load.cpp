#include "task/start/load.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "os/memory/mapping.h"

namespace tasuki::task {

using elf::Segment;
using os::page_ceil;
using os::page_floor;

uint64_t
Placement::next() {  // splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators)
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void* Placement::reserve(size_t length) {
  for (int attempt = 0; state_ != 0 && attempt < 16; attempt++) {
    // The middle of user space: clear of the program images below and the kernel's own choices above.
    const uint64_t at = page_floor((uint64_t{1} << 44) + next() % (uint64_t{5} << 44));
    if (void* p = os::reserve(length, reinterpret_cast<void*>(at))) return p;
    if (errno != EEXIST) break;
  }
  return os::reserve(length);
}

void Placement::shift() {
  if (state_ == 0) return;
  // The kernel fills its area from the top; what is reserved here it can use no more.
  for (int i = 0; i < 4; i++)
    os::reserve(page_floor(os::page_size() + next() % (uint64_t{1} << (22 + 4 * i))));
}

Result<LoadedImage> load_image(const elf::Image& image, int fd, Placement* placement) {
  const uint64_t first = page_floor(image.segments.front().address);
  const uint64_t last = page_ceil(image.segments.back().address + image.segments.back().memory_size);
  const uint64_t alignment = std::max<uint64_t>(image.alignment, os::page_size());
  const size_t span = last - first;
  const size_t slack = alignment - os::page_size();
  char* reserved = static_cast<char*>(placement->reserve(span + slack));
  if (reserved == nullptr)
    return Status::error(errno, std::string("no address space for the program's loader: ") + strerror(errno));

  // Trim to the aligned part.
  const uint64_t start = (reinterpret_cast<uint64_t>(reserved) + alignment - 1) & ~(alignment - 1);
  char* at = reinterpret_cast<char*>(start);
  if (at != reserved) os::unmap(reserved, static_cast<size_t>(at - reserved));
  if (at + span != reserved + span + slack)
    os::unmap(at + span, static_cast<size_t>(reserved + span + slack - (at + span)));

  const uint64_t base = start - first;
  for (const Segment& s : image.segments) {
    const uint64_t begin = page_floor(base + s.address);
    const uint64_t file_end = base + s.address + s.file_size;
    const uint64_t memory_end = base + s.address + s.memory_size;
    bool ok = true;
    if (s.file_size > 0)
      ok = os::map_file_over(reinterpret_cast<void*>(begin), page_ceil(file_end) - begin, s.protection, fd,
                             page_floor(s.offset));
    const uint64_t zero_begin = s.file_size > 0 ? page_ceil(file_end) : begin;
    if (ok && s.memory_size > s.file_size) {
      // To the end of the page, as the kernel does: ld.so's first allocations rely on zeros behind its .bss.
      if ((s.protection & PROT_WRITE) != 0 && s.file_size > 0)
        memset(reinterpret_cast<void*>(file_end), 0, zero_begin - file_end);
      if (page_ceil(memory_end) > zero_begin)
        ok = os::map_memory_over(reinterpret_cast<void*>(zero_begin), page_ceil(memory_end) - zero_begin,
                                 s.protection);
    }
    if (!ok) {
      const int err = errno;
      os::unmap(at, span);
      return Status::error(err, std::string("cannot map the program's loader: ") + strerror(err));
    }
  }
  return LoadedImage{base, start, start + span};
}

}  // namespace tasuki::task
