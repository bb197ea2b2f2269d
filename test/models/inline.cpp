// Small messages in the slots of a ring, around its end: each arrives once, whole, in order, also where its
// sender must move it on.
// Sources: message/engine message/shared/pool.cpp message/shared/queues.cpp message/transfers/job.cpp message/transfers/pipeline.cpp message/transfers/staged.cpp message/transfers/transfer.cpp
// Instead: lock
// Variant: around -DMODEL_BYTES=52 -DMODEL_POSITION=14
// Variant: full -DMODEL_BYTES=520 -DMODEL_POSITION=0
// Headers: message/shared/ring.h
#include "rings_world.h"

using namespace tasuki;
using namespace tasuki::model;

namespace {

constexpr int kMessages = 2;
uint32_t g_sent[kMessages][kInlineBytes / 4], g_received[kMessages][kInlineBytes / 4];
Request g_send[kMessages], g_receive[kMessages];

void receive() {
  for (int i = 0; i < kMessages; i++) {
    fill(g_receive[i], 1, 0, g_received[i], MODEL_BYTES);
    g_engine[1].start_receive(&g_receive[i]);
    finish(1, g_receive[i]);
    for (uint32_t w = 0; w < MODEL_BYTES / 4; w++)
      CHECK(g_received[i][w] == 1 + 100 * static_cast<uint32_t>(i) + w);
  }
}

}  // namespace

int main() {
  begin();
  advance(0, 1, MODEL_POSITION);
  const Thread receiver(receive);
  for (int i = 0; i < kMessages; i++) {
    for (uint32_t w = 0; w < MODEL_BYTES / 4; w++) g_sent[i][w] = 1 + 100 * static_cast<uint32_t>(i) + w;
    fill(g_send[i], 0, 1, g_sent[i], MODEL_BYTES);
    CHECK(g_engine[0].start_send(&g_send[i], SendMode::standard));
    CHECK(g_send[i].state.load(std::memory_order_relaxed) == RequestState::done);
  }
  receiver.join();
  END;
  return 0;
}
