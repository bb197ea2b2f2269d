// An ELF file of a program or of a library of its own, to be loaded many times into one process. Read once: a
// corrupt file gives an error, and so does one that cannot be had once for each rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "elf/image.h"
#include "elf/linking.h"
#include "os/files/descriptor.h"

namespace tasuki::simmpi {

class Image {
 public:
  static Result<std::unique_ptr<Image>> open(const std::string& path);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const std::string& path() const { return path_; }
  // Every segment that is not all in the file can be written.
  const elf::Image& file() const { return file_; }
  const elf::Linking& linking() const { return linking_; }
  const std::vector<std::string>& search() const { return search_; }  // of linking(), $ORIGIN replaced
  uint64_t span() const { return file_.span(); }

  // One more copy of the segments, not yet relocated; nullptr and errno.
  char* map() const;
  void unmap(char* base) const;
  bool inside(uint64_t address, uint64_t bytes) const {
    return address <= span() && bytes <= span() - address;
  }

 private:
  Image() = default;
  Status read(const elf::ByteSource& bytes);
  Status check_segments() const;
  void read_search_path();

  std::string path_;
  os::Fd fd_;
  elf::Image file_;
  elf::Linking linking_;
  std::vector<std::string> search_;
};

}  // namespace tasuki::simmpi
