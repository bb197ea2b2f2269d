// Stands for src/message/engine.h where a model is about what tasks share beside their messages: waiting is
// looking, and a small message is a word with a flag.
#pragma once

#include "base/send_mode.h"
#include "message/shared/pool.h"
#include "message/shared/shared.h"
#include "message/shared/wait.h"
#include "message/transfers/transfer.h"
#include "model.h"

namespace tasuki::message {

// See there.
constexpr uint32_t collective(uint32_t context) {
  return context | 1u << 31;
}
constexpr uint32_t partitioned(uint32_t context) {
  return context | 1u << 30;
}
inline constexpr int32_t kBroadcastData = 0;
inline constexpr int32_t kBroadcastAddress = 1;
inline constexpr int32_t kPart = 2;

struct Stats {
  uint64_t sent, sent_bytes, rendezvous;
};

#ifndef MODEL_POLLS
#define MODEL_POLLS 1
#endif

class Engine {
 public:
  struct Options {
    struct {
      bool oversubscribed;
    } wait;
  };
  const Options& options() const { return options_; }
  void set_oversubscribed() { options_.wait.oversubscribed = true; }
  Stats& stats() { return stats_; }
  void count(uint64_t&, uint64_t = 1) const {}
  void count_call() {}
  void progress() {}
  void help_others() {}
  void wake_task(int32_t) {}
  void wake_tasks(const int*, int, int) {}

  template <typename Done>
  void wait_for(Done done) {
    model::poll(done, MODEL_POLLS);
  }
  template <typename Done>
  void wait_for_tasks(Done done, bool = false) {
    model::poll(done, MODEL_POLLS);
  }

  Endpoint* self() const { return self_; }
  Endpoint* endpoint(int32_t slot) const {
    return reinterpret_cast<Endpoint*>(reinterpret_cast<char*>(self_) + (slot - slot_) * each_);
  }
  // Endpoints of tasks lie so many bytes from each other.
  void be(Endpoint* self, int32_t slot, int64_t each) {
    self_ = self;
    slot_ = slot;
    each_ = each;
  }
  Cell* take_cell(uint64_t) { return cell_; }
  void set_cell(Cell* cell) { cell_ = cell; }

  Request* take_request() { return &request_; }
  void give_request(Request*) {}
  // Of one task to all others.
  void send_inline(int32_t slot, uint32_t, int32_t tag, int32_t, const char* data, uint32_t bytes);
  void receive(Request* r);
  void copy(const layout::Region& destination, const layout::Region& source, uint64_t bytes, uint64_t = 0) {
    layout::copy(destination, source, 0, bytes);
  }

 private:
  Options options_{};
  Stats stats_{};
  Endpoint* self_ = nullptr;
  int32_t slot_ = 0;
  int64_t each_ = 0;
  Cell* cell_ = nullptr;
  Request request_;
};

// Messages in one direction, to each slot.
struct Mail {
  std::atomic<uint32_t> sent;
  int32_t tag;
  uint64_t word;
};
inline constexpr uint32_t kMostMail = 2;
inline Mail g_mail[3][kMostMail];
inline uint32_t g_mail_sent[3], g_mail_taken[3];

inline void Engine::send_inline(int32_t slot, uint32_t, int32_t tag, int32_t, const char* data,
                                uint32_t bytes) {
  CHECK(bytes == 8);
  Mail& m = g_mail[slot][g_mail_sent[slot]++];
  m.tag = tag;
  memcpy(&m.word, data, 8);
  m.sent.store(1, std::memory_order_release);
}
inline void Engine::receive(Request* r) {
  const auto me = static_cast<size_t>(slot_);
  Mail& m = g_mail[me][g_mail_taken[me]++];
  wait_for([&] { return m.sent.load(std::memory_order_acquire) != 0; });
  memcpy(r->region.base, &m.word, 8);
  r->status_tag = m.tag;
  r->status_bytes = 8;
  r->truncated = 0;
}

}  // namespace tasuki::message
