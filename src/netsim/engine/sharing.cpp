#include "netsim/engine/sharing.h"

#include <algorithm>
#include <functional>

namespace tasuki::netsim {

Sharing::Sharing(std::vector<double> capacities) : resources_(capacities.size()) {
  for (size_t i = 0; i < capacities.size(); i++) resources_[i].capacity = capacities[i];
}

void Sharing::touch(uint32_t resource) {
  Resource& r = resources_[resource];
  if (r.dirty || !r.contested()) return;
  r.dirty = true;
  dirty_.push_back(resource);
}

void Sharing::add(uint32_t flow, const std::vector<uint32_t>& resources, double limit) {
  if (flow >= flows_.size()) flows_.resize(flow + 1u);
  Flow& f = flows_[flow];
  f.path.clear();
  f.limit = limit;
  double rate = limit;
  for (const uint32_t i : resources) {
    Resource& r = resources_[i];
    r.limits += limit;
    if (r.contested()) {
      double left = r.capacity;
      for (const Member& m : r.members) left -= flows_[m.flow].rate;
      rate = std::min(rate, std::max(left, 0.0));
    }
    f.path.push_back({i, static_cast<uint32_t>(r.members.size())});
    r.members.push_back({flow, static_cast<uint32_t>(f.path.size() - 1)});
    touch(i);
  }
  f.rate = rate;
}

void Sharing::remove(uint32_t flow) {
  for (const Crossing& c : flows_[flow].path) {
    Resource& r = resources_[c.resource];
    touch(c.resource);
    r.limits -= flows_[flow].limit;
    const Member last = r.members.back();
    r.members[c.place] = last;
    flows_[last.flow].path[last.crossing].place = c.place;
    r.members.pop_back();
    if (r.members.empty()) r.limits = 0;  // rounding does not pile up
  }
}

// The flows of what has changed, and of every resource that may be short which they cross, and so on.
void Sharing::gather() {
  open_flows_.clear();
  open_resources_.clear();
  const auto visit = [this](const Resource& r) {
    for (const Member& m : r.members) {
      Flow& f = flows_[m.flow];
      if (!f.fixed) continue;
      f.fixed = false;
      open_flows_.push_back(m.flow);
      for (const Crossing& c : f.path) {
        Resource& next = resources_[c.resource];
        if (next.gathered || !next.contested()) continue;
        next.gathered = true;
        open_resources_.push_back(c.resource);
      }
    }
  };
  for (const uint32_t i : dirty_) {
    resources_[i].dirty = false;
    visit(resources_[i]);
  }
  dirty_.clear();
  for (size_t i = 0; i < open_resources_.size(); i++) visit(resources_[open_resources_[i]]);
}

void Sharing::fix(uint32_t flow, double rate) {
  Flow& f = flows_[flow];
  f.fixed = true;
  if (rate != f.rate) changed_.push_back({flow, f.rate});
  f.rate = rate;
  for (const Crossing& c : f.path) {
    Resource& r = resources_[c.resource];
    if (!r.gathered) continue;
    r.left -= rate;
    r.open--;
  }
}

void Sharing::fill() {
  changed_.clear();
  gather();
  std::sort(open_flows_.begin(), open_flows_.end(), [this](uint32_t a, uint32_t b) {
    return flows_[a].limit != flows_[b].limit ? flows_[a].limit < flows_[b].limit : a < b;
  });
  shares_.clear();
  for (const uint32_t i : open_resources_) {
    Resource& r = resources_[i];
    r.left = r.capacity;
    r.open = static_cast<uint32_t>(r.members.size());
    shares_.push_back({r.left / r.open, i});
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>());

  // Shares only grow while flows are fixed at no more than them, so what the heap says is too low at worst.
  size_t next = 0;
  while (next < open_flows_.size()) {
    if (flows_[open_flows_[next]].fixed) {
      next++;
      continue;
    }
    const double limit = flows_[open_flows_[next]].limit;
    if (shares_.empty() || limit <= shares_.front().share) {
      fix(open_flows_[next++], limit);
      continue;
    }
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    const Share least = shares_.back();
    shares_.pop_back();
    const Resource& r = resources_[least.resource];
    if (r.open == 0) continue;
    const double share = r.left / r.open;
    if (share > least.share) {
      shares_.push_back({share, least.resource});
      std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
      continue;
    }
    for (const Member& m : r.members)
      if (!flows_[m.flow].fixed) fix(m.flow, least.share);
  }
  for (const uint32_t i : open_resources_) resources_[i].gathered = false;
}

}  // namespace tasuki::netsim
