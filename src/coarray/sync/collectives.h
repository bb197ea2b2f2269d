// collectives: what the MPI library's collective operations cannot tell: that one who is waited for in them
// has ended.
//
// Who calls one says so in its own memory, before and after. An image that has ended looks there now and
// then: whoever is in an operation that this one has not begun waits for ever, and the job ends with a
// message.
#pragma once

#include <cstdint>
#include <vector>

#include "coarray/local/fail.h"
#include "coarray/local/team.h"
#include "coarray/sync/stations.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

class Collectives {
 public:
  explicit Collectives(Stations* stations) : stations_(*stations) {}

  void begin(const Team& team, uint64_t number, Where where);
  void end();

  // Called again and again by an image that has ended, until all have; then stop_looking().
  void look(const Teams& teams);
  void stop_looking();

 private:
  void examine(size_t image, const Teams& teams);

  Stations& stations_;
  // Of an image that has ended.
  std::vector<Station> seen_;
  Station now_ = {};
  Stations::Reader reader_;
  size_t next_image_ = 0;
  int64_t next_look_ms_ = 0, pause_ms_ = 0;
};

// While it lives this image is in a collective operation of the MPI library on the team.
class Collective {
 public:
  Collective(Collectives* collectives, const Team& team, Where where)
      : Collective(collectives, team, ++team.collectives, where) {}
  // In one that it has begun before.
  Collective(Collectives* collectives, const Team& team, uint64_t number, Where where)
      : collectives_(*collectives) {
    collectives_.begin(team, number, where);
  }
  ~Collective() { collectives_.end(); }
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

 private:
  Collectives& collectives_;
};

}  // namespace tasuki::coarray
