// A message in the buffer of a ring, a reply, and a second one in the same place: the sender writes there
// again when the reply says that the first has been read, not before.
// Sources: message/engine message/shared/pool.cpp message/shared/queues.cpp message/transfers/job.cpp message/transfers/pipeline.cpp message/transfers/staged.cpp message/transfers/transfer.cpp
// Instead: lock
// Headers: message/shared/ring.h
#define MODEL_STRIDE 256
#include "rings_world.h"

using namespace tasuki;
using namespace tasuki::model;

namespace {

constexpr uint32_t kBytes = 768;
alignas(64) uint32_t g_sent[2][kBytes / 4], g_received[2][kBytes / 4], g_reply[2];
Request g_send[2], g_receive[2], g_reply_send, g_reply_receive;

void receive_one(int i) {
  fill(g_receive[i], 1, 0, g_received[i], kBytes);
  g_engine[1].start_receive(&g_receive[i]);
  finish(1, g_receive[i]);
  for (uint32_t w = 0; w < kBytes / 4; w += MODEL_STRIDE / 4)
    CHECK(g_received[i][w] == 1 + w + static_cast<uint32_t>(i));
}

void receive() {
  receive_one(0);
  fill(g_reply_send, 1, 0, &g_reply[1], 4);
  g_engine[1].start_send(&g_reply_send, SendMode::standard);
  receive_one(1);
}

void send_one(int i) {
  for (uint32_t w = 0; w < kBytes / 4; w += MODEL_STRIDE / 4) g_sent[i][w] = 1 + w + static_cast<uint32_t>(i);
  fill(g_send[i], 0, 1, g_sent[i], kBytes);
  CHECK(g_engine[0].start_send(&g_send[i], SendMode::standard));
  CHECK(g_send[i].state.load(std::memory_order_relaxed) == RequestState::done);
}

}  // namespace

int main() {
  begin();
  advance(0, 1, 0);
  advance(1, 0, 0);
  const Thread receiver(receive);
  send_one(0);
  fill(g_reply_receive, 0, 1, &g_reply[0], 4);
  g_engine[0].start_receive(&g_reply_receive);
  finish(0, g_reply_receive);
  send_one(1);
  CHECK(ring(0, 1).parcel_count == 1 && ring(0, 1).parcels[ring(0, 1).oldest_parcel % kParcels].begin == 0);
  receiver.join();
  END;
  return 0;
}
