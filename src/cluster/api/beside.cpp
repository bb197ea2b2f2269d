#include "cluster/api/beside.h"

#include "os/clock.h"
#include "os/process/self.h"

namespace tasuki::cluster {
namespace {

constexpr int64_t kEvery = 10'000'000;

}  // namespace

void Beside::begin() {
  before_.store(os::anonymous_memory());
}

void Beside::look() {
  const int64_t now = os::monotonic_ns();
  if (now < next_ns_.load(std::memory_order_relaxed)) return;
  next_ns_.store(now + kEvery, std::memory_order_relaxed);
  look_now();
}

void Beside::look_now() {
  const uint64_t now = os::anonymous_memory();
  uint64_t most = most_.load();
  while (now > most && !most_.compare_exchange_weak(most, now)) {
  }
}

uint64_t Beside::most_bytes(uint64_t counted) const {
  counted += before_.load();
  const uint64_t most = most_.load();
  return most > counted ? most - counted : 0;
}

}  // namespace tasuki::cluster
