// Which page leaves next. A policy knows pages by their numbers; addresses order them for the paper's policy.
#pragma once

#include <cstdint>
#include <memory>

#include "pager/own_memory.h"
#include "pager/pages/page_state.h"

namespace tasuki::pager {

class Replacement {
 public:
  virtual ~Replacement() = default;
  virtual void add(PageId page, uint64_t address) = 0;
  virtual void remove(PageId page) = 0;
  // The page that leaves next; it stays in the policy until it is removed. kNoPage: there is none.
  virtual PageId next() = 0;
};

// A doubly linked list through arrays: adding and removing cost no allocation.
class PageList {
 public:
  void push_back(PageId page) {
    if (links_.size() <= page) links_.resize(page + page / 2 + 64, {kNoPage, kNoPage});
    links_[page] = {tail_, kNoPage};
    (tail_ == kNoPage ? head_ : links_[tail_].after) = page;
    tail_ = page;
    size_++;
  }
  void remove(PageId page) {
    Link& l = links_[page];
    (l.before == kNoPage ? head_ : links_[l.before].after) = l.after;
    (l.after == kNoPage ? tail_ : links_[l.after].before) = l.before;
    size_--;
  }
  PageId front() const { return head_; }
  uint32_t size() const { return size_; }

 private:
  struct Link {
    PageId before, after;
  };
  OwnVector<Link> links_;
  PageId head_ = kNoPage, tail_ = kNoPage;
  uint32_t size_ = 0;
};

// First in, first out. The second chance is limbo's: a page that is unmapped rests there, and one that is
// asked for there comes back as the newest. CLOCK is FIFO with a large limbo: without the processor's
// reference bits, that an access faults is the only reference there is to see.
class Fifo final : public Replacement {
 public:
  void add(PageId page, uint64_t) override { list_.push_back(page); }
  void remove(PageId page) override { list_.remove(page); }
  PageId next() override { return list_.front(); }

 private:
  PageList list_;
};

// Address round robin, the paper's: the next resident page above the last victim.
class AddressOrder final : public Replacement {
 public:
  void add(PageId page, uint64_t address) override {
    pages_.emplace(address, page);
    if (addresses_.size() <= page) addresses_.resize(page + page / 2 + 64);
    addresses_[page] = address;
  }
  void remove(PageId page) override {
    if (page == next_) {
      hand_ = addresses_[page];
      next_ = kNoPage;
    }
    pages_.erase(addresses_[page]);
  }
  PageId next() override {
    auto at = pages_.upper_bound(hand_);
    if (at == pages_.end()) at = pages_.begin();
    return next_ = at == pages_.end() ? kNoPage : at->second;
  }

 private:
  OwnMap<uint64_t, PageId> pages_;
  OwnVector<uint64_t> addresses_;
  uint64_t hand_ = 0;      // the address of the last victim
  PageId next_ = kNoPage;  // that next() has named
};

}  // namespace tasuki::pager
