// What is learned of streams of messages: two tasks that ask at once find it whole, or go by the model.
// Sources: message/transfers/trials.cpp
// Headers: message/transfers/trials.h
#include "message/transfers/trials.h"

#include "memory.h"
#include "model.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

Streams g_streams;

void ask() {
  const auto model = [] { return Prospects{{1, 2, 3}, Way::alone}; };
  const auto clock = [] { return int64_t{1}; };
  CHECK(g_streams.next(5, model, clock) == Way::alone);
}

}  // namespace

int main() {
  const Thread threads[] = {Thread(ask), Thread(ask)};
  ask();
  for (const Thread& t : threads) t.join();
  END;
  return 0;
}
