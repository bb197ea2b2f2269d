// An ELF file of a program or of a library of its own, to be loaded many times into one process. Read once, every offset
// checked against the file: a corrupt file gives an error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace tasuki::simmpi {

struct ImageSymbol {
  std::string_view name;
  uint64_t value = 0, size = 0;
  bool defined = false, weak = false,
       resolver = false;  // resolver: STT_GNU_IFUNC, a function that says where it is
};

struct ImageRelocation {
  uint64_t where;
  uint32_t type;    // R_X86_64_*
  uint32_t symbol;  // index; 0: none
  int64_t addend;
};

class Image {
 public:
  static Result<std::unique_ptr<Image>> open(const std::string& path);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image();

  const std::string& path() const { return path_; }
  const std::vector<std::string>& needed() const { return needed_; }
  const std::vector<std::string>& search() const {
    return search_;
  }  // DT_RUNPATH or DT_RPATH, $ORIGIN replaced
  const std::vector<ImageRelocation>& relocations() const { return relocations_; }
  Result<ImageSymbol> symbol(uint32_t index) const;
  const ImageSymbol* find(std::string_view name) const;  // a defined one

  uint64_t entry() const { return entry_; }
  uint64_t init() const { return init_; }  // 0: none, likewise below
  uint64_t fini() const { return fini_; }
  std::span<const uint64_t> init_array() const { return {&init_array_[0], 2}; }  // address and bytes
  std::span<const uint64_t> preinit_array() const { return {&preinit_array_[0], 2}; }
  std::span<const uint64_t> fini_array() const { return {&fini_array_[0], 2}; }
  uint64_t unwind_table() const { return unwind_table_; }  // .eh_frame
  uint64_t span() const { return span_; }                  // bytes of address space
  // One more copy of the segments, not yet relocated; nullptr and errno.
  char* map() const;
  void unmap(char* base) const;
  bool inside(uint64_t address, uint64_t bytes) const { return address <= span_ && bytes <= span_ - address; }
  bool writable(uint64_t address, uint64_t bytes) const;

 private:
  struct Load {
    uint64_t offset, address, file_size, memory_size;
    int protection;
  };
  Image() = default;
  Status read();
  Status read_dynamic(uint64_t offset, uint64_t bytes);
  Status read_relocations(uint64_t address, uint64_t bytes);
  Status read_relative(uint64_t address, uint64_t bytes);
  Status read_unwind_header(uint64_t address, uint64_t bytes);
  // The bytes of the file that will be at an address; nullptr if they are not all in one segment's file part.
  const uint8_t* at(uint64_t address, uint64_t bytes) const;
  std::optional<std::string_view> text(uint64_t offset) const;
  Status corrupt(const char* what) const;

  std::string path_;
  int fd_ = -1;
  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  std::vector<Load> loads_;
  uint64_t span_ = 0, entry_ = 0, init_ = 0, fini_ = 0, unwind_table_ = 0;
  uint64_t init_array_[2] = {}, preinit_array_[2] = {}, fini_array_[2] = {};
  uint64_t symbols_ = 0, strings_ = 0, strings_size_ = 0;
  uint32_t symbol_count_ = 0;
  std::vector<std::string> needed_, search_;
  std::vector<ImageRelocation> relocations_;
  std::unordered_map<std::string_view, ImageSymbol> defined_;
};

}  // namespace tasuki::simmpi
