// Cells: what others return is free again, once, and nobody reads it any more when its owner writes it again.
// Sources: message/shared/pool.cpp
#include "message/shared/pool.h"

#include "model.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"

using namespace tasuki;
using namespace tasuki::message;
using model::Thread;

namespace {

constexpr uint64_t kBytes = 64 << 10;  // of a class of which a slab has four cells

alignas(4096) char g_memory[2][5 * kBytes];
int g_maps;
Endpoint g_owner;
CellPool g_pool;
Ring g_debtor;
std::atomic<Cell*> g_sent[2];

uint64_t& word_in(Cell* cell) {
  return *reinterpret_cast<uint64_t*>(cell->data());
}

template <int I>
void receive() {
  Cell* cell = nullptr;
  model::poll([&] { return (cell = g_sent[I].load(std::memory_order_acquire)) != nullptr; }, 1);
  CHECK(word_in(cell) == 10 + I);
  return_cell(cell);
}

}  // namespace

void* message::map_shared(size_t) {
  return g_memory[g_maps++];
}
void message::unmap_shared(void*, size_t) {}

int main() {
  Cell* first[2];
  for (Cell*& cell : first) cell = g_pool.take(kBytes, &g_owner, &g_debtor);
  const Thread receivers[] = {Thread(receive<0>), Thread(receive<1>)};
  for (uint64_t i = 0; i < 2; i++) {
    word_in(first[i]) = 10 + i;
    g_sent[i].store(first[i], std::memory_order_release);
  }
  // Two were never given away: a third one that is there has been received.
  Cell* again[4] = {};
  for (int i = 0; i < 3; i++) {
    g_pool.collect(&g_owner);
    again[i] = g_pool.take(kBytes, &g_owner, nullptr);
    word_in(again[i]) = 20;
    for (int j = 0; j < i; j++) CHECK(again[i] != again[j]);
  }
  for (const Thread& t : receivers) t.join();
  g_pool.collect(&g_owner);
  CHECK(g_debtor.outstanding == 0);
  CHECK(g_owner.returned.load(std::memory_order_relaxed) == nullptr);
  END;
  return 0;
}
