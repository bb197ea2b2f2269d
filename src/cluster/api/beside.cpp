#include "cluster/api/beside.h"

#include "cluster/wrappers/descriptors.h"
#include "os/clock.h"

namespace tasuki::cluster {
namespace {

constexpr int64_t kEvery = 10'000'000;

}  // namespace

void Beside::begin() {
  memory_.open();
  keep_descriptor(memory_.descriptor());
  before_.store(memory_.now());
}

void Beside::look() {
  const int64_t now = os::monotonic_ns();
  if (now < next_ns_.load(std::memory_order_relaxed)) return;
  next_ns_.store(now + kEvery, std::memory_order_relaxed);
  look_now();
}

void Beside::look_now() {
  const uint64_t now = memory_.now();
  uint64_t most = most_.load();
  while (now > most && !most_.compare_exchange_weak(most, now)) {
  }
}

uint64_t Beside::most_bytes(uint64_t counted) const {
  return without(most_.load(), counted);
}

uint64_t Beside::bytes(uint64_t counted) const {
  return without(memory_.now(), counted);
}

uint64_t Beside::without(uint64_t all, uint64_t counted) const {
  counted += before_.load();
  return all > counted ? all - counted : 0;
}

}  // namespace tasuki::cluster
