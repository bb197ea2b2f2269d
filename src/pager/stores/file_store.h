// A store in a file without a name: the disk as the last tier, or as the only one.
//
// Transfers are made by io_uring past the page cache (O_DIRECT), many at once, and the pager sleeps until
// one is over. Where io_uring is not permitted (Docker's filter of system calls, kernel.io_uring_disabled),
// reads and writes go through the page cache, which reads ahead and writes behind, one at a time.
//
// Blocks are reserved before the pages that may need them are promised (reserve()), so a disk that becomes
// full later is nobody's crash. They are given back from the end of the file only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "os/files/descriptor.h"
#include "os/files/disk_file.h"
#include "os/files/transfer_ring.h"
#include "pager/stores/numbered.h"
#include "pager/stores/store.h"

namespace tasuki::pager {

class FileStore final : public Store {
 public:
  struct Options {
    bool ring = true;  // may io_uring be used?
  };
  // Makes the file in `directory`; it is gone with the store. ENOENT, ENOTDIR, EACCES, EROFS: of the
  // directory.
  static Result<std::unique_ptr<FileStore>> create(const std::string& directory, size_t unit_bytes,
                                                   uint64_t slots, Options options = {true});

  size_t unit_bytes() const override { return unit_; }
  uint64_t slots() const override { return slots_; }
  uint64_t reserved() const override { return reserved_; }
  // ENOMEM: the file system has no room.
  Status reserve(uint64_t slots) override;
  uint64_t run_limit(Slot slot) const override { return slots_ - slot; }
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override;
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override;
  bool read_aside(Slot slot, uint32_t units, std::byte* to) const override;
  bool can_read_aside() const override { return true; }
  Status release(Slot, uint32_t) override { return {}; }
  Status progress(Tickets* completed) override;
  bool busy() const override { return !done_.empty() || (ring_.has_value() && ring_->under_way() > 0); }
  int descriptor() const override;
  std::string describe(Slot slot) const override;

  const std::string& directory() const { return directory_; }
  uint64_t bytes_in() const { return bytes_in_; }  // came from the file
  uint64_t bytes_out() const { return bytes_out_; }

 private:
  static constexpr unsigned kUnderWay = 64;
  struct Transfer {
    bool write = false;
    std::byte* at = nullptr;
    size_t bytes = 0;
    uint64_t offset = 0;
    Ticket ticket = 0;
  };

  FileStore(std::string directory, os::Fd file, size_t unit_bytes, uint64_t slots)
      : directory_(std::move(directory)),
        file_(std::move(file)),
        identity_(os::identity_of(file_.get())),
        unit_(unit_bytes),
        slots_(slots) {}
  Status start(const Transfer& transfer);
  void enter(uint32_t index);
  Status note(uint32_t index, int64_t result);
  Status failed(const Transfer& transfer, int reason) const;

  std::string directory_;
  os::Fd file_;
  os::FileIdentity identity_;
  size_t unit_;
  uint64_t slots_, reserved_ = 0;
  std::optional<os::TransferRing> ring_;
  Numbered<Transfer> transfers_;  // by the ring's tokens
  OwnDeque<uint32_t> waiting_;    // until the ring, full of others, has room
  Tickets done_;
  uint64_t bytes_in_ = 0, bytes_out_ = 0;
};

}  // namespace tasuki::pager
