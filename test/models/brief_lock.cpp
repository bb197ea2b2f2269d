// The lock of what is short where a mutex is not to be had.
// Headers: os/process/spin_lock.h
#include "model.h"
#include "os/process/spin_lock.h"

using namespace tasuki;
using model::Thread;

namespace {

os::SpinLock g_lock;
int g_count;

void add() {
  g_lock.lock();
  g_count = g_count + 1;
  g_lock.unlock();
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
