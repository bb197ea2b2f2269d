// team: a set of images that execute together: all of them, or those of a `task`. Images are numbered within it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "coarray/local/fail.h"
#include "tasuki/xmp_compiler.h"

namespace tasuki::coarray {

struct Team {
  MPI_Comm comm = MPI_COMM_NULL;     // the runtime's own
  MPI_Comm users = MPI_COMM_NULL;    // see users_comm
  std::vector<int> ranks;            // in MPI_COMM_WORLD, by index
  std::vector<int> index;            // by rank in MPI_COMM_WORLD; -1: not a member
  int me = 0;                        // index of this image
  uint64_t id = 0;                   // the same in all its images, and no other team's
  mutable uint64_t collectives = 0;  // of the MPI library, begun by this image on this team (collectives.h)
  int size() const { return static_cast<int>(ranks.size()); }
  int own_rank() const { return ranks[static_cast<size_t>(me)]; }  // in MPI_COMM_WORLD
};

// A node array with its nodes. The first dimension varies fastest.
struct NodeSet {
  std::vector<int> sizes;
  std::vector<int> ranks;     // in MPI_COMM_WORLD
  bool all_in_order = false;  // they are 0, 1, 2, ..
};

// Have all images of the team the same value? Collective.
bool alike(const Team& team, uint64_t value);

// For collective operations of programs, and of the directives that are such; made at the first call, which is collective.
MPI_Comm users_comm(const Team& team);

class Sync;

class Teams {
 public:
  void start(MPI_Comm comm, Sync* sync);
  void stop();

  const Team& world() const { return *world_; }
  const Team& current() const { return *current_; }
  // Both are called by the members only. enter() is collective when a set is met for the first time, and fails then if one of it has
  // ended.
  bool enter(const std::vector<int>& ranks, Where where = {nullptr, 0});
  void leave();
  // The team that enter() would enter; nullptr: this image is no member.
  const Team* team_of(const std::vector<int>& ranks, Where where = {nullptr, 0});
  // nullptr: none of this image's.
  const Team* find(uint64_t id) const;
  int nesting() const { return static_cast<int>(stack_.size()); }

  // Resolved once and kept in the record.
  const NodeSet& nodes(const tasuki_xmp_nodes& record) {
    return record.state[0] != nullptr ? *static_cast<const NodeSet*>(record.state[0]) : resolve(record);
  }
  // The part that the ranges name; nullptr: all.
  NodeSet part(const tasuki_xmp_nodes& record, const tasuki_xmp_range* ranges, Where where);

 private:
  const NodeSet& resolve(const tasuki_xmp_nodes& record);
  Team* make(MPI_Comm comm);

  Sync* sync_ = nullptr;
  std::unique_ptr<Team> world_;
  Team* current_ = nullptr;
  std::vector<Team*> stack_;
  std::map<std::vector<int>, std::unique_ptr<Team>> made_;
  std::vector<std::unique_ptr<NodeSet>> sets_;
};

}  // namespace tasuki::coarray
