/* A libtasukixmp for tests of the compiler: one process plays the first of DOUBLE_IMAGES images (default 4), and the memory of the
 * others lies beside its own. Nobody else runs, so what a program puts into another image stays there until it gets it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tasuki/compiler/local_view.h>

extern const int tasuki_xmp_main_waits __attribute__((weak));

struct block {
  char* memory; /* of all images, one behind the other */
  size_t bytes, stride;
};
static struct block blocks[1000];
static struct tasuki_xmp_coarray* records[1000];
static int block_count, record_count, images = 4;
static long puts_made, gets_made, copies_made, live_temporaries;
static unsigned all_flags;

static void fail(const char* file, int line, const char* what) {
  fprintf(stderr, "%s:%d: %s\n", file, line, what);
  exit(1);
}

void tasuki_xmp_register(struct tasuki_xmp_coarray* const* begin, struct tasuki_xmp_coarray* const* end) {
  for (; begin != end; begin++) {
    if (*begin == NULL || (*begin)->state[1] != NULL) continue;
    (*begin)->state[1] = *begin;
    records[record_count++] = *begin;
  }
}
void tasuki_xmp_register_nodes(struct tasuki_xmp_nodes* const* begin, struct tasuki_xmp_nodes* const* end) {
  (void)begin, (void)end;
}
void tasuki_xmp_first_image(int first, const char* file) {
  (void)first, (void)file;
}

/* Without a device, as where OpenACC's regions run on the host. */
void* tasuki_xmp_device_address(const void* p) {
  return (void*)p;
}

void* xmp_comalloc(size_t bytes) {
  struct block* b = &blocks[block_count++];
  b->bytes = bytes;
  b->stride = (bytes + 4095) / 64 * 64;
  b->memory = aligned_alloc(4096, (b->stride * (size_t)images + 4095) / 4096 * 4096);
  memset(b->memory, 0, b->stride * (size_t)images);
  return b->memory;
}
void xmp_cofree(void* p) {
  (void)p;
}

static void report(void) {
  const char* path = getenv("XMP_DOUBLE_REPORT");
  FILE* file = path != NULL ? fopen(path, "w") : NULL;
  if (file == NULL) return;
  fprintf(file, "puts %ld gets %ld copies %ld temporaries %ld flags %u\n", puts_made, gets_made, copies_made,
          live_temporaries, all_flags);
  fclose(file);
}

int tasuki_xmp_main_begin(int* argc, char*** argv) {
  (void)argc, (void)argv;
  if (&tasuki_xmp_main_waits == NULL) return 1;
  if (getenv("DOUBLE_IMAGES") != NULL) images = atoi(getenv("DOUBLE_IMAGES"));
  atexit(report);
  for (int i = 0; i < record_count; i++) {
    if (records[i]->pointer == NULL) continue;
    void* memory = NULL;
    memcpy(&memory, records[i]->pointer, sizeof memory);
    if (memory == NULL) {
      size_t bytes = records[i]->bytes;
      for (int k = i + 1; k < record_count; k++)
        if (records[k]->pointer == records[i]->pointer && records[k]->bytes > bytes)
          bytes = records[k]->bytes;
      memory = xmp_comalloc(bytes);
      memcpy(records[i]->pointer, &memory, sizeof memory);
    }
    const struct block* b = &blocks[block_count - 1];
    if (records[i]->image != NULL)
      for (int n = 0; n < images; n++)
        memcpy((char*)memory + (size_t)n * b->stride, records[i]->image, records[i]->image_bytes);
  }
  for (int i = 0; i < record_count; i++)
    if (records[i]->compute != NULL) records[i]->compute();
  return 0;
}
int tasuki_xmp_mpi_init(void) {
  return 0;
}
int tasuki_xmp_mpi_init_thread(int* provided) {
  *provided = 0;
  return 0;
}
int tasuki_xmp_mpi_finalize(void) {
  return 0;
}

/* The same object in another image. */
static void* there(const void* here, int image, const char* file, int line) {
  if (image < 1 || image > images) fail(file, line, "no such image");
  for (int i = 0; i < block_count; i++)
    if ((const char*)here >= blocks[i].memory && (const char*)here < blocks[i].memory + blocks[i].bytes)
      return (char*)here + (size_t)(image - 1) * blocks[i].stride;
  fail(file, line, "not in a coarray");
  return NULL;
}

void tasuki_xmp_put(void* to, const void* from, size_t bytes, int image, unsigned flags, const char* file,
                    int line) {
  memcpy(there(to, image, file, line), from, bytes);
  puts_made++;
  all_flags |= flags;
}
void* tasuki_xmp_get(void* to, const void* from, size_t bytes, int image, unsigned flags, const char* file,
                     int line) {
  gets_made++;
  all_flags |= flags;
  return memcpy(to, there(from, image, file, line), bytes);
}
int tasuki_xmp_image(const char* name, int count, const int* extents, const int* subscripts, const char* file,
                     int line) {
  int image = 0, factor = 1;
  (void)name;
  for (int i = 0; i < count; i++) {
    if (subscripts[i] < 1 || (i + 1 < count && subscripts[i] > extents[i]))
      fail(file, line, "no such cosubscript");
    image += factor * (subscripts[i] - 1);
    if (i + 1 < count) factor *= extents[i];
  }
  return image + 1;
}
ptrdiff_t tasuki_xmp_index(ptrdiff_t index, size_t extent, int dimension, const char* name, const char* file,
                           int line) {
  (void)dimension, (void)name;
  if (index < 0 || (size_t)index >= extent) fail(file, line, "index out of bounds");
  return index;
}

static ptrdiff_t length_of(const struct tasuki_xmp_dimension* d) {
  if (d->length != PTRDIFF_MIN) return d->length;
  return d->stride > 0 ? ((ptrdiff_t)d->extent - d->lower + d->stride - 1) / d->stride
                       : d->lower / -d->stride + 1;
}
size_t tasuki_xmp_elements(const struct tasuki_xmp_section* s, const char* file, int line) {
  size_t n = 1;
  for (int i = 0; i < s->dimensions; i++) {
    const struct tasuki_xmp_dimension* d = &s->dimension[i];
    const ptrdiff_t length = length_of(d), last = d->lower + (length - 1) * d->stride;
    if (d->stride == 0 || length < 0) fail(file, line, "bad section");
    if ((s->flags & TASUKI_XMP_CHECK) && d->extent != 0 && length > 0 &&
        (d->lower < 0 || d->lower >= (ptrdiff_t)d->extent || last < 0 || last >= (ptrdiff_t)d->extent))
      fail(file, line, "section out of bounds");
    n *= (size_t)length;
  }
  return n;
}
static char* element(const struct tasuki_xmp_section* s, size_t n) {
  ptrdiff_t offset = 0;
  for (int i = s->dimensions; i-- > 0;) {
    const struct tasuki_xmp_dimension* d = &s->dimension[i];
    const size_t length = (size_t)length_of(d);
    offset += (d->lower + (ptrdiff_t)(n % length) * d->stride) * (ptrdiff_t)d->bytes;
    n /= length;
  }
  return (char*)s->base + offset;
}
static void* address(const struct tasuki_xmp_section* s, size_t n, const char* file, int line) {
  char* here = element(s, n);
  return (s->flags & TASUKI_XMP_REMOTE) ? there(here, s->image, file, line) : here;
}
void tasuki_xmp_copy(const struct tasuki_xmp_section* to, const struct tasuki_xmp_section* from,
                     unsigned flags, const char* file, int line) {
  const size_t n = tasuki_xmp_elements(to, file, line), count = tasuki_xmp_elements(from, file, line);
  if (to->element != from->element) fail(file, line, "element sizes differ");
  if (from->dimensions > 0 && n != count) fail(file, line, "counts differ");
  char* all = malloc(count * from->element + 1);
  for (size_t i = 0; i < count; i++)
    memcpy(all + i * from->element, address(from, i, file, line), from->element);
  for (size_t i = 0; i < n; i++)
    memcpy(address(to, i, file, line), all + (from->dimensions > 0 ? i : 0) * from->element, from->element);
  free(all);
  copies_made++;
  all_flags |= flags;
}
void tasuki_xmp_same(size_t elements, size_t expected, const char* what, const char* file, int line) {
  (void)what;
  if (elements != expected) fail(file, line, "counts differ");
}
void* tasuki_xmp_temporary(size_t elements, size_t element_bytes, const char* file, int line) {
  (void)file, (void)line;
  live_temporaries++;
  return malloc(elements * element_bytes + 1);
}
void tasuki_xmp_release(void* temporary) {
  live_temporaries--;
  free(temporary);
}

void tasuki_xmp_wait_nonblock(int local, const char* file, int line) {
  (void)local, (void)file, (void)line;
}
void tasuki_xmp_post(int node, int tag, const char* file, int line) {
  printf("%s:%d: post %d %d\n", file, line, node, tag);
}
void tasuki_xmp_wait(int node, int tag, const char* file, int line) {
  printf("%s:%d: wait %d %d\n", file, line, node, tag);
}
void tasuki_xmp_wait_node(int node, const char* file, int line) {
  printf("%s:%d: wait %d\n", file, line, node);
}
void tasuki_xmp_wait_any(const char* file, int line) {
  printf("%s:%d: wait\n", file, line);
}
void tasuki_xmp_lock(xmp_lock_t* lock, int image, int* acquired, int* status, const char* file, int line) {
  xmp_lock_t* l = there(lock, image, file, line);
  if (acquired != NULL) *acquired = l->tasuki_holder == 0;
  if (status != NULL) *status = l->tasuki_holder == 0 ? XMP_STAT_SUCCESS : XMP_STAT_LOCKED;
  l->tasuki_holder = 1;
}
void tasuki_xmp_unlock(xmp_lock_t* lock, int image, int* status, const char* file, int line) {
  xmp_lock_t* l = there(lock, image, file, line);
  if (status != NULL) *status = l->tasuki_holder != 0 ? XMP_STAT_SUCCESS : XMP_STAT_UNLOCKED;
  l->tasuki_holder = 0;
}
int tasuki_xmp_node(const struct tasuki_xmp_nodes* nodes, const int* index, const char* file, int line) {
  (void)file, (void)line;
  int image = 0, factor = 1;
  for (int i = 0; i < nodes->dimensions; i++) {
    image += factor * index[i];
    factor *= nodes->size[i];
  }
  return image + 1;
}
int tasuki_xmp_task_begin(const struct tasuki_xmp_nodes* nodes, const struct tasuki_xmp_range* ranges,
                          const char* file, int line) {
  (void)nodes, (void)file, (void)line;
  return ranges[0].begin == 0;
}
void tasuki_xmp_task_end(void) {}

int xmp_node_num(void) {
  return 1;
}
int xmp_this_image(void) {
  return 1;
}
int xmp_num_nodes(void) {
  return images;
}
int xmp_num_images(void) {
  return images;
}
int xmp_all_num_nodes(void) {
  return images;
}
void xmp_sync_all(int* status) {
  if (status != NULL) *status = 0;
}
void xmp_sync_memory(int* status) {
  if (status != NULL) *status = 0;
}
