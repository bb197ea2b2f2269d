// Images that reach each other's memory: what one has stored before a barrier, a meeting or a post the others
// find behind it, and what they give each other (allgather) is the present one.
// Sources: coarray/sync/sync.cpp coarray/sync/allgather.cpp
// Instead: images
// Variant: barriers -DMODEL_BARRIERS
// Variant: meetings -DMODEL_MEETINGS
// Variant: posts -DMODEL_POSTS
// Variant: allgather -DMODEL_ALLGATHER
#include <cstdlib>

#include "coarray/sync/allgather.h"
#include "coarray/sync/sync.h"
#include "memory.h"
#include "model.h"
#include "os/process/cpu.h"

using namespace tasuki;
using namespace tasuki::coarray;
using model::Thread;

namespace {

constexpr int kImages = 2;
alignas(64) char g_memory[2][kImages][2048];
uint32_t g_said[kImages];  // plain: a race is an error

struct alignas(64) Image {
  Team world;
  Memory memory, more;
  Patience patience;
  Teams teams;
};

template <int Me>
void take_part() {
  alignas(64) static char memory[sizeof(Image) + sizeof(Sync) + sizeof(Allgather)];  // nothing is destroyed
  Image& image = *new (memory) Image;
  image.world.me = Me;
  for (int i = 0; i < kImages; i++) {
    image.world.ranks.push_back(i);
    image.world.index.push_back(i);
    image.memory.segment.direct[i] = g_memory[0][i];
    image.more.segment.direct[i] = g_memory[1][i];
  }
  Sync& sync = *new (memory + sizeof(Image)) Sync(&image.memory, &image.patience);
  sync.start(image.world);
#ifdef MODEL_ALLGATHER
  Allgather& all = *new (memory + sizeof(Image) + sizeof(Sync))
                       Allgather(&image.more, &sync, &image.teams, &image.patience);
  all.start(image.world);
  for (uint32_t i = 1; i <= 3; i++) {
    const uint32_t mine[3] = {10 * i + Me, 0, i};
    uint32_t others[kImages][3];
    all.gather(image.world, mine, sizeof mine, reinterpret_cast<char*>(others), {nullptr, 0});
    CHECK(others[1 - Me][0] == 10 * i + 1 - Me && others[1 - Me][2] == i);
  }
#else
  for (uint32_t i = 1; i <= 2; i++) {
#ifdef MODEL_POSTS
    if (Me == 0) {
      g_said[0] = i;
      sync.post(1, 5);
      CHECK(sync.wait(1, false, 6));
    } else {
      CHECK(sync.wait(0, i == 2, 5));
      CHECK(g_said[0] == i);
      sync.post(0, 6);
    }
#else
    const int other = 1 - Me;
    const auto synchronise = [&] {
#ifdef MODEL_BARRIERS
      CHECK(sync.barrier(image.world) == 0);
#else
      CHECK(sync.meet(&other, 1) == 0);
#endif
    };
    g_said[Me] = i;
    synchronise();
    CHECK(g_said[other] == i);
    synchronise();
#endif
  }
#endif
}

}  // namespace

// What vectors of small numbers are filled and moved with.
extern "C" void* memset(void* to, int value, size_t n) noexcept {
  for (size_t i = 0; i < n; i++) static_cast<char*>(to)[i] = static_cast<char>(value);
  return to;
}
extern "C" void* memmove(void* to, const void* from, size_t n) noexcept {
  for (size_t i = 0; i < n / 4; i++) static_cast<uint32_t*>(to)[i] = static_cast<const uint32_t*>(from)[i];
  return to;
}
// The vectors of an image are its thread's.
void* operator new(size_t bytes) {
  return __VERIFIER_malloc_aligned(16, (bytes + 15) / 16 * 16);
}
void operator delete(void*) noexcept {}
void operator delete(void*, size_t) noexcept {}
int os::online_cores() {
  return 2;
}
void coarray::fail(Where, const char*, ...) {
  CHECK(!"an image has failed");
  for (;;) {
  }
}

int main() {
  const Thread other(take_part<1>);
  take_part<0>();
  other.join();
  END;
  return 0;
}
