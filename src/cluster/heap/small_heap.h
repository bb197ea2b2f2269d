// Small objects in cluster memory: an allocation of the pager is a table and at least a page, made in 70 us.
//
//   chunk    what the heap takes from the pager: 2 to 64 MiB, at a multiple of 2 MiB
//   slab     a run of 64 KiB pieces of a chunk with objects of one size class
//   arena    slabs with a lock; a thread allocates in one of them, an object goes back to its own
//
// Everything that the heap knows is in local memory: who allocates or frees waits for no page, and an object
// that is away is freed without being brought. The lowest free object of a slab is used first, so that those
// in use lie close together. Slabs without any are discarded, many at once.
//
// Any thread; not in signal handlers. What the heap allocates for itself comes from operator new in the
// caller's thread, which therefore must not lead here.
//
// Budget: 30 ns for each of take() and give() without contention.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cluster/heap/size_classes.h"
#include "pager/run_set.h"

namespace tasuki::cluster {

class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  static constexpr size_t kAlignment = size_t{2} << 20;
  // Zero-filled, at a multiple of kAlignment. nullptr: no room.
  virtual void* take(size_t bytes) = 0;
  // False: it stays as it is.
  virtual bool give(void* chunk) = 0;
  // Of a part of a chunk: zeros from now on. False: it stays as it is.
  virtual bool discard(void* p, size_t bytes) = 0;
};

class SmallHeap {
 public:
  static constexpr size_t kMost = kMostObject;

  // `source` outlives the heap. arenas: about as many as there are threads that run at the same time.
  SmallHeap(ChunkSource* source, unsigned arenas);
  ~SmallHeap();
  SmallHeap(const SmallHeap&) = delete;
  SmallHeap& operator=(const SmallHeap&) = delete;

  struct Object {
    void* p;    // nullptr: no room
    bool zero;  // nobody has had these bytes before
  };
  // bytes: at most kMost. alignment: a power of two up to 64 KiB.
  Object take(size_t bytes, size_t alignment = 16);
  // Is the address in a chunk? Without a lock.
  bool holds(const void* p) const { return chunk_at(p) != nullptr; }
  // How many bytes the object at p has; 0: none that is in use begins there.
  size_t bytes_of(const void* p) const;
  // False: no object that is in use begins there.
  bool give(void* p);
  // Does an object of `has` bytes stay where it is when it is to have `wants`?
  static constexpr bool stays(size_t has, size_t wants) { return wants <= has && wants > has / 2; }

  // Around a fork: nobody else is in the middle of it.
  void lock();
  void unlock();

 private:
  struct Chunk;
  struct Slab;
  struct Arena;

  // Which chunk has an address: two levels of 2^13 entries, the lower ones for 2 MiB each. Addresses beyond
  // 2^47 bytes are given back.
  static constexpr unsigned kChunkShift = 21, kLevelBits = 13;
  static constexpr size_t kLevel = size_t{1} << kLevelBits;
  struct Level {
    std::atomic<Chunk*> chunks[kLevel] = {};
  };

  Chunk* chunk_at(const void* p) const {
    const uintptr_t piece = reinterpret_cast<uintptr_t>(p) >> kChunkShift;
    if (piece >= kLevel * kLevel) return nullptr;
    const Level* const level = levels_[piece >> kLevelBits].load(std::memory_order_acquire);
    return level != nullptr ? level->chunks[piece % kLevel].load(std::memory_order_acquire) : nullptr;
  }
  Slab* slab_at(const void* p) const;
  Arena& own_arena();

  Slab* new_slab(unsigned size_class, Arena* arena);
  void end_slab(Slab* slab);
  bool add_chunk();
  // Under lock_.
  bool list(std::unique_ptr<Chunk> chunk);
  std::unique_ptr<Chunk> unlist(const Chunk* chunk);

  ChunkSource* const source_;
  const unsigned arena_count_;
  std::unique_ptr<Arena[]> arenas_;
  std::mutex lock_;  // of what follows
  std::vector<std::unique_ptr<Chunk>> chunks_;
  uint64_t total_ = 0, dirty_ = 0;  // bytes of chunks, and of what is free and not zero
  unsigned vain_ = 0;               // attempts since the source had no room
  std::atomic<Level*> levels_[kLevel] = {};
};

}  // namespace tasuki::cluster
