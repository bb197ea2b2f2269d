#include "cluster/heap/small_heap.h"

#include <algorithm>
#include <bit>

namespace tasuki::cluster {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr size_t kLeastChunk = size_t{2} << 20, kMostChunk = size_t{64} << 20;
constexpr size_t kMostSlab = 512 << 10;
constexpr size_t kObjects = 16;  // of a slab at least, if they fit
// Once the source has no room it is asked again each so many attempts.
constexpr unsigned kVain = 256;
// What is free and was not given back: so much, or a part of all.
constexpr size_t kLeastDirty = size_t{2} << 20, kDirtyPart = 16;

constexpr size_t slab_pieces(size_t object_bytes) {
  return (std::clamp(object_bytes * kObjects, kPiece, kMostSlab) + kPiece - 1) / kPiece;
}

// Threads take arenas in turns. Initial-exec: read in malloc, which must not allocate to read it.
std::atomic<unsigned> g_threads{0};
constinit thread_local unsigned t_thread __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

struct SmallHeap::Chunk {
  std::byte* begin;
  size_t bytes;
  pager::RunSet free, dirty;  // pieces; of the free ones, those that are not zero; under lock_
  std::unique_ptr<std::atomic<Slab*>[]> slabs;  // of each piece

  size_t pieces() const { return bytes / kPiece; }
  // The number of bytes that were dirty.
  size_t clean(size_t first, size_t count) {
    const uint64_t before = dirty.total();
    dirty.subtract(first, count);
    return (before - dirty.total()) * kPiece;
  }
  size_t take_dirty(size_t first, size_t count) {
    free.subtract(first, count);
    return clean(first, count);
  }
  void set(size_t first, size_t count, Slab* slab) {
    for (size_t i = first; i < first + count; i++) slabs[i].store(slab, std::memory_order_release);
  }
};

struct SmallHeap::Slab {
  Arena* const arena;
  Chunk* const chunk;
  std::byte* const begin;
  const size_t pieces;
  const unsigned size_class;
  const uint32_t object_bytes, capacity;
  // Under the arena's lock.
  uint32_t used = 0;
  uint32_t fresh = 0;                       // from this object on nobody has had one
  uint32_t hint = 0;                        // no word before it has a free object
  Slab *before = nullptr, *next = nullptr;  // in the arena's list, if it has a free object
  std::unique_ptr<uint64_t[]> in_use;       // a bit for each object

  Slab(Arena* of, Chunk* in, size_t first, size_t count, unsigned size)
      : arena(of),
        chunk(in),
        begin(in->begin + first * kPiece),
        pieces(count),
        size_class(size),
        object_bytes(static_cast<uint32_t>(class_bytes(size))),
        capacity(static_cast<uint32_t>(count * kPiece / object_bytes)),
        in_use(new uint64_t[(capacity + 63) / 64]()) {
    // Those that do not exist are never free.
    if (capacity % 64 != 0) in_use[capacity / 64] = ~uint64_t{0} << capacity % 64;
  }

  // There is a free object.
  uint32_t take() {
    while (in_use[hint] == ~uint64_t{0}) hint++;
    const uint32_t bit = static_cast<uint32_t>(std::countr_one(in_use[hint]));
    in_use[hint] |= uint64_t{1} << bit;
    used++;
    return hint * 64 + bit;
  }
  // -1: none begins there.
  int64_t index_of(const void* p) const {
    const size_t offset = static_cast<size_t>(static_cast<const std::byte*>(p) - begin);
    const size_t index = offset / object_bytes;
    return offset % object_bytes == 0 && index < capacity ? static_cast<int64_t>(index) : -1;
  }
  bool is_used(int64_t index) const { return index >= 0 && (in_use[index / 64] >> index % 64 & 1) != 0; }
  void give(int64_t index) {
    in_use[index / 64] &= ~(uint64_t{1} << index % 64);
    used--;
    hint = std::min(hint, static_cast<uint32_t>(index / 64));
  }
};

struct alignas(64) SmallHeap::Arena {
  std::mutex lock;
  Slab* free[kSizeClasses] = {};  // slabs with a free object, the latest first

  void link(Slab* slab) {
    slab->before = nullptr;
    slab->next = free[slab->size_class];
    if (slab->next != nullptr) slab->next->before = slab;
    free[slab->size_class] = slab;
  }
  void unlink(Slab* slab) {
    (slab->before != nullptr ? slab->before->next : free[slab->size_class]) = slab->next;
    if (slab->next != nullptr) slab->next->before = slab->before;
  }
};

SmallHeap::SmallHeap(ChunkSource* source, unsigned arenas)
    : source_(source), arena_count_(arenas), arenas_(new Arena[arenas]) {}

SmallHeap::~SmallHeap() {
  for (const auto& chunk : chunks_) {
    Slab* last = nullptr;
    for (size_t i = 0; i < chunk->pieces(); i++) {
      Slab* const slab = chunk->slabs[i].load();
      if (slab != last) delete slab;
      last = slab;
    }
    source_->give(chunk->begin);
  }
  for (auto& level : levels_) delete level.load();
}

SmallHeap::Arena& SmallHeap::own_arena() {
  if (t_thread == 0) [[unlikely]]
    t_thread = g_threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return arenas_[t_thread % arena_count_];
}

SmallHeap::Object SmallHeap::take(size_t bytes, size_t alignment) {
  // Slabs begin at multiples of kPiece only.
  if (alignment > kPiece) return {nullptr, false};
  unsigned size = size_class(std::max(bytes, alignment));
  while (class_bytes(size) % alignment != 0) size++;
  Arena& arena = own_arena();
  Slab* made = nullptr;
  for (;;) {
    {
      const std::lock_guard guard(arena.lock);
      if (made != nullptr) arena.link(made);
      if (Slab* const slab = arena.free[size]; slab != nullptr) {
        const uint32_t index = slab->take();
        if (slab->used == slab->capacity) arena.unlink(slab);
        const bool zero = index >= slab->fresh;
        if (zero) slab->fresh = index + 1;
        return {slab->begin + size_t{index} * slab->object_bytes, zero};
      }
    }
    made = new_slab(size, &arena);
    if (made == nullptr) return {nullptr, false};
  }
}

SmallHeap::Slab* SmallHeap::slab_at(const void* p) const {
  const Chunk* const chunk = chunk_at(p);
  if (chunk == nullptr) return nullptr;
  const size_t piece = static_cast<size_t>(static_cast<const std::byte*>(p) - chunk->begin) / kPiece;
  return chunk->slabs[piece].load(std::memory_order_acquire);
}

size_t SmallHeap::bytes_of(const void* p) const {
  const Slab* const slab = slab_at(p);
  if (slab == nullptr) return 0;
  const std::lock_guard guard(slab->arena->lock);
  return slab->is_used(slab->index_of(p)) ? slab->object_bytes : 0;
}

bool SmallHeap::give(void* p) {
  Slab* const slab = slab_at(p);
  if (slab == nullptr) return false;
  Arena& arena = *slab->arena;
  {
    const std::lock_guard guard(arena.lock);
    const int64_t index = slab->index_of(p);
    if (!slab->is_used(index)) return false;
    if (slab->used == slab->capacity) arena.link(slab);
    slab->give(index);
    // The last one that has room stays, for who allocates and frees in turns.
    if (slab->used > 0 || (slab->before == nullptr && slab->next == nullptr)) return true;
    arena.unlink(slab);
  }
  end_slab(slab);
  return true;
}

SmallHeap::Slab* SmallHeap::new_slab(unsigned size_class, Arena* arena) {
  const size_t pieces = slab_pieces(class_bytes(size_class));
  do {
    const std::lock_guard guard(lock_);
    for (size_t i = chunks_.size(); i-- > 0;) {
      Chunk* const chunk = chunks_[i].get();
      uint64_t first = 0;
      const uint64_t got = chunk->free.total() >= pieces ? chunk->free.take(pieces, &first) : 0;
      if (got < pieces) {
        chunk->free.add(first, got);
        continue;
      }
      Slab* const slab = new Slab(arena, chunk, first, pieces, size_class);
      if (chunk->dirty.meets(first, pieces)) {
        slab->fresh = slab->capacity;
        dirty_ -= chunk->clean(first, pieces);
      }
      chunk->set(first, pieces, slab);
      return slab;
    }
  } while (add_chunk());
  return nullptr;
}

void SmallHeap::end_slab(Slab* slab) {
  struct Run {
    Chunk* chunk;  // stays, because not all of it is free
    uint64_t first, count;
  };
  std::vector<Run> runs;  // to be discarded
  std::unique_ptr<Chunk> empty;
  {
    const std::lock_guard guard(lock_);
    Chunk* const chunk = slab->chunk;
    const size_t first = static_cast<size_t>(slab->begin - chunk->begin) / kPiece;
    chunk->set(first, slab->pieces, nullptr);
    chunk->free.add(first, slab->pieces);
    chunk->dirty.add(first, slab->pieces);
    dirty_ += slab->pieces * kPiece;
    delete slab;
    if (chunk->free.total() == chunk->pieces() && chunks_.size() > 1) {
      empty = unlist(chunk);
    } else if (dirty_ > std::max<uint64_t>(kLeastDirty, total_ / kDirtyPart)) {
      for (const auto& each : chunks_)
        each->dirty.in_parts(0, each->pieces(), [&](uint64_t at, uint64_t count, bool is_dirty) {
          if (is_dirty) runs.push_back({each.get(), at, count});
        });
      for (const Run& run : runs) dirty_ -= run.chunk->take_dirty(run.first, run.count);
    }
  }
  // The source is not called under the lock: it may wait for who waits for the lock to fork.
  if (empty != nullptr && !source_->give(empty->begin)) {
    const std::lock_guard guard(lock_);
    list(std::move(empty));
  }
  for (const Run& run : runs) {
    const bool discarded = source_->discard(run.chunk->begin + run.first * kPiece, run.count * kPiece);
    const std::lock_guard guard(lock_);
    run.chunk->free.add(run.first, run.count);
    if (discarded) continue;
    run.chunk->dirty.add(run.first, run.count);
    dirty_ += run.count * kPiece;
  }
}

// The more there is, the larger they are: a sixteenth of it.
bool SmallHeap::add_chunk() {
  size_t bytes;
  {
    const std::lock_guard guard(lock_);
    if (vain_ > 0 && ++vain_ % kVain != 0) return false;
    bytes = vain_ > 0 ? kLeastChunk
                      : std::clamp(total_ / 16 / kLeastChunk * kLeastChunk, kLeastChunk, kMostChunk);
  }
  void* begin = source_->take(bytes);
  while (begin == nullptr && bytes > kLeastChunk)
    begin = source_->take(bytes = bytes / 2 / kLeastChunk * kLeastChunk);
  auto chunk = std::make_unique<Chunk>();
  if (begin != nullptr) {
    chunk->begin = static_cast<std::byte*>(begin);
    chunk->bytes = bytes;
    chunk->slabs.reset(new std::atomic<Slab*>[chunk->pieces()]());
    chunk->free.add(0, chunk->pieces());
  }
  {
    const std::lock_guard guard(lock_);
    vain_ = begin != nullptr ? 0 : std::max(vain_, 1u);
    if (begin == nullptr) return false;
    if (list(std::move(chunk))) return true;
  }
  source_->give(begin);
  return false;
}

// False: the addresses are beyond what the table knows.
bool SmallHeap::list(std::unique_ptr<Chunk> chunk) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(chunk->begin) >> kChunkShift;
  const uintptr_t end = first + (chunk->bytes >> kChunkShift);
  if (end > kLevel * kLevel) return false;
  for (uintptr_t piece = first; piece < end; piece++) {
    std::atomic<Level*>& level = levels_[piece >> kLevelBits];
    if (level.load(std::memory_order_relaxed) == nullptr) level.store(new Level, std::memory_order_release);
    level.load(std::memory_order_relaxed)
        ->chunks[piece % kLevel]
        .store(chunk.get(), std::memory_order_release);
  }
  total_ += chunk->bytes;
  dirty_ += chunk->dirty.total() * kPiece;
  chunks_.push_back(std::move(chunk));
  return true;
}

std::unique_ptr<SmallHeap::Chunk> SmallHeap::unlist(const Chunk* chunk) {
  const auto at =
      std::find_if(chunks_.begin(), chunks_.end(), [chunk](const auto& c) { return c.get() == chunk; });
  std::unique_ptr<Chunk> taken = std::move(*at);
  chunks_.erase(at);
  const uintptr_t first = reinterpret_cast<uintptr_t>(taken->begin) >> kChunkShift;
  for (uintptr_t piece = first; piece < first + (taken->bytes >> kChunkShift); piece++)
    levels_[piece >> kLevelBits].load()->chunks[piece % kLevel].store(nullptr, std::memory_order_release);
  total_ -= taken->bytes;
  dirty_ -= taken->dirty.total() * kPiece;
  return taken;
}

void SmallHeap::lock() {
  lock_.lock();
  for (unsigned i = 0; i < arena_count_; i++) arenas_[i].lock.lock();
}

void SmallHeap::unlock() {
  for (unsigned i = 0; i < arena_count_; i++) arenas_[i].lock.unlock();
  lock_.unlock();
}

}  // namespace tasuki::cluster
