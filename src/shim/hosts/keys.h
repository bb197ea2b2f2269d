// A text that each rank leaves with the launcher before MPI_Init and that all ranks can read after it.
//
// MPI libraries exchange the addresses of their ranks in MPI_Init like this. A text that was left before
// arrives with the same exchange: reading it sends no message that a program's own communication could be
// confused with, and a text that a rank did not leave is missing at once, for all who ask. Ranks without
// Tasuki leave none.
#pragma once

#include <string>

namespace tasuki::shim {

// Open MPI's ranks use PMIx (keys_pmix.cpp), MPICH's the wire protocol PMI-1 (keys_pmi.cpp). Not thread-safe.
class Keys {
 public:
  Keys();
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Before MPI_Init. False: this launcher offers no way that is known to work, and find() finds nothing.
  bool leave(const std::string& text);

  // After MPI_Init: is what the ranks have left certain to be here? The answer is the same for all ranks of a
  // job.
  bool exchanged() const;

  // After MPI_Init: the text that a rank of MPI_COMM_WORLD has left. False: it left none.
  bool find(int world_rank, std::string* text);

  // Gives back what leave() has taken. No find() after it.
  void close();

 private:
  struct Channel;
  Channel* channel_ = nullptr;
};

}  // namespace tasuki::shim
