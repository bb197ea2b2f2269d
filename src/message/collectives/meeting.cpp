#include "message/collectives/meeting.h"

namespace tasuki::message {

bool all_have_read(const Barrier& b) {
  const Post* posts = b.posts.load(std::memory_order_acquire);
  if (posts == nullptr) return true;
  for (uint32_t i = 0; i < b.places; i++)
    if (posts[2 * i].entered.load(std::memory_order_acquire) !=
        posts[2 * i].read.load(std::memory_order_acquire))
      return false;
  return true;
}

// Rank 0 has a part in all that a barrier serves, so its counts are the highest (they may have wrapped
// around): whoever still waits for one of these numbers sees it.
void count_alike(Barrier& b) {
  Post* posts = b.posts.load(std::memory_order_acquire);
  if (posts == nullptr) return;
  const uint32_t operations = posts[0].entered.load(std::memory_order_relaxed),
                 steps = posts[0].steps.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < b.places; i++) {
    Post& first = posts[2 * i];
    first.entered.store(operations, std::memory_order_relaxed);
    first.read.store(operations, std::memory_order_relaxed);
    first.steps.store(steps, std::memory_order_relaxed);
    for (uint32_t turn = 0; turn < 2; turn++)
      posts[2 * i + turn].sequence.store(operations, std::memory_order_relaxed);
  }
}

bool Meeting::open() {
  engine_.count_call();
  posts_ = barrier_.posts.load(std::memory_order_acquire);
  if (posts_ == nullptr && me_.rank == 0) {
    posts_ = static_cast<Post*>(map_forever(2 * barrier_.places * sizeof(Post)));
    if (posts_ == nullptr) return false;
    barrier_.posts.store(posts_, std::memory_order_release);
    engine_.wake_tasks(me_.slots, me_.count, me_.rank);
  } else if (posts_ == nullptr) {
    engine_.wait_for_tasks(
        [&] { return (posts_ = barrier_.posts.load(std::memory_order_acquire)) != nullptr; });
  }
  sequence_ = first(me_.rank).entered.load(std::memory_order_relaxed) + 1;
  first(me_.rank).entered.store(sequence_, std::memory_order_relaxed);
  phase_ = static_cast<int>(sequence_ & 1);
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
}

void Meeting::wait_for_all() {
  if (engine_.options().wait.oversubscribed)
    return enter_barrier(engine_, barrier_, me_.rank, me_.count, me_.slots);
  const uint32_t step = first(me_.rank).steps.load(std::memory_order_relaxed) + 1;
  first(me_.rank).steps.store(step, std::memory_order_release);
  wait_for_others([&](int other) {
    return static_cast<int32_t>(first(other).steps.load(std::memory_order_acquire) - step) >= 0;
  });
}

bool Meeting::anybody_shows() const {
  for (int i = 0; i < me_.count; i++)
    if (of(i).bytes == Post::kShown) return true;
  return false;
}

void Meeting::leave_at_once() {
  first(me_.rank).read.store(sequence_, std::memory_order_release);
}

void Meeting::leave() {
  const bool wait = anybody_shows();
  leave_at_once();
  if (wait) wait_for_all();
}

}  // namespace tasuki::message
