// reduction and bcast (XcalableMP 1.4, sections 4.6.5 and 4.6.6; the reduction clause of `loop`, 4.5.3): collective operations of MPI
// among the nodes that take part.
#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "coarray/global/compute/direct_reduction.h"
#include "coarray/global/compute/operations.h"
#include "coarray/global/exchange/async.h"
#include "coarray/global/exchange/patient.h"
#include "coarray/global/records/arrays.h"
#include "coarray/local/runtime.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace {

constexpr size_t kMostAtOnce = 1 << 30;  // elements; MPI counts in int

// Fails if one of these nodes does not execute the directive. nullptr: this node does not take part.
const Team* team_on(const tasuki_xmp_on* on, const char* directive, Where where) {
  Runtime& r = runtime();
  r.require_start(directive);
  if (on == nullptr) return &r.teams.current();
  const std::vector<int> ranks = nodes_on(*on, where);
  for (int rank : ranks)
    if (r.teams.current().index[static_cast<size_t>(rank)] < 0)
      fail(where, "a node of '%s' that the %s is on does not execute it", name_of_space(on->of), directive);
  return r.teams.team_of(ranks, where);
}

// The elements of a variable, or all memory of a distributed array, which is the same on all nodes. What is on a device comes here for the
// operation of MPI, and goes back with store().
class Elements {
 public:
  Elements(const tasuki_xmp_variable& variable, unsigned flags, Where where)
      : data(static_cast<char*>(variable.data)), count(variable.count), element(variable.element) {
    Runtime& r = runtime();
    if (variable.array != nullptr) {
      const Held held = arrays().held(*variable.array, flags, where);
      const Geometry& g = *held.geometry;
      data = held.segment->begin + held.offset;
      count = g.bytes / g.element;
      element = g.element;
      segment_ = held.segment;
      offset_ = held.offset;
    }
    if ((flags & TASUKI_XMP_DEVICE) == 0 || !r.device.apart()) return;
    device_ = r.device_copy(data, bytes());
    if (device_ == nullptr)
      fail(where,
           "a variable with acc must be on the device; #pragma acc enter data or declare create comes first");
    here_ = std::make_unique<char[]>(bytes());
    data = here_.get();
    r.device.copy({data, false}, dense_shape(bytes()), {device_, true}, dense_shape(bytes()));
  }
  size_t bytes() const { return count * element; }
  void store() const {
    if (device_ == nullptr) return;
    Device& device = runtime().device;
    device.copy({device_, true}, dense_shape(bytes()), {data, false}, dense_shape(bytes()));
    device.synchronize();
  }
  // Where it is on the nodes of the team; none: not all have an address here, or copies are to be computed with.
  std::vector<char*> on(const Team& team) const {
    std::vector<char*> all;
    if (segment_ == nullptr || device_ != nullptr || !runtime().memory.all_direct()) return all;
    for (int rank : team.ranks)
      all.push_back(segment_->direct[static_cast<size_t>(segment_->team->index[static_cast<size_t>(rank)])] +
                    offset_);
    return all;
  }

  char* data;
  size_t count, element;

 private:
  const Segment* segment_ = nullptr;  // of a distributed array
  uint64_t offset_ = 0;
  char* device_ = nullptr;
  std::unique_ptr<char[]> here_;
};

class Requests : public Pending {
 public:
  Requests(const Team& team, Where where) : team_(team), number_(team.collectives), where_(where) {}
  std::vector<MPI_Request> all;
  std::vector<Elements> elements;

  bool ready() override {
    int done = 0;
    PMPI_Testall(static_cast<int>(all.size()), all.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }
  void finish() override {
    const Collective here(team_, number_, where_);
    for (MPI_Request& request : all) wait_for(&request);
    for (const Elements& e : elements) e.store();
  }

 private:
  const Team& team_;
  uint64_t number_;
  Where where_;
};

void reduce(void* data, size_t count, size_t element, MPI_Datatype type, MPI_Op op, const Team& team,
            Where where) {
  if (const size_t bytes = count * element; bytes > 0 && bytes <= Allgather::kMost)
    if (Allgather& allgather = runtime().allgather; allgather.serves(team)) {
      // In the order of the nodes: all have the same result.
      alignas(64) char all[Allgather::kMostImages * Allgather::kMost];
      allgather.gather(team, data, bytes, all, where);
      memcpy(data, all, bytes);
      for (int i = 1; i < team.size(); i++)
        PMPI_Reduce_local(all + static_cast<size_t>(i) * bytes, data, static_cast<int>(count), type, op);
      return;
    }
  for (size_t done = 0; done < count; done += kMostAtOnce)
    allreduce(static_cast<char*>(data) + done * element,
              static_cast<int>(std::min(count - done, kMostAtOnce)), type, op, users_comm(team));
}

void reduce(const Elements& e, MPI_Datatype type, MPI_Op op, const Team& team, Where where) {
  if (e.bytes() >= kLeastDirect)
    if (const std::vector<char*> memory = e.on(team); !memory.empty())
      return reduce_directly(memory, e.count, e.element, type, op, team, where);
  reduce(e.data, e.count, e.element, type, op, team, where);
}

void begin_reduce(const Elements& e, MPI_Datatype type, MPI_Op op, const Team& team, Requests* later) {
  for (size_t done = 0; done < e.count; done += kMostAtOnce) {
    later->all.emplace_back();
    PMPI_Iallreduce(MPI_IN_PLACE, e.data + done * e.element,
                    static_cast<int>(std::min(e.count - done, kMostAtOnce)), type, op, users_comm(team),
                    &later->all.back());
  }
}

// The locations come from the first or last that has the result.
void reduce_with_locations(int operation, const tasuki_xmp_variable& variable, int locations,
                           const tasuki_xmp_variable* location, const std::vector<long long>& position,
                           const Team& team, unsigned flags, Where where) {
  const Elements e(variable, flags, where);
  if (e.count != 1)
    fail(where, "reductions with locations are of scalars; this variable has %zu elements", e.count);
  std::vector<char> mine(e.data, e.data + e.element);
  reduce(e, datatype_of(variable.type, where),
         operation_of(without_location(operation), variable.type, where), team, where);
  // Number by number of the positions, and then of the nodes: those whose number is another drop out.
  const bool first = wants_first(operation);
  const long long nobody = first ? LLONG_MAX : LLONG_MIN;
  bool candidate = equal_values(variable.type, mine.data(), e.data);
  long long chosen = nobody;
  const auto choose_by = [&](long long number) {
    chosen = candidate ? number : nobody;
    reduce(&chosen, 1, sizeof chosen, MPI_LONG_LONG, first ? MPI_MIN : MPI_MAX, team, where);
    candidate = candidate && number == chosen;
  };
  for (long long number : position) choose_by(number);
  choose_by(team.me);
  if (chosen == nobody) chosen = 0;  // not a number
  e.store();
  std::vector<Elements> parts;
  size_t bytes = 0;
  for (int i = 0; i < locations; i++) {
    parts.emplace_back(location[i], flags, where);
    bytes += parts.back().bytes();
  }
  std::vector<char> packed(bytes);
  const auto each = [&](auto copy) {
    char* at = packed.data();
    for (const Elements& part : parts) {
      copy(at, part.data, part.bytes());
      at += part.bytes();
    }
  };
  each([](char* at, const char* data, size_t length) { memcpy(at, data, length); });
  MPI_Bcast(packed.data(), static_cast<int>(bytes), MPI_BYTE, static_cast<int>(chosen), users_comm(team));
  each([](const char* at, char* data, size_t length) { memcpy(data, at, length); });
  for (const Elements& part : parts) part.store();
}

// Those that differ from this node only in the node dimensions that these dimensions are distributed onto.
const Team* team_of_loop(const Template& t, unsigned dimensions) {
  static auto* known = new std::map<std::tuple<const Template*, unsigned, const Team*>, const Team*>;
  const Team& current = runtime().teams.current();
  const auto [entry, fresh] = known->try_emplace({&t, dimensions, &current}, nullptr);
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
  if (ranks.size() > 1) entry->second = runtime().teams.team_of(ranks);
  return entry->second;
}

}  // namespace

EXPORT void tasuki_xmp_reduction(int operation, const tasuki_xmp_variable* variable, int locations,
                                 const tasuki_xmp_variable* location, const tasuki_xmp_on* on, unsigned flags,
                                 int async, const char* file, int line) {
  const Where where = {file, line};
  const Team* team = team_on(on, "reduction", where);
  if (team == nullptr) return;
  const Collective here(*team, where);
  if (has_location(operation))
    return reduce_with_locations(operation, *variable, locations, location, {}, *team, flags, where);
  Elements e(*variable, flags, where);
  const MPI_Datatype type = datatype_of(variable->type, where);
  const MPI_Op op = operation_of(operation, variable->type, where);
  if ((flags & TASUKI_XMP_ASYNC) == 0) {
    reduce(e, type, op, *team, where);
    return e.store();
  }
  auto later = std::make_unique<Requests>(*team, where);
  begin_reduce(e, type, op, *team, later.get());
  later->elements.push_back(std::move(e));
  asynchronous().add(async, std::move(later));
}

EXPORT void tasuki_xmp_loop_reduction(int operation, const tasuki_xmp_variable* variable, int locations,
                                      const tasuki_xmp_variable* location, int positions,
                                      const long long* position, const void* of, unsigned dimensions,
                                      unsigned flags, const char* file, int line) {
  const Where where = {file, line};
  const MPI_Op op = operation_of(without_location(operation), variable->type, where);
  const Team* team = team_of_loop(templates().of(of, where), dimensions);
  if (team == nullptr) return;
  const Collective here(*team, where);
  if (has_location(operation))
    return reduce_with_locations(operation, *variable, locations, location, {position, position + positions},
                                 *team, flags, where);
  const Elements e(*variable, flags, where);
  reduce(e, datatype_of(variable->type, where), op, *team, where);
  e.store();
}

EXPORT void tasuki_xmp_bcast(int variables, const tasuki_xmp_variable* variable, const tasuki_xmp_on* from,
                             const tasuki_xmp_on* on, unsigned flags, int async, const char* file, int line) {
  const Where where = {file, line};
  const Team* team = team_on(on, "bcast", where);
  if (team == nullptr) return;
  const Collective here(*team, where);
  int root = 0;
  if (from != nullptr) {
    const std::vector<int> ranks = nodes_on(*from, where);
    if (ranks.size() != 1)
      fail(where, "bcast is from one node; '%s' names %zu", name_of_space(from->of), ranks.size());
    root = team->index[static_cast<size_t>(ranks[0])];
    if (root < 0)
      fail(where, "the node of '%s' that bcast is from is not among those that it is on",
           name_of_space(from->of));
  }
  auto later = (flags & TASUKI_XMP_ASYNC) != 0 ? std::make_unique<Requests>(*team, where) : nullptr;
  for (int i = 0; i < variables; i++) {
    Elements e(variable[i], flags, where);
    const size_t bytes = e.bytes();
    for (size_t done = 0; done < bytes; done += kMostAtOnce) {
      const int count = static_cast<int>(std::min(bytes - done, kMostAtOnce));
      if (later == nullptr) {
        MPI_Bcast(e.data + done, count, MPI_BYTE, root, users_comm(*team));
      } else {
        later->all.emplace_back();
        PMPI_Ibcast(e.data + done, count, MPI_BYTE, root, users_comm(*team), &later->all.back());
      }
    }
    if (later == nullptr)
      e.store();
    else
      later->elements.push_back(std::move(e));
  }
  if (later != nullptr) asynchronous().add(async, std::move(later));
}
