// Exchanges in which all ranks take part at once: MPI_Sendrecv, MPI_Sendrecv_replace, persistent and partitioned requests that are
// started again and again, cancelled receives, and packing.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "completion.h"
#include "typed.h"

namespace stress {
namespace {

// Who sends to whom: everybody to one, everybody from one.
std::vector<int> permutation(Random& random, int ranks) {
  std::vector<int> to(static_cast<size_t>(ranks));
  std::iota(to.begin(), to.end(), 0);
  random.shuffle(to);
  return to;
}

int inverse(const std::vector<int>& to, int rank) {
  return static_cast<int>(std::find(to.begin(), to.end(), rank) - to.begin());
}

Message message_of(uint64_t seed, int from, bool exact = false) {
  Random random(seed + static_cast<uint64_t>(from) * 7919);
  const bool simple = random.chance(40);
  return random_message(random, simple, exact);
}

void check_count(const MPI_Status& s, MPI_Datatype type, int64_t wanted) {
  int count;
  MPI_Get_count(&s, type, &count);
  CHECK_EQ(count == MPI_UNDEFINED ? -1 : count, wanted);
}

}  // namespace

void exchanges(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm);
  for (int n = draw(random, 1, 6); n > 0; n--) {
    const std::vector<int> to = permutation(random, ranks);
    const int from = inverse(to, me), tag = draw(random, 0, 3), destination = to[static_cast<size_t>(me)];
    const uint64_t seed = random.next();
    const bool wild = random.chance(30);
    MPI_Status s;
    if (random.chance(50)) {
      step("MPI_Sendrecv");
      const Message out = message_of(seed, me), in = message_of(seed, from);
      Memory sent(out.send, out.send_fill), got(in.receive, in.receive_fill);
      Type send_type(out.send), receive_type(in.receive);
      MPI_Sendrecv(sent.at(), out.send.count, send_type, destination, tag, got.at(), in.receive.count,
                   receive_type, from, wild ? MPI_ANY_TAG : tag, comm, &s);
      CHECK_EQ(s.MPI_SOURCE, from);
      CHECK_EQ(s.MPI_TAG, tag);
      check_count(s, receive_type, in.receive_count);
      Memory wanted = expected(in);
      compare(in.receive, got, wanted, in.elements, "MPI_Sendrecv " + describe(in));
      figures.bytes += static_cast<uint64_t>(out.bytes());
    } else {
      // Everybody's buffer has the type that the receive side of the first rank's message has, so that all fit.
      step("MPI_Sendrecv_replace");
      const Message m = message_of(seed, 0, true);
      Memory mine(m.receive, seed + static_cast<uint64_t>(me)),
          theirs(m.receive, seed + static_cast<uint64_t>(from));
      Memory wanted = mine;
      const Side whole = {m.receive.tree, m.receive.count};
      scatter(whole, gather(whole, theirs), &wanted);
      Type type(whole);
      MPI_Sendrecv_replace(mine.at(), whole.count, type, destination, tag, from, tag, comm, &s);
      CHECK_EQ(s.MPI_SOURCE, from);
      compare(whole, mine, wanted, m.elements, "MPI_Sendrecv_replace " + describe(m));
      figures.bytes += static_cast<uint64_t>(m.bytes());
    }
    figures.messages++;
    // A receive that nobody answers can be cancelled.
    if (random.chance(20)) {
      step("MPI_Cancel");
      int x = 17, cancelled = 0;
      MPI_Request r;
      MPI_Irecv(&x, 1, MPI_INT, wild ? MPI_ANY_SOURCE : from, 31000, comm, &r);
      MPI_Cancel(&r);
      MPI_Wait(&r, &s);
      MPI_Test_cancelled(&s, &cancelled);
      CHECK_EQ(cancelled, 1);
      CHECK_EQ(x, 17);
    }
  }
  step("exchanges: barrier");
  MPI_Barrier(comm);
}

// Persistent requests, all of them started again and again, alone or by MPI_Startall, with other bytes each time.
void persistent(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), lanes = draw(random, 1, 4), times = draw(random, 1, 5);
  Random mine = own(random, comm);
  struct Lane {
    int to, from, mode;
    Message out, in;
    Memory sent, got;
    std::unique_ptr<Type> send_type, receive_type;
  };
  std::vector<Lane> list(static_cast<size_t>(lanes));
  std::vector<MPI_Request> requests(static_cast<size_t>(2 * lanes), MPI_REQUEST_NULL);
  for (size_t k = 0; k < list.size(); k++) {
    Lane& l = list[k];
    const std::vector<int> to = permutation(random, ranks);
    const uint64_t seed = random.next();
    l.to = to[static_cast<size_t>(me)];
    l.from = inverse(to, me);
    l.mode = draw(random, 0, 2);
    l.out = message_of(seed, me);
    l.in = message_of(seed, l.from);
    l.sent = Memory(l.out.send, 0);
    l.got = Memory(l.in.receive, 0);
    l.send_type = std::make_unique<Type>(l.out.send);
    l.receive_type = std::make_unique<Type>(l.in.receive);
    const int tag = static_cast<int>(k);
    MPI_Recv_init(l.got.at(), l.in.receive.count, *l.receive_type, l.from, tag, comm, &requests[2 * k]);
    auto init = l.mode == 0 ? MPI_Send_init : l.mode == 1 ? MPI_Ssend_init : MPI_Rsend_init;
    init(l.sent.at(), l.out.send.count, *l.send_type, l.to, tag, comm, &requests[2 * k + 1]);
    if (random.chance(30)) l.send_type->release();
  }
  for (int t = 0; t < times; t++) {
    auto fill = [&](uint64_t of) { return of + static_cast<uint64_t>(t) * 1000003u; };
    for (Lane& l : list) {
      // Same memory, other bytes: the addresses belong to the requests.
      const Memory sent(l.out.send, fill(l.out.send_fill)), got(l.in.receive, fill(l.in.receive_fill));
      std::copy(sent.bytes.begin(), sent.bytes.end(), l.sent.bytes.begin());
      std::copy(got.bytes.begin(), got.bytes.end(), l.got.bytes.begin());
    }
    step("persistent: starting receives");
    const bool all = random.chance(50);
    for (size_t k = 0; k < list.size(); k++) MPI_Start(&requests[2 * k]);
    step("persistent: barrier");
    MPI_Barrier(comm);  // ready sends among them
    std::vector<MPI_Request> sends;
    for (size_t k = 0; k < list.size(); k++) sends.push_back(requests[2 * k + 1]);
    if (all) {
      MPI_Startall(lanes, sends.data());
    } else {
      for (MPI_Request& r : sends) MPI_Start(&r);
    }
    step("persistent: completing");
    complete_all(mine, requests, [&](size_t i, const MPI_Status& s) {
      if (i % 2 == 1) return;
      Lane& l = list[i / 2];
      CHECK_EQ(s.MPI_SOURCE, l.from);
      Message in = l.in;
      in.send_fill = fill(in.send_fill);
      in.receive_fill = fill(in.receive_fill);
      Memory wanted = expected(in);
      compare(in.receive, l.got, wanted, in.elements, "persistent " + describe(in));
      figures.messages++;
      figures.bytes += static_cast<uint64_t>(in.bytes());
    });
  }
  for (MPI_Request& r : requests) MPI_Request_free(&r);
  step("persistent: last barrier");
  MPI_Barrier(comm);
}

// Partitioned requests: partitions become ready in any order; sender and receiver divide the same bytes differently.
void partitioned(Random& random, MPI_Comm comm) {
#if MPI_VERSION >= 4
  const int ranks = size_of(comm), me = rank_in(comm), times = draw(random, 1, 4);
  const std::vector<int> to = permutation(random, ranks);
  const int from = inverse(to, me), send_parts = draw(random, 1, 8),
            receive_parts = random.chance(50) ? send_parts : draw(random, 1, 8);
  const int64_t unit = 4 + draw_size(random, 3000) / 4 * 4;  // MPICH 4.0 fails with partitions that are empty
  const uint64_t seed = random.next();
  Random mine = own(random, comm);
  const int64_t bytes = unit * send_parts * receive_parts;
  std::vector<unsigned char> out(static_cast<size_t>(bytes)), in(static_cast<size_t>(bytes) + 8);
  std::vector<MPI_Request> requests(2);
  MPI_Psend_init(out.data(), send_parts, unit * receive_parts / 4, MPI_INT, to[static_cast<size_t>(me)], 5,
                 comm, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in.data(), receive_parts, unit * send_parts / 4, MPI_INT, from, 5, comm, MPI_INFO_NULL,
                 &requests[1]);
  for (int t = 0; t < times; t++) {
    auto byte = [&](int rank, size_t i) {
      return static_cast<unsigned char>(
          word_of(seed + static_cast<uint64_t>(rank) * 1000 + static_cast<uint64_t>(t), i));
    };
    std::fill(in.begin(), in.end(), static_cast<unsigned char>(0xee));
    step("partitioned: starting");
    MPI_Startall(2, requests.data());
    std::vector<int> order(static_cast<size_t>(send_parts));
    std::iota(order.begin(), order.end(), 0);
    mine.shuffle(order);
    for (int p : order) {
      const size_t length = static_cast<size_t>(unit * receive_parts),
                   first = static_cast<size_t>(p) * length;
      for (size_t i = first; i < first + length; i++) out[i] = byte(me, i);
      MPI_Pready(p, requests[0]);
    }
    if (mine.chance(50)) {
      step("MPI_Parrived");
      for (int p = 0; p < receive_parts; p++)
        for (int flag = 0; !flag;) MPI_Parrived(requests[1], p, &flag);
    }
    // MPICH 4.0's MPI_Testall calls one that is not complete yet an error.
    step("partitioned: MPI_Waitall");
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < static_cast<size_t>(bytes); i++)
      if (in[i] != byte(from, i))
        fail(__FILE__, __LINE__, "partitioned: byte " + std::to_string(i) + " of " + std::to_string(bytes));
    for (size_t i = static_cast<size_t>(bytes); i < in.size(); i++) CHECK_EQ(in[i], 0xee);
    figures.messages++;
    figures.bytes += static_cast<uint64_t>(bytes);
  }
  for (MPI_Request& r : requests) MPI_Request_free(&r);
  step("partitioned: barrier");
  MPI_Barrier(comm);
#else
  exchanges(random, comm);  // Open MPI 4.1 has no partitioned communication
#endif
}

// Packing and unpacking, in the library's form and in external32, in one piece and in several, without a message.
void packs(Random& random, MPI_Comm comm) {
  Random mine = own(random, comm);
  for (int n = draw(random, 3, 20); n > 0; n--) {
    const bool simple = mine.chance(20);
    const Message m = random_message(mine, simple, true);
    Memory from(m.send, m.send_fill), to(m.receive, m.receive_fill), wanted = expected(m);
    Type send_type(m.send), receive_type(m.receive);
    if (m.receive_count < 0) continue;
    int size, at = 0;
    if (mine.chance(60)) {
      step("MPI_Pack");
      MPI_Pack_size(m.send.count, send_type, comm, &size);
      std::vector<char> packed(static_cast<size_t>(size) + 8, '\x5a');
      // In two pieces, where there are two.
      const int first = m.send.count > 1 && mine.chance(50) ? draw(mine, 1, m.send.count - 1) : 0;
      MPI_Aint lower, extent;
      MPI_Type_get_extent(send_type, &lower, &extent);
      MPI_Pack(from.at(), first, send_type, packed.data(), size, &at, comm);
      MPI_Pack(from.at() + first * extent, m.send.count - first, send_type, packed.data(), size, &at, comm);
      CHECK(at <= size);
      for (int i = 0; i < 8; i++) CHECK_EQ(packed[static_cast<size_t>(size + i)], '\x5a');
      int position = 0;
      step("MPI_Unpack");
      MPI_Unpack(packed.data(), at, &position, to.at(), m.receive.count, receive_type, comm);
      CHECK_EQ(position, at);
    } else {
      // Whole numbers only: the libraries differ in what external32 says of long double and bool.
      if (!simple) continue;
      step("MPI_Pack_external");
      MPI_Aint bytes, where = 0, position = 0;
      MPI_Pack_external_size("external32", m.send.count, send_type, &bytes);
      std::vector<char> packed(static_cast<size_t>(bytes) + 8, '\x5a');
      MPI_Pack_external("external32", from.at(), m.send.count, send_type, packed.data(), bytes, &where);
      step("MPI_Unpack_external");
      MPI_Unpack_external("external32", packed.data(), where, &position, to.at(), m.receive.count,
                          receive_type);
    }
    compare(m.receive, to, wanted, m.elements, "packing " + describe(m));
    figures.bytes += static_cast<uint64_t>(m.bytes());
  }
}

}  // namespace stress
