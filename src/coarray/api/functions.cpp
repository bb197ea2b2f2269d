// The functions of xmp.h.
#include <mpi.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>

#include "coarray/api/runtime.h"
#include "coarray/global/records/descriptors.h"
#include "tasuki/compiler/local_view.h"
#include "tasuki/xmp.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace {

Runtime& started(const char* function) {
  Runtime& r = runtime();
  r.phase.require_start(function);
  return r;
}

// `stopped` images of those that were to be met.
void conclude(int stopped, int* status, const char* function) {
  if (status != nullptr)
    *status = stopped == 0 ? XMP_STAT_SUCCESS : XMP_STAT_STOPPED_IMAGE;
  else if (stopped != 0)
    fail({nullptr, 0},
         "%s: %d of the images it waits for %s left main; with a status argument the program can go on",
         function, stopped, stopped == 1 ? "has" : "have");
}

void sync_with(const std::vector<int>& images, int* status, const char* function, Where where) {
  Runtime& r = runtime();
  const Waiting here(&r.patience, images.size() == 1 ? "xmp_sync_image with" : function,
                     images.size() == 1 ? images[0] : -1, where);
  r.transfers.complete();
  const int stopped = r.sync.meet(images.data(), static_cast<int>(images.size()));
  // What the others stored is seen after this.
  r.transfers.complete();
  conclude(stopped, status, function);
}

// The images that a sync function counts: those that execute, or the nodes of an image directive.
struct Images {
  const tasuki_xmp_nodes* nodes = nullptr;
  Where where = {nullptr, 0};

  const std::vector<int>& ranks(Runtime& r) const {
    return nodes != nullptr ? r.teams.nodes(*nodes).ranks : r.teams.current().ranks;
  }
  // The index of an image in all, or -1 with the error told.
  int index(Runtime& r, int image, int* status, const char* function) const {
    const std::vector<int>& all = ranks(r);
    const int at = image - r.teams.first_image();
    if (at >= 0 && static_cast<size_t>(at) < all.size())
      return r.teams.world().index[static_cast<size_t>(all[static_cast<size_t>(at)])];
    if (status == nullptr && nodes != nullptr)
      fail(where, "%s names image %d, but the node array '%s' has images %d to %d", function, image,
           nodes->name, r.teams.first_image(), r.teams.first_image() + static_cast<int>(all.size()) - 1);
    if (status == nullptr) return r.teams.world_index(image, where, function);
    *status = XMP_STAT_ERROR;
    return -1;
  }
};

int current_index(const Runtime& r) {
  return r.teams.current().me;
}

}  // namespace

EXPORT int xmp_all_node_num(void) {
  return started("xmp_all_node_num").teams.world().me + 1;
}
EXPORT int xmpc_all_node_num(void) {
  return started("xmpc_all_node_num").teams.world().me;
}
EXPORT int xmp_all_num_nodes(void) {
  return started("xmp_all_num_nodes").teams.world().size();
}
EXPORT int xmp_node_num(void) {
  return current_index(started("xmp_node_num")) + 1;
}
EXPORT int xmpc_node_num(void) {
  return current_index(started("xmpc_node_num"));
}
EXPORT int xmp_this_image(void) {
  const Runtime& r = started("xmp_this_image");
  return current_index(r) + r.teams.first_image();
}
EXPORT int xmpc_this_image(void) {
  return current_index(started("xmpc_this_image"));
}
EXPORT int xmp_num_nodes(void) {
  return started("xmp_num_nodes").teams.current().size();
}
EXPORT int xmp_num_images(void) {
  return started("xmp_num_images").teams.current().size();
}
EXPORT double xmp_wtime(void) {
  return PMPI_Wtime();
}
EXPORT double xmp_wtick(void) {
  return PMPI_Wtick();
}

EXPORT void xmp_sync_memory(int* status) {
  started("xmp_sync_memory").transfers.complete();
  if (status != nullptr) *status = XMP_STAT_SUCCESS;
}

namespace {

void sync_all(const Images& images, int* status) {
  Runtime& r = started("xmp_sync_all");
  const Team* team = images.nodes != nullptr ? r.teams.team_of(images.ranks(r)) : &r.teams.current();
  if (team == nullptr)
    fail(images.where, "xmp_sync_all waits for the nodes of '%s', and this image is none of them",
         images.nodes->name);
  const Waiting here(&r.patience, "xmp_sync_all", -1, images.where);
  r.transfers.complete();
  const int stopped = r.sync.barrier(*team);
  r.transfers.complete();
  conclude(stopped, status, "xmp_sync_all");
}

void sync_image(const Images& images, int image, int* status) {
  Runtime& r = started("xmp_sync_image");
  const int index = images.index(r, image, status, "xmp_sync_image");
  if (index >= 0) sync_with({index}, status, "xmp_sync_image", images.where);
}

void sync_images(const Images& images, int count, const int* numbers, int* status) {
  Runtime& r = started("xmp_sync_images");
  std::vector<int> all;
  for (int i = 0; i < count; i++) {
    const int index = images.index(r, numbers[i], status, "xmp_sync_images");
    if (index < 0) return;
    if (std::find(all.begin(), all.end(), index) != all.end()) {
      if (status == nullptr) fail(images.where, "xmp_sync_images names image %d twice", numbers[i]);
      *status = XMP_STAT_ERROR;
      return;
    }
    all.push_back(index);
  }
  sync_with(all, status, "xmp_sync_images", images.where);
}

void sync_images_all(const Images& images, int* status) {
  Runtime& r = started("xmp_sync_images_all");
  std::vector<int> all;
  for (int rank : images.ranks(r)) all.push_back(r.teams.world().index[static_cast<size_t>(rank)]);
  sync_with(all, status, "xmp_sync_images_all", images.where);
}

}  // namespace

EXPORT void xmp_sync_all(int* status) {
  sync_all({}, status);
}
EXPORT void xmp_sync_image(int image, int* status) {
  sync_image({}, image, status);
}
EXPORT void xmp_sync_images(int count, int* images, int* status) {
  sync_images({}, count, images, status);
}
EXPORT void xmp_sync_images_all(int* status) {
  sync_images_all({}, status);
}
EXPORT void tasuki_xmp_sync_all_on(const tasuki_xmp_nodes* nodes, const char* file, int line, int* status) {
  sync_all({nodes, {file, line}}, status);
}
EXPORT void tasuki_xmp_sync_image_on(const tasuki_xmp_nodes* nodes, const char* file, int line, int image,
                                     int* status) {
  sync_image({nodes, {file, line}}, image, status);
}
EXPORT void tasuki_xmp_sync_images_on(const tasuki_xmp_nodes* nodes, const char* file, int line, int count,
                                      int* images, int* status) {
  sync_images({nodes, {file, line}}, count, images, status);
}
EXPORT void tasuki_xmp_sync_images_all_on(const tasuki_xmp_nodes* nodes, const char* file, int line,
                                          int* status) {
  sync_images_all({nodes, {file, line}}, status);
}

EXPORT void* xmp_comalloc(size_t bytes) {
  xmp_sync_all(nullptr);
  return runtime().coarrays.allocate(bytes, false, {nullptr, 0});
}

EXPORT void xmp_cofree(void* p) {
  xmp_sync_all(nullptr);
  runtime().coarrays.release(p, {nullptr, 0});
}

namespace {

void* allocate_distributed(const tasuki_xmp_array* array, va_list sizes) {
  std::vector<int64_t> extents;
  for (int i = 0; i < array->dimensions; i++) extents.push_back(static_cast<int64_t>(va_arg(sizes, size_t)));
  return runtime().arrays.allocate(const_cast<tasuki_xmp_array*>(array), extents, {array->file, array->line});
}

}  // namespace

EXPORT void* xmp_malloc(xmp_desc_t descriptor, ...) {
  const tasuki_xmp_descriptor* d = coarray_of(descriptor);
  if (const tasuki_xmp_array* array = array_of(descriptor); array != nullptr) {
    va_list extents;
    va_start(extents, descriptor);
    void* memory = allocate_distributed(array, extents);
    va_end(extents);
    return memory;
  }
  if (d == nullptr)
    fail({nullptr, 0},
         "xmp_malloc wants the descriptor of a pointer to a coarray or distributed array: "
         "xmp_desc_of(pointer)");
  size_t bytes = d->element;
  va_list sizes;
  va_start(sizes, descriptor);
  for (int i = 0; i < d->dimensions; i++) {
    const size_t size = va_arg(sizes, size_t);
    if (d->size[i] != 0 && d->size[i] != size)
      fail({d->file, d->line}, "xmp_malloc: dimension %d of '%s' has %zu elements, and %zu are asked for",
           i + 1, d->name, d->size[i], size);
    if (__builtin_mul_overflow(bytes, size, &bytes))
      fail({d->file, d->line}, "xmp_malloc: '%s' is larger than memory can be", d->name);
  }
  va_end(sizes);
  xmp_sync_all(nullptr);
  return runtime().coarrays.allocate(bytes, (d->flags & TASUKI_XMP_DEVICE) != 0, {d->file, d->line});
}

EXPORT void xmp_free(void* p) {
  if (p != nullptr && runtime().arrays.free(p)) return;
  xmp_cofree(p);
}

EXPORT void xmp_exit(int status) {
  exit(status);
}

EXPORT void xmp_init_mpi(int* argc, char*** argv) {
  runtime().start(argc, argv, true);
}

EXPORT void xmp_finalize_mpi(void) {
  runtime().end();
}

EXPORT void xmp_init(MPI_Comm comm) {
  int relation = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, MPI_COMM_WORLD, &relation);
  if (relation != MPI_IDENT && relation != MPI_CONGRUENT)
    fail({nullptr, 0}, "xmp_init wants MPI_COMM_WORLD or a duplicate of it");
  runtime().start(nullptr, nullptr, false);
}

EXPORT void xmp_finalize(void) {
  runtime().end();
}

EXPORT MPI_Comm xmp_get_mpi_comm(void) {
  Runtime& r = started("xmp_get_mpi_comm");
  const Team& team = r.teams.current();
  const Collective here(&r.collectives, team, {nullptr, 0});
  return users_comm(team);
}
