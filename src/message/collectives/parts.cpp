#include "message/collectives/parts.h"

#include <utility>

namespace tasuki::message {

void copy_piece(Engine& engine, const layout::Region& into, const layout::Region& piece, uint64_t bytes) {
  constexpr uint64_t kShareFrom = 128 << 10;
  engine.copy(into, piece, bytes, kShareFrom);
}

Request* Parts::begin(const layout::Region& region, int other) {
  Request* r = engine_.take_request();
  if (r == nullptr) return nullptr;
  r->region = region;
  r->context = context_;
  r->tag = tag_;
  r->peer = me_.slots[other];
  return r;
}

void Parts::add(Request* part) {
  if (part->state.load(std::memory_order_acquire) == RequestState::done) {
    truncated_ = engine_.end_part(part) || truncated_;
  } else {
    part->next = unfinished_;
    unfinished_ = part;
  }
}

bool Parts::give(int to, const layout::Region& piece) {
  if (me_.slots[to] == kElsewhere) return outside_->give(to, piece);
  char* start = nullptr;
  const uint64_t n = layout::bytes(piece);
  if (n <= kSmallBytes && layout::is_dense(piece, &start) &&
      engine_.try_send_small(me_.slots[to], context_, tag_, me_.rank, start, static_cast<uint32_t>(n)))
    return true;
  Request* r = begin(piece, to);
  if (r == nullptr) return false;
  r->envelope.source_rank = me_.rank;
  const bool straight = ends_ == Ends::with_others && n > kParcelBytes;
  if (!engine_.start_send(r, straight ? SendMode::synchronous : SendMode::standard)) {
    engine_.give_request(r);
    return false;
  }
  add(r);
  return true;
}

bool Parts::get(int from, const layout::Region& into) {
  if (me_.slots[from] == kElsewhere) return outside_->get(from, into);
  Request* r = begin(into, from);
  if (r == nullptr) return false;
  engine_.start_receive(r);
  add(r);
  return true;
}

void Parts::keep(const layout::Region& piece, const layout::Region& into) {
  const uint64_t n = layout::bytes(piece), room = layout::bytes(into);
  truncated_ = truncated_ || n > room;
  if (n != 0 && room != 0) copy_piece(engine_, into, piece, n < room ? n : room);
}

bool Parts::rest(Request** request) {
  *request = nullptr;
  if (unfinished_ == nullptr && !truncated_) return true;
  Request* r = engine_.take_request();
  if (r == nullptr) return false;
  r->kind = RequestKind::group;
  rest_in(r);
  *request = r;
  return true;
}

bool Parts::wait(bool* truncated) {
  Request* r = nullptr;
  if (!rest(&r)) return false;
  if (r == nullptr) return true;
  engine_.wait(r);
  *truncated = *truncated || r->truncated != 0;
  engine_.give_request(r);
  return true;
}

void Parts::rest_in(Request* group) {
  group->truncated = truncated_ ? 1 : 0;
  group->part[0] = unfinished_;
  const bool done = std::exchange(unfinished_, nullptr) == nullptr;
  group->state.store(done ? RequestState::done : RequestState::pending, std::memory_order_relaxed);
}

}  // namespace tasuki::message
