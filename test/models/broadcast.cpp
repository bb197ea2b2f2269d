// Broadcasts: both receivers read what the root sent, and the root uses a structure again only when both have.
// Sources: message/collectives/broadcast.cpp message/collectives/tell.cpp
// Instead: lock engine
// Variant: buffered -DMODEL_BYTES=1024
// Variant: direct -DMODEL_BYTES=8192
#define MODEL_STRIDE 8192
#include "message/collectives/broadcast.h"

#include "memory.h"
#include "model.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

constexpr int kTasks = 3;
int g_slots[kTasks] = {0, 1, 2};
alignas(64) char g_source[8192], g_received[kTasks][8192];
alignas(64) Broadcast g_structures[2];
int g_made;
Endpoint g_endpoint[kTasks];

uint32_t& word(char* buffer) {
  return *reinterpret_cast<uint32_t*>(buffer);
}

template <int Rank>
void receive() {
  Engine engine;
  engine.be(&g_endpoint[Rank], Rank, sizeof(Endpoint));
  Broadcaster b(engine);
  for (uint32_t i = 1; i <= 2; i++) {
    uint64_t bytes = 0;
    CHECK(b.receive({1, Rank, kTasks, g_slots}, 0, {g_received[Rank], MODEL_BYTES, layout::byte_layout()},
                    &bytes));
    CHECK(bytes == MODEL_BYTES);
    CHECK(word(g_received[Rank]) == i);
  }
}

}  // namespace

namespace tasuki::message {
void* map_shared(size_t) {
  CHECK(g_made < 2);
  return &g_structures[g_made++];
}
}  // namespace tasuki::message
int os::futex_wake(const std::atomic<uint32_t>*, int, FutexScope) {
  return 0;
}

int main() {
  Engine engine;
  engine.be(&g_endpoint[0], 0, sizeof(Endpoint));
  Broadcaster b(engine);
  const Thread threads[] = {Thread(receive<1>), Thread(receive<2>)};
  for (uint32_t i = 1; i <= 2; i++) {
    word(g_source) = i;
    CHECK(b.send({1, 0, kTasks, g_slots}, {g_source, MODEL_BYTES, layout::byte_layout()}));
  }
  word(g_source) = 0;
  for (const Thread& t : threads) t.join();
  END;
  return 0;
}
