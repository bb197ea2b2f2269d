// Whether processes that were forked from this one are alive and still have its memory: children, their
// children, all that have neither ended nor called exec. Neither descriptors nor process numbers are needed,
// which a child may close and the system use again: fork shares a page of private memory that nobody writes
// to, and the kernel says of a page whether one process alone has it (bit 56 of pagemap).
#pragma once

#include <cstddef>

namespace tasuki::os {

class Descendants {
 public:
  Descendants() = default;
  ~Descendants();
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;

  // Before a fork whose child is to count. False: it would not.
  bool expect();
  // False of a page that the system is moving at the moment, too: who hears it asks again some milliseconds
  // later before he believes it.
  bool any() const;

 private:
  std::byte* page_ = nullptr;
};

}  // namespace tasuki::os
