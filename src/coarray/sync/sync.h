// sync: how images wait for each other. Where all images are direct, by counters in memory that all reach;
// else by messages of the MPI library, which then also makes progress for others. Completing puts before is
// the caller's.
//
// A *stopped* image has left main. It goes on to take part in barriers until all have stopped, so that nobody
// waits for it for ever, and tells those that wait for it alone.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "coarray/local/memory.h"
#include "coarray/local/team.h"
#include "coarray/sync/patience.h"

namespace tasuki::coarray {

class Sync {
 public:
  Sync(Memory* memory, Patience* patience) : memory_(*memory), patience_(*patience) {}

  // Collective over all images.
  void start(const Team& world);

  // Waits for all images of the team; how many of them have stopped.
  int barrier(const Team& team);
  // Waits for each of these images (indices in `world`) to do the same with this one. How many had stopped
  // instead.
  int meet(const int* images, int count);
  // The halves of a meeting with one other image: arrive() says that this one is there and gives the
  // meeting's number, come() waits for the other. Meetings come in the order in which they were begun. False:
  // the other has stopped instead.
  uint64_t arrive(int image);
  bool come(int image, uint64_t meeting);
  bool has_come(int image, uint64_t meeting);

  void post(int image, int tag);
  // -1: any. (Tags may be negative, hence the flag.) False: there is no such post, and the image, or all
  // others, have stopped.
  bool wait(int image, bool any_tag, int tag);

  // One for each image of this host: MPI's own way to wait, which may never yield, is the fastest.
  bool has_cores_for_all() const { return cores_for_all_; }

  // Waits until it is complete, in the way of Waiter, whatever the MPI library does.
  void wait_for(MPI_Request* request) { coarray::wait_for(request, &patience_); }

  // Called by an image that has left main: takes part until all images have.
  void stopped(const std::function<void()>& meanwhile);
  // Has this image left main? Of one that has, all that it has sent before is here then.
  bool has_ended(int image);

 private:
  static constexpr int kTags = 16;
  // In the memory of the image that is posted to, one set for each image that posts. Only that one writes it.
  // All that a wait for one of the first three tags polls is in one cache line.
  struct Slot {
    std::atomic<int32_t> tag;  // known once the slot is in use
    std::atomic<uint32_t> reserved;
    std::atomic<uint64_t> count;
  };
  struct alignas(64) Posts {
    std::atomic<uint32_t> used;        // slots
    std::atomic<uint32_t> by_message;  // more tags than that: those come as messages, so many
    Slot slot[kTags];
  };
  struct alignas(64) Control {
    alignas(64) std::atomic<uint32_t> arrived;  // at the barrier; used of image 0
    std::atomic<int32_t> stopped_in_all;
    alignas(64) std::atomic<uint32_t> generation;
    std::atomic<int32_t> result;
    alignas(64) std::atomic<uint32_t> stopped;  // this image
    std::atomic<uint32_t> asked;                // some image has asked another; used of image 0
  };

  Control& control(int image);
  std::atomic<uint64_t>& met(int at, int by);
  Posts& posts(int at, int by);
  bool hear(int image, uint64_t meeting, bool wait);
  template <typename Message, typename Taker>
  void receive_all(int tag, const Taker& taker);
  bool take(int image, bool any_tag, int tag);
  bool take_message(int image, bool any_tag, int tag);
  bool wait_by_messages(int image, bool any_tag, int tag);
  bool none_comes(int image);
  void ask(int image);
  void answer(int image);
  void settle_questions();
  bool take_soon(int image, int tag);
  void answer_late();
  int barrier_direct(const std::function<void()>* meanwhile);
  int barrier_by_messages(const std::function<void()>* meanwhile);
  int barrier_of_part(const Team& team);
  void receive_posts();

  Memory& memory_;
  Patience& patience_;
  const Team* world_ = nullptr;
  Segment* shared_ = nullptr;  // nullptr: by messages
  bool cores_for_all_ = false;
  uint32_t generation_ = 0;
  std::vector<uint64_t> meetings_;        // with each image, as far as this one has begun them
  std::vector<uint64_t> heard_;           // by messages: those that the other has begun
  std::vector<char> gone_;                // by messages: the other has stopped
  std::vector<char> asked_;               // by messages: to answer a wait for its posts when it stops
  std::vector<char> answered_;            // by messages: this image has answered that one
  std::vector<char> ended_;               // by messages: it has answered
  std::vector<uint32_t> messages_heard_;  // posts of each image that came as messages
  std::vector<std::array<uint64_t, kTags>> taken_;  // posts of each image, by slot
  // What this image has posted to another, as it stands in the other's memory.
  struct Posted {
    uint32_t used = 0, by_message = 0;
    int tag[kTags];
    uint64_t count[kTags];
  };
  std::vector<Posted> posted_;  // to each image
  std::map<std::pair<int, int>, uint64_t>
      messages_;  // posts that came as messages: image, tag -> not yet taken
};

}  // namespace tasuki::coarray
