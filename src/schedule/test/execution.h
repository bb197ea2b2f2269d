// Executes a schedule, message by message, with rendezvous semantics, in an order drawn by chance, and checks
// on the way: messages match, nobody sends what is not there, steps of a round do not disturb each other,
// nothing is reduced twice, and all ends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <random>
#include <string>

#include "schedule/schedule.h"

namespace tasuki::schedule {

// One byte of a buffer.
struct Cell {
  uint64_t who = 0;    // whose it is, for the test to choose; 0: nothing there; a reduction joins the bits
  uint64_t index = 0;  // which byte it is
  uint32_t writes = 0;
};

inline std::string text(const Parameters& p) {
  std::string s = std::to_string(p.ranks) + " ranks, root " + std::to_string(p.root) + ", " +
                  std::to_string(p.bytes) + " bytes in " + std::to_string(p.segment);
  for (const uint32_t e : p.shape) s += " x" + std::to_string(e);
  return s + (p.wraps ? " torus" : " mesh");
}

inline Schedule made(const char* name, const Parameters& p) {
  const Algorithm* a = find(name);
  EXPECT_NE(a, nullptr) << name;
  Result<Schedule> s = make(*a, p);
  EXPECT_TRUE(s.ok()) << name << ", " << text(p) << ": " << s.status().message();
  return s.ok() ? s.value() : Schedule{};
}

class Execution {
 public:
  using Ranks = std::bitset<256>;

  explicit Execution(const Schedule& s) : schedule_(s), done_(s.ranks(), 0) {
    for (uint32_t r = 0; r < s.ranks(); r++) {
      known_.push_back(Ranks().set(r));
      buffers_.emplace_back();
      for (const Buffer& b : s.buffers()) buffers_.back().emplace_back(b.bytes);
      for (uint32_t l = 0; l < s.lanes(); l++) lanes_.push_back({r, l, 0, {}, {}, {}});
    }
  }

  std::vector<Cell>& buffer(uint32_t rank, std::string_view name) {
    for (size_t i = 0; i < schedule_.buffers().size(); i++)
      if (schedule_.buffers()[i].name == name) return buffers_[rank][i];
    ADD_FAILURE() << "no buffer " << name;
    return buffers_[0][0];
  }

  void run() {
    for (Lane& lane : lanes_) enter(lane);
    std::vector<size_t> order(lanes_.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    const uint32_t idle_passes = 40;  // a step is put off by chance; so often in a row, never
    for (uint32_t idle = 0; idle < idle_passes && !::testing::Test::HasFatalFailure(); idle++) {
      std::shuffle(order.begin(), order.end(), chance_);
      for (const size_t i : order)
        if (advance(lanes_[i])) idle = 0;
    }
    for (const Lane& lane : lanes_)
      ASSERT_EQ(lane.round, schedule_.rounds(lane.lane)) << "rank " << lane.rank << " is stuck";
  }

  const Ranks& known(uint32_t rank) const { return known_[rank]; }  // from whom it has heard, at any remove
  // Whether any rank started a sequence while another had not ended the one before.
  bool overlapped() const { return overlapped_; }

 private:
  struct Lane {
    uint32_t rank, lane, round;
    std::vector<Step> steps;     // of the round
    std::vector<bool> finished;  // by step
    Ranks known;                 // when the round began
  };

  static bool overlap(uint8_t a, uint64_t a_offset, uint8_t b, uint64_t b_offset, uint64_t a_bytes,
                      uint64_t b_bytes) {
    return a == b && a_offset < b_offset + b_bytes && b_offset < a_offset + a_bytes;
  }

  void check(const Lane& lane) {
    const auto local = [](const Step& s) { return s.action == Action::copy || s.action == Action::reduce; };
    bool sends = false;
    for (const Step& s : lane.steps) {
      ASSERT_EQ(s.lane, lane.lane);
      ASSERT_EQ(s.round, lane.round);
      ASSERT_TRUE(s.action != Action::receive || !sends) << "a receive after a send";
      sends = sends || s.action == Action::send;
      if (s.bytes == 0) {
        ASSERT_FALSE(local(s));
      } else {
        ASSERT_LE(s.offset + s.bytes, buffers_[lane.rank].at(s.buffer).size());
      }
      if (local(s)) {
        ASSERT_EQ(s.peer, kNoPeer);
        ASSERT_LE(s.from_offset + s.bytes, buffers_[lane.rank].at(s.from_buffer).size());
      } else {
        ASSERT_LT(s.peer, schedule_.ranks());
        ASSERT_NE(s.peer, lane.rank);
      }
    }
    for (const Step& w : lane.steps) {
      if (w.action == Action::send || w.bytes == 0) continue;
      for (const Step& s : lane.steps) {
        if (&s != &w) {
          ASSERT_FALSE(overlap(w.buffer, w.offset, s.buffer, s.offset, w.bytes, s.bytes));
        }
        if (local(s)) {
          ASSERT_FALSE(overlap(w.buffer, w.offset, s.from_buffer, s.from_offset, w.bytes, s.bytes));
        }
      }
    }
  }

  // Begins the lane's round; goes past empty ones.
  void enter(Lane& lane) {
    for (; lane.round < schedule_.rounds(lane.lane); lane.round++) {
      schedule_.round(lane.rank, lane.lane, lane.round, lane.steps);
      if (!lane.steps.empty()) break;
    }
    if (lane.round == schedule_.rounds(lane.lane)) lane.steps.clear();
    check(lane);
    lane.finished.assign(lane.steps.size(), false);
    lane.known = known_[lane.rank];
    if (lane.steps.empty() || lane.steps[0].sequence == kBarrier) return;
    for (const uint32_t done : done_) overlapped_ = overlapped_ || done < lane.steps[0].sequence;
  }

  void finish(Lane& lane, size_t step) {
    lane.finished[step] = true;
    if (std::find(lane.finished.begin(), lane.finished.end(), false) != lane.finished.end()) return;
    if (lane.steps[0].sequence != kBarrier) done_[lane.rank] = lane.steps[0].sequence + 1;
    lane.round++;
    enter(lane);
  }

  // The first started, unfinished step of the lane towards the peer.
  static size_t open_step(const Lane& lane, Action action, uint32_t peer) {
    for (size_t i = 0; i < lane.steps.size(); i++)
      if (!lane.finished[i] && lane.steps[i].action == action && lane.steps[i].peer == peer) return i;
    return SIZE_MAX;
  }

  // Executes some of the lane's sends and local work; true if any.
  bool advance(Lane& lane) {
    bool any = false;
    const uint32_t round = lane.round;
    for (size_t i = 0; i < lane.steps.size(); i++) {
      const Step step = lane.steps[i];
      if (lane.finished[i] || step.action == Action::receive || chance_() % 2 == 0) continue;
      if (step.action == Action::send) {
        if (open_step(lane, Action::send, step.peer) != i) continue;  // messages do not overtake
        Lane& other = lanes_[step.peer * schedule_.lanes() + lane.lane];
        const size_t j = open_step(other, Action::receive, lane.rank);
        if (j == SIZE_MAX) continue;
        deliver(lane, step, other.steps[j]);
        finish(other, j);
      } else {
        work(lane.rank, step);
      }
      finish(lane, i);
      any = true;
      if (lane.round != round) break;
    }
    return any;
  }

  void deliver(const Lane& lane, const Step& send, const Step& receive) {
    ASSERT_EQ(send.bytes, receive.bytes);
    known_[send.peer] |= lane.known;
    for (uint64_t i = 0; i < send.bytes; i++) {
      const Cell& from = buffers_[lane.rank][send.buffer][send.offset + i];
      ASSERT_NE(from.who, 0u) << "rank " << lane.rank << " sends a byte that it has not got";
      Cell& to = buffers_[send.peer][receive.buffer][receive.offset + i];
      to = {from.who, from.index, to.writes + 1};
    }
  }

  void work(uint32_t rank, const Step& step) {
    for (uint64_t i = 0; i < step.bytes; i++) {
      const Cell& from = buffers_[rank][step.from_buffer][step.from_offset + i];
      Cell& to = buffers_[rank][step.buffer][step.offset + i];
      ASSERT_NE(from.who, 0u) << "rank " << rank << " copies a byte that it has not got";
      if (step.action == Action::reduce) {
        ASSERT_EQ(from.index, to.index);
        ASSERT_EQ(from.who & to.who, 0u) << "rank " << rank << " reduces a contribution twice";
      }
      const uint64_t who = step.action == Action::reduce ? from.who | to.who : from.who;
      to = {who, from.index, to.writes + 1};
    }
  }

  const Schedule& schedule_;
  std::vector<std::vector<std::vector<Cell>>> buffers_;  // by rank and number
  std::vector<Ranks> known_;
  std::vector<uint32_t> done_;  // sequences that the rank ended
  std::vector<Lane> lanes_;     // by rank, then lane
  std::mt19937 chance_{1};
  bool overlapped_ = false;
};

// Fills the send buffers, executes, and checks that block (source, destination) arrived at its place, once.
inline void expect_alltoall(const Schedule& s, uint64_t bytes, bool overlapped_is_wrong = false) {
  const uint32_t n = s.ranks();
  Execution e(s);
  for (uint32_t r = 0; bytes != 0 && r < n; r++)
    for (uint64_t i = 0; i < n * bytes; i++) e.buffer(r, "send")[i] = {r * n + i / bytes + 1, i % bytes, 0};
  e.run();
  if (overlapped_is_wrong) {
    EXPECT_FALSE(e.overlapped());
  }
  for (uint32_t r = 0; bytes != 0 && r < n; r++)
    for (uint64_t i = 0; i < n * bytes; i++) {
      const Cell& got = e.buffer(r, "receive")[i];
      ASSERT_EQ(got.who, i / bytes * n + r + 1) << "rank " << r << " byte " << i;
      ASSERT_EQ(got.index, i % bytes) << "rank " << r << " byte " << i;
      ASSERT_EQ(got.writes, 1u) << "rank " << r << " byte " << i;
      ASSERT_EQ(e.buffer(r, "send")[i].writes, 0u);
    }
}

}  // namespace tasuki::schedule
