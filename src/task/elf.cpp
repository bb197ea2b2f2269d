#include "task/elf.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/mapping.h"

namespace tasuki::task {
namespace {

using os::page_ceil;
using os::page_floor;

constexpr uint64_t kUserSpaceEnd = uint64_t{1} << 47;
constexpr size_t kMaxProgramHeaders = 512;
constexpr uint64_t kMaxStringTable = uint64_t{256} << 20;
constexpr size_t kMaxDynamicEntries = 65536;

ElfImage foreign(const char* defect) {
  ElfImage image;
  image.defect = defect;
  return image;
}

// a + b, false on overflow.
bool add(uint64_t a, uint64_t b, uint64_t* sum) {
  return !__builtin_add_overflow(a, b, sum);
}

// File offset of an address that the image's segments hold with `length` bytes of the file behind it.
bool file_offset(const ElfImage& image, uint64_t address, uint64_t length, uint64_t* offset) {
  for (const Segment& s : image.segments) {
    if (address < s.address || address - s.address > s.file_size) continue;
    const uint64_t inside = address - s.address;
    if (length > s.file_size - inside) continue;
    *offset = s.offset + inside;
    return true;
  }
  return false;
}

// The kernel accepts segments in any order; ld.so maps them with MAP_FIXED between the first and the last
// one's address, so an unordered image would overwrite what is mapped beside it. Compilers and linkers write
// them in order (the ELF specification demands it).
const char* check_segments(const ElfImage& image, uint64_t file_size) {
  uint64_t previous_end = 0;
  for (const Segment& s : image.segments) {
    uint64_t file_end, end;
    if (!add(s.offset, s.file_size, &file_end) || file_end > file_size)
      return "truncated: a segment ends behind the file";
    if (s.memory_size < s.file_size) return "a segment is smaller in memory than in the file";
    if (!add(s.address, s.memory_size, &end) || end > kUserSpaceEnd)
      return "a segment's address is out of range";
    if (s.address % os::kPageSize != s.offset % os::kPageSize) return "a segment is not aligned to pages";
    if (page_floor(s.address) < previous_end) return "segments overlap or are not in order";
    previous_end = s.memory_size == 0 ? page_floor(s.address) : page_ceil(end);
  }
  return nullptr;
}

struct Dynamic {
  uint64_t strings = 0, string_size = 0;
  std::vector<uint64_t> needed;
};

bool read_dynamic(const ByteSource& file, const Elf64_Phdr& header, Dynamic* dynamic) {
  const size_t count = std::min<uint64_t>(header.p_filesz / sizeof(Elf64_Dyn), kMaxDynamicEntries);
  std::vector<Elf64_Dyn> entries(count);
  if (!file.read(header.p_offset, entries.data(), count * sizeof(Elf64_Dyn))) return false;
  for (const Elf64_Dyn& e : entries) {
    if (e.d_tag == DT_NULL) break;
    if (e.d_tag == DT_STRTAB) dynamic->strings = e.d_un.d_ptr;
    if (e.d_tag == DT_STRSZ) dynamic->string_size = e.d_un.d_val;
    if (e.d_tag == DT_NEEDED) dynamic->needed.push_back(e.d_un.d_val);
  }
  return true;
}

bool names_sanitizer(const std::string& needed) {
  for (const char* name : {"libasan.so", "libtsan.so", "libhwasan.so", "liblsan.so", "libclang_rt.asan",
                           "libclang_rt.tsan", "libclang_rt.msan", "libclang_rt.hwasan"})
    if (needed.compare(0, strlen(name), name) == 0) return true;
  return false;
}

// Static sanitizer runtimes export their entry points.
bool exports_sanitizer(const std::string& strings) {
  using namespace std::string_view_literals;
  for (const std::string_view name :
       {"\0__asan_init\0"sv, "\0__tsan_init\0"sv, "\0__msan_init\0"sv, "\0__hwasan_init\0"sv})
    if (strings.find(name) != std::string::npos) return true;
  return false;
}

const char* read_dynamic_section(const ByteSource& file, const Elf64_Phdr& header, ElfImage* image) {
  Dynamic dynamic;
  if (!read_dynamic(file, header, &dynamic)) return "truncated: no dynamic section";
  if (dynamic.string_size == 0) return nullptr;
  uint64_t offset;
  if (dynamic.string_size > kMaxStringTable ||
      !file_offset(*image, dynamic.strings, dynamic.string_size, &offset))
    return "the dynamic section points outside the file";
  std::string strings(dynamic.string_size, '\0');
  if (!file.read(offset, strings.data(), strings.size())) return "truncated: no string table";
  for (const uint64_t at : dynamic.needed) {
    if (at >= strings.size()) return "a library's name lies outside the string table";
    image->needed.emplace_back(strings.c_str() + at);  // c_str: ends at the table's end at the latest
    image->sanitizer |= names_sanitizer(image->needed.back());
  }
  image->sanitizer |= exports_sanitizer(strings);
  return nullptr;
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

ElfImage read_elf(const ByteSource& file) {
  Elf64_Ehdr header;
  if (!file.read(0, &header, sizeof header)) return foreign("shorter than an ELF header");
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return foreign("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64)
    return foreign("built for another machine");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return foreign("not a program");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return foreign("program headers of unknown size");
  if (header.e_phnum == 0 || header.e_phnum > kMaxProgramHeaders) return foreign("no program headers");

  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!file.read(header.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr)))
    return foreign("truncated: no program headers");

  ElfImage image;
  image.entry = header.e_entry;
  image.program_header_count = header.e_phnum;
  const Elf64_Phdr* dynamic = nullptr;
  for (const Elf64_Phdr& p : headers) {
    if (p.p_type == PT_LOAD) {
      int protection = 0;
      if ((p.p_flags & PF_R) != 0) protection |= PROT_READ;
      if ((p.p_flags & PF_W) != 0) protection |= PROT_WRITE;
      if ((p.p_flags & PF_X) != 0) protection |= PROT_EXEC;
      if ((p.p_align & (p.p_align - 1)) != 0 || p.p_align > kUserSpaceEnd)
        return foreign("a segment's alignment is not a power of two");
      image.alignment = std::max<uint64_t>(image.alignment, p.p_align);
      image.segments.push_back({p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz, protection});
      if (header.e_phoff >= p.p_offset && header.e_phoff - p.p_offset < p.p_filesz)
        image.program_headers = p.p_vaddr + (header.e_phoff - p.p_offset);
    } else if (p.p_type == PT_DYNAMIC) {
      dynamic = &p;
    } else if (p.p_type == PT_INTERP) {
      if (p.p_filesz < 2 || p.p_filesz > 4096) return foreign("the interpreter's name has no sane length");
      std::string name(p.p_filesz, '\0');
      if (!file.read(p.p_offset, name.data(), name.size()))
        return foreign("truncated: no interpreter's name");
      if (name.back() != '\0') return foreign("the interpreter's name does not end");
      image.interpreter = name.c_str();
    }
  }
  if (image.segments.empty()) return foreign("nothing to load");
  if (const char* defect = check_segments(image, file.size)) return foreign(defect);
  if (dynamic != nullptr)
    if (const char* defect = read_dynamic_section(file, *dynamic, &image)) return foreign(defect);

  if (header.e_type == ET_EXEC)
    image.kind = image.interpreter.empty() ? ElfImage::Kind::static_program : ElfImage::Kind::fixed_address;
  else
    image.kind = image.interpreter.empty() ? ElfImage::Kind::static_program : ElfImage::Kind::dynamic_program;
  return image;
}

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
  for (int i = 0; i < 4; i++) os::reserve(page_floor(os::kPageSize + next() % (uint64_t{1} << (22 + 4 * i))));
}

Result<LoadedImage> load_image(const ElfImage& image, int fd, Placement* placement) {
  const uint64_t first = page_floor(image.segments.front().address);
  const uint64_t last = page_ceil(image.segments.back().address + image.segments.back().memory_size);
  const uint64_t alignment = std::max<uint64_t>(image.alignment, os::kPageSize);
  const size_t span = last - first;
  const size_t slack = alignment - os::kPageSize;
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
