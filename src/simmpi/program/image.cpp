#include "simmpi/program/image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "elf/machine.h"
#include "os/memory/mapping.h"

namespace tasuki::simmpi {
namespace {

using os::page_ceil;
using os::page_floor;

constexpr uint64_t kMostSpan = uint64_t{1} << 36;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<std::unique_ptr<Image>> Image::open(const std::string& path) {
  std::unique_ptr<Image> image(new Image);
  image->path_ = path;
  image->fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat s;
  if (!image->fd_.valid() || fstat(image->fd_.get(), &s) != 0)
    return Status::error(errno, path + ": " + strerror(errno));
  if (!S_ISREG(s.st_mode)) return Status::error(EACCES, path + ": not a regular file");
  // Mapped while it is read: a large program has many words that are read one by one.
  const uint64_t size = static_cast<uint64_t>(s.st_size);
  void* p = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, image->fd_.get(), 0);
  if (p == MAP_FAILED) return Status::error(errno, path + ": " + strerror(errno));
  const Status status = image->read({-1, static_cast<const uint8_t*>(p), size});
  if (p != nullptr) munmap(p, size);
  if (!status.ok()) return status;
  return image;
}

Status Image::read(const elf::ByteSource& bytes) {
  const auto invalid = [this](const Status& status) {
    return Status::error(ENOEXEC, path_ + ": not a valid ELF file: " + status.message());
  };
  Result<elf::Image> file = elf::read_image(bytes);
  if (!file.ok()) {
    switch (file.status().err()) {
      case ENOEXEC:
        return Status::error(
            ENOEXEC,
            path_ + ": not a program in ELF format (a script?); the simulator starts MPI programs directly");
      case ENOTSUP:
        return Status::error(ENOEXEC, path_ + ": not for " + elf::kMachineName);
      default:
        return invalid(file.status());
    }
  }
  file_ = std::move(file.value());
  if (!file_.position_independent)
    return Status::error(ENOEXEC, path_ +
                                      ": has a fixed address, so it cannot be loaded once for each rank; "
                                      "build it position independent (-fPIE -pie), as `tasuki simcc` does");
  if (const Status status = check_segments(); !status.ok()) return invalid(status);
  if (file_.thread_local_size != 0)
    return Status::error(ENOTSUP,
                         path_ +
                             ": has thread-local variables (thread_local, __thread, _Thread_local), of which "
                             "the simulator cannot make one for each rank; make them ordinary globals: those "
                             "are private to a rank");
  if (!file_.dynamic)
    return Status::error(ENOEXEC, path_ + ": is linked statically; the simulator needs a dynamic program");
  Result<elf::Linking> linking = elf::read_linking(bytes, file_);
  if (!linking.ok()) return invalid(linking.status());
  linking_ = std::move(linking.value());
  if (linking_.text_relocations)
    return Status::error(ENOTSUP, path_ + ": has relocations in its code; build it with -fPIE");
  read_search_path();
  return {};
}

// What map() relies on, and that there is room for a copy for each rank.
Status Image::check_segments() const {
  for (const elf::Segment& s : file_.segments) {
    if (s.file_size != s.memory_size && (s.protection & PROT_WRITE) == 0)
      return Status::error(EINVAL, "a read-only segment that is not all in the file");
    if (s.address > kMostSpan || s.memory_size > kMostSpan)
      return Status::error(EINVAL, "a segment beyond all sense");
  }
  return {};
}

void Image::read_search_path() {
  const std::string& all = linking_.search_path;
  for (size_t begin = 0; begin <= all.size();) {
    const size_t end = std::min(all.find(':', begin), all.size());
    std::string one(all.substr(begin, end - begin));
    for (const char* origin : {"$ORIGIN", "${ORIGIN}"})
      if (const size_t i = one.find(origin); i != std::string::npos)
        one.replace(i, strlen(origin), folder_of(path_));
    if (!one.empty()) search_.push_back(one);
    begin = end + 1;
  }
}

char* Image::map() const {
  void* reserved = mmap(nullptr, span(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  char* base = static_cast<char*>(reserved);
  const std::vector<elf::Segment>& segments = file_.segments;
  const auto fail = [&] {
    const int error = errno;
    munmap(reserved, span());
    errno = error;
    return nullptr;
  };
  for (size_t i = 0; i < segments.size();) {
    elf::Segment l = segments[i++];
    // Code and constants that follow each other in the file become one mapping: the kernel limits their
    // number.
    while (i < segments.size() && (l.protection & PROT_WRITE) == 0 &&
           (segments[i].protection & PROT_WRITE) == 0 && l.file_size == l.memory_size &&
           segments[i].address - l.address == segments[i].offset - l.offset &&
           page_floor(segments[i].address) == page_ceil(l.address + l.memory_size)) {
      l.protection |= segments[i].protection;
      l.file_size = segments[i].address + segments[i].file_size - l.address;
      l.memory_size = segments[i].address + segments[i].memory_size - l.address;
      i++;
    }
    const uint64_t begin = page_floor(l.address), file_end = l.address + l.file_size,
                   end = l.address + l.memory_size;
    if (l.file_size != 0 &&
        mmap(base + begin, page_ceil(file_end) - begin, l.protection, MAP_PRIVATE | MAP_FIXED, fd_.get(),
             static_cast<off_t>(page_floor(l.offset))) == MAP_FAILED)
      return fail();
    if (end == file_end) continue;
    const uint64_t anonymous = l.file_size != 0 ? page_ceil(file_end) : begin;
    if (l.file_size != 0) memset(base + file_end, 0, std::min(anonymous, end) - file_end);
    if (page_ceil(end) > anonymous && mmap(base + anonymous, page_ceil(end) - anonymous, l.protection,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      return fail();
  }
  return base;
}

void Image::unmap(char* base) const {
  munmap(base, span());
}

}  // namespace tasuki::simmpi
