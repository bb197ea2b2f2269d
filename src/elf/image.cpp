#include "elf/image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/cpu.h"
#include "elf/dynamic.h"
#include "elf/machine.h"

namespace tasuki::elf {
namespace {

constexpr size_t kMaxProgramHeaders = 512;

uint64_t page_floor(uint64_t x) {
  return x & ~(page_size() - 1);
}
uint64_t page_ceil(uint64_t x) {
  return page_floor(x + page_size() - 1);
}

// a + b, false on overflow.
bool add(uint64_t a, uint64_t b, uint64_t* sum) {
  return !__builtin_add_overflow(a, b, sum);
}

// Whether [address, address + length) lies in the `size` bytes from `begin` on.
bool within(uint64_t address, uint64_t length, uint64_t begin, uint64_t size) {
  return address >= begin && address - begin <= size && length <= size - (address - begin);
}

// The kernel accepts segments in any order; ld.so maps them with MAP_FIXED between the first and the last
// one's address, so an unordered image would overwrite what is mapped beside it. Compilers and linkers write
// them in order (the ELF specification demands it).
const char* check_segments(const Image& image, uint64_t file_size) {
  uint64_t previous_end = 0;
  for (const Segment& s : image.segments) {
    uint64_t file_end, end;
    if (!add(s.offset, s.file_size, &file_end) || file_end > file_size)
      return "truncated: a segment ends behind the file";
    if (s.memory_size < s.file_size) return "a segment is smaller in memory than in the file";
    if (!add(s.address, s.memory_size, &end) || end > kUserSpaceEnd)
      return "a segment's address is out of range";
    if (s.address % page_size() != s.offset % page_size()) return "a segment is not aligned to pages";
    if (page_floor(s.address) < previous_end) return "segments overlap or are not in order";
    previous_end = s.memory_size == 0 ? page_floor(s.address) : page_ceil(end);
  }
  return nullptr;
}

bool names_sanitizer(std::string_view needed) {
  for (const char* name : {"libasan.so", "libtsan.so", "libhwasan.so", "liblsan.so", "libclang_rt.asan",
                           "libclang_rt.tsan", "libclang_rt.msan", "libclang_rt.hwasan"})
    if (needed.compare(0, strlen(name), name) == 0) return true;
  return false;
}

using namespace std::string_view_literals;
constexpr std::string_view kAddressSanitizer = "\0__asan_init\0"sv;

// Static sanitizer runtimes export their entry points.
bool exports_sanitizer(std::string_view strings) {
  for (const std::string_view name :
       {kAddressSanitizer, "\0__tsan_init\0"sv, "\0__msan_init\0"sv, "\0__hwasan_init\0"sv})
    if (strings.find(name) != std::string_view::npos) return true;
  return false;
}

Status read_needed(const ByteSource& file, Image* image) {
  const Result<Dynamic> dynamic = read_dynamic(file, *image);
  if (!dynamic.ok()) return dynamic.status();
  for (const Elf64_Dyn& e : dynamic.value().entries) {
    if (e.d_tag != DT_NEEDED) continue;
    std::string_view name;
    if (!dynamic.value().text(e.d_un.d_val, &name))
      return corrupt("a library's name lies outside the string table");
    image->needed.emplace_back(name);
    image->sanitizer |= names_sanitizer(name);
    image->address_sanitizer |= name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan");
  }
  const std::vector<char>& strings = dynamic.value().strings;
  const std::string_view exported(strings.data(), strings.size());
  image->sanitizer |= exports_sanitizer(exported);
  image->address_sanitizer |= exported.find(kAddressSanitizer) != std::string_view::npos;
  return {};
}

}  // namespace

bool ByteSource::read(uint64_t offset, void* to, size_t length) const {
  if (offset > size || length > size - offset) return false;
  if (fd < 0) {
    if (length > 0) memcpy(to, data + offset, length);
    return true;
  }
  char* p = static_cast<char*>(to);
  while (length > 0) {
    const ssize_t n = pread(fd, p, length, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    offset += static_cast<uint64_t>(n);
    length -= static_cast<size_t>(n);
  }
  return true;
}

uint64_t Image::span() const {
  return page_ceil(segments.back().address + segments.back().memory_size);
}

bool Image::file_offset(uint64_t address, uint64_t length, uint64_t* offset) const {
  for (const Segment& s : segments) {
    if (!within(address, length, s.address, s.file_size)) continue;
    *offset = s.offset + (address - s.address);
    return true;
  }
  return false;
}

bool Image::holds(uint64_t address, uint64_t length, bool writable) const {
  for (const Segment& s : segments)
    if ((!writable || (s.protection & PROT_WRITE) != 0) && within(address, length, s.address, s.memory_size))
      return true;
  return false;
}

Result<Image> read_image(const ByteSource& file) {
  Elf64_Ehdr header;
  if (!file.read(0, &header, sizeof header)) return corrupt("shorter than an ELF header");
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Status::error(ENOEXEC, "not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine)
    return Status::error(ENOTSUP, "built for another machine");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return corrupt("not a program");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return corrupt("program headers of unknown size");
  if (header.e_phnum == 0 || header.e_phnum > kMaxProgramHeaders) return corrupt("no program headers");

  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!file.read(header.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr)))
    return corrupt("truncated: no program headers");

  Image image;
  image.position_independent = header.e_type == ET_DYN;
  image.entry = header.e_entry;
  image.program_header_count = header.e_phnum;
  for (const Elf64_Phdr& p : headers) {
    if (p.p_type == PT_LOAD) {
      int protection = 0;
      if ((p.p_flags & PF_R) != 0) protection |= PROT_READ;
      if ((p.p_flags & PF_W) != 0) protection |= PROT_WRITE;
      if ((p.p_flags & PF_X) != 0) protection |= PROT_EXEC;
      if ((p.p_align & (p.p_align - 1)) != 0 || p.p_align > kUserSpaceEnd)
        return corrupt("a segment's alignment is not a power of two");
      image.alignment = std::max<uint64_t>(image.alignment, p.p_align);
      image.segments.push_back({p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz, protection});
      if (header.e_phoff >= p.p_offset && header.e_phoff - p.p_offset < p.p_filesz)
        image.program_headers = p.p_vaddr + (header.e_phoff - p.p_offset);
    } else if (p.p_type == PT_DYNAMIC) {
      image.dynamic = {p.p_vaddr, p.p_filesz};
    } else if (p.p_type == PT_GNU_EH_FRAME) {
      image.unwind_header = {p.p_vaddr, p.p_filesz};
    } else if (p.p_type == PT_TLS) {
      image.thread_local_size = std::max<uint64_t>(image.thread_local_size, p.p_memsz);
    } else if (p.p_type == PT_INTERP) {
      if (p.p_filesz < 2 || p.p_filesz > 4096) return corrupt("the interpreter's name has no sane length");
      std::string name(p.p_filesz, '\0');
      if (!file.read(p.p_offset, name.data(), name.size()))
        return corrupt("truncated: no interpreter's name");
      if (name.back() != '\0') return corrupt("the interpreter's name does not end");
      image.interpreter = name.c_str();
    }
  }
  if (image.segments.empty()) return corrupt("nothing to load");
  if (const char* defect = check_segments(image, file.size)) return corrupt(defect);
  if (image.dynamic)
    if (const Status status = read_needed(file, &image); !status.ok()) return status;

  if (image.interpreter.empty())
    image.kind = Image::Kind::static_program;
  else
    image.kind = image.position_independent ? Image::Kind::dynamic_program : Image::Kind::fixed_address;
  return image;
}

}  // namespace tasuki::elf
