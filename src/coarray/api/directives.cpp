// What tasukicc emits calls of for directives (tasuki/compiler/local_view.h): post and wait, locks, atomics,
// node arrays, tasks.
#include <algorithm>

#include "coarray/api/runtime.h"
#include "coarray/sync/atomics.h"
#include "tasuki/compiler/local_view.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace {

void await(int image, bool any_tag, int tag, Where where) {
  Runtime& r = runtime();
  r.transfers.complete();
  {
    const Waiting here(&r.patience, image < 0 ? "wait for a post of any image" : "wait for a post of", image,
                       where, !any_tag, tag);
    if (r.sync.wait(image, any_tag, tag)) return;
  }
  if (image < 0) fail(where, "wait: all other images have ended, and there is no post");
  if (image == r.teams.world().me)
    fail(where, "wait: this image waits for a post of its own that it has not made");
  fail(where, "wait: image %d has ended without this post", r.teams.number_of(image));
}

// Locks and atomics order what comes before and after them, as all synchronization does.
int32_t number_for_locks(const Runtime& r) {
  return r.teams.world().me + 1;
}

void conclude(LockResult result, int* status, const char* what, int image, Where where) {
  static constexpr struct {
    int status;
    const char* text;
  } outcomes[] = {{XMP_STAT_SUCCESS, ""},
                  {XMP_STAT_SUCCESS, ""},
                  {XMP_STAT_LOCKED, "this image holds the lock already"},
                  {XMP_STAT_LOCKED_OTHER_IMAGE, "another image holds the lock"},
                  {XMP_STAT_UNLOCKED, "nobody holds the lock"},
                  {XMP_STAT_STOPPED_IMAGE, "the image that holds the lock has ended"}};
  const auto& outcome = outcomes[static_cast<int>(result)];
  if (status != nullptr)
    *status = outcome.status;
  else if (outcome.status != XMP_STAT_SUCCESS)
    fail(where, "%s of image %d: %s; with stat(variable) the program can go on", what, image, outcome.text);
}

}  // namespace

EXPORT void tasuki_xmp_post(int node, int tag, const char* file, int line) {
  Runtime& r = runtime();
  const int image = r.teams.world_index(node, {file, line}, "post");
  r.transfers.complete();
  r.sync.post(image, tag);
}

EXPORT void tasuki_xmp_wait(int node, int tag, const char* file, int line) {
  await(runtime().teams.world_index(node, {file, line}, "wait"), false, tag, {file, line});
}

EXPORT void tasuki_xmp_wait_node(int node, const char* file, int line) {
  await(runtime().teams.world_index(node, {file, line}, "wait"), true, 0, {file, line});
}

EXPORT void tasuki_xmp_wait_any(const char* file, int line) {
  await(-1, true, 0, {file, line});
}

EXPORT void tasuki_xmp_lock(xmp_lock_t* lock_object, int image, int* acquired, int* status, const char* file,
                            int line) {
  Runtime& r = runtime();
  const Place place = r.place(lock_object, sizeof *lock_object, image, {file, line});
  r.transfers.complete();
  const int of = place.segment->team->ranks[static_cast<size_t>(place.target)];
  const Waiting here(&r.patience, "lock, which another image holds, of",
                     r.teams.world().index[static_cast<size_t>(of)], {file, line});
  const LockResult result = lock(place, number_for_locks(r), acquired != nullptr, &r.patience, &r.sync);
  if (acquired != nullptr) *acquired = result == LockResult::done ? 1 : 0;
  conclude(result, status, "lock", image, {file, line});
}

EXPORT void tasuki_xmp_unlock(xmp_lock_t* lock_object, int image, int* status, const char* file, int line) {
  Runtime& r = runtime();
  const Place place = r.place(lock_object, sizeof *lock_object, image, {file, line});
  r.transfers.complete();
  conclude(unlock(place, number_for_locks(r)), status, "unlock", image, {file, line});
}

EXPORT long long tasuki_xmp_atomic(int operation, void* object, size_t bytes, int image, long long operand,
                                   long long compare, const char* file, int line) {
  const Where where = {file, line};
  if ((bytes != 4 && bytes != 8) || reinterpret_cast<uintptr_t>(object) % bytes != 0)
    fail(where, "atomic operations are on aligned integers of 4 or 8 bytes; this object has %zu at %p", bytes,
         object);
  const Place place = runtime().place(object, bytes, image, where);
  if (operation == TASUKI_XMP_ATOMIC_CAS && !has_compare(place, bytes))
    fail(
        where,
        "compare and swap of 8 bytes does not work between hosts with Open MPI before 5; use an integer of 4 "
        "bytes, a lock, or another MPI");
  return atomic(place, bytes, operation, operand, compare);
}

EXPORT int tasuki_xmp_node(const tasuki_xmp_nodes* nodes, const int* index, const char* file, int line) {
  Runtime& r = runtime();
  r.phase.require_start("a node array");
  const NodeSet& set = r.teams.nodes(*nodes);
  if (set.all_in_order && nodes->dimensions == 1 && r.teams.nesting() == 0 && index[0] >= 0 &&
      index[0] < set.sizes[0])
    return index[0] + r.teams.first_image();
  size_t position = 0, factor = 1;
  for (size_t i = 0; i < set.sizes.size(); i++) {
    if (index[i] < 0 || index[i] >= set.sizes[i])
      fail({file, line}, "dimension %zu of the node array '%s' has %d nodes; node %d (from 1) was named",
           i + 1, nodes->name, set.sizes[i], index[i] + 1);
    position += static_cast<size_t>(index[i]) * factor;
    factor *= static_cast<size_t>(set.sizes[i]);
  }
  // Posts and waits are between any two nodes, whatever task they execute.
  return r.teams.image_of_rank(set.ranks[position]);
}

EXPORT int tasuki_xmp_on_node(const tasuki_xmp_nodes* nodes, int image, const char* name, const char* file,
                              int line) {
  Runtime& r = runtime();
  r.phase.require_start("a reference to another image");
  const std::vector<int>& ranks = r.teams.nodes(*nodes).ranks;
  const int index = image - r.teams.first_image();
  if (index < 0 || static_cast<size_t>(index) >= ranks.size())
    fail({file, line}, "the coarray '%s' names image %d, but the node array '%s' has images %d to %d", name,
         image, nodes->name, r.teams.first_image(),
         r.teams.first_image() + static_cast<int>(ranks.size()) - 1);
  return r.teams.image_of_rank(ranks[static_cast<size_t>(index)]);
}

EXPORT int tasuki_xmp_task_begin(const tasuki_xmp_nodes* nodes, const tasuki_xmp_range* ranges,
                                 const char* file, int line) {
  Runtime& r = runtime();
  r.phase.require_start("a task");
  const NodeSet set = r.teams.part(*nodes, ranges, {file, line});
  const std::vector<int>& now = r.teams.current().index;
  for (int rank : set.ranks)
    if (now[static_cast<size_t>(rank)] < 0)
      fail({file, line}, "a node of '%s' that is to execute this task does not execute the task around it",
           nodes->name);
  const Waiting here(&r.patience, "the beginning of a task", -1, {file, line});
  return r.teams.enter(set.ranks, {file, line}) ? 1 : 0;
}

EXPORT void tasuki_xmp_task_end(void) {
  runtime().transfers.complete();
  runtime().teams.leave();
}
