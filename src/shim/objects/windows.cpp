#include "shim/objects/windows.h"

#include <cstdlib>
#include <new>

#include "generated/pmpi.h"
#include "shim/errors.h"

namespace tasuki::shim {
namespace {

template <typename T>
T* array_of(int n) {
  return static_cast<T*>(calloc(static_cast<size_t>(n) + 1, sizeof(T)));
}

}  // namespace

void WindowTable::discard(WindowInfo* w) {
  if (w->group != MPI_GROUP_NULL) pmpi().Group_free(&w->group);
  free(w->index);
  free(w->access);
  free(w->started_ranks);
  w->~WindowInfo();
  free(w);
}

// False, on all members here, if one of them has no memory.
bool WindowTable::fill(WindowInfo* w, const CommInfo* c, const Memory& memory) {
  w->count = c->peer_count;
  w->rank = c->rank;
  w->mixed = c->mixed;
  w->dynamic = memory.dynamic;
  w->index = array_of<int>(w->count);
  w->access = array_of<uint8_t>(w->count);
  w->started_ranks = array_of<int>(w->count);
  Window::Group group{c->context, 0, 0, array_of<int>(w->count)};
  if (group.slots == nullptr) abort_without_memory("a window", w->count);
  for (int r = 0; r < w->count; r++) {
    const int slot = c->slots[r];
    if (r == w->rank) group.index = group.count;
    if (w->index != nullptr) w->index[r] = slot == kElsewhere ? kElsewhere : group.count;
    if (slot != kElsewhere) group.slots[group.count++] = slot;
  }
  const bool complete = w->index != nullptr && w->access != nullptr && w->started_ranks != nullptr;
  WindowPart* part = complete ? WindowPart::make(group.count) : nullptr;
  if (part != nullptr) {
    part->base = memory.dynamic ? nullptr : static_cast<char*>(memory.base);
    part->displacement_unit = memory.dynamic ? 1 : static_cast<uint64_t>(memory.displacement_unit);
    if (group.index == 0) part->barrier = barriers_.take(group.count);
    if (group.index == 0 && part->barrier == nullptr) {
      WindowPart::free(part);
      part = nullptr;
    }
  }
  const bool all = w->window.open(group, part);
  if (!all && part != nullptr && part->barrier != nullptr) barriers_.give(part->barrier);
  return all;
}

void WindowTable::adopt(MPI_Win win, MPI_Comm comm, const Memory& memory) {
  const CommInfo* c = comms_.find(comm);
  if (c == nullptr || c->inter || engine_.options().apart) return;
  void* place = malloc(sizeof(WindowInfo));
  if (place == nullptr) abort_without_memory("a window", c->peer_count);
  WindowInfo* w = new (place) WindowInfo(engine_);
  w->win = win;
  w->group = MPI_GROUP_NULL;
  const bool all = fill(w, c, memory);
  if (!all) {
    w->window.close();
    return discard(w);
  }
  pmpi().Win_get_group(win, &w->group);
  if (!map_.insert(key_of(win), w)) abort_without_memory("a window", c->peer_count);
}

void WindowTable::forget(WindowInfo* w) {
  w->window.synchronise();
  map_.erase(key_of(w->win));
  if (w->window.own_part().barrier != nullptr) barriers_.give(w->window.own_part().barrier);
  w->window.close();
  discard(w);
}

}  // namespace tasuki::shim
