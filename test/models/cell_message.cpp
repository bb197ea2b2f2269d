// Messages in cells (MPI_Bsend): the receiver reads them where their sender packed them, and gives the cells
// back from its own thread; nothing that the sender has of them is lost.
// Sources: message/engine message/shared/pool.cpp message/shared/queues.cpp message/transfers/job.cpp message/transfers/pipeline.cpp message/transfers/staged.cpp message/transfers/transfer.cpp
// Instead: lock
#define MODEL_STRIDE (16 << 10)
#include "rings_world.h"

using namespace tasuki;
using namespace tasuki::model;

namespace {

constexpr uint64_t kBytes = 64 << 10;  // of a class with four cells in a slab
alignas(64) char g_sent[2][kBytes], g_received[2][kBytes];
Request g_send[2], g_receive[2];

uint32_t& word(char* buffer) {
  return *reinterpret_cast<uint32_t*>(buffer);
}

void receive() {
  for (int i = 0; i < 2; i++) {
    fill(g_receive[i], 1, 0, g_received[i], kBytes);
    g_engine[1].start_receive(&g_receive[i]);
    finish(1, g_receive[i]);
    CHECK(word(g_received[i]) == static_cast<uint32_t>(5 + i));
  }
}

}  // namespace

int main() {
  begin();
  advance(0, 1, 0);
  const Thread receiver(receive);
  for (int i = 0; i < 2; i++) {
    word(g_sent[i]) = static_cast<uint32_t>(5 + i);
    fill(g_send[i], 0, 1, g_sent[i], kBytes);
    g_send[i].charged = 1;
    CHECK(g_engine[0].start_send(&g_send[i], SendMode::buffered));
    word(g_sent[i]) = 0;  // it is the user's again
  }
  const uint64_t early = g_engine[0].take_released();
  receiver.join();
  CHECK(early + g_engine[0].take_released() == 2);
  END;
  return 0;
}
