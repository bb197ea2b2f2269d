// teams: the sets of images that execute together, all of them or those of a `task`; node arrays; and which
// image a number of the program names.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "coarray/local/fail.h"
#include "coarray/local/team.h"
#include "tasuki/compiler/local_view.h"

namespace tasuki::coarray {

// A node array with its nodes. The first dimension varies fastest.
struct NodeSet {
  std::vector<int> sizes;
  std::vector<int> ranks;     // in MPI_COMM_WORLD
  bool all_in_order = false;  // they are 0, 1, 2, ..
};

class Sync;

class Teams {
 public:
  explicit Teams(Sync* sync) : sync_(*sync) {}
  void start(MPI_Comm comm);
  void stop();

  const Team& world() const { return *world_; }
  const Team& current() const { return *current_; }
  // Both are called by the members only. enter() is collective when a set is met for the first time, and
  // fails then if one of it has ended.
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

  // Images have numbers in the executing set, which count from this one.
  int first_image() const { return first_image_; }
  void set_first_image(int first, const char* file);
  // The index of an image in the executing set; -1: there is none of that number.
  int current_index(int image) const {
    const int index = image - first_image_;
    return index >= 0 && index < current_->size() ? index : -1;
  }
  // The index of an image in `world`. Fails with a message that begins with `what` if there is no such image.
  int world_index(int image, Where where, const char* what) const {
    const int index = current_index(image);
    if (index < 0) [[unlikely]]
      return world_->index[static_cast<size_t>(rank_elsewhere(image, what, where))];
    return current_ == world_.get()
               ? index
               : world_->index[static_cast<size_t>(current_->ranks[static_cast<size_t>(index)])];
  }
  // The number that stands for a rank of MPI_COMM_WORLD: that of the image if it executes, else one that none
  // has.
  int image_of_rank(int rank) const {
    const int index = current_->index[static_cast<size_t>(rank)];
    return index >= 0 ? index + first_image_ : kElsewhere + rank;
  }
  bool is_elsewhere(int image) const { return image >= kElsewhere && image < kElsewhere + world_->size(); }
  // The rank of MPI_COMM_WORLD, for images that do not execute. Fails with a message if there is no such
  // image.
  int rank_elsewhere(int image, const char* what, Where where) const;
  // The number by which the user names it; of this image if it is in the executing set.
  int number_of(int world_index) const;

 private:
  // Images of other sets than the executing one, which coarray directives may name.
  static constexpr int kElsewhere = -0x40000000;
  const NodeSet& resolve(const tasuki_xmp_nodes& record);
  Team* make(MPI_Comm comm);

  Sync& sync_;
  std::unique_ptr<Team> world_;
  Team* current_ = nullptr;
  int first_image_ = 1;
  const char* first_image_file_ = nullptr;
  std::vector<Team*> stack_;
  std::map<std::vector<int>, std::unique_ptr<Team>> made_;
  std::vector<std::unique_ptr<NodeSet>> sets_;
};

}  // namespace tasuki::coarray
