// What the tasks of a communicator show each other in a collective operation: each fills in its post, and all
// meet: each has seen that all others have filled in theirs. A post holds a few bytes itself; what is larger
// stays in its owner's memory, to which the post points, until all have left.
//
// Two posts for each task, used in turns: a task cannot meet the others in the next operation before all of
// them have read the posts of this one, so it is at most one operation ahead of a slow one.
//
// Posts are numbered, and the number lies in the line in which the data begin. So small operations cost one
// line for each other task and nothing else. Where ranks outnumber cores they meet in a barrier (barrier.h)
// instead, in which each has to run only twice.
#pragma once

#include "message/collectives/barrier.h"
#include "message/collectives/tell.h"

namespace tasuki::message {

struct alignas(kLine) Post {
  static constexpr uint64_t kRoom = 31 * kLine + kLine / 2;  // bytes of data
  static constexpr uint64_t kShown = UINT64_MAX;

  const void* shown;               // memory of the owner's, if bytes is kShown
  uint64_t bytes;                  // of `data`
  std::atomic<uint32_t> sequence;  // the operation that it is for
  alignas(16) char data[kRoom];    // for elements of any type
};
static_assert(sizeof(Post) == 32 * kLine);

// One task's. Processors fetch lines in pairs: none of the counts is in one with a post of the next task's.
struct alignas(2 * kLine) Posts {
  Post turn[2];
  // All ever growing: operations that it has entered, those whose posts it has read, and how often it has
  // waited for all inside operations. Not in a line of its posts, which the others poll meanwhile: so
  // MPI_Allreduce of 8 bytes took 0.37 us instead of 0.29.
  alignas(kLine) std::atomic<uint32_t> entered;
  std::atomic<uint32_t> read, steps;
};

// No task may still read a post of the barrier's.
bool all_have_read(const Barrier& b);
// The barrier is going to serve other tasks, some of which may have used more posts of it than others.
void count_alike(Barrier& b);

// One task's side of one operation. Used by one thread.
class Meeting {
 public:
  Meeting(Engine& engine, Barrier& barrier, const Member& me) : engine_(engine), barrier_(barrier), me_(me) {}
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // Before anything else. False: there is no memory; then no task of the communicator can go on.
  bool open();
  const Member& member() const { return me_; }
  int rank() const { return me_.rank; }
  int count() const { return me_.count; }
  Engine& engine() const { return engine_; }

  // This task's post: bytes, or an address.
  char* fill_in(uint64_t bytes) {
    mine().bytes = bytes;
    return mine().data;
  }
  void show(const void* memory) {
    mine().bytes = Post::kShown;
    mine().shown = memory;
  }

  // All have filled in their posts.
  void meet();
  const Post& of(int rank) const { return posts_[rank].turn[phase_]; }
  // What `rank` shows; nullptr: its post holds the data.
  template <typename T>
  const T* shown_by(int rank) const {
    const Post& p = of(rank);
    return p.bytes == Post::kShown ? static_cast<const T*>(p.shown) : nullptr;
  }
  bool anybody_shows() const;

  // All have come so far: what each did before, the others see.
  void wait_for_all();
  // This task does not look at the posts any more. If anybody shows memory, it is the owner's again on
  // return: all have left.
  void leave();
  // The same where all know that nobody shows any.
  void leave_at_once();

 private:
  Posts& own() { return posts_[me_.rank]; }
  Post& mine() { return own().turn[phase_]; }
  // Waits until has_come(rank) of all others.
  template <typename HasCome>
  void wait_for_others(HasCome has_come);

  Engine& engine_;
  Barrier& barrier_;
  const Member me_;
  Posts* posts_ = nullptr;  // by rank
  uint32_t sequence_ = 0;
  uint32_t phase_ = 0;
};

}  // namespace tasuki::message
