// Where a program's pages go that do not fit into local memory: compressed into more of it, to the servers,
// then to a disk.
#pragma once

#include <memory>

#include "cluster/settings/options.h"
#include "cluster/transport/checksum_store.h"
#include "cluster/transport/servers.h"
#include "pager/stores/compressed_cache.h"
#include "pager/stores/file_store.h"
#include "pager/stores/tiered_store.h"

namespace tasuki::cluster {

class Tiers {
 public:
  // The disk that `options` name, if they do. Errors name the directory.
  static Result<std::unique_ptr<Tiers>> open(const Options& options, size_t unit_bytes);

  // All of them as one store, as the pager sees it. `servers` outlive this. ENOMEM: no addresses for
  // tables; EINVAL: a cache that is too small.
  Result<pager::Store*> join(const Options& options, Servers* servers);

  const pager::FileStore* disk() const { return disk_.get(); }
  const pager::CompressedCache* cache() const { return cache_.get(); }

 private:
  std::unique_ptr<pager::FileStore> disk_;
  std::unique_ptr<pager::TieredStore> both_;
  std::unique_ptr<pager::CompressedCache> cache_;
  std::unique_ptr<ChecksumStore> checked_;
};

}  // namespace tasuki::cluster
