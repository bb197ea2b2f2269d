// What is done once: by one of those that come, and all others see it.
// Headers: shim/objects/once.h
#include "shim/objects/once.h"

#include "model.h"

using namespace tasuki;
using model::Thread;

namespace {

enum class State : uint32_t { before, meanwhile, after };
State g_state = State::before;
int g_done;

void come() {
  shim::do_once(g_state, State::before, State::meanwhile, State::after, [] { g_done = g_done + 1; });
  CHECK(g_done == 1);
}

}  // namespace

int main() {
  const Thread threads[] = {Thread(come), Thread(come)};
  come();
  for (const Thread& t : threads) t.join();
  END;
  return 0;
}
