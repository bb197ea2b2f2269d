// Windows: exclusive and shared locks keep each other out, and what is written between start and complete is
// there behind wait.
// Sources: message/windows/window.cpp
// Instead: lock engine
// Variant: locks -DMODEL_LOCKS -DMODEL_POLLS=2
// Variant: exposures
// Headers: message/windows/window.h
#include "message/windows/window.h"

#include <cstdlib>

#include "memory.h"
#include "model.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

struct Part {
  WindowPart part;
  std::atomic<uint32_t> exposed[2];
};
alignas(64) Part g_part[2];
alignas(64) char g_heap[8][64];
std::atomic<int> g_blocks;
int g_slots[2] = {0, 1};
Endpoint g_endpoint[2];
int g_word;  // in the window of the second

template <int Rank>
void open(Engine& engine, Window& window) {
  engine.be(&g_endpoint[Rank], Rank, sizeof(Endpoint));
  CHECK(window.open({1, Rank, 2, g_slots}, &g_part[Rank].part));
}

#ifdef MODEL_LOCKS

void read() {
  static Engine engine;
  Window window(engine);
  open<1>(engine, window);
  window.lock_shared(1);
  CHECK(g_word == 0 || g_word == 2);
  window.unlock_shared(1);
  window.lock_exclusive(1);
  g_word = g_word + 2;
  window.unlock_exclusive(1);
}
void write() {
  static Engine engine;
  Window window(engine);
  open<0>(engine, window);
  window.lock_exclusive(1);
  const int before = g_word;
  g_word = 1;
  g_word = before + 2;
  window.unlock_exclusive(1);
}

#else

void read() {
  static Engine engine;
  Window window(engine);
  open<1>(engine, window);
  for (int i = 1; i <= 2; i++) {
    g_word = 0;
    window.post(0);
    window.wait(1);
    CHECK(g_word == i);
  }
}
void write() {
  static Engine engine;
  Window window(engine);
  open<0>(engine, window);
  for (int i = 1; i <= 2; i++) {
    window.start(1);
    CHECK(g_word == 0);
    g_word = i;
    window.complete(1);
  }
}

#endif

}  // namespace

extern "C" void* malloc(size_t) noexcept {
  return g_heap[g_blocks.fetch_add(1, std::memory_order_relaxed)];
}
extern "C" void* calloc(size_t, size_t) noexcept {
  return g_heap[g_blocks.fetch_add(1, std::memory_order_relaxed)];
}
extern "C" void* aligned_alloc(size_t, size_t) noexcept {
  return nullptr;
}
extern "C" void free(void*) noexcept {}
void* os::map_open_memory(size_t) {
  return nullptr;
}
bool os::unmap(void*, size_t) {
  return true;
}
void Request::reset() {}
void message::enter_barrier(Engine&, Barrier&, int, int, const int*, bool) {}

int main() {
  const Thread other(read);
  write();
  other.join();
  END;
  return 0;
}
