// The collective operations that move data: what goes from where to where, and the calls.
#include <algorithm>
#include <cstring>
#include <optional>

#include "layout.h"

namespace collectives {
namespace {

struct Block {
  int from, to;
};

bool with_counts(Kind k) {
  return k == kGatherv || k == kScatterv || k == kAllgatherv || k == kAlltoallv || k == kAlltoallw;
}
bool to_all(Kind k) {
  return k == kAlltoall || k == kAlltoallv || k == kAlltoallw;
}
bool scatters(Kind k) {
  return k == kScatter || k == kScatterv;
}
bool gathers(Kind k) {
  return k == kGather || k == kGatherv;
}
bool gathers_all(Kind k) {
  return k == kAllgather || k == kAllgatherv;
}

// What all ranks know. Of the sequence of units that a rank gives, each other rank gets a part.
struct Plan {
  Plan(Kind kind, Random& plan, const Comm& comm);

  Kind kind;
  int me, size, root;
  bool in_place;
  int group;                          // units
  int item = 0;                       // units in an item, if it must be the same everywhere
  bool same_types = false;            // all ranks receive with types of the same size and extent
  size_t longest = 0;                 // bytes of a message, at most
  bool columns = true;                // types whose items lie within each other may be sent
  std::vector<Signature> signatures;  // with MPI_Alltoallw several ones
  uint64_t fill;
  std::vector<std::vector<int>> counts, starts;  // by sender and receiver, in groups

  int count(const Block& b) const { return counts[static_cast<size_t>(b.from)][static_cast<size_t>(b.to)]; }
  int start(const Block& b) const { return starts[static_cast<size_t>(b.from)][static_cast<size_t>(b.to)]; }
  const Signature& signature(const Block& b) const {
    return signatures[static_cast<size_t>(b.from + b.to) % signatures.size()];
  }
  size_t group_bytes(const Block& b) const { return static_cast<size_t>(group) * bytes_of(signature(b)); }
  Bytes content(const Block& b) const;
  std::vector<Block> sent() const, received() const, in_place_blocks() const;

 private:
  std::vector<Block> row() const;
  std::vector<Block> column() const;
  void draw_signatures(Random& plan);
  void draw_counts(Random& plan);
  void draw_starts(Random& plan);
  void bound_types(Random& plan);
};

Plan::Plan(Kind k, Random& plan, const Comm& comm) : kind(k), me(comm.rank), size(comm.size) {
  root = draw(plan, 0, size - 1);
  in_place = kind != kBcast && plan.chance(25);
  fill = plan.next();
  draw_signatures(plan);
  draw_counts(plan);
  draw_starts(plan);
  bound_types(plan);
}

// What the libraries cannot do.
void Plan::bound_types(Random& plan) {
  size_t unit = 0;
  for (const Signature& s : signatures) unit = std::max(unit, bytes_of(s));
  for (const auto& row : counts)
    for (int n : row) longest = std::max(longest, static_cast<size_t>(n * group) * unit);
  if (kOpenMpi) {
    // Open MPI 4.1.4 chooses an algorithm, or divides the data, by the size of a rank's own type.
    const bool divides = (kind == kBcast || kind == kGather) && longest > 500;
    if (divides || kind == kAllgatherv) item = draw_divisor(plan, group);
    // It puts what it forwards in MPI_Gather at a place where the items of such a type would overlap.
    columns = kind != kGather;
  } else {
    // MPICH 4.0.2 divides the data of MPI_Allgatherv by the extent of a rank's own type, if it has 32 KiB.
    same_types = kind == kAllgatherv && longest > 200;
    if (same_types) item = draw_divisor(plan, group);
    // It cannot receive with gaps what is sent without them, if a part of 8 KiB ends within a number.
    if (longest * counts.size() > 4000)
      for (Signature& s : signatures) s.resize(1);
  }
}

void Plan::draw_signatures(Random& plan) {
  const int n = kind == kAlltoallw ? draw(plan, 1, 4) : 1;
  for (int i = 0; i < n; i++) {
    Signature unit;
    const int length = plan.chance(60) ? 1 : draw(plan, 2, 5);
    for (int e = 0; e < length; e++) unit.push_back(&plan.pick(basics()));
    signatures.push_back(unit);
  }
  const int groups[] = {1, 1, 2, 3, 4, 6, 12, 60};
  group = groups[plan.between(0, 7)];
}

void Plan::draw_counts(Random& plan) {
  const size_t bytes = draw_bytes(plan, kind == kBcast ? 1 : size);
  if (plan.chance(10)) group = std::min<int>(static_cast<int>(bytes / 8) + 1, 5000);  // one long type
  const size_t of_group = group_bytes({0, 0});
  int most = static_cast<int>(bytes / of_group);
  if (most == 0 && bytes > 0) most = 1;
  counts.assign(static_cast<size_t>(size), std::vector<int>(static_cast<size_t>(size), most));
  if (!with_counts(kind)) return;
  const int zeros = plan.chance(50) ? draw(plan, 10, 90) : 0;
  for (size_t i = 0; i < counts.size(); i++)
    for (size_t j = 0; j < counts.size(); j++)
      counts[i][j] = plan.chance(zeros) ? 0 : draw(plan, 0, std::min(2 * most, most + 1000));
  // Each rank gives all others the same, or takes part in an exchange of equal counts in place.
  for (size_t i = 0; i < counts.size(); i++)
    for (size_t j = 0; j < counts.size(); j++) {
      if (gathers_all(kind)) counts[i][j] = counts[i][0];
      if (to_all(kind) && in_place && i < j) counts[j][i] = counts[i][j];
    }
}

// In MPI_Scatterv and MPI_Alltoallv what different ranks get may overlap.
void Plan::draw_starts(Random& plan) {
  starts.assign(counts.size(), std::vector<int>(counts.size(), 0));
  if (!scatters(kind) && !to_all(kind)) return;
  const bool overlap = (kind == kScatterv || kind == kAlltoallv) && plan.chance(40);
  std::vector<size_t> order(counts.size());
  for (size_t j = 0; j < order.size(); j++) order[j] = j;
  for (size_t i = 0; i < counts.size(); i++) {
    if (with_counts(kind)) plan.shuffle(order);
    int at = 0;
    for (size_t j : order) {
      starts[i][j] = overlap ? draw(plan, 0, counts[i][j] + 3) : at;
      at += counts[i][j] + (with_counts(kind) && plan.chance(50) ? draw(plan, 0, 3) : 0);
    }
  }
}

// What `from` gives `to`, element by element.
Bytes Plan::content(const Block& b) const {
  const Signature& unit = signature(b);
  const size_t one = group_bytes(b);
  Bytes bytes = random_bytes(word_of(fill, static_cast<uint64_t>(b.from)),
                             one * static_cast<size_t>(start(b)), one * static_cast<size_t>(count(b)));
  bool careful = false;
  for (const Basic* e : unit) careful |= e->value != e->bytes;
  for (size_t at = 0; careful && at < bytes.size();)
    for (const Basic* e : unit) {
      if (e->value == 10) {  // a library may load the number: it must be a normal one
        bytes[at + 7] |= 0x80;
        bytes[at + 9] = 0x3f;
      }
      at += static_cast<size_t>(e->bytes);
    }
  return bytes;
}

std::vector<Block> Plan::row() const {
  std::vector<Block> blocks;
  for (int j = 0; j < size; j++) blocks.push_back({me, j});
  return blocks;
}

std::vector<Block> Plan::column() const {
  std::vector<Block> blocks;
  for (int i = 0; i < size; i++) blocks.push_back({i, me});
  return blocks;
}

// The blocks in the buffer from which this rank sends, if it has one.
std::vector<Block> Plan::sent() const {
  if (kind == kBcast) return me == root ? std::vector<Block>{{me, me}} : std::vector<Block>{};
  if (scatters(kind)) return me == root ? row() : std::vector<Block>{};
  if (in_place && (!gathers(kind) || me == root)) return {};
  if (to_all(kind)) return row();
  return {{me, gathers(kind) ? root : me}};
}

std::vector<Block> Plan::received() const {
  if (kind == kBcast && me == root) return {};
  if (scatters(kind) && in_place && me == root) return {};
  if (gathers(kind) && me != root) return {};
  if (kind == kBcast) return {{root, root}};
  return scatters(kind) ? std::vector<Block>{{root, me}} : column();
}

// What lies in the buffer of received() before.
std::vector<Block> Plan::in_place_blocks() const {
  std::vector<Block> blocks(received().size(), {-1, -1});
  if (!in_place || kind == kBcast || scatters(kind)) return blocks;
  if (to_all(kind)) return row();
  if (gathers_all(kind) || me == root) blocks[static_cast<size_t>(me)] = {me, me};
  return blocks;
}

// One buffer of a call with what says where the blocks are.
class Side {
 public:
  enum Placing { kOneAfterTheOther, kAnywhere, kAsPlanned, kTyped };
  Side(const Plan& plan, Random& own, std::vector<Block> blocks, Placing placing);
  void put(size_t i, const Bytes& content, Image& image, const Image* now) const;
  void check(const Image& expected, const char* name) const;
  std::string text() const;

  std::vector<Block> blocks;
  std::vector<Type> types;  // one for each block if kTyped, or one
  std::vector<int> counts, displacements;
  std::vector<MPI_Datatype> handles;
  Image image;

 private:
  void place_by_extents(const Plan& plan, Random& own, Placing placing);
  void place_by_bytes(const Plan& plan, Random& own);
  const Type& type(size_t i) const { return types[types.size() > 1 ? i : 0]; }
  ptrdiff_t offset(size_t i) const {
    return typed_ ? displacements[i] : displacements[i] * types[0].extent();
  }
  bool typed_;
};

// How many units one item of the type has.
int draw_item(Random& random, const Plan& plan) {
  if (plan.item > 0) return plan.item;
  return random.chance(30) ? plan.group : draw_divisor(random, plan.group);
}

Side::Side(const Plan& plan, Random& own, std::vector<Block> b, Placing placing)
    : blocks(std::move(b)), counts(blocks.size()), displacements(blocks.size()), typed_(placing == kTyped) {
  if (typed_)
    place_by_bytes(plan, own);
  else
    place_by_extents(plan, own, placing);
  ptrdiff_t low = 0, high = 0;
  for (size_t i = 0; i < blocks.size(); i++)
    if (counts[i] > 0) {
      low = std::min(low, offset(i) + type(i).first());
      high = std::max(high, offset(i) + type(i).last(counts[i]));
    }
  image = Image(low, high, typed_ ? 16 : types[0].align(), own);
  for (const Type& t : types) handles.push_back(t.handle());
}

void Side::place_by_extents(const Plan& plan, Random& own, Placing placing) {
  const int item = draw_item(own, plan), items = plan.group / item;
  std::vector<size_t> order(blocks.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  if (placing == kAnywhere) own.shuffle(order);
  int at = 0, slots = 0;
  for (size_t i : order) {
    counts[i] = plan.count(blocks[i]) * items;
    displacements[i] = placing == kAsPlanned ? plan.start(blocks[i]) * items : at;
    at += counts[i] + (placing == kAnywhere && own.chance(50) ? draw(own, 0, 3) : 0);
    slots = std::max(slots, displacements[i] + counts[i]);
  }
  Random common(plan.fill);
  const bool same = plan.same_types && placing == kAnywhere;
  const bool columns = plan.columns || plan.sent().size() != 1;
  types.emplace_back(same ? common : own, plan.signature(blocks[0]), item, columns ? slots : 0, plan.longest);
  const int shift = placing != kOneAfterTheOther && own.chance(20) ? draw(own, 1, 5) : 0;
  for (int& d : displacements) d -= shift;
  // MPICH 4.0.2 forgets a single rank's displacement in MPI_Allgatherv.
  if (!kOpenMpi && plan.kind == kAllgatherv && plan.size == 1) displacements[0] = 0;
}

void Side::place_by_bytes(const Plan& plan, Random& own) {
  std::vector<size_t> order(blocks.size());
  for (size_t i = 0; i < order.size(); i++) {
    order[i] = i;
    const int item = draw_item(own, plan);
    types.emplace_back(own, plan.signature(blocks[i]), item, 0, plan.longest);
    counts[i] = plan.count(blocks[i]) * (plan.group / item);
  }
  // Open MPI 4.1.4 multiplies a single rank's displacement in MPI_Alltoallw by the extent.
  if (kOpenMpi && plan.size == 1) return;
  own.shuffle(order);
  ptrdiff_t at = own.chance(20) ? -16 * draw(own, 1, 50) : 0;
  for (size_t i : order) {
    const Type& t = type(i);
    const ptrdiff_t place = round_up(at - t.first(), 16);  // its first byte is not below `at`
    displacements[i] = static_cast<int>(place);
    if (counts[i] > 0) at = place + t.last(counts[i]) + (own.chance(50) ? draw(own, 0, 40) : 0);
  }
}

void Side::put(size_t i, const Bytes& content, Image& to, const Image* now) const {
  type(i).put(counts[i], content.data(), to.at(offset(i)), now ? now->at(offset(i)) : nullptr);
}

std::string Side::text() const {
  std::string text;
  for (size_t i = 0; i < blocks.size(); i++)
    text += "\n  from " + std::to_string(blocks[i].from) + " to " + std::to_string(blocks[i].to) + ": " +
            std::to_string(counts[i]) + " items at byte " + std::to_string(offset(i)) + " of type " +
            type(i).text();
  return text;
}

void Side::check(const Image& expected, const char* name) const {
  const std::string wrong = difference(image, expected);
  if (!wrong.empty()) fail(std::string(name) + ": " + wrong + text());
}

// The arguments that stand for one side in a call. Where MPI does not look at them (MPI_IN_PLACE, or not at
// the root), they are what no library can work with.
struct Arguments {
  Arguments(std::optional<Side>& side, Random& own, bool in_place) {
    memory = in_place ? MPI_IN_PLACE : nullptr;
    if (!side) return;
    counts = side->counts.data();
    displacements = side->displacements.data();
    types = side->handles.data();
    count = counts[0];
    type = types[0];
    const bool nothing = std::all_of(side->counts.begin(), side->counts.end(), [](int n) { return n == 0; });
    if (!nothing || own.chance(50)) memory = side->image.at(0);
  }
  void* memory;
  int count = -1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int *counts = nullptr, *displacements = nullptr;
  const MPI_Datatype* types = nullptr;
};

void call(const Plan& p, const Arguments& s, const Arguments& r, MPI_Comm comm, Way& way) {
  const Arguments& only = p.me == p.root ? s : r;
  switch (p.kind) {
    case kBcast:
      MUST_EITHER(way, MPI_Bcast, MPI_Ibcast, only.memory, only.count, only.type, p.root, comm);
      break;
    case kGather:
      MUST_EITHER(way, MPI_Gather, MPI_Igather, s.memory, s.count, s.type, r.memory, r.count, r.type, p.root,
                  comm);
      break;
    case kGatherv:
      MUST_EITHER(way, MPI_Gatherv, MPI_Igatherv, s.memory, s.count, s.type, r.memory, r.counts,
                  r.displacements, r.type, p.root, comm);
      break;
    case kScatter:
      MUST_EITHER(way, MPI_Scatter, MPI_Iscatter, s.memory, s.count, s.type, r.memory, r.count, r.type,
                  p.root, comm);
      break;
    case kScatterv:
      MUST_EITHER(way, MPI_Scatterv, MPI_Iscatterv, s.memory, s.counts, s.displacements, s.type, r.memory,
                  r.count, r.type, p.root, comm);
      break;
    case kAllgather:
      MUST_EITHER(way, MPI_Allgather, MPI_Iallgather, s.memory, s.count, s.type, r.memory, r.count, r.type,
                  comm);
      break;
    case kAllgatherv:
      MUST_EITHER(way, MPI_Allgatherv, MPI_Iallgatherv, s.memory, s.count, s.type, r.memory, r.counts,
                  r.displacements, r.type, comm);
      break;
    case kAlltoall:
      MUST_EITHER(way, MPI_Alltoall, MPI_Ialltoall, s.memory, s.count, s.type, r.memory, r.count, r.type,
                  comm);
      break;
    case kAlltoallv:
      MUST_EITHER(way, MPI_Alltoallv, MPI_Ialltoallv, s.memory, s.counts, s.displacements, s.type, r.memory,
                  r.counts, r.displacements, r.type, comm);
      break;
    default:
      MUST_EITHER(way, MPI_Alltoallw, MPI_Ialltoallw, s.memory, s.counts, s.displacements, s.types, r.memory,
                  r.counts, r.displacements, r.types, comm);
  }
}

void tell_plan(const Plan& p, const Comm& comm) {
  std::string unit, counts;
  for (const Signature& s : p.signatures) {
    unit += unit.empty() ? "" : " | ";
    for (size_t e = 0; e < s.size(); e++) unit += (e > 0 ? ", " : "") + std::string(s[e]->name);
  }
  for (const auto& row : p.counts) {
    for (int n : row) counts += " " + std::to_string(n);
    if (!to_all(p.kind) && !gathers(p.kind)) break;
    counts += ";";
  }
  tell("MPI_%s%s on %s (rank %d of %d), root %d%s, units of {%s}, in groups of %d, counts%.120s",
       job.later && !job.persistent ? "I" : "", kind_names[p.kind], comm.name, p.me, p.size, p.root,
       p.in_place ? ", in place" : "", unit.c_str(), p.group, counts.c_str());
}

Side::Placing placing(Kind kind, bool sends) {
  if (kind == kAlltoallw) return Side::kTyped;
  if (!with_counts(kind)) return Side::kOneAfterTheOther;
  if (kind == kScatterv && !sends) return Side::kOneAfterTheOther;
  if ((kind == kGatherv || kind == kAllgatherv) && sends) return Side::kOneAfterTheOther;
  return sends ? Side::kAsPlanned : Side::kAnywhere;
}

std::optional<Side> make_side(const Plan& p, Random& own, bool sends) {
  const std::vector<Block> blocks = sends ? p.sent() : p.received();
  if (blocks.empty()) return std::nullopt;
  return Side(p, own, blocks, placing(p.kind, sends));
}

}  // namespace

void move(Kind kind, Random& plan, Random& own, const Comm& comm) {
  const Plan p(kind, plan, comm);
  tell_plan(p, comm);
  std::optional<Side> send = make_side(p, own, true), receive = make_side(p, own, false);
  if (job.verbose && send) say("sends" + send->text());
  if (job.verbose && receive) say("receives" + receive->text());
  Image sent, before, expected;
  if (send) {
    for (size_t i = 0; i < send->blocks.size(); i++)
      send->put(i, p.content(send->blocks[i]), send->image, nullptr);
    sent = send->image;
  }
  if (receive) {
    const std::vector<Block> given = p.in_place_blocks();
    for (size_t i = 0; i < given.size(); i++)
      if (given[i].from >= 0) receive->put(i, p.content(given[i]), receive->image, nullptr);
    before = expected = receive->image;
  }
  const Arguments s(send, own, !send && p.in_place && !scatters(kind));
  const Arguments r(receive, own, !receive && p.in_place && p.me == p.root && scatters(kind));
  Way way;
  // Nothing at all is the library's to move: MPICH 4.0.2 counts uses of a derived type wrongly.
  if (!with_counts(kind) && p.counts[0][0] == 0) way.persistent = false;
  if (way.persistent) way.starts = draw(plan, 1, 3);
  call(p, s, r, comm.handle, way);
  for (auto* side : {&send, &receive})
    if (*side)
      for (Type& t : (*side)->types) t.free();
  complete(own, way, [&] {
    if (receive) receive->image = before;
  });
  if (send) {
    if (kind == kBcast) send->put(0, p.content(send->blocks[0]), sent, &send->image);  // padding may change
    send->check(sent, "the send buffer");
  }
  if (!receive) return;
  for (size_t i = 0; i < receive->blocks.size(); i++)
    receive->put(i, p.content(receive->blocks[i]), expected, &receive->image);
  receive->check(expected, "the receive buffer");
}

void barrier(const Comm& comm) {
  tell("MPI_Barrier on %s (rank %d of %d)", comm.name, comm.rank, comm.size);
  double times[2] = {now(), 0}, latest[2];  // when it was entered, and, negative, when it was left
  MUST(MPI_Barrier(comm.handle));
  times[1] = -now();
  if (!job.one_clock) return;
  MUST(MPI_Allreduce(times, latest, 2, MPI_DOUBLE, MPI_MAX, comm.handle));
  if (latest[0] > -latest[1]) fail("a rank left the barrier before another one had entered it");
}

}  // namespace collectives
