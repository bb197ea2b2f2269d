// Sleeping and waking (wait.h): whoever waits for something finds it, however its sleep and the wake-up fall
// together, and nobody sleeps for ever.
// Checker: --check-liveness
// Headers: message/shared/wait.h
#include "sleep.h"

#include "message/shared/wait.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

Endpoint g_waiter;
int g_payload;
std::atomic<int> g_there;
std::atomic<int> g_second;

void wait() {
  const WaitPolicy policy{0, true, nullptr};
  wait_until(
      &g_waiter, policy, [] { return g_there.load(std::memory_order_acquire) != 0; }, [] {});
  CHECK(g_payload == 1);
  wait_until(
      &g_waiter, policy, [] { return g_second.load(std::memory_order_acquire) != 0; }, [] {});
}

}  // namespace

int main() {
  const Thread waiter(wait);
  const Thread other([] {
    g_second.store(1, std::memory_order_release);
    wake(&g_waiter);
  });
  g_payload = 1;
  g_there.store(1, std::memory_order_release);
  wake(&g_waiter);
  waiter.join();
  other.join();
  CHECK(g_waiter.sleepers.load(std::memory_order_relaxed) == 0);
  END;
  return 0;
}
