/* CUDA's driver library without a device, for tests: device memory is host memory at addresses where the host may do nothing. The same
 * memory is mapped a second time, and only the copies of this file use that. TASUKI_TEST_CUDA_OPEN=1 lets the host in, as if
 * this MPI library took addresses of the device. Copies whose operands are not where the caller says they are end the program. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int result;
typedef uint64_t pointer;
enum { success = 0, invalid = 1, no_memory = 2, no_context = 201 };
enum { host = 1, device = 2 };

struct memory {
  char *closed, *open;
  size_t bytes;
  int file;
};
static struct memory memories[64];
static int count;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int initialised;
static _Thread_local int contexts;

static void bad(const char* what) {
  fprintf(stderr, "fake CUDA: %s\n", what);
  abort();
}

static void need_context(void) {
  if (!initialised || contexts == 0) bad("a call without a context");
}

static result add(int file, size_t bytes, pointer* at) {
  const char* text = getenv("TASUKI_TEST_CUDA_OPEN");
  const int protection = text != NULL && *text == '1' ? PROT_READ | PROT_WRITE : PROT_NONE;
  struct memory m = {mmap(NULL, bytes, protection, MAP_SHARED, file, 0),
                     mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), bytes, file};
  if (m.closed == MAP_FAILED || m.open == MAP_FAILED) return no_memory;
  pthread_mutex_lock(&guard);
  int i = 0;
  while (i < count && memories[i].closed != NULL) i++;
  if (i == 64) bad("too many allocations");
  memories[i] = m;
  if (i == count) count++;
  pthread_mutex_unlock(&guard);
  *at = (pointer)(uintptr_t)m.closed;
  return success;
}

static result drop(pointer at) {
  pthread_mutex_lock(&guard);
  for (int i = 0; i < count; i++)
    if ((pointer)(uintptr_t)memories[i].closed == at) {
      munmap(memories[i].closed, memories[i].bytes);
      munmap(memories[i].open, memories[i].bytes);
      close(memories[i].file);
      memories[i].closed = NULL;
      pthread_mutex_unlock(&guard);
      return success;
    }
  pthread_mutex_unlock(&guard);
  return invalid;
}

/* What the driver itself uses for [p, p + bytes), which must lie where `type` says. */
static char* real(const void* p, int type, size_t bytes) {
  char* found = NULL;
  pthread_mutex_lock(&guard);
  for (int i = 0; i < count; i++) {
    const uintptr_t at = (uintptr_t)p - (uintptr_t)memories[i].closed;
    if (memories[i].closed == NULL || at >= memories[i].bytes) continue;
    if (at + bytes > memories[i].bytes) bad("a copy beyond the end of device memory");
    found = memories[i].open + at;
  }
  pthread_mutex_unlock(&guard);
  if (type == device && found == NULL) bad("an address of the host where one of the device is wanted");
  if (type == host && found != NULL) bad("an address of the device where one of the host is wanted");
  return type == device ? found : (char*)(uintptr_t)p;
}

result cuInit(unsigned flags) {
  initialised = 1;
  return flags == 0 ? success : invalid;
}
result cuDeviceGetCount(int* n) {
  *n = 2;
  return success;
}
result cuDeviceGet(int* d, int ordinal) {
  *d = ordinal;
  return ordinal < 2 ? success : invalid;
}
result cuDevicePrimaryCtxRetain(void** context, int d) {
  static char two[2];
  *context = &two[d];
  return success;
}
result cuCtxPushCurrent_v2(void* context) {
  contexts++;
  return context != NULL ? success : invalid;
}
result cuCtxPopCurrent_v2(void** context) {
  if (contexts-- == 0) bad("a context is popped that was not pushed");
  *context = NULL;
  return success;
}
result cuCtxSynchronize(void) {
  need_context();
  return success;
}
result cuMemAlloc_v2(pointer* at, size_t bytes) {
  need_context();
  bytes = (bytes + 4095) / 4096 * 4096;
  const int file = memfd_create("fake cuda", 0);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return no_memory;
  return add(file, bytes, at);
}
result cuMemFree_v2(pointer at) {
  need_context();
  return drop(at);
}
result cuMemAllocHost_v2(void** at, size_t bytes) {
  need_context();
  *at = malloc(bytes);
  return *at != NULL ? success : no_memory;
}
result cuMemFreeHost(void* at) {
  free(at);
  return success;
}
result cuMemcpyHtoD_v2(pointer to, const void* from, size_t bytes) {
  need_context();
  memcpy(real((void*)(uintptr_t)to, device, bytes), real(from, host, bytes), bytes);
  return success;
}
result cuMemcpyDtoH_v2(void* to, pointer from, size_t bytes) {
  need_context();
  memcpy(real(to, host, bytes), real((void*)(uintptr_t)from, device, bytes), bytes);
  return success;
}
result cuMemcpyDtoD_v2(pointer to, pointer from, size_t bytes) {
  need_context();
  memcpy(real((void*)(uintptr_t)to, device, bytes), real((void*)(uintptr_t)from, device, bytes), bytes);
  return success;
}

struct end {
  int type;
  const void* host_address;
  pointer device_address;
  size_t pitch, rows;
};
struct copy2d {
  size_t from_x, from_y;
  int from_type;
  const void* from_host;
  pointer from_device;
  void* from_array;
  size_t from_pitch, to_x, to_y;
  int to_type;
  void* to_host;
  pointer to_device;
  void* to_array;
  size_t to_pitch, width, height;
};
struct copy3d {
  size_t from_x, from_y, from_z, from_lod;
  int from_type;
  const void* from_host;
  pointer from_device;
  void *from_array, *reserved0;
  size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
  int to_type;
  void* to_host;
  pointer to_device;
  void *to_array, *reserved1;
  size_t to_pitch, to_height, width, height, depth;
};

static result copy(const struct end* to, const struct end* from, size_t width, size_t height, size_t depth) {
  need_context();
  const struct end* ends[2] = {to, from};
  char* at[2];
  for (int i = 0; i < 2; i++) {
    const struct end* e = ends[i];
    if (e->pitch < width || (depth > 1 && e->rows < height)) return invalid;
    const size_t span = (depth - 1) * e->rows * e->pitch + (height - 1) * e->pitch + width;
    at[i] = real(e->type == device ? (void*)(uintptr_t)e->device_address : e->host_address, e->type, span);
  }
  for (size_t k = 0; k < depth; k++)
    for (size_t i = 0; i < height; i++)
      memcpy(at[0] + (k * to->rows + i) * to->pitch, at[1] + (k * from->rows + i) * from->pitch, width);
  return success;
}

result cuMemcpy2DUnaligned_v2(const struct copy2d* c) {
  if (c->from_x + c->from_y + c->to_x + c->to_y != 0) return invalid;
  return copy(&(struct end){c->to_type, c->to_host, c->to_device, c->to_pitch, 0},
              &(struct end){c->from_type, c->from_host, c->from_device, c->from_pitch, 0}, c->width,
              c->height, 1);
}
result cuMemcpy3D_v2(const struct copy3d* c) {
  return copy(&(struct end){c->to_type, c->to_host, c->to_device, c->to_pitch, c->to_height},
              &(struct end){c->from_type, c->from_host, c->from_device, c->from_pitch, c->from_height},
              c->width, c->height, c->depth);
}

struct handle {
  char bytes[64];
};
struct content {
  pid_t process;
  int file;
  size_t bytes;
};
result cuIpcGetMemHandle(struct handle* handle, pointer at) {
  struct content content = {getpid(), -1, 0};
  memset(handle, 0, sizeof *handle);
  for (int i = 0; i < count; i++)
    if ((pointer)(uintptr_t)memories[i].closed == at)
      content = (struct content){getpid(), memories[i].file, memories[i].bytes};
  if (content.file < 0) return invalid;
  memcpy(handle, &content, sizeof content);
  return success;
}
result cuIpcOpenMemHandle_v2(pointer* at, struct handle handle, unsigned flags) {
  struct content content;
  char path[64];
  memcpy(&content, &handle, sizeof content);
  if (content.process == getpid()) return no_context; /* the driver's own rule */
  const char* text = getenv("TASUKI_TEST_CUDA_IPC");
  if (text != NULL && *text == '0') return invalid;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)content.process, content.file);
  const int file = open(path, O_RDWR);
  return file < 0 || flags != 1 ? invalid : add(file, content.bytes, at);
}
result cuIpcCloseMemHandle(pointer at) {
  return drop(at);
}
result cuGetErrorString(result error, const char** text) {
  *text = error == no_memory ? "out of memory" : "invalid argument";
  return success;
}
