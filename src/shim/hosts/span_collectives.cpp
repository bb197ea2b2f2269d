#include "shim/hosts/span_collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "generated/pmpi.h"
#include "message/collectives/exchange.h"
#include "shim/errors.h"
#include "shim/objects/blocks.h"

namespace tasuki::shim {
namespace {

using message::Meeting;
using message::Moved;
using message::Scan;

[[noreturn]] void no_memory(const Span& s) {
  abort_without_memory("a collective operation", s.count);
}

// Memory for packed bytes, for as long as one operation lasts.
class Block {
 public:
  Block(const Span& s, uint64_t bytes) : memory_(take_needed_block(bytes)) {
    if (memory_ == nullptr) no_memory(s);
  }
  ~Block() { give_block(memory_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* memory() const { return memory_; }

 private:
  char* memory_;
};

// The communicator of the leaders, made if this is the first operation: collective.
int leaders_of(Span* s) {
  if (s->has_leaders) return MPI_SUCCESS;
  const bool leads = s->local.rank == 0;
  const int rc = pmpi().Comm_split(s->comm, leads ? 0 : MPI_UNDEFINED, s->node, &s->leaders);
  if (rc != MPI_SUCCESS) return rc;
  if (leads) pmpi().Comm_set_errhandler(s->leaders, MPI_ERRORS_RETURN);
  s->has_leaders = true;
  return rc;
}

// The leader is the first rank of its host.
constexpr int kLeader = 0;
constexpr int kSwapTag = 0;

int as_count(uint64_t n) {
  return static_cast<int>(n);  // SpanTable::get_for() has a limit
}

// One rank's part inside its host.
class Host {
 public:
  Host(const Inside& inside, const Span& s) : inside_(inside), s_(s) {}
  bool leads() const { return s_.local.rank == kLeader; }

  // The leader gets at `into` what all have together; others need no place.
  void join(const SpanReduction& r, char* into) const {
    if (alone()) {
      if (into != nullptr && into != r.send) memcpy(into, r.send, r.count * r.how.size);
      return;
    }
    Meeting m = meeting();
    if (!reduce_for_root(m, kLeader, r.send, into, r.count, r.how)) no_memory(s_);
  }

  // The leader gets what all have, one after the other from `into` on, where each has a place of so many
  // bytes. `own`: its part is not there yet. Others need no places.
  void collect(const layout::Region& part, bool own, char* into, const std::vector<uint64_t>& bytes) const {
    if (alone()) {
      const uint64_t n = std::min(bytes[0], layout::bytes(part));
      if (own && n != 0) layout::pack(into, part, 0, n);
      return;
    }
    const std::vector<layout::Region> parts = row(into, bytes);
    Meeting m = meeting();
    Moved moved;
    if (!gather(m, kLeader, part, {parts.data(), 1}, own, &moved)) no_memory(s_);
  }

  // Of the ranks up to this one, or of those before it: nothing, if it is the first.
  void scan(Scan kind, const SpanReduction& r) const {
    if (alone()) {
      if (kind == Scan::inclusive && r.receive != r.send) memcpy(r.receive, r.send, r.count * r.how.size);
      return;
    }
    Meeting m = meeting();
    if (!message::scan(m, kind, r.send, r.receive, r.count, r.how)) no_memory(s_);
  }

  // Each gets its part of what the leader has one after the other; nothing if the leader says so by `rc`.
  int deal(const char* from, const std::vector<uint64_t>& bytes, char* into, int rc) const {
    const uint64_t mine = bytes[static_cast<size_t>(s_.local.rank)];
    if (alone()) {
      if (rc == MPI_SUCCESS && from != nullptr) memmove(into, from, mine);
      return rc;
    }
    const std::vector<layout::Region> parts =
        rc == MPI_SUCCESS ? row(from, bytes) : std::vector<layout::Region>(members(), dense(nullptr, 0));
    Meeting m = meeting();
    Moved moved;
    if (!scatter(m, kLeader, {parts.data(), 1}, dense(into, mine), true, &moved)) no_memory(s_);
    return rc == MPI_SUCCESS && !leads() && moved.bytes != mine ? MPI_ERR_OTHER : rc;
  }

  // All get what the leader has, or nothing.
  int give_to_all(const layout::Region& from, const layout::Region& to, int rc) const {
    if (alone()) return rc;
    if (!leads()) {
      uint64_t sent = 0;
      return inside_.broadcaster.receive(s_.local, kLeader, to, &sent) ? MPI_SUCCESS : MPI_ERR_OTHER;
    }
    const uint64_t ready = rc == MPI_SUCCESS ? layout::bytes(from) : 0;
    message::Broadcast* const b = inside_.broadcaster.open(s_.local, from, ready);
    if (b == nullptr) no_memory(s_);
    if (rc != MPI_SUCCESS) inside_.broadcaster.advance(s_.local, b, message::kBroken);
    inside_.broadcaster.close(b);
    return rc;
  }

  // Of so many bytes for each rank, those of this host's ranks.
  std::vector<uint64_t> here(const std::vector<uint64_t>& bytes) const {
    std::vector<uint64_t> mine;
    for (size_t i = 0; i < bytes.size(); i++)
      if (s_.node_of[i] == s_.node) mine.push_back(bytes[i]);
    return mine;
  }

 private:
  bool alone() const { return s_.barrier == nullptr; }
  size_t members() const { return static_cast<size_t>(s_.local.count); }
  // Places one after the other, at the leader.
  std::vector<layout::Region> row(const char* memory, const std::vector<uint64_t>& bytes) const {
    std::vector<layout::Region> places;
    for (size_t i = 0; leads() && i < bytes.size(); i++) {
      places.push_back(dense(memory, bytes[i]));
      memory += bytes[i];
    }
    return places;
  }
  Meeting meeting() const { return Meeting(inside_.engine, *s_.barrier, s_.local); }

  const Inside& inside_;
  const Span& s_;
};

// By node: what its ranks have together of something, and where that begins.
struct Shares {
  Shares(const Span& s, const std::vector<uint64_t>& of_ranks)
      : counts(static_cast<size_t>(s.nodes)), begins(static_cast<size_t>(s.nodes)) {
    for (size_t i = 0; i < of_ranks.size(); i++)
      counts[static_cast<size_t>(s.node_of[i])] += as_count(of_ranks[i]);
    for (size_t i = 1; i < begins.size(); i++) begins[i] = begins[i - 1] + counts[i - 1];
  }
  std::vector<int> counts, begins;
};

uint64_t sum(const std::vector<uint64_t>& of) {
  return std::accumulate(of.begin(), of.end(), uint64_t{0});
}

}  // namespace

int barrier_spanning(const Inside& inside, Span* s) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const message::Member& here = s->local;
  const auto meet = [&] {
    if (s->barrier != nullptr)
      enter_barrier(inside.engine, *s->barrier, here.rank, here.count, here.slots, true);
  };
  meet();
  if (here.rank == kLeader) rc = pmpi().Barrier(s->leaders);
  meet();
  return rc;
}

namespace {

// Two leaders swap small vectors: Open MPI 4.1 takes 37 us for 4 KiB of two ranks (2 KiB 18, 8 KiB 25).
constexpr uint64_t kMostSwapped = 32 << 10;

// In place at r.receive.
int allreduce_of_leaders(const Span& s, const SpanReduction& r) {
  const uint64_t bytes = r.count * r.how.size;
  if (s.nodes != 2 || bytes > kMostSwapped)
    return pmpi().Allreduce(MPI_IN_PLACE, r.receive, as_count(r.count), r.type, r.op, s.leaders);
  const Block other(s, bytes);
  const int peer = 1 - s.node, n = as_count(r.count);
  const int rc = pmpi().Sendrecv(r.receive, n, r.type, peer, kSwapTag, other.memory(), n, r.type, peer,
                                 kSwapTag, s.leaders, MPI_STATUS_IGNORE);
  if (rc != MPI_SUCCESS) return rc;
  // Both in the same order, for the same rounding.
  if (s.node == 0) {
    r.how.combine(r.how.context, r.receive, other.memory(), r.count);
    memcpy(r.receive, other.memory(), bytes);
  } else {
    r.how.combine(r.how.context, other.memory(), r.receive, r.count);
  }
  return rc;
}

}  // namespace

int allreduce_spanning(const Inside& inside, Span* s, const SpanReduction& r) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  host.join(r, r.receive);
  if (host.leads()) rc = allreduce_of_leaders(*s, r);
  const layout::Region result = dense(r.receive, r.count * r.how.size);
  return host.give_to_all(result, result, rc);
}

int reduce_spanning(const Inside& inside, Span* s, int root, const SpanReduction& r) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  const uint64_t bytes = r.count * r.how.size;
  const int node = s->node_of[root], place = s->local_rank[root];
  const bool passes_on = s->node == node && place != kLeader;
  std::vector<uint64_t> at_root(static_cast<size_t>(s->local.count));
  if (passes_on) at_root[static_cast<size_t>(place)] = bytes;
  if (!host.leads()) {
    host.join(r, nullptr);
    return passes_on ? host.deal(nullptr, at_root, r.receive, rc) : rc;
  }
  // Not in place: plain MPICH 4.0.2 crashes there at a root other than 0.
  const Block joined(*s, bytes);
  host.join(r, joined.memory());
  const auto reduce = [&](char* into) {
    return pmpi().Reduce(joined.memory(), into, as_count(r.count), r.type, r.op, node, s->leaders);
  };
  if (!passes_on) return reduce(r.receive);
  const Block result(*s, bytes);
  rc = reduce(result.memory());
  return host.deal(result.memory(), at_root, nullptr, rc);
}

int reduce_scatter_spanning(const Inside& inside, Span* s, const std::vector<uint64_t>& counts,
                            const SpanReduction& r) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  std::vector<uint64_t> bytes = host.here(counts);
  for (uint64_t& n : bytes) n *= r.how.size;
  if (!host.leads()) {
    host.join(r, nullptr);
    return host.deal(nullptr, bytes, r.receive, rc);
  }
  const Block joined(*s, r.count * r.how.size);
  const Block result(*s, sum(bytes));
  host.join(r, joined.memory());
  const Shares shares(*s, counts);
  rc =
      pmpi().Reduce_scatter(joined.memory(), result.memory(), shares.counts.data(), r.type, r.op, s->leaders);
  return host.deal(result.memory(), bytes, r.receive, rc);
}

// What the hosts before have together comes before what the ranks of this one have.
int scan_spanning(const Inside& inside, Span* s, Scan kind, const SpanReduction& r) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  const uint64_t bytes = r.count * r.how.size;
  const bool is_first_host = s->node == 0, is_first = s->local.rank == 0;
  const Block before(*s, bytes);
  if (host.leads()) {
    const Block joined(*s, bytes);
    host.join(r, joined.memory());
    rc = pmpi().Exscan(joined.memory(), before.memory(), as_count(r.count), r.type, r.op, s->leaders);
  } else {
    host.join(r, nullptr);
  }
  const layout::Region prefix = dense(before.memory(), bytes);
  if (!is_first_host) rc = host.give_to_all(prefix, prefix, rc);
  if (rc != MPI_SUCCESS) return rc;
  host.scan(kind, r);
  if (is_first_host) return rc;
  if (kind == Scan::exclusive && is_first)
    memcpy(r.receive, before.memory(), bytes);
  else
    r.how.combine(r.how.context, before.memory(), r.receive, r.count);
  return rc;
}

namespace {

// Where each rank's piece is in a stream of all: the hosts' one after the other, and each host's by rank.
std::vector<uint64_t> places_in_stream(const Span& s, const std::vector<uint64_t>& bytes,
                                       const Shares& shares) {
  std::vector<uint64_t> next(shares.begins.begin(), shares.begins.end()), places(bytes.size());
  for (size_t i = 0; i < bytes.size(); i++) {
    uint64_t& end = next[static_cast<size_t>(s.node_of[i])];
    places[i] = end;
    end += bytes[i];
  }
  return places;
}

}  // namespace

int allgather_spanning(const Inside& inside, Span* s, const layout::Region& own, const SpanGathered& all) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  const Shares shares(*s, all.bytes);
  const std::vector<uint64_t> places = places_in_stream(*s, all.bytes, shares);
  const uint64_t bytes = sum(all.bytes);
  char* stream = nullptr;
  const bool is_dense = all.whole != nullptr && layout::is_dense(*all.whole, &stream);
  // The leader needs all as a stream; the others where there is no region to receive it into.
  const bool aside = host.leads() ? !is_dense : all.whole == nullptr;
  const Block memory(*s, aside ? bytes : 0);
  if (aside) stream = memory.memory();
  const auto unpack = [&] {
    if (all.whole != nullptr) return layout::unpack(*all.whole, 0, bytes, stream);
    for (size_t i = 0; i < places.size(); i++)
      if (all.bytes[i] != 0) layout::unpack(all.pieces[i], 0, all.bytes[i], stream + places[i]);
  };
  if (!host.leads()) {
    host.collect(own, true, nullptr, {});
    const layout::Region into = aside ? dense(stream, bytes) : *all.whole;
    rc = host.give_to_all(into, into, rc);
  } else {
    char* const mine = stream + places[static_cast<size_t>(s->rank)];
    char* start = nullptr;
    const bool in_place = layout::is_dense(own, &start) && start == mine;
    host.collect(own, !in_place, mine, host.here(all.bytes));
    rc = pmpi().Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, stream, shares.counts.data(),
                           shares.begins.data(), MPI_BYTE, s->leaders);
    const layout::Region from = dense(stream, bytes);
    rc = host.give_to_all(from, from, rc);
  }
  if (rc == MPI_SUCCESS && aside) unpack();
  return rc;
}

}  // namespace tasuki::shim
