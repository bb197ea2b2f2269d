// Partitioned communication: whichever side comes second copies a partition, once in each epoch, and both
// sides end when all are copied and nobody looks at the channel any more.
// Sources: message/partitioned/channel.cpp message/shared/queues.cpp message/shared/pool.cpp message/transfers/job.cpp message/transfers/pipeline.cpp message/transfers/staged.cpp message/transfers/transfer.cpp
// Instead: lock engine
// Variant: epochs -DMODEL_PARTS=1 -DMODEL_EPOCHS=2
// Variant: threads -DMODEL_PARTS=2 -DMODEL_EPOCHS=1
#define MODEL_STRIDE 64
#include "message/partitioned/channel.h"

#include "memory.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

constexpr uint32_t kBytes = 64 * MODEL_PARTS;
struct Task {
  Endpoint endpoint;
  Peer peers[2];
};
Task g_task[2];
alignas(64) char g_sent[kBytes], g_received[kBytes];
struct {
  Cell cell;
  char data[512];
} g_cell;
Request g_send, g_receive;
Engine g_engine[2];

uint32_t& part(char* buffer, uint32_t i) {
  return *reinterpret_cast<uint32_t*>(buffer + 64 * i);
}

void fill(Request& r, int peer, char* buffer) {
  r.owner = &g_task[1 - peer].endpoint;
  r.region.base = buffer;
  r.region.count = kBytes;
  r.region.layout = layout::byte_layout();
  r.context = partitioned(1);
  r.tag = 1;
  r.peer = peer;
}

void receive() {
  Channels channels(g_engine[1]);
  channels.open_receive(&g_receive, MODEL_PARTS);
  for (uint32_t epoch = 1; epoch <= MODEL_EPOCHS; epoch++) {
    channels.start(&g_receive);
    if (Channels::arrived(&g_receive, 0)) CHECK(part(g_received, 0) == 10 * epoch);
    model::assume(g_receive.state.load(std::memory_order_acquire) == RequestState::done);
    for (uint32_t i = 0; i < MODEL_PARTS; i++) CHECK(part(g_received, i) == 10 * epoch + i);
  }
  Channels::close(&g_receive);
}

void second_partition() {
  Channels channels(g_engine[0]);
  part(g_sent, 1) = 11;
  channels.ready(&g_send, 1);
}

}  // namespace

void* message::map_shared(size_t) {
  return nullptr;
}
void message::unmap_shared(void*, size_t) {}

int main() {
  for (int i = 0; i < 2; i++) {
    g_task[i].endpoint.slot = i;
    g_engine[i].be(&g_task[i].endpoint, i, sizeof(Task));
  }
  g_cell.cell.owner = &g_task[0].endpoint;
  g_engine[0].set_cell(&g_cell.cell);
  fill(g_send, 1, g_sent);
  fill(g_receive, 0, g_received);
  const Thread receiver(receive);
  Channels channels(g_engine[0]);
  channels.open_send(&g_send, MODEL_PARTS);
  for (uint32_t epoch = 1; epoch <= MODEL_EPOCHS; epoch++) {
    channels.start(&g_send);
#if MODEL_PARTS == 2
    const Thread second(second_partition);
#endif
    part(g_sent, 0) = 10 * epoch;
    channels.ready(&g_send, 0);
    model::assume(g_send.state.load(std::memory_order_acquire) == RequestState::done);
#if MODEL_PARTS == 2
    second.join();
    part(g_sent, 1) = 0;  // it is the user's again
#endif
    part(g_sent, 0) = 0;
  }
  Channels::close(&g_send);
  receiver.join();
  CHECK(g_task[0].endpoint.returned.load(std::memory_order_relaxed) == &g_cell.cell);
  END;
  return 0;
}
