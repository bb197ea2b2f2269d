#include "pager/stores/file_store.h"

#include <cstring>

#include "os/memory/memory_file.h"

namespace tasuki::pager {

Result<std::unique_ptr<FileStore>> FileStore::create(const std::string& directory, size_t unit_bytes,
                                                     uint64_t slots) {
  Result<os::Fd> file = os::unnamed_file(directory.c_str());
  if (!file.ok())
    return Status::error(file.status().err(), "no page file: " + file.status().message() +
                                                  "; name a directory that exists and can be written");
  return std::unique_ptr<FileStore>(new FileStore(directory, std::move(file.value()), unit_bytes, slots));
}

Status FileStore::get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) {
  const int err = os::read_at(file_.get(), to, units * unit_, slot * unit_);
  if (err != 0)
    return Status::error(err, "reading pages from the file in " + directory_ + ": " + strerror(err));
  done_.push_back(ticket);
  return {};
}

Status FileStore::put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) {
  const int err = os::write_at(file_.get(), from, units * unit_, slot * unit_);
  if (err == ENOSPC || err == EDQUOT)
    return Status::error(err, directory_ + " is full: the pages that are to go there need up to " +
                                  std::to_string(slots_ * unit_) +
                                  " bytes; free some, or name another directory");
  if (err == EFBIG)
    return Status::error(err, "the limit of file sizes (ulimit -f) is below the " +
                                  std::to_string(slots_ * unit_) + " bytes of pages; raise it");
  if (err != 0)
    return Status::error(err, "writing pages to the file in " + directory_ + ": " + strerror(err));
  done_.push_back(ticket);
  return {};
}

Status FileStore::release(Slot slot, uint32_t units) {
  // A file system that cannot give room back keeps it until the end.
  os::punch_hole(file_.get(), slot * unit_, units * unit_);
  return {};
}

Status FileStore::progress(Tickets* completed) {
  completed->insert(completed->end(), done_.begin(), done_.end());
  done_.clear();
  return {};
}

}  // namespace tasuki::pager
