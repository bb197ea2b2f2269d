#include "simmpi/image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tasuki::simmpi {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostSpan = uint64_t{1} << 36;

uint64_t down(uint64_t x) {
  return x & ~(kPage - 1);
}
uint64_t up(uint64_t x) {
  return down(x + kPage - 1);
}

template <typename T>
T read_at(const uint8_t* p) {
  T value;
  memcpy(&value, p, sizeof value);
  return value;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Status Image::corrupt(const char* what) const {
  return Status::error(ENOEXEC, path_ + ": not a valid ELF file: " + what);
}

Image::~Image() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
  if (fd_ >= 0) close(fd_);
}

Result<std::unique_ptr<Image>> Image::open(const std::string& path) {
  std::unique_ptr<Image> image(new Image);
  image->path_ = path;
  image->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat s;
  if (image->fd_ < 0 || fstat(image->fd_, &s) != 0)
    return Status::error(errno, path + ": " + strerror(errno));
  if (!S_ISREG(s.st_mode)) return Status::error(EACCES, path + ": not a regular file");
  if (s.st_size < static_cast<off_t>(sizeof(Elf64_Ehdr))) return image->corrupt("too short");
  image->size_ = static_cast<uint64_t>(s.st_size);
  void* p = mmap(nullptr, image->size_, PROT_READ, MAP_PRIVATE, image->fd_, 0);
  if (p == MAP_FAILED) return Status::error(errno, path + ": " + strerror(errno));
  image->data_ = static_cast<const uint8_t*>(p);
  const Status status = image->read();
  if (!status.ok()) return status;
  return image;
}

const uint8_t* Image::at(uint64_t address, uint64_t bytes) const {
  for (const Load& l : loads_)
    if (address >= l.address && address - l.address <= l.file_size &&
        bytes <= l.file_size - (address - l.address))
      return data_ + l.offset + (address - l.address);
  return nullptr;
}

bool Image::writable(uint64_t address, uint64_t bytes) const {
  for (const Load& l : loads_)
    if ((l.protection & PROT_WRITE) != 0 && address >= l.address && address - l.address <= l.memory_size &&
        bytes <= l.memory_size - (address - l.address))
      return true;
  return false;
}

std::optional<std::string_view> Image::text(uint64_t offset) const {
  if (offset >= strings_size_) return std::nullopt;
  const uint8_t* p = at(strings_ + offset, strings_size_ - offset);
  if (p == nullptr) return std::nullopt;
  const void* end = memchr(p, 0, strings_size_ - offset);
  if (end == nullptr) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(p), static_cast<const uint8_t*>(end) - p);
}

Status Image::read() {
  const auto header = read_at<Elf64_Ehdr>(data_);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return Status::error(
        ENOEXEC,
        path_ + ": not a program in ELF format (a script?); the simulator starts MPI programs directly");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64)
    return Status::error(ENOEXEC, path_ + ": not for x86-64");
  if (header.e_type == ET_EXEC)
    return Status::error(ENOEXEC, path_ +
                                      ": has a fixed address, so it cannot be loaded once for each rank; "
                                      "build it position independent (-fPIE -pie), as `tasuki simcc` does");
  if (header.e_type != ET_DYN) return corrupt("neither a program nor a library");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0) return corrupt("program headers");
  const uint64_t table = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phoff > size_ || table > size_ - header.e_phoff)
    return corrupt("program headers outside the file");
  entry_ = header.e_entry;

  std::optional<Elf64_Phdr> dynamic, unwind;
  for (uint32_t i = 0; i < header.e_phnum; i++) {
    const auto p = read_at<Elf64_Phdr>(data_ + header.e_phoff + i * sizeof(Elf64_Phdr));
    if (p.p_type == PT_LOAD) {
      if (p.p_memsz == 0) continue;
      if (p.p_filesz != p.p_memsz && (p.p_flags & PF_W) == 0)
        return corrupt("a read-only segment that is not all in the file");
      if (p.p_filesz > p.p_memsz || p.p_offset > size_ || p.p_filesz > size_ - p.p_offset)
        return corrupt("a segment outside the file");
      if (p.p_vaddr > kMostSpan || p.p_memsz > kMostSpan) return corrupt("a segment beyond all sense");
      if ((p.p_vaddr - p.p_offset) % kPage != 0) return corrupt("a segment that is not aligned");
      if (!loads_.empty() && down(p.p_vaddr) < up(loads_.back().address + loads_.back().memory_size))
        return corrupt("segments that overlap");
      const int protection = ((p.p_flags & PF_R) ? PROT_READ : 0) | ((p.p_flags & PF_W) ? PROT_WRITE : 0) |
                             ((p.p_flags & PF_X) ? PROT_EXEC : 0);
      loads_.push_back({p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz, protection});
    } else if (p.p_type == PT_DYNAMIC) {
      dynamic = p;
    } else if (p.p_type == PT_GNU_EH_FRAME) {
      unwind = p;
    } else if (p.p_type == PT_TLS && p.p_memsz != 0) {
      return Status::error(
          ENOTSUP, path_ +
                       ": has thread-local variables (thread_local, __thread, _Thread_local), of which "
                       "the simulator cannot make one for each rank; make them ordinary globals: those "
                       "are private to a rank");
    }
  }
  if (loads_.empty()) return corrupt("no segments");
  span_ = up(loads_.back().address + loads_.back().memory_size);
  if (!dynamic)
    return Status::error(ENOEXEC, path_ + ": is linked statically; the simulator needs a dynamic program");
  if (at(dynamic->p_vaddr, dynamic->p_filesz) == nullptr)
    return corrupt("dynamic section outside the segments");
  const Status status = read_dynamic(dynamic->p_vaddr, dynamic->p_filesz);
  if (!status.ok()) return status;
  return unwind ? read_unwind_header(unwind->p_vaddr, unwind->p_filesz) : Status();
}

Status Image::read_dynamic(uint64_t address, uint64_t bytes) {
  const uint8_t* p = at(address, bytes);
  uint64_t hash = 0, gnu_hash = 0, rela = 0, rela_size = 0, plt = 0, plt_size = 0, relr = 0, relr_size = 0;
  std::vector<uint64_t> needed;
  uint64_t runpath = 0, rpath = 0;
  for (uint64_t i = 0; (i + 1) * sizeof(Elf64_Dyn) <= bytes; i++) {
    const auto d = read_at<Elf64_Dyn>(p + i * sizeof(Elf64_Dyn));
    if (d.d_tag == DT_NULL) break;
    const uint64_t v = d.d_un.d_val;
    switch (d.d_tag) {
      case DT_NEEDED:
        needed.push_back(v);
        break;
      case DT_RUNPATH:
        runpath = v;
        break;
      case DT_RPATH:
        rpath = v;
        break;
      case DT_SYMTAB:
        symbols_ = v;
        break;
      case DT_STRTAB:
        strings_ = v;
        break;
      case DT_STRSZ:
        strings_size_ = v;
        break;
      case DT_HASH:
        hash = v;
        break;
      case DT_GNU_HASH:
        gnu_hash = v;
        break;
      case DT_RELA:
        rela = v;
        break;
      case DT_RELASZ:
        rela_size = v;
        break;
      case DT_JMPREL:
        plt = v;
        break;
      case DT_PLTRELSZ:
        plt_size = v;
        break;
      case 36 /* DT_RELR */:
        relr = v;
        break;
      case 35 /* DT_RELRSZ */:
        relr_size = v;
        break;
      case DT_INIT:
        init_ = v;
        break;
      case DT_FINI:
        fini_ = v;
        break;
      case DT_INIT_ARRAY:
        init_array_[0] = v;
        break;
      case DT_INIT_ARRAYSZ:
        init_array_[1] = v;
        break;
      case DT_PREINIT_ARRAY:
        preinit_array_[0] = v;
        break;
      case DT_PREINIT_ARRAYSZ:
        preinit_array_[1] = v;
        break;
      case DT_FINI_ARRAY:
        fini_array_[0] = v;
        break;
      case DT_FINI_ARRAYSZ:
        fini_array_[1] = v;
        break;
      case DT_TEXTREL:
        return Status::error(ENOTSUP, path_ + ": has relocations in its code; build it with -fPIE");
      default:
        break;
    }
  }
  for (const auto* array : {init_array_, preinit_array_, fini_array_})
    if (array[1] % 8 != 0 || !inside(array[0], array[1])) return corrupt("constructors outside the segments");
  if (init_ >= span_ || fini_ >= span_ || entry_ >= span_) return corrupt("code outside the segments");
  for (const uint64_t n : needed) {
    const auto name = text(n);
    if (!name) return corrupt("name of a library");
    needed_.emplace_back(*name);
  }
  if (const uint64_t paths = runpath != 0 ? runpath : rpath; paths != 0) {
    const auto all = text(paths);
    if (!all) return corrupt("search path");
    for (size_t begin = 0; begin <= all->size();) {
      const size_t end = std::min(all->find(':', begin), all->size());
      std::string one(all->substr(begin, end - begin));
      for (const char* origin : {"$ORIGIN", "${ORIGIN}"})
        if (const size_t i = one.find(origin); i != std::string::npos)
          one.replace(i, strlen(origin), folder_of(path_));
      if (!one.empty()) search_.push_back(one);
      begin = end + 1;
    }
  }
  // Neither table says how many symbols there are: DT_HASH has as many chains, DT_GNU_HASH ends with its last chain.
  if (hash != 0) {
    const uint8_t* h = at(hash, 8);
    if (h == nullptr) return corrupt("hash table");
    symbol_count_ = read_at<uint32_t>(h + 4);
  } else if (gnu_hash != 0) {
    const uint8_t* h = at(gnu_hash, 16);
    if (h == nullptr) return corrupt("hash table");
    const uint64_t buckets = read_at<uint32_t>(h), first = read_at<uint32_t>(h + 4),
                   bloom = read_at<uint32_t>(h + 8);
    const uint64_t chains = gnu_hash + 16 + bloom * 8 + buckets * 4;
    const uint8_t* b = at(gnu_hash + 16 + bloom * 8, buckets * 4);
    if (b == nullptr) return corrupt("hash table");
    uint64_t last = 0;
    for (uint64_t i = 0; i < buckets; i++) last = std::max<uint64_t>(last, read_at<uint32_t>(b + i * 4));
    if (last >= first && last != 0) {
      for (;; last++) {
        const uint8_t* c = at(chains + (last - first) * 4, 4);
        if (c == nullptr) return corrupt("hash table");
        if ((read_at<uint32_t>(c) & 1) != 0) break;
      }
      symbol_count_ = static_cast<uint32_t>(last + 1);
    } else {
      symbol_count_ = static_cast<uint32_t>(first);
    }
  }
  if (symbol_count_ != 0 && at(symbols_, uint64_t{symbol_count_} * sizeof(Elf64_Sym)) == nullptr)
    return corrupt("symbols outside the segments");
  for (uint32_t i = 1; i < symbol_count_; i++) {
    const auto s = symbol(i);
    if (!s.ok()) return s.status();
    if (s.value().defined) defined_.emplace(s.value().name, s.value());
  }
  Status status = read_relocations(rela, rela_size);
  if (status.ok()) status = read_relocations(plt, plt_size);
  if (status.ok()) status = read_relative(relr, relr_size);
  return status;
}

Result<ImageSymbol> Image::symbol(uint32_t index) const {
  const uint8_t* p = at(symbols_ + uint64_t{index} * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
  if (p == nullptr) return corrupt("a symbol outside the segments");
  const auto s = read_at<Elf64_Sym>(p);
  const auto name = text(s.st_name);
  if (!name) return corrupt("name of a symbol");
  ImageSymbol result;
  result.name = *name;
  result.value = s.st_value;
  result.size = s.st_size;
  const int type = ELF64_ST_TYPE(s.st_info), bind = ELF64_ST_BIND(s.st_info);
  result.defined = s.st_shndx != SHN_UNDEF && bind != STB_LOCAL && type != STT_TLS;
  result.weak = bind == STB_WEAK;
  result.resolver = type == STT_GNU_IFUNC;
  if (result.defined && s.st_value >= span_ && s.st_shndx != SHN_ABS)
    return corrupt("a symbol outside the segments");
  return result;
}

const ImageSymbol* Image::find(std::string_view name) const {
  const auto i = defined_.find(name);
  return i == defined_.end() ? nullptr : &i->second;
}

Status Image::read_relocations(uint64_t address, uint64_t bytes) {
  if (bytes == 0) return {};
  const uint8_t* p = at(address, bytes);
  if (p == nullptr || bytes % sizeof(Elf64_Rela) != 0) return corrupt("relocations outside the segments");
  for (uint64_t i = 0; i < bytes; i += sizeof(Elf64_Rela)) {
    const auto r = read_at<Elf64_Rela>(p + i);
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(r.r_info));
    if (type == R_X86_64_NONE) continue;
    if (!writable(r.r_offset, 8) && type != R_X86_64_COPY) return corrupt("a relocation outside the data");
    relocations_.push_back({r.r_offset, type, static_cast<uint32_t>(ELF64_R_SYM(r.r_info)), r.r_addend});
  }
  return {};
}

// DT_RELR: an even word is an address, an odd one a bitmap of the 63 words that follow.
Status Image::read_relative(uint64_t address, uint64_t bytes) {
  if (bytes == 0) return {};
  const uint8_t* p = at(address, bytes);
  if (p == nullptr || bytes % 8 != 0) return corrupt("relocations outside the segments");
  uint64_t where = 0;
  const auto add = [&](uint64_t a) {
    const uint8_t* word = at(a, 8);
    if (word == nullptr || !writable(a, 8)) return false;
    relocations_.push_back({a, R_X86_64_RELATIVE, 0, read_at<int64_t>(word)});
    return true;
  };
  for (uint64_t i = 0; i < bytes; i += 8) {
    const auto entry = read_at<uint64_t>(p + i);
    if ((entry & 1) == 0) {
      if (!add(entry)) return corrupt("a relocation outside the data");
      where = entry + 8;
      continue;
    }
    for (uint32_t bit = 0; bit < 63; bit++)
      if ((entry >> (bit + 1) & 1) != 0 && !add(where + bit * 8))
        return corrupt("a relocation outside the data");
    where += 63 * 8;
  }
  return {};
}

// .eh_frame_hdr: version, encodings, then where .eh_frame is: relative to here as gcc and clang write it (0x1b).
Status Image::read_unwind_header(uint64_t address, uint64_t bytes) {
  const uint8_t* p = bytes >= 8 ? at(address, 8) : nullptr;
  if (p == nullptr) return corrupt("unwind table");
  if (p[0] == 1 && p[1] == 0x1b) {
    const uint64_t table = address + 4 + static_cast<uint64_t>(int64_t{read_at<int32_t>(p + 4)});
    if (at(table, 4) != nullptr) unwind_table_ = table;
  }
  return {};
}

char* Image::map() const {
  void* reserved = mmap(nullptr, span_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  char* base = static_cast<char*>(reserved);
  const auto fail = [&] {
    const int error = errno;
    munmap(reserved, span_);
    errno = error;
    return nullptr;
  };
  for (size_t i = 0; i < loads_.size();) {
    Load l = loads_[i++];
    // Code and constants that follow each other in the file become one mapping: the kernel limits their number.
    while (i < loads_.size() && (l.protection & PROT_WRITE) == 0 &&
           (loads_[i].protection & PROT_WRITE) == 0 && l.file_size == l.memory_size &&
           loads_[i].address - l.address == loads_[i].offset - l.offset &&
           down(loads_[i].address) == up(l.address + l.memory_size)) {
      l.protection |= loads_[i].protection;
      l.file_size = loads_[i].address + loads_[i].file_size - l.address;
      l.memory_size = loads_[i].address + loads_[i].memory_size - l.address;
      i++;
    }
    const uint64_t begin = down(l.address), file_end = l.address + l.file_size,
                   end = l.address + l.memory_size;
    if (l.file_size != 0 && mmap(base + begin, up(file_end) - begin, l.protection, MAP_PRIVATE | MAP_FIXED,
                                 fd_, static_cast<off_t>(down(l.offset))) == MAP_FAILED)
      return fail();
    if (end == file_end) continue;
    const uint64_t anonymous = l.file_size != 0 ? up(file_end) : begin;
    if (l.file_size != 0) memset(base + file_end, 0, std::min(anonymous, end) - file_end);
    if (up(end) > anonymous && mmap(base + anonymous, up(end) - anonymous, l.protection,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      return fail();
  }
  return base;
}

void Image::unmap(char* base) const {
  munmap(base, span_);
}

}  // namespace tasuki::simmpi
