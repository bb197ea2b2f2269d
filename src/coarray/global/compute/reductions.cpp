#include "coarray/global/compute/reductions.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>

#include "coarray/global/compute/direct_reduction.h"
#include "coarray/global/exchange/patient.h"

namespace tasuki::coarray {
namespace {

constexpr size_t kMostAtOnce = 1 << 30;  // elements; MPI counts in int

}  // namespace

// Fails if one of these nodes does not execute the directive. nullptr: this node does not take part.
const Team* Reductions::team_on(const tasuki_xmp_on* on, const char* directive, Where where) {
  parts_.phase.require_start(directive);
  Teams& teams = parts_.teams;
  if (on == nullptr) return &teams.current();
  const std::vector<int> ranks = parts_.templates.nodes_on(*on, where);
  for (int rank : ranks)
    if (teams.current().index[static_cast<size_t>(rank)] < 0)
      fail(where, "a node of '%s' that the %s is on does not execute it", name_of_space(on->of), directive);
  return teams.team_of(ranks, where);
}

// The elements of a variable, or all memory of a distributed array, which is the same on all nodes. What is
// on a device comes here for the operation of MPI, and goes back with store().
class Reductions::Elements {
 public:
  Elements(const ReductionParts& parts, const tasuki_xmp_variable& variable, unsigned flags, Where where)
      : data(static_cast<char*>(variable.data)),
        count(variable.count),
        element(variable.element),
        parts_(parts) {
    if (variable.array != nullptr) {
      const Held held = parts.arrays.held(*variable.array, flags, where);
      const Geometry& g = *held.geometry;
      data = held.segment->begin + held.offset;
      count = g.bytes / g.element;
      element = g.element;
      segment_ = held.segment;
      offset_ = held.offset;
    }
    if ((flags & TASUKI_XMP_DEVICE) == 0 || !parts.device.apart()) return;
    device_ = parts.coarrays.device_copy(data, bytes());
    if (device_ == nullptr)
      fail(where,
           "a variable with acc must be on the device; #pragma acc enter data or declare create comes first");
    here_ = std::make_unique<char[]>(bytes());
    data = here_.get();
    parts.device.copy({data, false}, dense_shape(bytes()), {device_, true}, dense_shape(bytes()));
  }
  size_t bytes() const { return count * element; }
  void store() const {
    if (device_ == nullptr) return;
    Device& device = parts_.device;
    device.copy({device_, true}, dense_shape(bytes()), {data, false}, dense_shape(bytes()));
    device.synchronize();
  }
  // Where it is on the nodes of the team; none: not all have an address here, or copies are to be computed
  // with.
  std::vector<char*> on(const Team& team) const {
    std::vector<char*> all;
    if (segment_ == nullptr || device_ != nullptr || !parts_.memory.all_direct()) return all;
    for (int rank : team.ranks)
      all.push_back(segment_->direct[static_cast<size_t>(segment_->team->index[static_cast<size_t>(rank)])] +
                    offset_);
    return all;
  }

  // Calls visit(data, bytes) for as many bytes as MPI takes at once.
  template <typename Visit>
  void each_part(const Visit& visit) const {
    for (size_t done = 0; done < bytes(); done += kMostAtOnce)
      visit(data + done, static_cast<int>(std::min(bytes() - done, kMostAtOnce)));
  }

  char* data;
  size_t count, element;

 private:
  const ReductionParts& parts_;
  const Segment* segment_ = nullptr;  // of a distributed array
  uint64_t offset_ = 0;
  char* device_ = nullptr;
  std::unique_ptr<char[]> here_;
};

class Reductions::Requests : public Pending {
 public:
  Requests(const ReductionParts& parts, const Team& team, Where where)
      : parts_(parts), team_(team), number_(team.collectives), where_(where) {}
  void reduce(Elements e, MPI_Datatype type, MPI_Op op) {
    for (size_t done = 0; done < e.count; done += kMostAtOnce) {
      all_.emplace_back();
      PMPI_Iallreduce(MPI_IN_PLACE, e.data + done * e.element,
                      static_cast<int>(std::min(e.count - done, kMostAtOnce)), type, op, users_comm(team_),
                      &all_.back());
    }
    elements_.push_back(std::move(e));
  }
  void broadcast(Elements e, int root) {
    e.each_part([&](char* data, int count) {
      all_.emplace_back();
      PMPI_Ibcast(data, count, MPI_BYTE, root, users_comm(team_), &all_.back());
    });
    elements_.push_back(std::move(e));
  }

  bool ready() override {
    int done = 0;
    PMPI_Testall(static_cast<int>(all_.size()), all_.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }
  void finish() override {
    const Collective here(&parts_.collectives, team_, number_, where_);
    for (MPI_Request& request : all_) parts_.sync.wait_for(&request);
    for (const Elements& e : elements_) e.store();
  }

 private:
  const ReductionParts& parts_;
  const Team& team_;
  uint64_t number_;
  Where where_;
  std::vector<MPI_Request> all_;
  std::vector<Elements> elements_;
};

void Reductions::reduce_data(void* data, size_t count, size_t element, MPI_Datatype type, MPI_Op op,
                             const Team& team, Where where) {
  if (const size_t bytes = count * element; bytes > 0 && bytes <= Allgather::kMost)
    if (Allgather& allgather = parts_.allgather; allgather.serves(team)) {
      // In the order of the nodes: all have the same result.
      alignas(64) char all[Allgather::kMostImages * Allgather::kMost];
      allgather.gather(team, data, bytes, all, where);
      memcpy(data, all, bytes);
      for (int i = 1; i < team.size(); i++)
        PMPI_Reduce_local(all + static_cast<size_t>(i) * bytes, data, static_cast<int>(count), type, op);
      return;
    }
  for (size_t done = 0; done < count; done += kMostAtOnce)
    allreduce(&parts_.sync, static_cast<char*>(data) + done * element,
              static_cast<int>(std::min(count - done, kMostAtOnce)), type, op, users_comm(team));
}

void Reductions::reduce_elements(const Elements& e, MPI_Datatype type, MPI_Op op, const Team& team,
                                 Where where) {
  if (e.bytes() >= kLeastDirect)
    if (const std::vector<char*> memory = e.on(team); !memory.empty())
      return reduce_directly(&parts_.sync, memory, e.count, e.element, type, op, team, where);
  reduce_data(e.data, e.count, e.element, type, op, team, where);
}

// The locations come from the first or last that has the result.
void Reductions::reduce_with_locations(const Reduced& reduced, const std::vector<long long>& position,
                                       const Team& team, unsigned flags, Where where) {
  const auto& [operation, variable, locations, location] = reduced;
  const Elements e(parts_, variable, flags, where);
  if (e.count != 1)
    fail(where, "reductions with locations are of scalars; this variable has %zu elements", e.count);
  std::vector<char> mine(e.data, e.data + e.element);
  reduce_elements(e, datatype_of(variable.type, where),
                  parts_.operations.of(without_location(operation), variable.type, where), team, where);
  // Number by number of the positions, and then of the nodes: those whose number is another drop out.
  const bool first = wants_first(operation);
  const long long nobody = first ? LLONG_MAX : LLONG_MIN;
  bool candidate = equal_values(variable.type, mine.data(), e.data);
  long long chosen = nobody;
  const auto choose_by = [&](long long number) {
    chosen = candidate ? number : nobody;
    reduce_data(&chosen, 1, sizeof chosen, MPI_LONG_LONG, first ? MPI_MIN : MPI_MAX, team, where);
    candidate = candidate && number == chosen;
  };
  for (long long number : position) choose_by(number);
  choose_by(team.me);
  if (chosen == nobody) chosen = 0;  // not a number
  e.store();
  std::vector<Elements> all;
  size_t bytes = 0;
  for (int i = 0; i < locations; i++) {
    all.emplace_back(parts_, location[i], flags, where);
    bytes += all.back().bytes();
  }
  std::vector<char> packed(bytes);
  const auto each = [&](auto copy) {
    char* at = packed.data();
    for (const Elements& part : all) {
      copy(at, part.data, part.bytes());
      at += part.bytes();
    }
  };
  each([](char* at, const char* data, size_t length) { memcpy(at, data, length); });
  MPI_Bcast(packed.data(), static_cast<int>(bytes), MPI_BYTE, static_cast<int>(chosen), users_comm(team));
  each([](const char* at, char* data, size_t length) { memcpy(data, at, length); });
  for (const Elements& part : all) part.store();
}

// Those that differ from this node only in the node dimensions that these dimensions are distributed onto.
const Team* Reductions::team_of_loop(const Template& t, unsigned dimensions) {
  const Team& current = parts_.teams.current();
  const auto [entry, fresh] = teams_of_loops_.try_emplace({&t, dimensions, &current}, nullptr);
  if (!fresh || !t.member) return entry->second;
  std::vector<std::vector<int>> coordinates;
  for (size_t n = 0; n < t.sizes.size(); n++) {
    coordinates.emplace_back();
    if ((dimensions >> t.template_dimension[n] & 1) == 0) {
      coordinates.back() = {t.own[n]};
      continue;
    }
    for (int c = 0; c < t.sizes[n]; c++) coordinates.back().push_back(c);
  }
  std::vector<int> ranks = t.everywhere ? std::vector<int>() : t.ranks_of(coordinates);
  std::erase_if(ranks, [&](int rank) { return current.index[static_cast<size_t>(rank)] < 0; });
  if (ranks.size() > 1) entry->second = parts_.teams.team_of(ranks);
  return entry->second;
}

void Reductions::reduce(const Reduced& reduced, const tasuki_xmp_on* on, unsigned flags, int async,
                        Where where) {
  const Team* team = team_on(on, "reduction", where);
  if (team == nullptr) return;
  const Collective here(&parts_.collectives, *team, where);
  if (has_location(reduced.operation)) return reduce_with_locations(reduced, {}, *team, flags, where);
  const tasuki_xmp_variable& variable = reduced.variable;
  Elements e(parts_, variable, flags, where);
  const MPI_Datatype type = datatype_of(variable.type, where);
  const MPI_Op op = parts_.operations.of(reduced.operation, variable.type, where);
  if ((flags & TASUKI_XMP_ASYNC) == 0) {
    reduce_elements(e, type, op, *team, where);
    return e.store();
  }
  auto later = std::make_unique<Requests>(parts_, *team, where);
  later->reduce(std::move(e), type, op);
  parts_.asynchronous.add(async, std::move(later));
}

void Reductions::reduce_loop(const Reduced& reduced, const std::vector<long long>& position, const void* of,
                             unsigned dimensions, unsigned flags, Where where) {
  const tasuki_xmp_variable& variable = reduced.variable;
  const MPI_Op op = parts_.operations.of(without_location(reduced.operation), variable.type, where);
  const Team* team = team_of_loop(parts_.templates.of(of, where), dimensions);
  if (team == nullptr) return;
  const Collective here(&parts_.collectives, *team, where);
  if (has_location(reduced.operation)) return reduce_with_locations(reduced, position, *team, flags, where);
  const Elements e(parts_, variable, flags, where);
  reduce_elements(e, datatype_of(variable.type, where), op, *team, where);
  e.store();
}

void Reductions::broadcast(int variables, const tasuki_xmp_variable* variable, const tasuki_xmp_on* from,
                           const tasuki_xmp_on* on, unsigned flags, int async, Where where) {
  const Team* team = team_on(on, "bcast", where);
  if (team == nullptr) return;
  const Collective here(&parts_.collectives, *team, where);
  int root = 0;
  if (from != nullptr) {
    const std::vector<int> ranks = parts_.templates.nodes_on(*from, where);
    if (ranks.size() != 1)
      fail(where, "bcast is from one node; '%s' names %zu", name_of_space(from->of), ranks.size());
    root = team->index[static_cast<size_t>(ranks[0])];
    if (root < 0)
      fail(where, "the node of '%s' that bcast is from is not among those that it is on",
           name_of_space(from->of));
  }
  auto later = (flags & TASUKI_XMP_ASYNC) != 0 ? std::make_unique<Requests>(parts_, *team, where) : nullptr;
  for (int i = 0; i < variables; i++) {
    Elements e(parts_, variable[i], flags, where);
    if (later != nullptr) {
      later->broadcast(std::move(e), root);
      continue;
    }
    e.each_part([&](char* data, int count) { MPI_Bcast(data, count, MPI_BYTE, root, users_comm(*team)); });
    e.store();
  }
  if (later != nullptr) parts_.asynchronous.add(async, std::move(later));
}

}  // namespace tasuki::coarray
