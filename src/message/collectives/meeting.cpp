#include "message/collectives/meeting.h"

#include "message/shared/lines.h"

namespace tasuki::message {

bool all_have_read(const Barrier& b) {
  const Posts* posts = b.posts.load(std::memory_order_acquire);
  if (posts == nullptr) return true;
  for (uint32_t i = 0; i < b.places; i++)
    if (posts[i].entered.load(std::memory_order_acquire) != posts[i].read.load(std::memory_order_acquire))
      return false;
  return true;
}

// Rank 0 has a part in all that a barrier serves, so its counts are the highest (they may have wrapped
// around): whoever still waits for one of these numbers sees it.
void count_alike(Barrier& b) {
  Posts* posts = b.posts.load(std::memory_order_acquire);
  if (posts == nullptr) return;
  const uint32_t operations = posts[0].entered.load(std::memory_order_relaxed),
                 steps = posts[0].steps.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < b.places; i++) {
    Posts& p = posts[i];
    p.entered.store(operations, std::memory_order_relaxed);
    p.read.store(operations, std::memory_order_relaxed);
    p.steps.store(steps, std::memory_order_relaxed);
    for (Post& post : p.turn) post.sequence.store(operations, std::memory_order_relaxed);
  }
}

bool Meeting::open() {
  engine_.count_call();
  posts_ = barrier_.posts.load(std::memory_order_acquire);
  if (posts_ == nullptr && me_.rank == 0) {
    posts_ = static_cast<Posts*>(map_forever(barrier_.places * sizeof(Posts)));
    if (posts_ == nullptr) return false;
    barrier_.posts.store(posts_, std::memory_order_release);
    engine_.wake_tasks(me_.slots, me_.count, me_.rank);
  } else if (posts_ == nullptr) {
    engine_.wait_for_tasks(
        [&] { return (posts_ = barrier_.posts.load(std::memory_order_acquire)) != nullptr; });
  }
  sequence_ = own().entered.load(std::memory_order_relaxed) + 1;
  own().entered.store(sequence_, std::memory_order_relaxed);
  phase_ = sequence_ & 1;
  return true;
}

template <typename HasCome>
void Meeting::wait_for_others(HasCome has_come) {
  int i = 1;
  const auto all = [&] {
    while (i < me_.count && has_come((me_.rank + i) % me_.count)) i++;
    return i == me_.count;
  };
  if (!all()) engine_.wait_for_tasks(all);
}

void Meeting::meet() {
  if (engine_.options().wait.oversubscribed)
    return enter_barrier(engine_, barrier_, me_.rank, me_.count, me_.slots);
  mine().sequence.store(sequence_, std::memory_order_release);
  wait_for_others([&](int other) { return of(other).sequence.load(std::memory_order_acquire) == sequence_; });
  // All have read the post of the operation before, which is the next one's: asks for its lines, to write as
  // many again. Of two ranks MPI_Allreduce of 256 B takes 0.35 us instead of 0.49, MPI_Allgather of 1.8 KB
  // 0.65 instead of 1.05.
  const Post& next = own().turn[phase_ ^ 1];
  if (next.bytes <= Post::kRoom)
    fetch_lines<true>(reinterpret_cast<const char*>(&next), kLine / 2 + next.bytes);
}

void Meeting::wait_for_all() {
  if (engine_.options().wait.oversubscribed)
    return enter_barrier(engine_, barrier_, me_.rank, me_.count, me_.slots);
  const uint32_t step = own().steps.load(std::memory_order_relaxed) + 1;
  own().steps.store(step, std::memory_order_release);
  wait_for_others([&](int other) {
    return static_cast<int32_t>(posts_[other].steps.load(std::memory_order_acquire) - step) >= 0;
  });
}

bool Meeting::anybody_shows() const {
  for (int i = 0; i < me_.count; i++)
    if (of(i).bytes == Post::kShown) return true;
  return false;
}

void Meeting::leave_at_once() {
  own().read.store(sequence_, std::memory_order_release);
}

void Meeting::leave() {
  const bool wait = anybody_shows();
  leave_at_once();
  if (wait) wait_for_all();
}

}  // namespace tasuki::message
