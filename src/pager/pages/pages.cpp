#include "pager/pages/pages.h"

#include <algorithm>

namespace tasuki::pager {

constinit thread_local Sleeper* Sleeper::t_sleeping = nullptr;

PageId Pages::begin(Region* region, uint64_t first, uint32_t units) {
  PageId id;
  if (free_.empty()) {
    id = static_cast<PageId>(pages_.size());
    pages_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Page& page = pages_[id];
  page.region = region;
  page.first = first;
  page.units = units;
  page.state = PageState();
  page.predicted_write = page.unmapped = false;
  page.sent.forget();
  std::fill_n(region->page_.begin() + static_cast<ptrdiff_t>(first), units, id);
  return id;
}

void Pages::end(PageId id) {
  Page& page = pages_[id];
  std::fill_n(page.region->page_.begin() + static_cast<ptrdiff_t>(page.first), page.units, kNoPage);
  page.region = nullptr;
  page.pieces.clear();  // not freed: the next page of this record needs them
  page.waits.clear();
  free_.push_back(id);
}

void Pages::join(PageId id, PageId next) {
  Page& page = pages_[id];
  const uint64_t first = pages_[next].first;
  const uint32_t units = pages_[next].units;
  end(next);
  std::fill_n(page.region->page_.begin() + static_cast<ptrdiff_t>(first), units, id);
  page.units += units;
}

PageId Pages::split(PageId id, uint64_t unit) {
  const auto units = static_cast<uint32_t>(unit - pages_[id].first);
  const PageId rest = begin(pages_[id].region, unit, pages_[id].units - units);
  Page& page = pages_[id];
  page.units = units;
  page.sent.forget();  // of the page as a whole
  pages_[rest].state = page.state;
  return rest;
}

}  // namespace tasuki::pager
