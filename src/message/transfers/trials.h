// What a message's way costs a program is more than the cost model knows: how far its cores are, what its
// buffers share caches with, whether it touches them at all. So a stream of messages tries other ways now and
// then, and keeps one that is better.
//
// A stream is all messages from one task to another one with the same tag, context and, as far as their
// sizes tell, layouts. What a program pays for a message is in the time from its match to that of the
// stream's next one: the copy, and the misses of both owners on lines that the copy has left with the other
// core. In a trial the stream takes its way and a rival in turns, for some messages each, of which the first
// may have been packed ahead the way before (pipeline.h): its time is not counted. The rival becomes
// the stream's way if nearly all its times are below nearly all others: what else the program does is in
// them, too, and where that varies more than the ways do, all stays as the model had it.
//
// Bounded: a trial is kMessages long, half of them by the rival, which by the model takes at most kHopeless
// times as long as the best way; it ends after a run of the rival's if all its times are kOut times the
// others' median and more. The first begins after kFirst messages, so that a few messages are as the model
// says; each later one waits twice as long as the one before it, and kClearly times as long again after a
// rival that was clearly worse, at most kRarest messages. Where streams come and go, and have learned
// nothing, new ones begin later. The first trials of a program whose ranks do all the same begin at the same
// message everywhere, so that what all gain together is seen; later ones are spread, so that each stream's
// own share is.
//
// The stream's state is the receiver's, in memory of its endpoint, so both sides find the same, whoever of
// them is second. Who finds it in use by another thread goes by the model, and nothing is learned.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "message/cost/cost.h"
#include "message/shared/shared.h"

namespace tasuki::message {

// Zeros are a state before the first message, too. Not thread-safe; see Streams.
class Stream {
 public:
  static constexpr uint32_t kRun = 4;   // messages by one way; the time of the first is not counted
  static constexpr uint32_t kRuns = 8;  // of a trial
  static constexpr uint32_t kMessages = kRun * kRuns;
  static constexpr uint32_t kSamples = (kRun - 1) * kRuns / 2;  // of each of both
  static constexpr uint32_t kFirst = 8, kSecond = 16, kRarest = 1 << 16;
  // Times of either that may lie as they will. Where the ways are alike and times vary as exponentials do,
  // one trial in 700 changes the way; a rival that is better by two deviations is seen by seven of eight.
  static constexpr uint32_t kStrays = kSamples / 6;
  static constexpr double kHopeless = 4;
  static constexpr double kOut = 1.25;
  static constexpr uint32_t kClearly = 4;

  // The first trial begins after kFirst messages, twice as many for each of so many fruitless streams.
  explicit Stream(uint32_t fruitless = 0) : fruitless_(fruitless) {}
  // Which way the stream's next message takes. Asked only in trials, or at the first message: `model`, for
  // Prospects, and `clock`, for nanoseconds. `spread`: any number that differs from stream to stream.
  template <typename Model, typename Clock>
  Way next(Model model, uint64_t spread, Clock clock) {
    if (until_ > 0) {
      until_--;
      return way_;
    }
    if (interval_ == 0) return begin(model().best);
    if (message_ == 0 && !find_rival(model())) return rest(spread);
    return try_out(spread, clock());
  }
  uint32_t trials() const { return trials_; }
  uint32_t changes() const { return changes_; }

 private:
  Way begin(Way way);
  bool find_rival(const Prospects& p);
  Way try_out(uint64_t spread, int64_t now);
  bool rival_is_out();
  void decide(bool out);
  Way rest(uint64_t spread);
  // Own, rival, rival, own, rival, own, own, rival: no rhythm that a program could have.
  static bool is_rivals(uint32_t message) { return std::popcount(message / kRun % kRuns) % 2 != 0; }

  uint32_t until_ = 0;  // messages until the next trial
  Way way_ = Way::alone, rival_ = Way::alone;
  uint32_t fruitless_;
  uint32_t interval_ = 0;  // between the last trial and the next one, about; 0: no message yet
  uint32_t message_ = 0;   // of the trial, the next one
  uint32_t trials_ = 0, changes_ = 0;
  uint32_t count_[2] = {};
  int64_t matched_ = 0;  // when the trial's last message was
  uint32_t times_[2][kSamples] = {};
};

// The streams to one task. In zeroed memory. Thread-safe.
class Streams {
 public:
  // `key` tells streams apart, as good as certainly.
  template <typename Model, typename Clock>
  Way next(uint64_t key, Model model, Clock clock) {
    Set& set = sets_[key % kSets];
    if (set.taken.exchange(1, std::memory_order_acquire) != 0) return model().best;
    Stream* stream = find(set, key);
    const Way way = stream != nullptr ? stream->next(model, key / kSets, clock) : model().best;
    set.taken.store(0, std::memory_order_release);
    return way;
  }

 private:
  static constexpr uint32_t kSets = 16, kPlaces = 4, kMostFruitless = 10;
  static constexpr uint8_t kFresh = 4, kStrongest = 64;
  // A stream keeps its place as long as its messages are about as many as those that find no place, whatever
  // tags a program counts up.
  struct alignas(kLine) Set {
    std::atomic<uint32_t> taken;
    uint8_t fruitless;  // streams that have left their place after trials and learned nothing
    uint8_t strength[kPlaces];
    uint64_t key[kPlaces];
    struct alignas(kLine) Place {
      Stream stream;
    } place[kPlaces];
  };
  // nullptr: there is no place for it yet.
  static Stream* find(Set& set, uint64_t key);

  Set sets_[kSets];
};

}  // namespace tasuki::message
