// The lock of the message layer: one holder at a time, who sees what the last one did.
// Sources: message/shared/spin_lock.cpp
// Checker: --unroll=3
// Headers: message/shared/spin_lock.h
#include "message/shared/locked.h"

#include "model.h"

using namespace tasuki;
using model::Thread;

namespace {

message::SpinLock g_lock;
int g_count;  // plain: a race is an error

void add() {
  const message::Locked locked(g_lock);
  g_count = g_count + 1;
}

}  // namespace

int main() {
  const Thread threads[] = {Thread(add), Thread(add)};
  add();
  for (const Thread& t : threads) t.join();
  CHECK(g_count == 3);
  END;
  return 0;
}
