// A random program over the neighbourhood collectives (MPI-4.0, 8.6): every rank computes from the
// seed what its neighbours give, and so which bytes it must get, and checks that no others were written.
//
//   neighbours [--seed N] [--seconds S | --rounds N] [--first R] [--limit S] [--pairs any|library|standard]
//              [--later yes|persistent]
//
// A round makes a topology and calls operations on it; round R of seed N is the same everywhere and needs no
// other round before it. An *edge* is a place in a rank's list of sources or destinations; for unit, group,
// item, slot and image see random/collectives.h. After `limit` seconds in a few rounds all ranks say where
// they are.
//
// Several edges can lead from one rank to another. Then the standard says which block arrives where: in a
// graph the k-th edge of the sender's list is the k-th of the receiver's; in a Cartesian topology, with a
// periodic dimension of size 1 or 2, what is sent in one direction arrives from the opposite one. Plain Open
// MPI 4.1.4 does so in all functions. Plain MPICH 4.0.2 pairs the k-th edge with the k-th from the end in
// MPI_Neighbor_alltoall, and with the k-th in the two others, in all topologies; since 4.1 with the k-th from
// the end in all three. With `--pairs any`, the
// default, operations in which MPICH and the standard differ are left out under MPICH; `library` and
// `standard` say what must come.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "random/layout.h"

namespace collectives {

Job job;

namespace {

constexpr long kAtOnce = 4;  // rounds between two looks at the clock
const std::vector<std::string> names = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};

struct Options {
  double seconds = 3;
  long first = 0, rounds = -1;
  unsigned limit = 100;
  std::string pairs = "any";
} options;

long current = 0;  // round
char place[400] = "starting";
std::string topology;
long topologies = 0, operations[5], edges_checked = 0, messages = 0;

void on_alarm(int) {
  char text[600];
  const int n = snprintf(text, sizeof text, "HUNG rank %d, seed %llu, round %ld: %s\n", job.rank,
                         static_cast<unsigned long long>(job.seed), current, place);
  if (write(2, text, static_cast<size_t>(n)) < 0) _exit(1);
  sleep(3);  // the others may want to say where they are, too
  _exit(1);
}

}  // namespace

void tell(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(place, sizeof place, format, arguments);
  va_end(arguments);
}

void fail(const std::string& what) {
  fprintf(stderr, "FAIL rank %d of %d, seed %llu, round %ld: %s: %s\n", job.rank, job.ranks,
          static_cast<unsigned long long>(job.seed), current, place, what.c_str());
  usleep(300000);  // MPICH's launcher drops what it has not yet read
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

namespace {

std::vector<size_t> draw_order(Random& random, size_t n, bool any) {
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; i++) order[i] = i;
  if (any) random.shuffle(order);
  return order;
}

// --- Topologies ---

struct Edges {  // of one rank
  std::vector<int> in, out;
};

struct Topology {
  Comm comm;  // without a handle on a rank that has no place in it
  bool cartesian = false;
  bool repeated = false;  // several edges lead from one rank to another
  bool balanced = true;   // each rank has as many sources as destinations
  std::vector<Edges> of;  // each rank
  Edges& at(int rank) { return of[static_cast<size_t>(rank)]; }
  const Edges& at(int rank) const { return of[static_cast<size_t>(rank)]; }
};

void make_cartesian(Topology& t, Random& plan, const Comm& base) {
  const int n = draw(plan, 1, 3), reorder = draw(plan, 0, 1);
  int dims[3], periods[3], left = base.size, nodes = 1;
  topology = "cart";
  for (int i = 0; i < n; i++) {
    dims[i] = i == n - 1 && plan.chance(70) ? left : draw(plan, 1, left);
    periods[i] = draw(plan, 0, 1);
    left /= dims[i];
    nodes *= dims[i];
    topology += " " + std::to_string(dims[i]) + (periods[i] ? "p" : "");
  }
  MUST(MPI_Cart_create(base.handle, n, dims, periods, reorder, &t.comm.handle));
  t.cartesian = true;
  t.of.resize(static_cast<size_t>(nodes));
  for (int r = 0; r < nodes; r++)
    for (int i = 0, row = nodes; i < n; i++) {  // ranks are in row-major order (8.2)
      row /= dims[i];
      const int at = r / row % dims[i];
      for (int step : {-1, 1}) {
        const int to = (at + step + dims[i]) % dims[i];
        const int other = to == at + step || periods[i] ? r + (to - at) * row : MPI_PROC_NULL;
        t.at(r).in.push_back(other);
        t.at(r).out.push_back(other);
      }
    }
}

void make_graph(Topology& t, Random& plan, const Comm& base) {  // a symmetric one, as 8.6 demands
  const int nodes = plan.chance(70) ? base.size : draw(plan, 1, base.size), used = draw(plan, 1, nodes);
  const int reorder = draw(plan, 0, 1);
  t.of.resize(static_cast<size_t>(nodes));
  for (int i = draw(plan, 0, 2 * used); i > 0; i--) {
    const int a = draw(plan, 0, used - 1), b = draw(plan, 0, used - 1);
    t.at(a).in.push_back(b);
    if (a != b) t.at(b).in.push_back(a);
  }
  std::vector<int> index, list;
  for (Edges& e : t.of) {
    plan.shuffle(e.in);
    e.out = e.in;
    list.insert(list.end(), e.in.begin(), e.in.end());
    index.push_back(static_cast<int>(list.size()));
  }
  list.push_back(0);  // its address is not null
  topology = "graph of " + std::to_string(nodes);
  MUST(MPI_Graph_create(base.handle, nodes, index.data(), list.data(), reorder, &t.comm.handle));
}

void make_distributed(Topology& t, Random& plan, const Comm& base, bool adjacent) {
  const int used = draw(plan, 1, std::min(base.size, 8));  // with at most 24 edges
  // Open MPI 4.1.4 gives a rank that MPI_Dist_graph_create has renumbered the neighbours of its old number.
  const int reorder = kOpenMpi && !adjacent ? 0 : draw(plan, 0, 1);
  const bool weighted = plan.chance(30);
  std::vector<int> from, to;  // the edges that this rank gives to MPI_Dist_graph_create
  t.of.resize(static_cast<size_t>(base.size));
  for (int i = draw(plan, 0, 3 * used); i > 0; i--) {
    const int a = draw(plan, 0, used - 1), b = draw(plan, 0, used - 1), giver = draw(plan, 0, base.size - 1);
    t.at(a).out.push_back(b);
    t.at(b).in.push_back(a);
    if (giver == base.rank) from.push_back(a), to.push_back(b);
  }
  for (Edges& e : t.of) plan.shuffle(e.in), plan.shuffle(e.out);
  const std::vector<int> ones(100, 1);
  const auto weights = [&](const std::vector<int>& list) -> const int* {
    return !weighted ? MPI_UNWEIGHTED : list.empty() ? MPI_WEIGHTS_EMPTY : ones.data();
  };
  Edges& own = t.at(base.rank);
  const auto length = [](const std::vector<int>& list) { return static_cast<int>(list.size()); };
  topology = adjacent ? "dist_graph_adjacent" : "dist_graph";
  if (adjacent) {
    MUST(MPI_Dist_graph_create_adjacent(base.handle, length(own.in), own.in.data(), weights(own.in),
                                        length(own.out), own.out.data(), weights(own.out), MPI_INFO_NULL,
                                        reorder, &t.comm.handle));
    return;
  }
  // Open MPI 4.1.4 hangs there at times, if many communicators were made of the same one (its issue 13918).
  MPI_Comm parent = base.handle;
  if (kOpenMpi) MUST(MPI_Comm_dup(base.handle, &parent));
  MUST(MPI_Dist_graph_create(parent, length(from), from.data(), ones.data(), to.data(), weights(to),
                             MPI_INFO_NULL, reorder, &t.comm.handle));
  if (kOpenMpi) MUST(MPI_Comm_free(&parent));
  // The order of the lists is the library's (8.5.5): all ranks say theirs.
  constexpr size_t kMost = 32;  // more than three for each of 8 ranks
  std::vector<int> all(2 * kMost * t.of.size()), mine(2 * kMost), unused(kMost);
  int rank, in, out, is_weighted;
  MPI_Comm_rank(t.comm.handle, &rank);
  MUST(MPI_Dist_graph_neighbors_count(t.comm.handle, &in, &out, &is_weighted));
  if (in != length(t.at(rank).in) || out != length(t.at(rank).out)) fail("wrong number of neighbours");
  MUST(MPI_Dist_graph_neighbors(t.comm.handle, in, mine.data(), unused.data(), out, mine.data() + kMost,
                                unused.data()));
  MUST(MPI_Allgather(mine.data(), 2 * kMost, MPI_INT, all.data(), 2 * kMost, MPI_INT, t.comm.handle));
  for (size_t r = 0; r < t.of.size(); r++) {
    std::copy_n(&all[2 * kMost * r], t.of[r].in.size(), t.of[r].in.begin());
    std::copy_n(&all[2 * kMost * r + kMost], t.of[r].out.size(), t.of[r].out.begin());
  }
}

Topology make_topology(Random& plan, const Comm& base) {
  Topology t;
  const int which = draw(plan, 0, 3);
  tell("making topology %d of %s, %d ranks", which, base.name, base.size);
  if (which == 0)
    make_cartesian(t, plan, base);
  else if (which == 1)
    make_graph(t, plan, base);
  else
    make_distributed(t, plan, base, which == 2);
  topology += " on " + std::string(base.name);
  if (t.comm.handle == MPI_COMM_NULL) return t;
  if (plan.chance(30)) {
    MPI_Comm original = t.comm.handle;
    MUST(MPI_Comm_dup(original, &t.comm.handle));
    MUST(MPI_Comm_free(&original));
    topology += ", dup";
  }
  MUST(MPI_Comm_set_errhandler(t.comm.handle, MPI_ERRORS_RETURN));
  MPI_Comm_rank(t.comm.handle, &t.comm.rank);
  MPI_Comm_size(t.comm.handle, &t.comm.size);
  for (const Edges& e : t.of) {
    for (int r : e.in) t.repeated |= r >= 0 && std::count(e.in.begin(), e.in.end(), r) > 1;
    t.balanced &= e.in.size() == e.out.size();
  }
  topology += "; from";
  for (int r : t.at(t.comm.rank).in) topology += " " + std::to_string(r);
  topology += ", to";
  for (int r : t.at(t.comm.rank).out) topology += " " + std::to_string(r);
  topologies++;
  return t;
}

// Whether the library is an MPICH since 4.1.
bool turns_all_pairs() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, major = 0, minor = 0;
  MPI_Get_library_version(text, &length);
  return sscanf(text, "MPICH Version: %d.%d", &major, &minor) == 2 && 100 * major + minor >= 401;
}

// The place in its source's list of the edge that is `j` in this rank's list.
size_t sent_at(const Topology& t, Kind kind, size_t j) {
  const bool library = !kOpenMpi && options.pairs == "library";
  if (t.cartesian && !library) return j ^ 1;
  const std::vector<int>&in = t.at(t.comm.rank).in, &out = t.at(in[j]).out;
  const auto before = std::count(in.begin(), in.begin() + static_cast<ptrdiff_t>(j), in[j]);
  std::vector<size_t> places;
  for (size_t i = 0; i < out.size(); i++)
    if (out[i] == t.comm.rank) places.push_back(i);
  if (library && (kind == kAlltoall || turns_all_pairs())) std::reverse(places.begin(), places.end());
  return places.at(static_cast<size_t>(before));
}

// --- Operations ---

struct Plan {
  Plan(Random& plan, const Topology& t);
  // How many groups a rank gives to an edge. What comes from MPI_PROC_NULL has a count, too.
  int groups(int from, size_t edge) const {
    if (kind == kAllgather || kind == kAlltoall) return most;
    Random random(seed_of(from, edge));
    return random.chance(zeros) ? 0 : draw(random, 0, most);
  }
  uint64_t seed_of(int from, size_t edge) const {
    return word_of(word_of(fill, static_cast<uint64_t>(from + 9)), gathers() ? 0 : edge);
  }
  Bytes content(int from, size_t edge) const {
    return random_bytes(seed_of(from, edge) + 1, 0,
                        static_cast<size_t>(groups(from, edge) * group) * unit_bytes);
  }
  bool gathers() const { return kind == kAllgather || kind == kAllgatherv; }
  Kind kind;
  Signature unit;
  size_t unit_bytes;
  int group, most, zeros;
  uint64_t fill;
};

Plan::Plan(Random& plan, const Topology& t) {
  kind = static_cast<Kind>(draw(plan, kAllgather, kAlltoallw));
  // MPICH 4.0.2 mixes up the numbers of sources and destinations in MPI_Neighbor_alltoallw (its issue 6233).
  if (!kOpenMpi && kind == kAlltoallw && !t.balanced && options.pairs != "standard") kind = kAlltoallv;
  const bool differs = t.repeated && (t.cartesian ? kind >= kAlltoall : kind == kAlltoall);
  // Open MPI 4.1.4 pairs otherwise in non-blocking operations than in blocking ones.
  const bool unknown = kOpenMpi ? job.later && t.cartesian : options.pairs == "any";
  if (unknown && differs) kind = t.cartesian ? kAllgatherv : kAlltoallv;
  for (int n = plan.chance(60) ? 1 : draw(plan, 2, 4); n > 0; n--)
    unit.push_back(&basics()[plan.next() % 6]);  // all but long double, which has padding
  unit_bytes = bytes_of(unit);
  group = plan.pick(std::vector<int>{1, 1, 2, 3, 4, 6, 12, 60});
  const int which = draw(plan, 1, 100);
  int64_t bytes = plan.between(1, which <= 40 ? 32 : which <= 97 ? 4000 : 100'000);
  if (which <= 5) bytes = 0;
  if (which > 97) bytes += which > 99 ? plan.between(0, 1 << 20) : 100'000;
  const int64_t one = static_cast<int64_t>(unit_bytes) * group;
  most = static_cast<int>((bytes + one - 1) / one);
  zeros = plan.chance(50) ? draw(plan, 10, 90) : 0;
  fill = plan.next();
}

// One buffer of a call, with what says where its blocks are.
struct Side {
  Side(const Plan& plan, Random& own, const std::vector<int>& groups, bool any);
  void put(size_t i, const Bytes& content, Image& to) const {
    type(i).put(counts[i], content.data(), to.at(starts[i]), nullptr);
  }
  void check(const Image& expected, const std::string& what) const;
  const Type& type(size_t i) const { return types[types.size() > 1 ? i : 0]; }
  std::vector<Type> types;  // with MPI_Neighbor_alltoallw one for each block
  std::vector<MPI_Datatype> handles;
  int count;                        // of all blocks, also where there are none: libraries compare it
  std::vector<int> counts, places;  // in items
  std::vector<MPI_Aint> starts;     // in bytes
  Image image;
};

// `any`: the call says where each block is.
Side::Side(const Plan& plan, Random& own, const std::vector<int>& groups, bool any)
    : counts(groups.size()), places(groups.size()), starts(groups.size()) {
  const bool typed = plan.kind == kAlltoallw;
  const size_t bytes = static_cast<size_t>(plan.most * plan.group) * plan.unit_bytes;
  const int common = draw_divisor(own, plan.group), first = any ? draw(own, -3, 3) : 0;
  int slots = 0;
  count = plan.most * (plan.group / common);
  for (size_t i : draw_order(own, groups.size(), any)) {
    const int units = typed ? draw_divisor(own, plan.group) : common;
    counts[i] = groups[i] * (plan.group / units);
    places[i] = first + slots;
    slots += counts[i] + (any && own.chance(50) ? draw(own, 0, 3) : 0);
  }
  for (size_t i = 0; i < (typed ? groups.size() : 1); i++) {
    const int units = typed && counts[i] > 0 ? groups[i] * plan.group / counts[i] : common;
    types.emplace_back(own, plan.unit, units, typed ? 0 : slots, bytes);
  }
  for (const Type& t : types) handles.push_back(t.handle());
  // Open MPI 4.1.4 refuses null pointers, also if there are no neighbours.
  counts.reserve(1), places.reserve(1), starts.reserve(1), handles.reserve(1);
  ptrdiff_t at = -16 * draw(own, 0, 50), low = 0, high = 0;
  for (size_t i : draw_order(own, groups.size(), true)) {
    const Type& t = type(i);
    starts[i] = typed ? round_up(at - t.first(), 16) : places[i] * t.extent();
    if (counts[i] == 0) continue;
    at = starts[i] + t.last(counts[i]) + (own.chance(50) ? draw(own, 0, 40) : 0);
    low = std::min(low, starts[i] + t.first());
    high = std::max(high, starts[i] + t.last(counts[i]));
  }
  image = Image(low, high, typed ? 16 : types[0].align(), own);
}

void Side::check(const Image& expected, const std::string& what) const {
  const std::string wrong = difference(image, expected);
  if (wrong.empty()) return;
  std::string text = what + " buffer: " + wrong + "; the blocks:";
  for (size_t i = 0; i < counts.size(); i++)
    text +=
        " " + std::to_string(counts[i]) + " at " + std::to_string(starts[i]) + " of (" + type(i).text() + ")";
  fail(text);
}

void call(Kind kind, Side& s, Side& r, MPI_Comm comm, Way& way) {
  void *from = s.image.at(0), *to = r.image.at(0);
  const int *sent = s.counts.data(), *received = r.counts.data();
  switch (kind) {
    case kAllgather:
      MUST_EITHER(way, MPI_Neighbor_allgather, MPI_Ineighbor_allgather, from, sent[0], s.handles[0], to,
                  r.count, r.handles[0], comm);
      break;
    case kAllgatherv:
      MUST_EITHER(way, MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, from, sent[0], s.handles[0], to,
                  received, r.places.data(), r.handles[0], comm);
      break;
    case kAlltoall:
      MUST_EITHER(way, MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, from, s.count, s.handles[0], to,
                  r.count, r.handles[0], comm);
      break;
    case kAlltoallv:
      MUST_EITHER(way, MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, from, sent, s.places.data(),
                  s.handles[0], to, received, r.places.data(), r.handles[0], comm);
      break;
    default:
      MUST_EITHER(way, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, from, sent, s.starts.data(),
                  s.handles.data(), to, received, r.starts.data(), r.handles.data(), comm);
  }
}

void operation(Random& plan, Random& own, const Topology& t) {
  const Plan p(plan, t);
  const int me = t.comm.rank;
  const Edges& edges = t.at(me);
  const std::string& name = names[static_cast<size_t>(p.kind - kAllgather)];
  tell("MPI_Neighbor_%s, %s (rank %d of %d)", name.c_str(), topology.c_str(), me, t.comm.size);
  std::vector<int> given, gotten;
  for (size_t i = 0; i < (p.gathers() ? 1 : edges.out.size()); i++) given.push_back(p.groups(me, i));
  for (size_t j = 0; j < edges.in.size(); j++)
    gotten.push_back(edges.in[j] < 0 ? p.groups(-1, j) : p.groups(edges.in[j], sent_at(t, p.kind, j)));
  Side out(p, own, given, p.kind == kAlltoallv);
  Side in(p, own, gotten, p.kind == kAlltoallv || p.kind == kAllgatherv);
  for (size_t i = 0; i < given.size(); i++) out.put(i, p.content(me, i), out.image);
  const Image before = out.image, empty = in.image;
  Image expected = in.image;
  for (size_t j = 0; j < gotten.size(); j++)
    if (edges.in[j] >= 0) in.put(j, p.content(edges.in[j], sent_at(t, p.kind, j)), expected);
  if (own.chance(10)) usleep(static_cast<useconds_t>(own.between(1, 200)));  // some ranks come late
  Way way;
  if (way.persistent) way.starts = draw(plan, 1, 3);
  call(p.kind, out, in, t.comm.handle, way);
  complete(own, way, [&] { in.image = empty; });
  out.check(before, "the send");
  in.check(expected, "the receive");
  operations[p.kind - kAllgather]++;
  edges_checked += static_cast<long>(gotten.size());
}

void round(const std::vector<Comm>& bases) {
  Random random(word_of(job.seed, static_cast<uint64_t>(current)));
  const Comm& base = random.pick(bases);
  const uint64_t seed = random.next();
  Random plan(word_of(seed, static_cast<uint64_t>(base.colour)));
  Random own(word_of(seed + 1, static_cast<uint64_t>(job.rank)));
  Topology t = make_topology(plan, base);
  if (t.comm.handle == MPI_COMM_NULL) return;
  for (int n = draw(plan, 2, 8); n > 0; n--) {
    Messages under_way(plan, own, t.comm);
    operation(plan, own, t);
    under_way.finish();
    messages += under_way.count();
  }
  tell("MPI_Comm_free, %s", topology.c_str());
  MUST(MPI_Comm_free(&t.comm.handle));
}

Comm make(const char* name, MPI_Comm handle, int colour) {
  Comm c;
  c.name = name;
  c.handle = handle;
  c.colour = colour;
  MUST(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN));
  MPI_Comm_rank(handle, &c.rank);
  MPI_Comm_size(handle, &c.size);
  return c;
}

void run() {
  MPI_Comm control, reversed, parts;
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &control));
  MUST(MPI_Comm_split(control, 0, -job.rank, &reversed));
  Random plan(job.seed);
  const int colour = (job.rank + draw(plan, 0, 7)) % draw(plan, 1, 3);
  MUST(MPI_Comm_split(control, colour, job.rank * draw(plan, -1, 1), &parts));
  const std::vector<Comm> bases = {make("world", MPI_COMM_WORLD, 0), make("dup", control, 0),
                                   make("reversed", reversed, 0), make("parts", parts, colour)};
  const double end = now() + options.seconds;
  for (current = options.first;;) {
    const long left = options.rounds < 0 ? kAtOnce : options.first + options.rounds - current;
    int go = options.rounds < 0 ? now() < end : left > 0;
    tell("MPI_Bcast of whether to go on");
    MUST(MPI_Bcast(&go, 1, MPI_INT, 0, control));
    if (!go) break;
    alarm(options.limit);
    for (long i = 0; i < std::min(left, kAtOnce); i++, current++) round(bases);
  }
  MUST(MPI_Barrier(MPI_COMM_WORLD));  // now nobody can fail any more
  MUST(MPI_Comm_free(&parts));
  MUST(MPI_Comm_free(&reversed));
  MUST(MPI_Comm_free(&control));
  if (job.rank != 0) return;
  printf("seed %llu, %d ranks, %ld rounds: %ld topologies,", static_cast<unsigned long long>(job.seed),
         job.ranks, current - options.first, topologies);
  for (size_t k = 0; k < names.size(); k++) printf(" %ld %s,", operations[k], names[k].c_str());
  printf(" %ld edges, %ld messages; neighbours: OK\n", edges_checked, messages);
}

}  // namespace
}  // namespace collectives

int main(int argc, char** argv) {
  using namespace collectives;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--later") {
      job.persistent = value == "persistent";
      job.later = job.persistent || value == "yes";
    } else if (name == "--seed") {
      job.seed = strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = atof(value.c_str());
    } else if (name == "--rounds") {
      options.rounds = atol(value.c_str());
    } else if (name == "--first") {
      options.first = atol(value.c_str());
    } else if (name == "--limit") {
      options.limit = static_cast<unsigned>(atol(value.c_str()));
    } else if (name == "--pairs" && (value == "any" || value == "library" || value == "standard")) {
      options.pairs = value;
    } else {
      fprintf(stderr, "neighbours: unknown argument %s %s\n", name.c_str(), value.c_str());
      return 2;
    }
  }
  signal(SIGALRM, on_alarm);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  if (must_skip()) {
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  run();
  MPI_Finalize();
  return 0;
}
