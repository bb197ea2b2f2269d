// Messages that wait for their receive: the side that comes second copies, the first helps when it waits, and
// so does a third task. Each unit is copied once, and whoever sees that a message is done sees its bytes.
// Sources: message/engine message/shared/pool.cpp message/shared/queues.cpp message/transfers/job.cpp message/transfers/pipeline.cpp message/transfers/staged.cpp message/transfers/transfer.cpp
// Instead: lock
// Variant: direct -DMODEL_PROTOCOL=direct
// Variant: helped -DMODEL_PROTOCOL=direct -DMODEL_HELPER
// Variant: pipelined -DMODEL_PROTOCOL=pipelined
// Variant: ahead -DMODEL_PROTOCOL=pipelined -DMODEL_AHEAD
#define MODEL_STRIDE 1024
#include "rings_world.h"

using namespace tasuki;
using namespace tasuki::model;

#ifndef MODEL_MESSAGES
#define MODEL_MESSAGES 1
#endif
#ifndef MODEL_UNITS
#define MODEL_UNITS 2
#endif

namespace {

constexpr uint32_t kUnits = MODEL_UNITS, kBytes = kUnits * 1024;
alignas(64) char g_sent[MODEL_MESSAGES][kBytes], g_received[MODEL_MESSAGES][kBytes];
Request g_send[MODEL_MESSAGES], g_receive[MODEL_MESSAGES];

uint32_t& unit(char* buffer, uint32_t i) {
  return *reinterpret_cast<uint32_t*>(buffer + 1024 * i);
}

void receive() {
  for (uint32_t i = 0; i < MODEL_MESSAGES; i++) {
    fill(g_receive[i], 1, 0, g_received[i], kBytes);
    g_engine[1].start_receive(&g_receive[i]);
    finish(1, g_receive[i], 2);
    for (uint32_t u = 0; u < kUnits; u++) CHECK(unit(g_received[i], u) == 10 * i + u + 1);
  }
}

void help() {
  g_engine[0].help_others();
}

}  // namespace

int main() {
  begin(Protocol::MODEL_PROTOCOL);
  advance(0, 1, 0);
#ifdef MODEL_AHEAD
  const_cast<Engine::Options&>(g_engine[0].options()).transfer.ahead = true;
#endif
  const Thread receiver(receive);
#ifdef MODEL_HELPER
  const Thread helper(help);
#endif
  for (uint32_t i = 0; i < MODEL_MESSAGES; i++) {
    for (uint32_t u = 0; u < kUnits; u++) unit(g_sent[i], u) = 10 * i + u + 1;
    fill(g_send[i], 0, 1, g_sent[i], kBytes);
    g_send[i].waits = 1;
    CHECK(g_engine[0].start_send(&g_send[i], SendMode::synchronous));
    finish(0, g_send[i], 2);
    for (uint32_t u = 0; u < kUnits; u++) unit(g_sent[i], u) = 0;  // it is the user's again
  }
  receiver.join();
#ifdef MODEL_HELPER
  helper.join();
#endif
  CHECK(g_engine[0].self()->staging->busy.load(std::memory_order_relaxed) == 0);
  CHECK(g_board.board.jobs.open.load(std::memory_order_relaxed) == 0);
  CHECK(g_board.board.jobs.taken.load(std::memory_order_relaxed) == 0);
  END;
  return 0;
}
