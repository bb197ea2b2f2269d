// Two tasks with the whole engine, its rings and queues, played by the threads of a model.
#pragma once

#include "memory.h"
#include "message/engine.h"
#include "message/shared/ring.h"
#include "message/transfers/trials.h"
#include "model.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"
#include "os/process/process.h"
#include "os/process/self.h"

namespace tasuki::model {

using namespace tasuki::message;

constexpr int kTasks = 2;
inline struct {
  Board board;
  Board::Member members[kTasks];
} g_board;
inline Engine g_engine[kTasks];

inline void begin(Protocol protocol = Protocol::direct) {
  g_board.board.task_count = kTasks;
  for (int i = 0; i < kTasks; i++) {
    auto& o = const_cast<Engine::Options&>(g_engine[i].options());  // the checker copies no structures
    o.eager_bytes = o.library_eager_bytes = 64 << 10;
    o.transfer.protocol = protocol;
    o.transfer.claim_bytes = 4 << 10;
    o.wait.oversubscribed = true;
    Endpoint* e = g_engine[i].make_endpoint(&g_board.board, i);
    g_board.board.member(i).endpoint.store(e, std::memory_order_relaxed);
  }
}

inline Ring& ring(int from, int to) {
  return g_engine[to].self()->peer(from).ring;
}

// All rings as if so many positions had been used already, and their senders known.
inline void advance(int from, int to, uint32_t position) {
  Ring& r = ring(from, to);
  r.tail = r.seen_head = position;
  r.head.store(position, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kRingSlots; i++) {
    const uint32_t last = (position - 1 - i);
    if (last < position) r.slots[last % kRingSlots].sequence.store(lap_of(last), std::memory_order_relaxed);
  }
  Endpoint* e = g_engine[to].self();
  e->senders[e->sender_count.load(std::memory_order_relaxed)] = static_cast<uint16_t>(from);
  e->sender_count.fetch_add(1, std::memory_order_relaxed);
  r.announced.store(1, std::memory_order_relaxed);
}

inline void fill(Request& r, int owner, int peer, void* base, uint64_t bytes,
                 const layout::Layout* l = &layout::kBytes) {
  r.owner = g_engine[owner].self();
  r.region = {static_cast<char*>(base), bytes, l};
  r.context = 7;
  r.tag = 1;
  r.peer = peer;
  r.envelope.source_rank = owner;
}

inline void finish(int task, Request& r, int polls = 1) {
  poll([&] { return g_engine[task].poll(&r, true); }, polls);
}

inline uint64_t g_arena_used;
alignas(4096) inline char g_arena[2 << 20];

}  // namespace tasuki::model

void* tasuki::message::map_shared(size_t length) {
  using namespace tasuki::model;
  char* const at = g_arena + g_arena_used;
  g_arena_used += length;
  CHECK(g_arena_used <= sizeof g_arena);
  return at;
}
void tasuki::message::unmap_shared(void*, size_t) {}
// Tasks of a space relay nothing.
bool tasuki::message::Relays::serve_all() {
  return false;
}
void tasuki::message::Relays::meet(Request*, Request*, uint64_t, Cell*) {}
uint64_t tasuki::message::relay_room(uint64_t bytes) {
  return bytes;
}
pid_t tasuki::os::pid_of_self() {
  return 1;
}
bool tasuki::os::runs(pid_t) {
  return true;
}
tasuki::message::Thresholds tasuki::message::thresholds(const Costs&) {
  return {64 << 10, 1, 1};
}
