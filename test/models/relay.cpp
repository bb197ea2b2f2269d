// Relayed messages: each side does its half, by its program or by its thread; each unit comes once and whole,
// both requests end, and the buffer is given back once.
// Sources: message/transfers/relay.cpp
// Checker: --check-liveness
// Variant: sides
// Variant: several -DMODEL_SEVERAL
#include "message/transfers/relay.h"

#define MODEL_STRIDE 1024
#include "memory.h"
#include "message/shared/pool.h"
#include "message/transfers/transfer.h"
#include "sleep.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

constexpr uint32_t kUnits = 2, kBytes = kUnits * 1024;
alignas(64) char g_sent[kBytes], g_received[kBytes];
alignas(64) char g_memory[sizeof(Cell) + 8 * kLine + kBytes];
Cell& g_cell = *reinterpret_cast<Cell*>(g_memory);
Endpoint g_endpoint[2];
Relays g_relays[2];
Request g_send, g_receive;
int g_given_back;

uint32_t& unit(char* buffer, uint32_t i) {
  return *reinterpret_cast<uint32_t*>(buffer + 1024 * i);
}

bool is_done(const Request& r) {
  return r.state.load(std::memory_order_acquire) == RequestState::done;
}

void serve(int side, const Request& own, int most) {
  model::poll([&] { return g_relays[side].serve(), is_done(own); }, most);
}

void fill(Request& r, RequestKind kind, int owner, char* base) {
  r.kind = kind;
  r.owner = &g_endpoint[owner];
  r.region.base = base;
  r.region.count = kBytes;
  r.region.layout = layout::byte_layout();
}

void check_received() {
  for (uint32_t u = 0; u < kUnits; u++) CHECK(unit(g_received, u) == u + 1);
  CHECK(g_given_back == 1);
}

void receive() {
  g_endpoint[1].waiting.store(1, std::memory_order_relaxed);
  serve(1, g_receive, 3);
  check_received();
}

// Another thread of the receiver's, which waits for something else.
void help() {
  g_relays[1].serve();
}

}  // namespace

extern "C" int64_t model_now() {
  static std::atomic<int64_t> now;
  return now.fetch_add(1'000'000'000, std::memory_order_relaxed) + 1;
}
void message::complete(Request* r) {
  r->state.store(RequestState::done, std::memory_order_release);
}
void message::return_cell(Cell*) {
  g_given_back++;
}

int main() {
  for (int i = 0; i < 2; i++) g_relays[i].open(&g_endpoint[i]);
  for (uint32_t u = 0; u < kUnits; u++) unit(g_sent, u) = u + 1;
  fill(g_send, RequestKind::send, 0, g_sent);
  fill(g_receive, RequestKind::receive, 1, g_received);
  g_endpoint[0].waiting.store(1, std::memory_order_relaxed);
  const Thread receiver(receive);
#ifdef MODEL_SEVERAL
  const Thread other(help);
#endif
  g_relays[0].meet(&g_receive, &g_send, kBytes, &g_cell);
  serve(0, g_send, 3);
  receiver.join();
#ifdef MODEL_SEVERAL
  other.join();
#endif
  END;
  return 0;
}
