// cuda_driver: those functions of NVIDIA's driver library that device memory needs, looked up when a program
// has need of them. Nothing of CUDA is needed to build. Types and numbers are those of the driver's
// documented C interface (CUDA 4 and later).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::coarray::cuda {

using Result = int;  // 0: success
using Pointer = uint64_t;
using Context = void*;

enum class MemoryType : int { host = 1, device = 2 };

struct Copy2D {
  size_t from_x, from_y;
  MemoryType from_type;
  const void* from_host;
  Pointer from_device;
  void* from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  MemoryType to_type;
  void* to_host;
  Pointer to_device;
  void* to_array;
  size_t to_pitch;
  size_t width, height;
};

struct Copy3D {
  size_t from_x, from_y, from_z, from_lod;
  MemoryType from_type;
  const void* from_host;
  Pointer from_device;
  void* from_array;
  void* reserved0;
  size_t from_pitch, from_height;
  size_t to_x, to_y, to_z, to_lod;
  MemoryType to_type;
  void* to_host;
  Pointer to_device;
  void* to_array;
  void* reserved1;
  size_t to_pitch, to_height;
  size_t width, height, depth;
};

struct IpcHandle {
  char bytes[64];
};

struct Driver {
  Result (*init)(unsigned flags);
  Result (*device_count)(int* count);
  Result (*device_get)(int* device, int ordinal);
  Result (*context_retain)(Context* context, int device);
  Result (*context_push)(Context context);
  Result (*context_pop)(Context* context);
  Result (*context_synchronize)();
  Result (*allocate)(Pointer* memory, size_t bytes);
  Result (*free)(Pointer memory);
  Result (*allocate_pinned)(void** memory, size_t bytes);
  Result (*free_pinned)(void* memory);
  Result (*copy_to_device)(Pointer to, const void* from, size_t bytes);
  Result (*copy_to_host)(void* to, Pointer from, size_t bytes);
  Result (*copy_on_device)(Pointer to, Pointer from, size_t bytes);
  Result (*copy_2d)(const Copy2D* copy);
  Result (*copy_3d)(const Copy3D* copy);
  Result (*ipc_get)(IpcHandle* handle, Pointer memory);
  Result (*ipc_open)(Pointer* memory, IpcHandle handle, unsigned flags);
  Result (*ipc_close)(Pointer memory);
  Result (*error_text)(Result error, const char** text);
};

// False: there is no such library, or it lacks a function; *why says which.
bool load(const char* library, Driver* driver, const char** why);

}  // namespace tasuki::coarray::cuda
