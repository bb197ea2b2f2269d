// Max-min fair sharing: flows cross resources (links, ports, memories), each of a capacity that its flows
// share. A flow gets as much as it can use without taking anything from one that has less (Bertsekas,
// Gallager, "Data networks", 6.5.2).
//
// Only what a change touches is computed anew: a resource whose flows could not fill it even at their own
// limits slows nobody down, so a change does not reach through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tasuki::netsim {

class Sharing {
 public:
  explicit Sharing(std::vector<double> capacities);

  // A flow, number `flow`, that cannot use more than `limit`. Until the next fill() it gets what is left
  // over.
  void add(uint32_t flow, const std::vector<uint32_t>& resources, double limit);
  void remove(uint32_t flow);
  // Anything changed whose effect on others is not yet computed?
  bool dirty() const { return !dirty_.empty(); }
  // The fair rates. Afterwards changed() lists the flows whose rate is another one, with the rate before.
  void fill();

  struct Change {
    uint32_t flow;
    double before;
  };
  const std::vector<Change>& changed() const { return changed_; }
  double rate(uint32_t flow) const { return flows_[flow].rate; }
  uint32_t resource(uint32_t flow, size_t i) const { return flows_[flow].path[i].resource; }

 private:
  struct Crossing {
    uint32_t resource, place;  // place: where the flow stands in the resource's list
  };
  struct Member {
    uint32_t flow, crossing;
  };
  struct Flow {
    std::vector<Crossing> path;
    double limit = 0, rate = 0;
    bool fixed = true;  // during fill(): its rate is known; outside true
  };
  struct Resource {
    double capacity = 0;
    double limits = 0;  // sum over its flows
    double left = 0;    // during fill()
    uint32_t open = 0;  // flows that are not fixed, during fill()
    bool dirty = false, gathered = false;
    std::vector<Member> members;
    bool contested() const { return limits > capacity * (1 + 1e-9); }
  };
  struct Share {
    double share;
    uint32_t resource;
    bool operator>(const Share& o) const {
      return share != o.share ? share > o.share : resource > o.resource;
    }
  };

  void touch(uint32_t resource);
  void gather();
  void fix(uint32_t flow, double rate);

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> dirty_;
  // What fill() works on: flows, resources that may be short, and these by their fair share.
  std::vector<uint32_t> open_flows_, open_resources_;
  std::vector<Share> shares_;
  std::vector<Change> changed_;
};

}  // namespace tasuki::netsim
