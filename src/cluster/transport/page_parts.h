// Pages and the parts of an erasure code that servers keep of them. A run of pages has one piece of memory
// for each part, in which those of its pages follow each other, as they do at the server; a single page's
// own parts are where it is, without a copy.
//
// Thread-safe. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cluster/transport/reed_solomon.h"

namespace tasuki::cluster {

class PageParts {
 public:
  PageParts(std::unique_ptr<ReedSolomon> code, size_t page_bytes)
      : code_(std::move(code)), page_(page_bytes), part_(page_bytes / code_->needed()) {}

  const ReedSolomon& code() const { return *code_; }

  // parts[i] becomes where part i is: in the pages or in `buffer`, which has bytes_to_cut().
  size_t bytes_to_cut(uint32_t pages) const;
  void cut(const std::byte* from, uint32_t pages, std::byte* buffer, const std::byte** parts) const;

  // parts[i] becomes where part i is to come, for those in `have` (a bit for each, as many as are needed);
  // `buffer` has bytes_to_join(). When they are there, join() makes the pages of them.
  size_t bytes_to_join(uint32_t pages, uint32_t have) const;
  void lay_out(std::byte* to, uint32_t pages, uint32_t have, std::byte* buffer, std::byte** parts) const;
  void join(std::byte* to, uint32_t pages, uint32_t have, std::byte* buffer) const;

 private:
  void spread(const std::byte* from, uint32_t part, uint32_t pages, std::byte* to) const;

  std::unique_ptr<ReedSolomon> code_;
  size_t page_, part_;
};

}  // namespace tasuki::cluster
