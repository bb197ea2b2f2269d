// patience: what is said of a program in which all images wait: for posts that nobody makes, for meetings that others do not come to, for
// locks in a circle. Such a program stands still for ever and nobody knows why.
//
// Whoever waits says for whom and where (Waiting, a few stores). A wait that has taken long already (Watch) stands where others can read it,
// and the one that waits looks now and then what the others do. If all of them wait, and still wait in the same places a while
// later, one image prints the places of all. Nothing else happens: the user ends the job, or looks at it with a debugger.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "coarray/sync/stations.h"

namespace tasuki::coarray {

// While it lives, what this image waits for. Texts live as long as the program.
class Waiting {
 public:
  Waiting(const char* what, int image, Where where, bool has_tag = false, int tag = 0);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  const char* what;
  int image;  // an index in `world`; -1: several
  Where where;
  bool has_tag;
  int tag;

 private:
  const Waiting* around_;
};

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  // Of a wait that has begun then and goes on: called now and then. `number`: of the wait; 0: not yet told to others.
  void goes_on(Clock::time_point began, uint64_t* number);
  void ended();
  void stop() { reader_.stop(); }

  const Waiting* what = nullptr;

 private:
  void tell(uint64_t number);
  bool look(Clock::time_point now);
  void report(Clock::duration passed);

  int64_t seconds_ = -1;  // 0: never
  uint64_t waits_ = 0;
  Clock::time_point next_look_;
  Stations::Reader reader_;
  size_t next_image_ = 0;
  std::vector<Station> seen_, now_;
  bool reported_ = false;
};

// Of one wait: a turn of its loop. Only of the program's own thread.
class Watch {
 public:
  void turn() {
    if (++turns_ % kTurns == 0) look();
  }
  ~Watch();

 private:
  static constexpr unsigned kTurns = 64;
  void look();

  unsigned turns_ = 0;
  uint64_t number_ = 0;
  Patience::Clock::time_point began_ = {};
};

}  // namespace tasuki::coarray
