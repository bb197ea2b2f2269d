#include "pager/stores/file_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"
#include "os/files/disk_file.h"
#include "os/memory/memory_file.h"

namespace tasuki::pager {

Result<std::unique_ptr<FileStore>> FileStore::create(const std::string& directory, size_t unit_bytes,
                                                     uint64_t slots, Options options) {
  Result<os::Fd> file = os::unnamed_file(directory.c_str());
  if (!file.ok())
    return Status::error(file.status().err(), "no page file: " + file.status().message() +
                                                  "; name a directory that exists and can be written");
  std::unique_ptr<FileStore> store(new FileStore(directory, std::move(file.value()), unit_bytes, slots));
  if (!options.ring) return store;
  Result<os::TransferRing> ring = os::TransferRing::open(kUnderWay);
  if (ring.ok()) {
    store->ring_ = std::move(ring.value());
    os::bypass_page_cache(store->file_.get());
  } else {
    log(LogLevel::info, "%s: pages go to %s one at a time, through the page cache",
        ring.status().message().c_str(), directory.c_str());
  }
  return store;
}

Status FileStore::reserve(uint64_t slots) {
  if (slots < reserved_) {
    os::cut_off(file_.get(), slots * unit_);
    reserved_ = slots;
    return {};
  }
  if (slots == reserved_) return {};
  const int reason = os::reserve_blocks(file_.get(), reserved_ * unit_, slots * unit_);
  if (reason == 0) {
    reserved_ = slots;
    return {};
  }
  return Status::error(
      ENOMEM,
      "the pages in " + directory_ + " need " + bytes_text((slots - reserved_) * unit_, BytesStyle::rounded) +
          " more, " +
          (reason == EFBIG ? "and the limit of file sizes (ulimit -f) is below what they have then: raise it"
           : reason == ENOSPC || reason == EDQUOT
               ? "which its file system does not have: free some, or name another directory"
               : std::string("which cannot be reserved: ") + strerror(reason)));
}

int FileStore::descriptor() const {
  return ring_.has_value() ? ring_->descriptor() : -1;
}

std::string FileStore::describe(Slot slot) const {
  return "page " + std::to_string(slot) + " of the file in " + directory_;
}

Status FileStore::failed(const Transfer& transfer, int reason) const {
  const char* const what = transfer.write ? "writing pages to" : "reading pages from";
  std::string text = std::string(what) + " the file in " + directory_ + ": " + strerror(reason);
  if (reason == EFBIG) text += " (ulimit -f, lowered after the pages were allocated)";
  if (reason == ENOSPC || reason == EDQUOT)
    text += "; free some of that file system, or name another directory";
  return Status::error(reason, std::move(text));
}

Status FileStore::get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) {
  bytes_in_ += units * unit_;
  return start({false, to, units * unit_, slot * unit_, ticket});
}

Status FileStore::put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) {
  bytes_out_ += units * unit_;
  return start({true, const_cast<std::byte*>(from), units * unit_, slot * unit_, ticket});
}

// A child may close what it does not know, as those do that become daemons.
bool FileStore::read_aside(Slot slot, uint32_t units, std::byte* to) const {
  return os::identity_of(file_.get()) == identity_ &&
         os::read_at(file_.get(), to, units * unit_, slot * unit_) == 0;
}

Status FileStore::start(const Transfer& transfer) {
  if (!ring_.has_value()) {
    const int reason = transfer.write
                           ? os::write_at(file_.get(), transfer.at, transfer.bytes, transfer.offset)
                           : os::read_at(file_.get(), transfer.at, transfer.bytes, transfer.offset);
    if (reason != 0) return failed(transfer, reason);
    done_.push_back(transfer.ticket);
    return {};
  }
  enter(transfers_.enter(transfer));
  return {};
}

void FileStore::enter(uint32_t index) {
  if (ring_->full()) {
    waiting_.push_back(index);
    return;
  }
  const Transfer& t = transfers_[index];
  if (t.write)
    ring_->write(file_.get(), t.at, t.bytes, t.offset, index);
  else
    ring_->read(file_.get(), t.at, t.bytes, t.offset, index);
}

// A transfer may be over in part: what is left begins anew.
Status FileStore::note(uint32_t index, int64_t result) {
  Transfer& t = transfers_[index];
  if (result == -EAGAIN || result == -EINTR) {
    enter(index);
    return {};
  }
  if (result <= 0) return failed(t, result < 0 ? static_cast<int>(-result) : t.write ? ENOSPC : ENODATA);
  const auto bytes = std::min(t.bytes, static_cast<size_t>(result));
  t.at += bytes;
  t.offset += bytes;
  t.bytes -= bytes;
  if (t.bytes > 0) {
    enter(index);
    return {};
  }
  done_.push_back(t.ticket);
  transfers_.leave(index);
  return {};
}

Status FileStore::progress(Tickets* completed) {
  Status status;
  if (ring_.has_value()) {
    os::TransferRing::Done done;
    while (status.ok() && ring_->next(&done)) status = note(static_cast<uint32_t>(done.token), done.result);
    while (!waiting_.empty() && !ring_->full()) {
      const uint32_t index = waiting_.front();
      waiting_.pop_front();
      enter(index);
    }
    const int reason = ring_->start();
    if (status.ok() && reason != 0 && reason != EAGAIN && reason != EBUSY)
      status = Status::error(reason, std::string("io_uring: ") + strerror(reason));
  }
  completed->insert(completed->end(), done_.begin(), done_.end());
  done_.clear();
  return status;
}

}  // namespace tasuki::pager
