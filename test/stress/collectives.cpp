// Collective operations that move data: blocking and not, with types that differ on the two sides, in place, with counts of each
// rank's own. Non-blocking ones are started in a row and completed in any order.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "completion.h"
#include "typed.h"

namespace stress {
namespace {

// What was started: its request (none for a blocking call), and how to judge it once it is complete.
struct Started {
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<void()> judge;
};

// A message of which `blocks` fit one behind the other on the receiving side.
Message block_message(Random& random, int blocks) {
  for (int attempt = 0;; attempt++) {
    Message m = random_message(random, attempt > 6 || random.chance(30), true);
    if (m.bytes() * blocks > (attempt > 6 ? int64_t{1} << 40 : 400000)) continue;
    if (m.receive_count < 0 || m.receive.tree->extent() < 0 || m.send.tree->extent() < 0) continue;
    if (m.receive.tree->extent() * m.receive.count * blocks > (8 << 20)) continue;
    if (m.send.tree->extent() * m.send.count * blocks > (8 << 20)) continue;
    if (types::disjoint(*m.receive.tree, int64_t{m.receive.count} * blocks)) return m;
  }
}

// The buffers of one call; alive until it is judged.
struct Buffers {
  Message m;
  Side in_side, out_side;
  Memory in, out, wanted;
  std::unique_ptr<Type> in_type, out_type;
  int64_t elements = 0;
  std::vector<int> counts, places, in_counts, in_places;
  std::vector<MPI_Datatype> types, in_types;
};

Started broadcast(Random& random, MPI_Comm comm, bool now) {
  const int me = rank_in(comm), root = draw(random, 0, size_of(comm) - 1);
  auto b = std::make_shared<Buffers>();
  b->m = block_message(random, 1);
  b->in_side = me == root ? b->m.send : b->m.receive;
  b->in = Memory(b->in_side, me == root ? b->m.send_fill : b->m.receive_fill);
  b->wanted = me == root ? b->in : expected(b->m);
  b->in_type = std::make_unique<Type>(b->in_side);
  Started s;
  step(now ? "MPI_Bcast" : "MPI_Ibcast");
  if (now) {
    MPI_Bcast(b->in.at(), b->in_side.count, *b->in_type, root, comm);
  } else {
    MPI_Ibcast(b->in.at(), b->in_side.count, *b->in_type, root, comm, &s.request);
  }
  s.judge = [b, me, root] {
    const std::string what = "broadcast from " + std::to_string(root) + " " + describe(b->m);
    // MPICH unpacks long broadcasts at the root, too: the same values, but other bytes in the padding of long doubles.
    compare(b->in_side, b->in, b->wanted, b->m.elements, (me == root ? "the root's buffer: " : "") + what);
  };
  return s;
}

// Gather, allgather, scatter, alltoall: blocks of one size. `kind` 0 to 3.
Started blocks(Random& random, MPI_Comm comm, bool now, int kind) {
  static const char* const names[] = {"gather", "allgather", "scatter", "alltoall"};
  const int me = rank_in(comm), ranks = size_of(comm), root = draw(random, 0, ranks - 1);
  auto b = std::make_shared<Buffers>();
  const Message& m = b->m = block_message(random, ranks);
  // Open MPI 4.1 gathers wrong bytes in place when the type's lower bound is not 0.
  const bool in_place = random.chance(20) && !(kOpenMpi && kind == 0), many_in = kind >= 2,
             many_out = kind != 2;
  const bool receives = kind != 0 || me == root, sends = kind != 2 || me == root;
  b->in_side = {m.send.tree, m.send.count * (many_in ? ranks : 1)};
  b->out_side = {m.receive.tree, m.receive.count * (many_out ? ranks : 1)};
  b->elements = m.elements * (many_out ? ranks : 1);
  // What rank r sends as its block k. In place it lies in the receive buffer, which has a fill of its own for each block; else it is
  // what the send buffer holds (a type that touches bytes twice cannot hold just any bytes).
  const bool replaces = in_place && kind != 2;  // for gather: at the root
  auto in_of = [b, &m](int r) { return Memory(b->in_side, m.send_fill + static_cast<uint64_t>(r) * 31); };
  auto sent = [&](int r, int k) {
    if (replaces && (kind != 0 || r == root))
      return gather(
          m.receive,
          Memory(m.receive, m.send_fill + static_cast<uint64_t>(r * ranks + (kind == 3 ? k : 0) + 1) * 1009));
    const std::vector<unsigned char> all = gather(b->in_side, in_of(r));
    const int64_t length = m.bytes(), at = many_in ? k * length : 0;
    return std::vector<unsigned char>(all.begin() + at, all.begin() + at + length);
  };
  b->in_type = std::make_unique<Type>(b->in_side);
  b->out_type = std::make_unique<Type>(b->out_side);
  b->in = in_of(me);
  b->out = Memory(b->out_side, m.receive_fill);
  b->wanted = b->out;
  const bool replaced = replaces && (kind != 0 || me == root);
  if (replaced) {
    std::vector<unsigned char> before = gather(b->out_side, b->out);
    for (int k = 0; k < ranks; k++) {
      if (kind != 3 && k != me) continue;
      const std::vector<unsigned char> one = sent(me, k);
      std::copy(one.begin(), one.end(), before.begin() + static_cast<int64_t>(one.size()) * k);
    }
    scatter(b->out_side, before, &b->out);
  }
  if (receives) {
    std::vector<unsigned char> bytes;
    for (int r = 0; r < (many_out ? ranks : 1); r++) {
      const std::vector<unsigned char> one = sent(kind == 2 ? root : r, me);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    scatter(b->out_side, bytes, &b->wanted);
  }
  const bool scatter_in_place = in_place && kind == 2 && me == root;
  void* in = sends ? b->in.at() : nullptr;
  void* out = b->out.at();
  if (replaced) in = MPI_IN_PLACE;
  if (scatter_in_place) out = MPI_IN_PLACE;
  const int n = m.send.count, c = m.receive.count;
  const MPI_Datatype t = *b->in_type, u = *b->out_type;
  Started s;
  step(names[kind]);
  switch (kind) {
    case 0:
      now ? MPI_Gather(in, n, t, out, c, u, root, comm)
          : MPI_Igather(in, n, t, out, c, u, root, comm, &s.request);
      break;
    case 1:
      now ? MPI_Allgather(in, n, t, out, c, u, comm) : MPI_Iallgather(in, n, t, out, c, u, comm, &s.request);
      break;
    case 2:
      now ? MPI_Scatter(in, n, t, out, c, u, root, comm)
          : MPI_Iscatter(in, n, t, out, c, u, root, comm, &s.request);
      break;
    default:
      now ? MPI_Alltoall(in, n, t, out, c, u, comm) : MPI_Ialltoall(in, n, t, out, c, u, comm, &s.request);
  }
  s.judge = [b, receives, scatter_in_place, kind, in_place] {
    if (receives && !scatter_in_place)
      compare(b->out_side, b->out, b->wanted, b->elements,
              std::string(names[kind]) + (in_place ? " in place " : " ") + describe(b->m));
  };
  return s;
}

// The forms with a count and a place for each rank. `kind`: 0 gatherv, 1 allgatherv, 2 scatterv, 3 alltoallv, 4 alltoallw.
Started vectors(Random& random, MPI_Comm comm, bool now, int kind) {
  static const char* const names[] = {"gatherv", "allgatherv", "scatterv", "alltoallv", "alltoallw"};
  const int me = rank_in(comm), ranks = size_of(comm), root = draw(random, 0, ranks - 1);
  const uint64_t seed = random.next();
  const int most = random.chance(85) ? 300 : 6000;
  const bool backwards = random.chance(30);
  auto length = [&](int from, int to) {
    Random r(seed + static_cast<uint64_t>(from * 100 + (kind == 0 || kind == 1 ? 0 : to)));
    return r.chance(20) ? 0 : draw(r, 1, most);
  };
  auto word = [&](int from, int to, int i) {
    return static_cast<int>(
        word_of(seed ^ static_cast<uint64_t>(from * 100 + to + 1), static_cast<uint64_t>(i)));
  };
  constexpr int kCanary = 0x5a5a5a5a;
  struct Lists {
    std::vector<int> in, out, wanted, in_counts, in_places, counts, places, in_bytes, bytes;
    std::vector<MPI_Datatype> types;
  };
  auto l = std::make_shared<Lists>();
  l->types.assign(static_cast<size_t>(ranks), MPI_INT);
  const bool many_in = kind >= 2, many_out = kind != 2;
  // Places with gaps between them, now and then in reverse order.
  auto lay = [&](std::vector<int>* counts, std::vector<int>* places, auto count_of) {
    counts->resize(static_cast<size_t>(ranks));
    places->resize(static_cast<size_t>(ranks));
    int at = 3;
    for (int k = 0; k < ranks; k++) {
      const size_t r = static_cast<size_t>(backwards ? ranks - 1 - k : k);
      (*counts)[r] = count_of(static_cast<int>(r));
      (*places)[r] = at;
      at += (*counts)[r] + (k * 7 + me) % 4;
    }
    return static_cast<size_t>(at + 3);
  };
  const int to_one = kind == 0 || kind == 1 ? 0 : me;
  if (many_in) {
    l->in.assign(lay(&l->in_counts, &l->in_places, [&](int r) { return length(kind == 2 ? root : me, r); }),
                 kCanary);
    for (int r = 0; r < ranks; r++)
      for (int i = 0; i < l->in_counts[static_cast<size_t>(r)]; i++)
        l->in[static_cast<size_t>(l->in_places[static_cast<size_t>(r)] + i)] =
            word(kind == 2 ? root : me, r, i);
  } else {
    for (int i = 0; i < length(me, 0); i++) l->in.push_back(word(me, 0, i));
    l->in.push_back(kCanary);
  }
  const bool receives = kind != 0 || me == root;
  if (many_out) {
    l->out.assign(lay(&l->counts, &l->places, [&](int r) { return length(r, me); }), kCanary);
    l->wanted = l->out;
    if (receives)
      for (int r = 0; r < ranks; r++)
        for (int i = 0; i < l->counts[static_cast<size_t>(r)]; i++)
          l->wanted[static_cast<size_t>(l->places[static_cast<size_t>(r)] + i)] = word(r, to_one, i);
  } else {
    l->out.assign(static_cast<size_t>(length(root, me)) + 2, kCanary);
    l->wanted = l->out;
    for (int i = 0; i < length(root, me); i++) l->wanted[static_cast<size_t>(i)] = word(root, me, i);
  }
  for (int p : l->in_places) l->in_bytes.push_back(4 * p);
  for (int p : l->places) l->bytes.push_back(4 * p);
  Started s;
  int *in = l->in.data(), *out = l->out.data(), *n = l->in_counts.data(), *at = l->in_places.data(),
      *c = l->counts.data(), *p = l->places.data();
  step(names[kind]);
  switch (kind) {
    case 0:
      now ? MPI_Gatherv(in, length(me, 0), MPI_INT, out, c, p, MPI_INT, root, comm)
          : MPI_Igatherv(in, length(me, 0), MPI_INT, out, c, p, MPI_INT, root, comm, &s.request);
      break;
    case 1:
      now ? MPI_Allgatherv(in, length(me, 0), MPI_INT, out, c, p, MPI_INT, comm)
          : MPI_Iallgatherv(in, length(me, 0), MPI_INT, out, c, p, MPI_INT, comm, &s.request);
      break;
    case 2:
      now ? MPI_Scatterv(in, n, at, MPI_INT, out, length(root, me), MPI_INT, root, comm)
          : MPI_Iscatterv(in, n, at, MPI_INT, out, length(root, me), MPI_INT, root, comm, &s.request);
      break;
    case 3:
      now ? MPI_Alltoallv(in, n, at, MPI_INT, out, c, p, MPI_INT, comm)
          : MPI_Ialltoallv(in, n, at, MPI_INT, out, c, p, MPI_INT, comm, &s.request);
      break;
    default:
      now ? MPI_Alltoallw(in, n, l->in_bytes.data(), l->types.data(), out, c, l->bytes.data(),
                          l->types.data(), comm)
          : MPI_Ialltoallw(in, n, l->in_bytes.data(), l->types.data(), out, c, l->bytes.data(),
                           l->types.data(), comm, &s.request);
  }
  s.judge = [l, kind] {
    for (size_t i = 0; i < l->wanted.size(); i++)
      if (l->out[i] != l->wanted[i])
        fail(__FILE__, __LINE__,
             std::string(names[kind]) + ": word " + std::to_string(i) + " is " + std::to_string(l->out[i]) +
                 ", expected " + std::to_string(l->wanted[i]));
  };
  return s;
}

Started start(Random& random, MPI_Comm comm, bool now) {
  figures.collectives++;
  const int kind = draw(random, 0, 12);
  if (kind == 0) {
    Started s;
    step(now ? "MPI_Barrier" : "MPI_Ibarrier");
    if (now) {
      MPI_Barrier(comm);
    } else {
      MPI_Ibarrier(comm, &s.request);
    }
    s.judge = [] {};
    return s;
  }
  if (kind <= 3) return broadcast(random, comm, now);
  if (kind <= 7) return blocks(random, comm, now, kind - 4);
  // With oneself alone Open MPI 4.1's MPI_Alltoallw copies nothing, and MPICH 4.0's MPI_Iallgatherv forgets the displacement.
  // Its MPI_Ialltoallw dies of a fault while it takes hold of the types (ompi_coll_base_retain_datatypes_w).
  const bool alone = size_of(comm) == 1 && (kind == 12 || kind == 9), dies = kOpenMpi && kind == 12 && !now;
  return vectors(random, comm, now, alone || dies ? 3 : kind - 8);
}

}  // namespace

void collectives(Random& random, MPI_Comm comm) {
  for (int n = draw(random, 1, 8); n > 0; n--) start(random, comm, true).judge();
}

void nonblocking_collectives(Random& random, MPI_Comm comm) {
  Random mine = own(random, comm);
  std::vector<Started> started(static_cast<size_t>(draw(random, 1, 6)));
  std::vector<MPI_Request> requests;
  for (Started& s : started) {
    s = start(random, comm, random.chance(15));
    if (s.request != MPI_REQUEST_NULL) requests.push_back(s.request);
  }
  step("non-blocking collectives: completing");
  // Some libraries complete at once what needs nobody else.
  complete_all(mine, requests, [](size_t, const MPI_Status&) {});
  for (Started& s : started) s.judge();
}

}  // namespace stress
