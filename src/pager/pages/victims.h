// Which resident page leaves next, and which may not leave: pages that the program keeps or pins, those that
// somebody outside uses at the moment (busy), and those that a thread was woken for just now. Victims owns
// the replacement policy and what each page means to it; it decides nothing about memory.
#pragma once

#include <memory>

#include "pager/pages/pages.h"
#include "pager/pages/replacement.h"

namespace tasuki::pager {

class Victims {
 public:
  Victims(const Pages* pages, ReplacementPolicy policy);

  void begin(PageId id);                 // there is a new page, which is not resident
  void appear(PageId id, double woke);   // it is resident; `woke`: when a thread was woken for it, or 0
  void found(PageId id) { list(id); }    // it has been resident since before anybody watched
  void leave(PageId id) { unlist(id); }  // it is not resident any more
  void end(PageId id);
  // The second is new, and what the first lost: what is said of one holds for both.
  void split(PageId id, PageId rest);

  // The page that leaves next as the policy says; kNoPage: none may.
  PageId next() { return policy_->next(); }
  bool may_leave(PageId id, double now) const;
  // It stays this time.
  void skip(PageId id);

  // Somebody outside uses the page's memory now; it is left alone for a while.
  void set_busy(PageId id, double now);
  // Some of the pages that were busy long enough ago may leave again.
  void retry_busy(double now);

  // The program keeps the page, or not; and so many pins more or less.
  void hold(PageId id, bool keep, int pins);

  bool busy(PageId id) const { return standing_[id].busy != 0; }
  bool kept(PageId id) const { return standing_[id].kept; }
  bool pinned(PageId id) const { return standing_[id].pins > 0; }
  uint32_t pins(PageId id) const { return standing_[id].pins; }
  bool held(PageId id) const { return kept(id) || pinned(id); }
  // No page appeared after this one.
  bool newest(PageId id) const { return standing_[id].born + 1 == appeared_; }
  // How many pages appeared between these two.
  uint64_t apart(PageId a, PageId b) const;

  uint64_t busy_units() const { return busy_units_; }
  uint64_t kept_units() const { return kept_units_; }
  uint64_t held_units() const { return held_units_; }  // kept or pinned, counted once

 private:
  struct Standing {  // of a page
    uint32_t pins = 0;
    bool kept = false;
    bool listed = false;  // with the policy: resident, neither kept nor busy
    double busy = 0;      // since when; 0: it is not
    uint64_t born = 0;    // when it appeared, counted in pages
    double woke = 0;
  };
  void list(PageId id);
  void unlist(PageId id);
  void make_busy(PageId id, double since);
  void clear_busy(PageId id);

  const Pages& pages_;
  std::unique_ptr<Replacement> policy_;
  OwnVector<Standing> standing_;
  PageList busy_;  // oldest first
  uint64_t appeared_ = 0, busy_units_ = 0, kept_units_ = 0, held_units_ = 0;
};

}  // namespace tasuki::pager
