// A store in a file without a name: for tests, for a machine with a fast disk, and for comparison with swap.
#pragma once

#include <memory>
#include <string>

#include "os/files/descriptor.h"
#include "pager/stores/store.h"

namespace tasuki::pager {

class FileStore final : public Store {
 public:
  // Makes the file in `directory`; it takes room as slots are put and is gone with the store. ENOENT, EACCES,
  // EROFS: of the directory.
  static Result<std::unique_ptr<FileStore>> create(const std::string& directory, size_t unit_bytes,
                                                   uint64_t slots);

  size_t unit_bytes() const override { return unit_; }
  uint64_t slots() const override { return slots_; }
  uint64_t run_limit(Slot slot) const override { return slots_ - slot; }
  // Both wait for the kernel's page cache, not for the disk, as long as that has room.
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override;
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override;
  Status release(Slot slot, uint32_t units) override;
  Status progress(Tickets* completed) override;
  bool busy() const override { return !done_.empty(); }

 private:
  FileStore(std::string directory, os::Fd file, size_t unit_bytes, uint64_t slots)
      : directory_(std::move(directory)), file_(std::move(file)), unit_(unit_bytes), slots_(slots) {}

  std::string directory_;
  os::Fd file_;
  size_t unit_;
  uint64_t slots_;
  Tickets done_;
};

}  // namespace tasuki::pager
