// orders: elements that the nodes of a team want of each other, or give to each other, wherever they are: in
// one exchange of messages between each two of them. ElementMap that lie one behind the other are named once.
//
// Everybody's answers are made before anything is stored, so that what is fetched and where it is put may be
// the same memory.
#pragma once

#include <cstdint>
#include <vector>

#include "coarray/global/exchange/elements.h"
#include "coarray/sync/sync.h"

namespace tasuki::coarray {

// What each node has for each other one, delivered. Collective.
std::vector<std::vector<char>> exchange(Sync* sync, const Team& team,
                                        const std::vector<std::vector<char>>& parcels);

class Orders {
 public:
  Orders(Sync* sync, const Team& team, uint64_t element)
      : sync_(*sync), team_(team), element_(element), wanted_(static_cast<size_t>(team.size())) {}

  void add(Spot spot);
  // Collective. The elements in the order in which they were added, out of everybody's `memory`.
  std::vector<char> fetch(const char* memory) const;
  // Collective. Stores `values`, in that order, in everybody's `memory`.
  void store(char* memory, const std::vector<char>& values) const;

 private:
  struct Order {
    int64_t at, count;
  };
  struct Stretch {
    int node;
    int64_t count;
  };
  std::vector<std::vector<Order>> orders_at_all() const;

  Sync& sync_;
  const Team& team_;
  uint64_t element_;
  std::vector<std::vector<Order>> wanted_;  // by node
  std::vector<Stretch> stretches_;          // in the order of add()
};

}  // namespace tasuki::coarray
