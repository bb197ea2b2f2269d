#include "message/collectives/joint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "message/collectives/nonblocking.h"
#include "os/memory/keys.h"

namespace tasuki::message {
namespace {

// Of a vector, in one look: some ten microseconds where two tasks reduce.
constexpr uint64_t kMostInUnit = 64 << 10;
// Every task of a communicator should find some, of vectors that are not small.
constexpr uint64_t kUnitsOfEach = 4;

uint64_t elements_in_unit(uint64_t elements, int tasks, uint64_t piece, uint64_t size) {
  const uint64_t even = elements / (kUnitsOfEach * static_cast<uint64_t>(tasks));
  return std::max(std::min(even, kMostInUnit / size) / piece, uint64_t{1}) * piece;
}

}  // namespace

JointUnits* JointPool::take(int members) {
  const Locked locked(lock_);
  JointUnits* u = all_;
  while (u != nullptr && u->left.load(std::memory_order_acquire) != u->members) u = u->next;
  if (u == nullptr) {
    constexpr size_t kSlab = 16 << 10;
    JointUnits* const slab = static_cast<JointUnits*>(map_forever(kSlab));
    if (slab == nullptr) return nullptr;
    for (size_t i = 0; i < kSlab / sizeof *slab; i++) {  // fresh zeros: of no members
      slab[i].next = all_;
      all_ = &slab[i];
    }
    u = all_;
  }
  u->taken.store(0, std::memory_order_relaxed);
  u->done.store(0, std::memory_order_relaxed);
  u->left.store(0, std::memory_order_relaxed);
  u->members = members;
  return u;
}

JointReduction::JointReduction(Engine& engine, const Member& me, const JointVectors& vectors,
                               std::vector<uint64_t> ends, const Combination& c, std::optional<Scan> scan)
    : engine_(engine),
      me_(me),
      vectors_(vectors),
      ends_(std::move(ends)),
      c_(c),
      scan_(scan),
      piece_(elements_in_piece(c)),
      unit_(elements_in_unit(vectors.elements, me.count, piece_, c.size)),
      units_((vectors.elements + unit_ - 1) / unit_) {}

JointReduction::~JointReduction() {
  if (arriving_ != nullptr) engine_.give_request(arriving_);
}

bool JointReduction::begin(Parts& parts, JointPool& pool) {
  const char* send = vectors_.send;
  if (!ends_.empty() && send == vectors_.receive) {
    aside_.assign(send, send + vectors_.elements * c_.size);
    send = aside_.data();
  }
  shown_.resize(static_cast<size_t>(me_.count));
  Shown& mine = shown_[static_cast<size_t>(me_.rank)];
  mine = {send, vectors_.receive, nullptr};
  if (me_.rank == 0 && (mine.units = pool.take(me_.count)) == nullptr) return false;
  for (Shown& s : shown_) places_.push_back({reinterpret_cast<char*>(&s), sizeof s, layout::byte_layout()});
  return begin_exchange(parts, {&places_[static_cast<size_t>(me_.rank)], 0}, {places_.data(), 1}, false) &&
         parts.rest(&arriving_);
}

bool JointReduction::look() {
  if (complete_) return true;
  if (arriving_ != nullptr) {
    if (!engine_.poll(arriving_, true)) return false;
    engine_.give_request(std::exchange(arriving_, nullptr));
  }
  if (sends_.empty()) learn();
  JointUnits& units = *shown_[0].units;
  bool idle = true;
  if (units.taken.load(std::memory_order_relaxed) < units_) {
    const uint64_t unit = units.taken.fetch_add(1, std::memory_order_relaxed);
    if (unit < units_) {
      idle = false;
      combine(unit);
      if (units.done.fetch_add(1, std::memory_order_acq_rel) + 1 == units_)
        engine_.wake_tasks(me_.slots, me_.count, me_.rank);
    }
  }
  if (units.done.load(std::memory_order_acquire) == units_) {
    units.left.fetch_add(1, std::memory_order_release);
    return complete_ = true;
  }
  constexpr uint32_t kProgressEvery = 32;  // others may wait for this task otherwise
  if (idle && ++idle_looks_ % kProgressEvery == 0) engine_.progress();
  return false;
}

// All have begun.
void JointReduction::learn() {
  for (const Shown& s : shown_) {
    sends_.push_back(s.send);
    if (scan_) all_.push_back({s.send, s.receive});
  }
}

void JointReduction::combine(uint64_t unit) const {
  const uint64_t begin = unit * unit_, end = std::min(begin + unit_, vectors_.elements);
  const os::WritesAllowed allowed;
  if (scan_) return scan_vectors(all_.data(), me_.count, *scan_, {begin, end}, c_);
  for (uint64_t at = begin; at < end; at += piece_) {
    alignas(kLine) char piece[kReductionPiece];
    const uint64_t piece_end = std::min(at + piece_, end);
    combine_vectors(sends_.data(), me_.count, {at, piece_end}, piece, c_, false);
    give(piece, at, piece_end);
  }
}

// Elements [begin, end) of the result, to whoever gets any of them.
void JointReduction::give(const char* piece, uint64_t begin, uint64_t end) const {
  uint64_t first = 0;  // that this rank gets
  for (size_t i = 0; i < shown_.size(); i++) {
    const uint64_t last = ends_.empty() ? vectors_.elements : ends_[i];
    const uint64_t from = std::max(begin, first), to = std::min(end, last);
    if (shown_[i].receive != nullptr && from < to)
      memcpy(shown_[i].receive + (from - first) * c_.size, piece + (from - begin) * c_.size,
             (to - from) * c_.size);
    if (!ends_.empty()) first = last;
  }
}

}  // namespace tasuki::message
