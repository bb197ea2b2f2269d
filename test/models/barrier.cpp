// The barrier: what a task did before one, all others see behind it, in one barrier after the other.
// Sources: message/collectives/barrier.cpp
// Instead: lock engine
#include "message/collectives/barrier.h"

#include "memory.h"
#include "model.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

constexpr int kTasks = 3, kRounds = 2;
struct {
  Barrier barrier;
  Barrier::Counter counters[3];
} g_shared;
int g_said[kTasks];  // plain: a race is an error
int g_slots[kTasks];

template <int Rank>
void take_part() {
  Engine engine;
  for (int round = 1; round <= kRounds; round++) {
    g_said[Rank] = round;
    enter_barrier(engine, g_shared.barrier, Rank, kTasks, g_slots);
    for (int said : g_said) CHECK(said == round);
    enter_barrier(engine, g_shared.barrier, Rank, kTasks, g_slots);
  }
}

}  // namespace

namespace tasuki::message {
bool all_have_read(const Barrier&) {
  return true;
}
void count_alike(Barrier&) {}
void* map_shared(size_t) {
  return nullptr;
}
}  // namespace tasuki::message

int main() {
  const Thread threads[] = {Thread(take_part<1>), Thread(take_part<2>)};
  take_part<0>();
  for (const Thread& t : threads) t.join();
  END;
  return 0;
}
