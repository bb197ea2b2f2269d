#include "shim/hosts/span_collectives.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "generated/pmpi.h"
#include "message/collectives/exchange.h"
#include "shim/errors.h"
#include "shim/objects/blocks.h"

namespace tasuki::shim {
namespace {

using message::Meeting;
using message::Moved;

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

layout::Region dense(const void* memory, uint64_t bytes) {
  return {static_cast<char*>(const_cast<void*>(memory)), bytes, layout::byte_layout()};
}

// The leader is the first rank of its host.
constexpr int kLeader = 0;

int as_count(uint64_t n) {
  return static_cast<int>(n);  // spans_pay() has a limit
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

  // The leader gets what all have, one after the other from `into` on, where each has a place of `bytes`.
  // `own`: its part is not there yet.
  void collect(const layout::Region& part, bool own, char* into, uint64_t bytes) const {
    if (alone()) {
      if (own) layout::pack(into, part, 0, std::min(bytes, layout::bytes(part)));
      return;
    }
    std::vector<layout::Region> parts(leads() ? members() : 0);
    for (size_t i = 0; i < parts.size(); i++) parts[i] = dense(into + i * bytes, bytes);
    Meeting m = meeting();
    Moved moved;
    if (!gather(m, kLeader, part, {parts.data(), 1}, own, &moved)) no_memory(s_);
  }

  // Each gets its part of what the leader has; nothing if the leader says so by `rc`. The parts are of
  // `bytes` each, or there is one only.
  int deal(const char* from, uint64_t bytes, int only, char* into, int rc) const {
    if (alone()) {
      if (rc == MPI_SUCCESS) memcpy(into, from, bytes);
      return rc;
    }
    const bool gets = only == kAll || only == s_.local.rank;
    std::vector<layout::Region> parts(leads() ? members() : 0, dense(nullptr, 0));
    for (size_t i = 0; rc == MPI_SUCCESS && i < parts.size(); i++) {
      if (only == kAll) parts[i] = dense(from + i * bytes, bytes);
      if (only == static_cast<int>(i)) parts[i] = dense(from, bytes);
    }
    Meeting m = meeting();
    Moved moved;
    const layout::Region piece = dense(into, gets ? bytes : 0);
    if (!scatter(m, kLeader, {parts.data(), 1}, piece, true, &moved)) no_memory(s_);
    return rc == MPI_SUCCESS && gets && moved.bytes != bytes ? MPI_ERR_OTHER : rc;
  }
  static constexpr int kAll = -1;

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

 private:
  bool alone() const { return s_.barrier == nullptr; }
  size_t members() const { return static_cast<size_t>(s_.local.count); }
  Meeting meeting() const { return Meeting(inside_.engine, *s_.barrier, s_.local); }

  const Inside& inside_;
  const Span& s_;
};

// By node: so many of something for each of its ranks, and where they begin.
struct Shares {
  Shares(const Span& s, uint64_t each)
      : counts(static_cast<size_t>(s.nodes)), begins(static_cast<size_t>(s.nodes)) {
    for (int i = 0; i < s.count; i++) counts[static_cast<size_t>(s.node_of[i])] += as_count(each);
    for (size_t i = 1; i < begins.size(); i++) begins[i] = begins[i - 1] + counts[i - 1];
  }
  std::vector<int> counts, begins;
};

}  // namespace

bool span_collectives_pay(const Span& s, uint64_t bytes) {
  return s.nodes < s.count && spans_pay(bytes);
}

int allreduce_spanning(const Inside& inside, Span* s, const SpanReduction& r) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  host.join(r, r.receive);
  if (host.leads())
    rc = pmpi().Allreduce(MPI_IN_PLACE, r.receive, as_count(r.count), r.type, r.op, s->leaders);
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
  if (!host.leads()) {
    host.join(r, nullptr);
    return passes_on ? host.deal(nullptr, bytes, place, r.receive, rc) : rc;
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
  return host.deal(result.memory(), bytes, place, nullptr, rc);
}

int reduce_scatter_spanning(const Inside& inside, Span* s, uint64_t mine, const SpanReduction& r) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  const uint64_t bytes = mine * r.how.size;
  if (!host.leads()) {
    host.join(r, nullptr);
    return host.deal(nullptr, bytes, Host::kAll, r.receive, rc);
  }
  const Block joined(*s, r.count * r.how.size);
  const Block result(*s, bytes * static_cast<uint64_t>(s->local.count));
  host.join(r, joined.memory());
  const Shares shares(*s, mine);
  rc =
      pmpi().Reduce_scatter(joined.memory(), result.memory(), shares.counts.data(), r.type, r.op, s->leaders);
  return host.deal(result.memory(), bytes, Host::kAll, r.receive, rc);
}

int allgather_spanning(const Inside& inside, Span* s, const layout::Region& own, const layout::Region& all) {
  int rc = leaders_of(s);
  if (rc != MPI_SUCCESS) return rc;
  const Host host(inside, *s);
  if (!host.leads()) {
    host.collect(own, true, nullptr, 0);
    return host.give_to_all(all, all, rc);
  }
  const uint64_t bytes_of_all = layout::bytes(all), bytes = bytes_of_all / static_cast<uint64_t>(s->count);
  char* stream = nullptr;
  const bool is_dense = layout::is_dense(all, &stream);
  const Block aside(*s, is_dense ? 0 : bytes_of_all);
  if (!is_dense) stream = aside.memory();
  char* const here = stream + bytes * static_cast<uint64_t>(s->rank);
  char* start = nullptr;
  const bool in_place = layout::is_dense(own, &start) && start == here;
  host.collect(own, !in_place, here, bytes);
  const Shares shares(*s, bytes);
  rc = pmpi().Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, stream, shares.counts.data(),
                         shares.begins.data(), MPI_BYTE, s->leaders);
  rc = host.give_to_all(dense(stream, bytes_of_all), all, rc);
  if (rc == MPI_SUCCESS && !is_dense) layout::unpack(all, 0, bytes_of_all, stream);
  return rc;
}

}  // namespace tasuki::shim
