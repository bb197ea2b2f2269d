#include "coarray/device/openacc.h"

#include <dlfcn.h>

#include <cstring>

namespace tasuki::coarray::openacc {
namespace {

// acc_device_nvidia of libgomp.
constexpr int kNvidia = 5;

template <typename Function>
bool find(const char* name, Function* function) {
  void* address = dlsym(RTLD_DEFAULT, name);
  if (address != nullptr) memcpy(function, &address, sizeof address);
  return address != nullptr;
}

}  // namespace

Where regions() {
  int (*count)(int) = nullptr;
  int (*type)() = nullptr;
  if (!find("acc_get_num_devices", &count) || !find("acc_get_device_type", &type)) return Where::nowhere;
  // The type is that of ACC_DEVICE_TYPE, or of the first device there is.
  return count(kNvidia) > 0 && type() == kNvidia ? Where::device : Where::host;
}

void* use_device(int number) {
  void (*choose)(int, int) = nullptr;
  void* (*context)() = nullptr;
  if (find("acc_set_device_num", &choose)) choose(number, kNvidia);
  return find("acc_get_current_cuda_context", &context) ? context() : nullptr;
}

bool map(void* host, void* device, uint64_t bytes) {
  void (*function)(void*, void*, size_t) = nullptr;
  if (!find("acc_map_data", &function)) return false;
  function(host, device, bytes);
  return true;
}

void unmap(void* host) {
  void (*function)(void*) = nullptr;
  if (find("acc_unmap_data", &function)) function(host);
}

char* device_address(const void* host, uint64_t bytes) {
  void* (*address)(void*) = nullptr;
  int (*present)(void*, size_t) = nullptr;
  if (!find("acc_deviceptr", &address) || !find("acc_is_present", &present)) return nullptr;
  void* memory = const_cast<void*>(host);
  return present(memory, bytes) != 0 ? static_cast<char*>(address(memory)) : nullptr;
}

void wait_all() {
  void (*function)() = nullptr;
  if (find("acc_wait_all", &function)) function();
}

}  // namespace tasuki::coarray::openacc
