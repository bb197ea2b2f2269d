/* As much of OpenACC's runtime as device memory needs, on the CUDA driver that TASUKI_CUDA names; without one, there is no device and
 * memory on it is that of the host. Host memory that is on the device holds nothing of use meanwhile. */
#ifndef TEST_FAKE_OPENACC_H
#define TEST_FAKE_OPENACC_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER(name, ...)                                                            \
  int (*name)(__VA_ARGS__) = NULL;                                                   \
  do {                                                                               \
    void* address_ = dlsym(dlopen(getenv("TASUKI_CUDA"), RTLD_NOW), #name);          \
    if (address_ == NULL) fprintf(stderr, "the driver has no %s\n", #name), exit(1); \
    memcpy(&name, &address_, sizeof address_);                                       \
  } while (0)

static struct {
  char* host;
  uint64_t device;
  size_t bytes;
  int owned;
} on_device[256];

static int place_of_host(const void* host, size_t bytes) {
  for (int i = 0; i < 256; i++)
    if (on_device[i].host != NULL && (const char*)host >= on_device[i].host &&
        (const char*)host + bytes <= on_device[i].host + on_device[i].bytes)
      return i;
  return -1;
}

int acc_get_num_devices(int type) {
  const char* driver = getenv("TASUKI_CUDA");
  return driver != NULL && *driver == '/' ? type == 5 : 0;
}
int acc_get_device_type(void) {
  return 5;
}
void acc_set_device_num(int number, int type) {
  (void)number, (void)type;
}
void* acc_get_current_cuda_context(void) {
  return NULL;
}
void acc_map_data(void* host, void* device, size_t bytes) {
  int i = 0;
  while (on_device[i].host != NULL) i++;
  on_device[i].host = host;
  on_device[i].device = (uint64_t)(uintptr_t)device;
  on_device[i].bytes = bytes;
  on_device[i].owned = 0;
}
void acc_unmap_data(void* host) {
  const int i = place_of_host(host, 1);
  if (i < 0 || on_device[i].owned) fprintf(stderr, "unmapped, and was not mapped\n"), exit(1);
  on_device[i].host = NULL;
}
int acc_is_present(void* host, size_t bytes) {
  return place_of_host(host, bytes) >= 0;
}
void* acc_deviceptr(void* host) {
  const int i = place_of_host(host, 1);
  return i < 0 ? NULL : (char*)(uintptr_t)on_device[i].device + ((char*)host - on_device[i].host);
}
static int waits;
void acc_wait_all(void) {
  waits++;
}

static void poison(void* host, size_t bytes) {
  memset(host, 0xa5, bytes);
}

/* The context that OpenACC and Tasuki share. */
static void* context_of_device(void) {
  DRIVER(cuInit, unsigned);
  DRIVER(cuDeviceGet, int*, int);
  DRIVER(cuDevicePrimaryCtxRetain, void**, int);
  static void* context;
  int device = 0;
  if (context == NULL &&
      (cuInit(0) != 0 || cuDeviceGet(&device, 0) != 0 || cuDevicePrimaryCtxRetain(&context, device) != 0))
    fprintf(stderr, "no context\n"), exit(1);
  return context;
}

/* enter data copyin, exit data copyout */
static void to_device(void* host, size_t bytes) {
  if (acc_get_num_devices(5) == 0) return;
  DRIVER(cuCtxPushCurrent_v2, void*);
  DRIVER(cuCtxPopCurrent_v2, void**);
  DRIVER(cuMemAlloc_v2, uint64_t*, size_t);
  DRIVER(cuMemcpyHtoD_v2, uint64_t, const void*, size_t);
  uint64_t device = 0;
  void* popped;
  cuCtxPushCurrent_v2(context_of_device());
  if (cuMemAlloc_v2(&device, bytes) != 0 || cuMemcpyHtoD_v2(device, host, bytes) != 0)
    fprintf(stderr, "no device memory\n"), exit(1);
  cuCtxPopCurrent_v2(&popped);
  int i = 0;
  while (on_device[i].host != NULL) i++;
  on_device[i].host = host;
  on_device[i].device = device;
  on_device[i].bytes = bytes;
  on_device[i].owned = 1;
  poison(host, bytes);
}
static void from_device(void* host, size_t bytes) {
  if (acc_get_num_devices(5) == 0) return;
  DRIVER(cuCtxPushCurrent_v2, void*);
  DRIVER(cuCtxPopCurrent_v2, void**);
  DRIVER(cuMemFree_v2, uint64_t);
  DRIVER(cuMemcpyDtoH_v2, void*, uint64_t, size_t);
  void* popped;
  const int i = place_of_host(host, bytes);
  cuCtxPushCurrent_v2(context_of_device());
  if (i < 0 || !on_device[i].owned || cuMemcpyDtoH_v2(host, on_device[i].device, bytes) != 0 ||
      cuMemFree_v2(on_device[i].device) != 0)
    fprintf(stderr, "this memory was not on the device\n"), exit(1);
  cuCtxPopCurrent_v2(&popped);
  on_device[i].host = NULL;
}

#endif
