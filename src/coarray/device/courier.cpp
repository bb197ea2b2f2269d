#include "coarray/device/courier.h"

#include <time.h>

#include <cstddef>
#include <cstring>

#include "coarray/local/outstanding.h"
#include "coarray/sync/atomics.h"
#include "os/process/signals.h"
#include "tasuki/compiler/local_view.h"

namespace tasuki::coarray {

struct Courier::Order {
  uint64_t address, span, bytes;  // of the host, there
  Shape shape;
  Direction direction;
};

// Each word is written by one side only, but for the lock.
struct Courier::Box {
  alignas(64) xmp_lock_t lock;
  alignas(64) int32_t wanted;  // the number of the last order; by images
  alignas(64) int32_t done;    // by the thread
  alignas(64) Order order;
  alignas(64) char bytes[kPart];
};

namespace {

int32_t word(const Place& place, int operation, int32_t value) {
  return static_cast<int32_t>(atomic(place, sizeof value, operation, value, 0));
}

}  // namespace

void Courier::start(Memory* memory, const Team& world) {
  me_ = world.me + 1;
  next_box_ = world.me % kBoxes;
  boxes_ = memory->allocate(world, kBoxes * sizeof(Box), alignof(Box));
  if (boxes_ == nullptr) fail({nullptr, 0}, "no memory to stage transfers between devices in");
  const os::SignalsBlocked blocked;  // a handler of the program on this thread could wait for this thread
  thread_ = std::thread([this] { serve(); });
}

void Courier::stop() {
  if (!works()) return;
  stopping_ = true;
  thread_.join();
}

void Courier::serve() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (serve_once()) continue;
    const timespec pause = {0, 20'000};
    nanosleep(&pause, nullptr);
  }
}

bool Courier::serve_once() {
  bool any = false;
  for (int i = 0; i < kBoxes; i++) {
    Box& box = reinterpret_cast<Box*>(boxes_->begin)[i];
    const int32_t wanted = __atomic_load_n(&box.wanted, __ATOMIC_ACQUIRE);
    if (wanted == box.done) continue;
    const Order& order = box.order;
    char* address = device_.known_address(
        reinterpret_cast<const char*>(static_cast<uintptr_t>(order.address)), order.span);
    if (address == nullptr)
      fail({nullptr, 0},
           "another node wants memory of this one's device that is not there; what nodes that do not execute "
           "a "
           "directive have on their devices must stand in #pragma acc declare create(name)");
    const Bytes there = {address, true}, here = {box.bytes, false};
    const Shape dense = dense_shape(order.bytes);
    if (order.direction == Direction::put)
      device_.copy(there, order.shape, here, dense);
    else
      device_.copy(here, dense, there, order.shape);
    device_.synchronize();
    __atomic_store_n(&box.done, wanted, __ATOMIC_RELEASE);
    any = true;
  }
  return any;
}

void Courier::part(const Place& place, const Shape& shape, Bytes here, Direction direction) {
  Open& open = open_[turn_];
  turn_ ^= 1;
  finish(&open);
  Box* box = reinterpret_cast<Box*>(boxes_->begin) + next_box_;
  next_box_ = (next_box_ + 1) % kBoxes;
  const auto at = [&](const void* p) { return place_of(boxes_, place.target, p); };
  // Nobody waits for a box with one in the hand, or all could wait for each other.
  if (lock(at(&box->lock), me_, true, &patience_) != LockResult::done) {
    finish(&open_[turn_]);
    lock(at(&box->lock), me_, false, &patience_);
  }
  Order order;
  memset(static_cast<void*>(&order), 0, sizeof order);
  order.address = place.segment->home[static_cast<size_t>(place.target)] + place.offset;
  order.bytes = shape.bytes();
  order.span = shape.block;
  for (int i = 0; i < shape.depth; i++)
    order.span += static_cast<uint64_t>((shape.levels[i].count - 1) * shape.levels[i].stride);
  order.shape = shape;
  order.direction = direction;
  if (direction == Direction::put) {
    const char* bytes = here.at;
    if (here.device) {
      char* staged = device_.pinned(2 * kPart) + (&open - open_) * kPart;
      const Shape dense = dense_shape(order.bytes);
      device_.copy({staged, false}, dense, here, dense);
      bytes = staged;
    }
    transfers_.put(at(box->bytes), bytes, order.bytes, Through::at_return);
  }
  transfers_.put(at(&box->order), &order, sizeof order, Through::at_return);
  if (boxes_->outstanding != nullptr) boxes_->outstanding->flush(place.target);
  open = {box,  place.target, word(at(&box->done), TASUKI_XMP_ATOMIC_REF, 0) + 1,
          here, order.bytes,  direction};
  __atomic_thread_fence(__ATOMIC_SEQ_CST);  // stores that went past the caches
  word(at(&box->wanted), TASUKI_XMP_ATOMIC_DEFINE, open.number);
}

void Courier::finish(Open* open) {
  if (open->box == nullptr) return;
  const auto at = [&](const void* p) { return place_of(boxes_, open->target, p); };
  Waiter waiter(&patience_);
  while (word(at(&open->box->done), TASUKI_XMP_ATOMIC_REF, 0) != open->number) waiter.turn();
  if (open->direction == Direction::get) {
    char* bytes = open->here.device ? device_.pinned(2 * kPart) : open->here.at;
    transfers_.get(bytes, at(open->box->bytes), open->bytes, Through::at_return);
    if (open->here.device) {
      const Shape dense = dense_shape(open->bytes);
      device_.copy(open->here, dense, {bytes, false}, dense);
    }
  }
  unlock(at(&open->box->lock), me_);
  open->box = nullptr;
}

void Courier::end() {
  finish(&open_[turn_]);
  finish(&open_[turn_ ^ 1]);
}

}  // namespace tasuki::coarray
