// Whether processes with the memory that this one had at a certain fork are alive: the child and its
// descendants, all that have neither ended nor called exec. Neither descriptors nor process numbers are
// needed, which a child may close and the system use again: fork shares a page of private memory that nobody
// can write to, and the kernel says of a page whether one process alone has it (bit 56 of pagemap).
#pragma once

#include <memory>

#include "os/memory/mapping.h"

namespace tasuki::os {

class Descendants {
 public:
  // Before the fork. nullptr: it cannot be known (no memory, or none that can be locked).
  static std::unique_ptr<Descendants> expect();
  ~Descendants() { unmap(page_, page_size()); }
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

  // After it, in the parent: children of later forks do not count.
  void forked() const;
  // False of a page that the system is moving at the moment, too: who hears it asks again some milliseconds
  // later before he believes it.
  bool any() const;

 private:
  explicit Descendants(void* page) : page_(page) {}
  void* const page_;
};

}  // namespace tasuki::os
