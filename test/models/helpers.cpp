// Helper threads: they sleep when there is nothing to do, find what is announced, and end when they are told.
// Sources: message/transfers/helpers.cpp message/transfers/job.cpp message/transfers/pipeline.cpp message/transfers/staged.cpp message/transfers/transfer.cpp
// Checker: --check-liveness
#include "message/transfers/helpers.h"

#define MODEL_STRIDE 1024
#include "memory.h"
#include "message/transfers/job.h"
#include "sleep.h"

using namespace tasuki;
using namespace tasuki::message;

namespace {

constexpr uint32_t kUnits = 2, kBytes = kUnits * 1024;
alignas(64) char g_from[kBytes], g_to[kBytes];
JobBoard g_board;
HelperThreads g_helpers;
Transfer g_job;

int g_idle;  // looks of the helper in vain

}  // namespace

extern "C" void model_relax() {
  model::assume(++g_idle <= 3);
}
int pthread_attr_init(pthread_attr_t*) noexcept {
  return 0;
}
int pthread_attr_destroy(pthread_attr_t*) noexcept {
  return 0;
}
int pthread_attr_setstacksize(pthread_attr_t*, size_t) noexcept {
  return 0;
}
int pthread_create(pthread_t* id, const pthread_attr_t*, void* (*body)(void*), void* argument) noexcept {
  *id = static_cast<pthread_t>(__VERIFIER_thread_create(nullptr, body, argument));
  return 0;
}
int pthread_join(pthread_t id, void**) {
  __VERIFIER_thread_join(static_cast<long>(id));
  return 0;
}
int os::count_cores(const CpuSet&) {
  return 0;
}

int main() {
  for (uint32_t u = 0; u < kUnits; u++) *reinterpret_cast<uint32_t*>(g_from + 1024 * u) = u + 1;
  static const os::CpuSet none{};
  g_helpers.start(&g_board, 1, none);
  // All of it is the helper's: a wake-up that is lost is one that this task waits for.
  g_job.source.base = g_from;
  g_job.destination.base = g_to;
  g_job.source.count = g_job.destination.count = kBytes;
  g_job.source.layout = g_job.destination.layout = layout::byte_layout();
  g_job.bytes = kBytes;
  cut(g_job, 1024);
  open_job(g_job);
  announce(g_board, g_job);
  while (g_job.pending.load(std::memory_order_acquire) != 1) {
  }
  withdraw(g_board, g_job);
  for (uint32_t u = 0; u < kUnits; u++) CHECK(*reinterpret_cast<uint32_t*>(g_to + 1024 * u) == u + 1);
  g_helpers.stop();
  CHECK(g_board.open.load(std::memory_order_relaxed) == 0);
  END;
  return 0;
}
