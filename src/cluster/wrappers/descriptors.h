// The descriptors of the pager, and of the MPI library that it uses. A program that closes what it has not
// opened (as daemons do: every number, or all from 3 on) does not mean these, of which it knows nothing: to
// its close, close_range, closefrom, dup2 and dup3 they are not open.
#pragma once

#include <vector>

namespace tasuki::cluster {

// While it lives something of the pager's is made; what is open at its end and was not before is the pager's.
class PagersDescriptors {
 public:
  PagersDescriptors();
  ~PagersDescriptors();
  PagersDescriptors(const PagersDescriptors&) = delete;
  PagersDescriptors& operator=(const PagersDescriptors&) = delete;

 private:
  std::vector<int> before_;
};

void keep_descriptor(int fd);
// This process has been forked.
void in_forked_child();

}  // namespace tasuki::cluster
