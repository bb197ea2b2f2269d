// Tasks that threads play, and short names for what they do.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "message/engine.h"

namespace tasuki::message {

class World {
 public:
  explicit World(int tasks, Protocol protocol = Protocol::automatic, uint64_t eager = 64 << 10,
                 uint64_t chunk = 4 << 10, bool oversubscribed = true, bool apart = false)
      : memory_(std::aligned_alloc(alignof(Board), kMemory)) {
    memset(memory_, 0, kMemory);
    board_ = static_cast<Board*>(memory_);
    board_->task_count = static_cast<uint32_t>(tasks);
    for (int i = 0; i < tasks; i++) {
      engines_.push_back(std::make_unique<Engine>());
      Engine::Options o{};
      o.eager_bytes = eager;
      o.library_eager_bytes = 4 << 10;
      o.transfer = {protocol, chunk};
      o.transfer.ahead = o.transfer.learns = true;
      o.wait = {256, oversubscribed, nullptr};
      o.apart = apart;
      engines_.back()->set_options(o);
      board_->member(i).endpoint.store(engines_.back()->make_endpoint(board_, i));
    }
  }
  ~World() { free(memory_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  JobBoard& jobs() { return board_->jobs; }
  Engine& operator[](int i) { return *engines_[static_cast<size_t>(i)]; }

  // Runs body(rank) on a thread for each task.
  void run(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < engines_.size(); i++) threads.emplace_back(body, static_cast<int>(i));
    for (std::thread& t : threads) t.join();
  }

 private:
  static constexpr size_t kMemory = (sizeof(Board) + 64 * sizeof(Board::Member)) / 64 * 64;
  void* memory_;
  Board* board_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

inline constexpr uint32_t kContext = 7;

inline layout::Region bytes_of(std::vector<char>& v) {
  return {v.data(), v.size(), layout::byte_layout()};
}

inline Request* make(Engine& e, layout::Region region, int peer, int tag, uint32_t context = kContext) {
  Request* r = e.take_request();
  r->region = region;
  r->context = context;
  r->tag = tag;
  r->peer = peer;
  r->envelope.source_rank = e.self()->slot;
  return r;
}

// `waits`: the caller waits for it at once, so it may be packed ahead.
inline Request* isend(Engine& e, layout::Region region, int to, int tag, SendMode mode = SendMode::standard,
                      uint8_t waits = 0) {
  Request* r = make(e, region, to, tag);
  r->waits = waits;
  EXPECT_TRUE(e.start_send(r, mode));
  return r;
}

inline Request* irecv(Engine& e, layout::Region region, int from, int tag) {
  Request* r = make(e, region, from, tag);
  e.start_receive(r);
  return r;
}

inline void finish(Engine& e, Request* r) {
  e.wait(r);
  e.give_request(r);
}

inline void expect_receive(Engine& e, int from, int tag, const std::vector<char>& message) {
  std::vector<char> in(message.size());
  Request* r = irecv(e, bytes_of(in), from, tag);
  e.wait(r);
  EXPECT_EQ(r->status_bytes, message.size());
  EXPECT_EQ(r->status_tag, tag);
  EXPECT_EQ(r->truncated, 0);
  e.give_request(r);
  EXPECT_EQ(in, message);
}

inline std::vector<char> pattern(size_t n, unsigned seed) {
  std::vector<char> v(n);
  for (size_t i = 0; i < n; i++) v[i] = static_cast<char>((i * 2654435761u + seed * 40503u) >> 13);
  return v;
}

}  // namespace tasuki::message
