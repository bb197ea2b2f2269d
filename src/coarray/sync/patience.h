// patience: what is said of a program in which all images wait: for posts that nobody makes, for meetings
// that others do not come to, for locks in a circle. Such a program stands still for ever and nobody knows
// why.
//
// Whoever waits says for whom and where (Waiting, a few stores). A wait that has taken long already (Watch)
// stands where others can read it, and the one that waits looks now and then what the others do. If all of
// them wait, and still wait in the same places a while later, one image prints the places of all. Nothing
// else happens: the user ends the job, or looks at it with a debugger.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "coarray/local/fail.h"
#include "coarray/local/phase.h"
#include "coarray/sync/stations.h"
#include "os/process/yielding.h"

namespace tasuki::coarray {

class Waiting;

class Patience {
 public:
  Patience(const Phase* phase, Stations* stations) : phase_(*phase), stations_(*stations) {}
  // `crowded`: there are more images than cores, and who waits gives way soon.
  void start(bool crowded, int first_image) {
    crowded_ = crowded;
    first_image_ = first_image;
  }
  void stop() { reader_.stop(); }

  // Turns of a loop that waits before it gives way to others.
  unsigned polls() const { return crowded_ ? 20 : 1000; }
  bool crowded() const { return crowded_; }

  // Of a wait that goes on: called now and then. Of the program's own thread only.
  // `began`: when it has been called first (os::monotonic_ns), 0: not yet; `number`: of the wait; 0: not yet
  // told to others.
  void look(int64_t* began, uint64_t* number);
  void ended();

 private:
  friend class Waiting;
  void goes_on(int64_t began, uint64_t* number);
  void tell(uint64_t number);
  bool read_all();
  void report(int64_t passed_ns);

  const Phase& phase_;
  Stations& stations_;
  const Waiting* what_ = nullptr;
  bool crowded_ = false;
  int first_image_ = 1;
  int64_t seconds_ = -1;  // 0: never
  uint64_t waits_ = 0;
  int64_t next_look_ = 0;
  Stations::Reader reader_;
  size_t next_image_ = 0;
  std::vector<Station> seen_, now_;
  bool reported_ = false;
};

// While it lives, what this image waits for. Texts live as long as the program.
class Waiting {
 public:
  Waiting(Patience* patience, const char* what, int image, Where where, bool has_tag = false, int tag = 0);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  const char* what;
  int image;  // an index in `world`; -1: several
  Where where;
  bool has_tag;
  int tag;

 private:
  Patience& patience_;
  const Waiting* around_;
};

// Of one wait: a turn of its loop. Only of the program's own thread.
class Watch {
 public:
  explicit Watch(Patience* patience) : patience_(*patience) {}
  ~Watch() {
    if (number_ != 0) patience_.ended();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  void turn() {
    if (++turns_ % kTurns == 0) patience_.look(&began_, &number_);
  }

 private:
  static constexpr unsigned kTurns = 64;

  Patience& patience_;
  unsigned turns_ = 0;
  uint64_t number_ = 0;
  int64_t began_ = 0;
};

// A turn of a loop that waits for others.
class Waiter {
 public:
  explicit Waiter(Patience* patience) : patience_(*patience), watch_(patience) {}
  void turn();
  // The same where each turn takes as long as a pause anyway.
  void turn_without_pause();

 private:
  const Patience& patience_;
  unsigned turns_ = 0;
  os::Yielding yielding_;
  Watch watch_;
};

// Waits for it in the way of Waiter, whatever the MPI library does.
void wait_for(MPI_Request* request, Patience* patience, MPI_Status* status = MPI_STATUS_IGNORE);

}  // namespace tasuki::coarray
