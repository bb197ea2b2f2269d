// What tasks show each other in collective operations: each sees what all have filled in, in one operation
// after the other, and what a task shows in its memory nobody reads any more when it has left.
// Sources: message/collectives/meeting.cpp message/collectives/barrier.cpp
// Instead: lock engine
// Variant: posts
// Variant: barriers -DMODEL_OVERSUBSCRIBED
#include "message/collectives/meeting.h"

#include "memory.h"
#include "model.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

constexpr int kTasks = 2;
struct {
  Barrier barrier;
  Barrier::Counter counters[1];
} g_shared;
Posts g_posts[kTasks];
int g_slots[kTasks] = {0, 1};
uint32_t g_shown[kTasks];

uint32_t& data(const Post& p) {
  return *const_cast<uint32_t*>(reinterpret_cast<const uint32_t*>(p.data));
}

template <int Rank>
void take_part() {
  Engine engine;
#ifdef MODEL_OVERSUBSCRIBED
  engine.set_oversubscribed();
#endif
  const Member me = {1, Rank, kTasks, g_slots};
  for (uint32_t i = 1; i <= 3; i++) {
    Meeting m(engine, g_shared.barrier, me);
    CHECK(m.open());
    if (i == 2) {
      g_shown[Rank] = 10 * i + Rank;
      m.show(&g_shown[Rank]);
    } else {
      *reinterpret_cast<uint32_t*>(m.fill_in(4)) = 10 * i + Rank;
    }
    m.meet();
    const uint32_t* const shown = m.shown_by<uint32_t>(1 - Rank);
    CHECK((shown != nullptr) == (i == 2));
    CHECK((shown != nullptr ? *shown : data(m.of(1 - Rank))) == 10 * i + 1 - Rank);
    m.leave();
    if (i == 2) g_shown[Rank] = 0;
  }
}

}  // namespace

namespace tasuki::message {
void* map_shared(size_t) {
  return g_posts;
}
}  // namespace tasuki::message

int main() {
  g_shared.barrier.counters = 1;
  g_shared.barrier.places = kTasks;
  const Thread other(take_part<1>);
  take_part<0>();
  // The first may use all of it for other tasks now.
  model::assume(all_have_read(g_shared.barrier));
  count_alike(g_shared.barrier);
  for (const Post& p : g_posts[0].turn) data(p) = 1;
  for (const Post& p : g_posts[1].turn) data(p) = 1;
  other.join();
  END;
  return 0;
}
