#include "cluster/api/tiers.h"

#include <algorithm>

#include "base/bytes.h"
#include "os/files/disk_file.h"

namespace tasuki::cluster {
namespace {

// The pager counts the slots of all tiers in 32 bits.
constexpr uint64_t kMostSlots = uint64_t{1} << 31;  // 8 TiB; as much remains for servers

}  // namespace

Result<std::unique_ptr<Tiers>> Tiers::open(const Options& options, size_t unit_bytes) {
  auto tiers = std::make_unique<Tiers>();
  if (options.store.empty()) return tiers;
  const uint64_t free = os::free_disk_bytes(options.store.c_str());
  const uint64_t bytes = options.store_bytes != 0 ? options.store_bytes : free - free / 20;
  Result<std::unique_ptr<pager::FileStore>> disk =
      pager::FileStore::create(options.store, unit_bytes, std::min(bytes / unit_bytes, kMostSlots));
  if (!disk.ok()) return Status::error(disk.status().err(), "--store: " + disk.status().message());
  if (options.store_bytes > free)
    return Status::error(ENOSPC, "--store-size " + bytes_text(options.store_bytes, BytesStyle::rounded) +
                                     ": the file system of " + options.store + " has only " +
                                     bytes_text(free, BytesStyle::rounded) +
                                     " left; free some, or name another directory");
  if (disk.value()->slots() == 0)
    return Status::error(ENOSPC, "--store: the file system of " + options.store +
                                     " is full; free some, or name another directory");
  tiers->disk_ = std::move(disk.value());
  return tiers;
}

Result<pager::Store*> Tiers::join(const Options& options, Servers* servers) {
  pager::Store* store = servers;
  if (disk_ != nullptr) {
    both_ = std::make_unique<pager::TieredStore>(std::vector<pager::Store*>{servers, disk_.get()});
    store = both_.get();
  }
  // Copies at the speed of memory gain nothing from looking at the pages first.
  if (options.compressed_cache != 0 || !store->direct()) {
    Result<std::unique_ptr<pager::CompressedCache>> cache =
        pager::CompressedCache::create(store, options.compressed_cache);
    if (!cache.ok())
      return Status::error(cache.status().err(), "--compressed-cache: " + cache.status().message());
    cache_ = std::move(cache.value());
    store = cache_.get();
  }
  if (!options.checksum) return store;
  Result<std::unique_ptr<ChecksumStore>> checked = ChecksumStore::create(store);
  if (!checked.ok()) return checked.status();
  checked_ = std::move(checked.value());
  return static_cast<pager::Store*>(checked_.get());
}

}  // namespace tasuki::cluster
