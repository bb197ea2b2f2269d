#include "coarray/sync/sync.h"

#include <algorithm>

#include "base/cpu.h"
#include "os/process/cpu.h"

namespace tasuki::coarray {
namespace {

// Messages between images, on the runtime's own communicator.
constexpr int kMeetTag = 1, kPostTag = 2, kAskTag = 3, kBarrierTag = 16;
constexpr int kFew = 16;  // images that meet pairwise in less time than their messages take
enum { kHere, kGone };    // tokens of a meeting: a stopped image answers with the second

// A post, or the answer of an image that has stopped to one that waits for its posts; those that it has made
// come before.
struct Post {
  int tag;
  int gone;
};

}  // namespace

void Sync::start(const Team& world) {
  world_ = &world;
  const auto count = static_cast<size_t>(world.size());
  meetings_.assign(count, 0);
  heard_.assign(count, 0);
  gone_.assign(count, 0);
  asked_.assign(count, 0);
  ended_.assign(count, 0);
  answered_.assign(count, 0);
  messages_heard_.assign(count, 0);
  taken_.assign(count, {});
  posted_.assign(count, {});
  cores_for_all_ = memory_.images_here() <= os::online_cores();
  if (!memory_.all_direct()) return;
  const uint64_t bytes = sizeof(Control) + count * (sizeof(Posts) + sizeof(std::atomic<uint64_t>));
  shared_ = memory_.allocate(world, bytes, 64);
  if (shared_ == nullptr) fail({nullptr, 0}, "no memory for the synchronization of images");
}

Sync::Control& Sync::control(int image) {
  return *reinterpret_cast<Control*>(shared_->direct[static_cast<size_t>(image)]);
}

Sync::Posts& Sync::posts(int at, int by) {
  return reinterpret_cast<Posts*>(&control(at) + 1)[by];
}

std::atomic<uint64_t>& Sync::met(int at, int by) {
  return reinterpret_cast<std::atomic<uint64_t>*>(&posts(at, world_->size()))[by];
}

int Sync::barrier(const Team& team) {
  if (&team != world_) return barrier_of_part(team);
  return shared_ != nullptr ? barrier_direct(nullptr) : barrier_by_messages(nullptr);
}

// The last to arrive moves the generation on. `meanwhile` is of an image that has stopped.
int Sync::barrier_direct(const std::function<void()>* meanwhile) {
  Control& c = control(0);
  const uint32_t mine = ++generation_;
  if (meanwhile != nullptr && control(world_->me).stopped.exchange(1, std::memory_order_release) == 0)
    c.stopped_in_all.fetch_add(1, std::memory_order_relaxed);
  if (c.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(world_->size())) {
    c.arrived.store(0, std::memory_order_relaxed);
    const int result = c.stopped_in_all.load(std::memory_order_relaxed);
    c.result.store(result, std::memory_order_relaxed);
    c.generation.store(mine, std::memory_order_release);
    return result;
  }
  Waiter waiter(&patience_);
  while (c.generation.load(std::memory_order_acquire) != mine) {
    if (meanwhile != nullptr) {
      answer_late();
      (*meanwhile)();
    }
    waiter.turn();
  }
  return c.result.load(std::memory_order_relaxed);
}

int Sync::barrier_by_messages(const std::function<void()>* meanwhile) {
  const int mine = meanwhile != nullptr ? 1 : 0;
  int all = 0;
  MPI_Request request;
  PMPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_SUM, world_->comm, &request);
  Waiter waiter(&patience_);
  for (int done = 0;;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return all;
    if (meanwhile != nullptr) {
      answer_late();
      (*meanwhile)();
    }
    waiter.turn();
  }
}

// A few meet each other. More: by dissemination (Hensgen, Finkel and Manber 1988): in round k each image
// hears of the one 2^k before it. A stopped image takes no part; who was to hear of it passes that on, and
// since every distance is a sum of powers of two, all learn of it. How many have stopped is not counted.
int Sync::barrier_of_part(const Team& team) {
  const int count = team.size();
  const auto image_of = [&](int member) {
    return world_->index[static_cast<size_t>(team.ranks[static_cast<size_t>(member % count)])];
  };
  if (shared_ != nullptr && count <= kFew) {
    int images[kFew];
    for (int i = 0; i < count; i++) images[i] = image_of(i);
    return meet(images, count);
  }
  int stopped = 0;
  for (int distance = 1, tag = kBarrierTag; distance < count; distance *= 2, tag++) {
    const int to = image_of(team.me + distance), from = image_of(team.me + count - distance);
    PMPI_Send(&stopped, 1, MPI_INT, to, tag, world_->comm);
    Waiter waiter(&patience_);
    int there = 0;
    for (bool ended = false;; waiter.turn()) {
      PMPI_Iprobe(from, tag, world_->comm, &there, MPI_STATUS_IGNORE);
      if (there != 0 || ended) break;
      ended = has_ended(from);
    }
    int known = 1;
    if (there != 0) PMPI_Recv(&known, 1, MPI_INT, from, tag, world_->comm, MPI_STATUS_IGNORE);
    stopped |= known;
  }
  return stopped;
}

// Its answer comes behind all that it has sent before.
bool Sync::has_ended(int image) {
  if (shared_ != nullptr && control(image).stopped.load(std::memory_order_acquire) == 0) return false;
  ask(image);
  receive_posts();
  return ended_[static_cast<size_t>(image)] != 0;
}

int Sync::meet(const int* images, int count) {
  for (int i = 0; i < count; i++)
    if (images[i] != world_->me) arrive(images[i]);
  int stopped = 0;
  for (int i = 0; i < count; i++)
    if (images[i] != world_->me && !come(images[i], meetings_[static_cast<size_t>(images[i])])) stopped++;
  return stopped;
}

uint64_t Sync::arrive(int image) {
  const uint64_t meeting = ++meetings_[static_cast<size_t>(image)];
  if (shared_ != nullptr) {
    met(image, world_->me).store(meeting, std::memory_order_release);
  } else {
    static const int here = kHere;
    MPI_Request request;
    PMPI_Isend(&here, 1, MPI_INT, image, kMeetTag, world_->comm, &request);
    PMPI_Request_free(&request);
  }
  return meeting;
}

bool Sync::come(int image, uint64_t meeting) {
  if (shared_ == nullptr) return hear(image, meeting, true);
  const std::atomic<uint64_t>& other = met(world_->me, image);
  Waiter waiter(&patience_);
  while (other.load(std::memory_order_acquire) < meeting) {
    if (control(image).stopped.load(std::memory_order_acquire) != 0 &&
        other.load(std::memory_order_acquire) < meeting)
      return false;
    waiter.turn();
  }
  return true;
}

bool Sync::has_come(int image, uint64_t meeting) {
  if (shared_ == nullptr) return hear(image, meeting, false);
  return met(world_->me, image).load(std::memory_order_acquire) >= meeting;
}

// A token for each meeting. A stopped image answers that it is gone.
bool Sync::hear(int image, uint64_t meeting, bool wait) {
  uint64_t& heard = heard_[static_cast<size_t>(image)];
  char& gone = gone_[static_cast<size_t>(image)];
  while (heard < meeting) {
    int there = 1;
    if (!wait) PMPI_Iprobe(image, kMeetTag, world_->comm, &there, MPI_STATUS_IGNORE);
    if (there == 0) return false;
    int answer = kHere;
    MPI_Request request;
    PMPI_Irecv(&answer, 1, MPI_INT, image, kMeetTag, world_->comm, &request);
    wait_for(&request);
    if (answer == kGone) gone = 1;
    heard++;
  }
  return gone == 0;
}

// Takes the messages that have arrived.
template <typename Message, typename Taker>
void Sync::receive_all(int tag, const Taker& taker) {
  MPI_Status status;
  for (int there = 1;;) {
    PMPI_Iprobe(MPI_ANY_SOURCE, tag, world_->comm, &there, &status);
    if (there == 0) return;
    Message message = {};
    PMPI_Recv(&message, sizeof message / sizeof(int), MPI_INT, status.MPI_SOURCE, tag, world_->comm,
              MPI_STATUS_IGNORE);
    taker(status.MPI_SOURCE, message);
  }
}

// Tokens that arrive at an image that has stopped.
void Sync::answer_late() {
  receive_all<int>(kMeetTag, [this](int source, int token) {
    const int gone = kGone;
    if (token == kHere) PMPI_Send(&gone, 1, MPI_INT, source, kMeetTag, world_->comm);
  });
  receive_all<int>(kAskTag, [this](int source, int) { answer(source); });
}

void Sync::answer(int image) {
  const Post answer = {0, 1};
  PMPI_Send(&answer, 2, MPI_INT, image, kPostTag, world_->comm);
  answered_[static_cast<size_t>(image)] = 1;
}

// Each question and each answer is received: MPI libraries complain of what is left.
void Sync::settle_questions() {
  const size_t count = asked_.size();
  std::vector<char> theirs(count);
  PMPI_Alltoall(asked_.data(), 1, MPI_CHAR, theirs.data(), 1, MPI_CHAR, world_->comm);
  for (size_t i = 0; i < count; i++) {
    if (theirs[i] == 0 || answered_[i] != 0) continue;
    int question = 0;
    const int image = static_cast<int>(i);
    PMPI_Recv(&question, 1, MPI_INT, image, kAskTag, world_->comm, MPI_STATUS_IGNORE);
    answer(image);
  }
  for (size_t i = 0; i < count; i++) {
    while (asked_[i] != 0 && ended_[i] == 0) {
      Post post = {0, 0};
      PMPI_Recv(&post, 2, MPI_INT, static_cast<int>(i), kPostTag, world_->comm, MPI_STATUS_IGNORE);
      if (post.gone != 0) ended_[i] = 1;
    }
  }
}

void Sync::stopped(const std::function<void()>& meanwhile) {
  for (;;) {
    const int gone = shared_ != nullptr ? barrier_direct(&meanwhile) : barrier_by_messages(&meanwhile);
    if (gone == world_->size()) break;
  }
  // Asked before the last barrier.
  if (shared_ == nullptr || control(0).asked.load(std::memory_order_relaxed) != 0) settle_questions();
}

void Sync::post(int image, int tag) {
  if (shared_ != nullptr) {
    Posts& there = posts(image, world_->me);
    Posted& known = posted_[static_cast<size_t>(image)];
    uint32_t slot = 0;
    while (slot < known.used && known.tag[slot] != tag) slot++;
    if (slot < kTags) {
      if (slot == known.used) {
        known.tag[slot] = tag;
        known.count[slot] = 0;
        known.used++;
        there.slot[slot].tag.store(tag, std::memory_order_relaxed);
        there.used.store(known.used, std::memory_order_release);
      }
      // Only this image writes the counter.
      there.slot[slot].count.store(++known.count[slot], std::memory_order_release);
      return;
    }
    there.by_message.store(++known.by_message, std::memory_order_release);
  }
  if (image == world_->me) {
    messages_[{image, tag}]++;
    return;
  }
  // So short a message waits for nobody.
  const Post post = {tag, 0};
  PMPI_Send(&post, 2, MPI_INT, image, kPostTag, world_->comm);
}

bool Sync::take(int image, bool any_tag, int tag) {
  bool by_message = false;
  const int first = image < 0 ? 0 : image, last = image < 0 ? world_->size() - 1 : image;
  for (int from = first; from <= last; from++) {
    const Posts& here = posts(world_->me, from);
    const uint32_t used = here.used.load(std::memory_order_acquire);
    for (size_t slot = 0; slot < used; slot++) {
      uint64_t& taken = taken_[static_cast<size_t>(from)][slot];
      if (here.slot[slot].count.load(std::memory_order_acquire) == taken) continue;
      if (!any_tag && here.slot[slot].tag.load(std::memory_order_relaxed) != tag) continue;
      taken++;
      return true;
    }
    by_message = by_message || here.by_message.load(std::memory_order_acquire) != 0;
  }
  if (!by_message) return false;
  receive_posts();
  return take_message(image, any_tag, tag);
}

void Sync::receive_posts() {
  receive_all<Post>(kPostTag, [this](int source, const Post& post) {
    if (post.gone != 0) {
      ended_[static_cast<size_t>(source)] = 1;
    } else {
      messages_[{source, post.tag}]++;
      messages_heard_[static_cast<size_t>(source)]++;
    }
  });
}

bool Sync::take_message(int image, bool any_tag, int tag) {
  for (auto entry = messages_.begin(); entry != messages_.end(); ++entry) {
    if ((image >= 0 && entry->first.first != image) || (!any_tag && entry->first.second != tag)) continue;
    if (--entry->second == 0) messages_.erase(entry);
    return true;
  }
  return false;
}

// The other takes it up when it stops, and answers behind its last post.
void Sync::ask(int image) {
  if (image == world_->me || asked_[static_cast<size_t>(image)] != 0) return;
  asked_[static_cast<size_t>(image)] = 1;
  if (shared_ != nullptr) control(0).asked.store(1, std::memory_order_relaxed);
  static const int question = 0;
  PMPI_Send(&question, 1, MPI_INT, image, kAskTag, world_->comm);
}

bool Sync::wait_by_messages(int image, bool any_tag, int tag) {
  const auto others = static_cast<size_t>(world_->size()) - 1;
  for (int i = 0; i < world_->size(); i++)
    if (i == image || image < 0) ask(i);
  while (!take_message(image, any_tag, tag)) {
    Post arrived = {0, 0};
    MPI_Status status;
    // What this image posts to itself is there at once.
    if (image == world_->me || (image >= 0 && ended_[static_cast<size_t>(image)] != 0)) return false;
    if (image < 0 && static_cast<size_t>(std::count(ended_.begin(), ended_.end(), 1)) == others) return false;
    const int source = image < 0 ? MPI_ANY_SOURCE : image;
    MPI_Request request;
    PMPI_Irecv(&arrived, 2, MPI_INT, source, kPostTag, world_->comm, &request);
    coarray::wait_for(&request, &patience_, &status);
    if (arrived.gone != 0) {
      ended_[static_cast<size_t>(status.MPI_SOURCE)] = 1;
      continue;
    }
    if (any_tag || arrived.tag == tag) return true;
    messages_[{status.MPI_SOURCE, arrived.tag}]++;
  }
  return true;
}

// The usual case: one image and a tag that it has used before. Polls one word, for a while.
bool Sync::take_soon(int image, int tag) {
  const Posts& here = posts(world_->me, image);
  const uint32_t used = here.used.load(std::memory_order_acquire);
  uint32_t slot = 0;
  while (slot < used && here.slot[slot].tag.load(std::memory_order_relaxed) != tag) slot++;
  if (slot == used) return false;
  uint64_t& taken = taken_[static_cast<size_t>(image)][slot];
  const unsigned polls = patience_.polls();
  for (unsigned turn = 0; turn < polls; turn++) {
    if (here.slot[slot].count.load(std::memory_order_acquire) != taken) {
      taken++;
      return true;
    }
    cpu_relax();
  }
  return false;
}

bool Sync::wait(int image, bool any_tag, int tag) {
  if (shared_ == nullptr) return wait_by_messages(image, any_tag, tag);
  if (image >= 0 && !any_tag && take_soon(image, tag)) return true;
  Waiter waiter(&patience_);
  while (!take(image, any_tag, tag)) {
    bool none = image < 0 || none_comes(image);
    for (int i = 0; i < world_->size() && none && image < 0; i++) none = none_comes(i);
    if (none) return take(image, any_tag, tag);
    waiter.turn();
  }
  return true;
}

// Are all posts of this image here? What it posts to itself is there at once; messages of one that has
// stopped may still be on their way.
bool Sync::none_comes(int image) {
  return image == world_->me || (control(image).stopped.load(std::memory_order_acquire) != 0 &&
                                 posts(world_->me, image).by_message.load(std::memory_order_acquire) ==
                                     messages_heard_[static_cast<size_t>(image)]);
}

}  // namespace tasuki::coarray
