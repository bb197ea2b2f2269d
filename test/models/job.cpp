// Shared copies: two jobs, one after the other in the same memory, and a task that helps and may come late, with
// what it read of the first. Each unit is copied once, and whoever is through sees all of them.
// Sources: message/transfers/job.cpp message/transfers/pipeline.cpp message/transfers/staged.cpp message/transfers/transfer.cpp
// Instead: lock
#define MODEL_STRIDE 1024
#include "message/transfers/job.h"
#include "memory.h"
#include "model.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

constexpr uint32_t kUnits = 2, kBytes = kUnits * 1024;
alignas(64) char g_from[kBytes], g_to[2][kBytes];
JobBoard g_board;
Transfer g_job;

uint32_t& unit(char* buffer, uint32_t i) {
  return *reinterpret_cast<uint32_t*>(buffer + 1024 * i);
}

void help() {
  help_others(g_board, End::back);
}

}  // namespace

int main() {
  const Thread helper(help);
  for (uint32_t i = 0; i < 2; i++) {
    for (uint32_t u = 0; u < kUnits; u++) unit(g_from, u) = 10 * i + u + 1;
    copy_shared(g_board, {g_to[i], kBytes, layout::byte_layout()}, {g_from, kBytes, layout::byte_layout()},
                kBytes, 1024, g_job);
    for (uint32_t u = 0; u < kUnits; u++) CHECK(unit(g_to[i], u) == 10 * i + u + 1);
  }
  helper.join();
  CHECK(g_board.open.load(std::memory_order_relaxed) == 0);
  CHECK(g_board.taken.load(std::memory_order_relaxed) == 0);
  END;
  return 0;
}
