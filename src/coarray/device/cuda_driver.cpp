#include "coarray/device/cuda_driver.h"

#include <dlfcn.h>

#include <cstring>

namespace tasuki::coarray::cuda {

bool load(const char* library, Driver* driver, const char** why) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    *why = dlerror();
    return false;
  }
  // Names with _v2 are those that the header of CUDA 4 and later gives to programs.
  const struct {
    void* function;
    const char* name;
  } functions[] = {{&driver->init, "cuInit"},
                   {&driver->device_count, "cuDeviceGetCount"},
                   {&driver->device_get, "cuDeviceGet"},
                   {&driver->context_retain, "cuDevicePrimaryCtxRetain"},
                   {&driver->context_push, "cuCtxPushCurrent_v2"},
                   {&driver->context_pop, "cuCtxPopCurrent_v2"},
                   {&driver->context_synchronize, "cuCtxSynchronize"},
                   {&driver->allocate, "cuMemAlloc_v2"},
                   {&driver->free, "cuMemFree_v2"},
                   {&driver->allocate_pinned, "cuMemAllocHost_v2"},
                   {&driver->free_pinned, "cuMemFreeHost"},
                   {&driver->copy_to_device, "cuMemcpyHtoD_v2"},
                   {&driver->copy_to_host, "cuMemcpyDtoH_v2"},
                   {&driver->copy_on_device, "cuMemcpyDtoD_v2"},
                   {&driver->copy_2d, "cuMemcpy2DUnaligned_v2"},
                   {&driver->copy_3d, "cuMemcpy3D_v2"},
                   {&driver->ipc_get, "cuIpcGetMemHandle"},
                   {&driver->ipc_open, "cuIpcOpenMemHandle_v2"},
                   {&driver->ipc_close, "cuIpcCloseMemHandle"},
                   {&driver->error_text, "cuGetErrorString"}};
  for (const auto& f : functions) {
    void* address = dlsym(handle, f.name);
    if (address == nullptr) {
      *why = f.name;
      return false;
    }
    memcpy(f.function, &address, sizeof address);
  }
  return true;
}

}  // namespace tasuki::coarray::cuda
