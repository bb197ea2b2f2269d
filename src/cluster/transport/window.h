// The memory of a server on rank 0's own host, used by rank 0 directly: no message, no server involved.
//
// Why a memory file and not an MPI shared-memory window (MPI_Win_allocate_shared), measured with Debian's two
// libraries: those live in /dev/shm (Open MPI refuses one that is larger than what is free there, and
// containers have 64 MiB), begin anywhere in a page (then nothing can be given back), and take up to .9 s to
// make (MPICH).
//
// Measured here at 64 KiB and 1 MiB, GB/s: first put 2.1-2.8 by write(2), .95-1.45 through a mapping; later
// puts 15-18 past the caches, 8.0 with memcpy, 5.3 by write(2); gets 8.0 with memcpy, 4.5 by read(2).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "cluster/transport/copy_team.h"
#include "os/files/descriptor.h"

namespace tasuki::cluster {

class WindowMemory {
 public:
  // `file` has slots * unit bytes, perhaps more. ENOMEM: no addresses.
  static Result<std::unique_ptr<WindowMemory>> create(os::Fd file, size_t unit_bytes, uint64_t slots);
  ~WindowMemory();
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  void get(uint64_t slot, uint32_t units, std::byte* to, CopyTeam* team) const;
  // Where it is.
  const std::byte* at(uint64_t slot) const { return memory_ + slot * unit_; }
  // ENOMEM, ENOSPC: the host has no memory left.
  Status put(uint64_t slot, uint32_t units, const std::byte* from, CopyTeam* team);
  void release(uint64_t slot, uint64_t units);

 private:
  WindowMemory(os::Fd file, size_t unit_bytes, uint64_t slots, std::byte* memory, uint64_t* present)
      : file_(std::move(file)), unit_(unit_bytes), slots_(slots), memory_(memory), present_(present) {}
  // Transfers of other slots may be under way in other threads.
  std::atomic_ref<uint64_t> word(uint64_t slot) const { return std::atomic_ref(present_[slot / 64]); }
  static uint64_t bit(uint64_t slot) { return uint64_t{1} << slot % 64; }
  bool present(uint64_t slot) const { return (word(slot).load(std::memory_order_relaxed) & bit(slot)) != 0; }

  os::Fd file_;
  size_t unit_;
  uint64_t slots_;
  std::byte* memory_;
  uint64_t* present_;  // a bit for each slot that has memory
};

}  // namespace tasuki::cluster
