// How the library receives packed bytes into a block (blocks.h).
//
// Plain Open MPI 4.1.4 writes a message that is too long beyond a contiguous buffer, all of it: 24,000 bytes
// into 12,000 through shared memory, 96,000 through TCP; MPICH 4.0.2 does not. With the user's own datatype,
// which has gaps, it does not either. So the first bytes of a message land behind the others, which makes the
// block anything but contiguous, and are put in front of them when the message is there.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace tasuki::shim {

class Landing {
 public:
  // What a block needs for a message of so many bytes.
  static uint64_t room(uint64_t bytes);
  // After the message, or a shorter one of `arrived` bytes, has come: packed bytes from `block` on.
  static void order(char* block, uint64_t bytes, uint64_t arrived);

  // For a receive of at most INT_MAX bytes; needed until it is posted.
  explicit Landing(uint64_t bytes);
  ~Landing();
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_;
  int count_;
  bool own_;  // the type goes with it
};

}  // namespace tasuki::shim
