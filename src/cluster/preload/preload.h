// libtasuki-mem.so: preloaded by `tasuki mem` into a program that knows nothing of cluster memory. Its large
// allocations go there.
//
//   block       one allocation in cluster memory, by malloc or by mmap
//   small       an object of malloc that shares a block with others (heap/small_heap.h)
//   local       of this process: libc's allocator, or another library's that comes behind this one
//   active      between the start of the pager, right before main, and its end, behind the program's last
//               exit handler; before and after, and in forked children, everything is local
//
// Never cluster memory: what the pager's and the MPI library's threads and libc itself ask for (pinning.h:
// internal threads; from_libc).
//
// Budget: malloc and free of small pieces cost one and two compares more than libc's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tasuki::pager {
class RunSet;
}

namespace tasuki::cluster::preload {

// From this size on an allocation goes to cluster memory; SIZE_MAX: none does.
extern std::atomic<size_t> g_threshold;      // of malloc and its relatives
extern std::atomic<size_t> g_map_threshold;  // of mmap

enum class Origin : uint8_t {
  malloc,
  mmap,     // may be unmapped in pieces
  reserve,  // the same, of which most may never be used
  small,    // a chunk of small objects
};

struct Block {
  size_t bytes;
  Origin origin;
  pager::RunSet* holes;  // pages of it that are unmapped; nullptr: none has been yet

  bool mapped() const { return origin == Origin::mmap || origin == Origin::reserve; }
};

// nullptr with ENOMEM: the cluster has no room. alignment: a power of two.
void* allocate(size_t bytes, size_t alignment, Origin origin);
// Cluster memory is counted when it is allocated: what reserves addresses for later may have a quarter of it
// in all, and a sixteenth each.
bool may_reserve(size_t bytes);
// The block that holds p, and where it begins. Also in a forked child and after the end, where the block's
// memory is gone. Two compares if p is not near; else a look into a table.
bool find_block_around(const void* p, uintptr_t* begin, Block* block);
// How many of the bytes from p on are in the same block as p, or in none as p.
size_t part_at(const void* p, size_t bytes);
// False: there is no block that begins at p.
bool release(void* p);
void* resize(void* p, size_t bytes);  // nullptr with ENOMEM: the block stays
// The block that begins there is ordinary memory from now on. False: it cannot be.
bool let_go(uintptr_t begin);
// Of all chunks of small objects, if they fit into this host's memory.
void let_go_small();
// A piece of a mapped block was unmapped; with the last of them the block is released. Or it is mapped again.
void unmapped(uintptr_t begin, const void* piece, size_t bytes);
void mapped_again(uintptr_t begin, const void* piece, size_t bytes);

// Is the address in the code of libc or the dynamic linker? What these ask for is for themselves (a FILE's
// buffer goes to the kernel, thread-local storage to any thread), unless it is large: then it is a temporary
// array (qsort) or grows for the program (getline).
bool from_libc(const void* code);
inline constexpr size_t kMostOfLibc = 16 << 20;

// Small objects are local until all that is local beside cluster memory has grown by an eighth of --local
// (setting TASUKI_MEM_SMALL): then malloc takes them, too, from the heap, for which g_threshold falls to 1.
//
// So many bytes a thread asks for in local memory between two looks.
extern std::atomic<size_t> g_look_after;
void look_at_small();
inline bool looks_at_small() {
  return g_look_after.load(std::memory_order_relaxed) != SIZE_MAX;
}
void begin_small();  // when the pager is at work
// May an object be one of the heap's?
bool takes_small(size_t bytes, size_t alignment);
bool is_only_small(size_t bytes);                             // below the threshold that was set
void* take_small(size_t bytes, size_t alignment, bool zero);  // nullptr: no room
bool is_small(const void* p);                                 // in a chunk
size_t small_bytes(const void* p);                            // 0: no object begins there
bool give_small(void* p);                                     // false: no object begins there
// Around a fork.
void lock_small();
void unlock_small();

// A forked child, or the pager has ended: blocks can be read, but neither made nor changed.
bool is_alone();

// Do calls of malloc come by here? Not if the program itself defines it.
bool is_asked();

// Is malloc another library's than libc's?
bool is_foreign();

// Are allocations of this thread the program's?
bool wants_cluster();

// The pager is at work: allocations may go to the cluster. Called once.
void activate();
// For good.
void deactivate();

// In a forked child: who dies of touching a block is told why.
void prepare_explanation();  // in the parent, before
void explain_faults();

// This library's file, as `tasuki mem` named it.
const char* library_path();
// Is it the one for pages on a disk alone?
bool is_without_mpi();

// main leaves, and other threads may go on: the process ends with the last of the program's.
void end_with_last_thread();

// The local allocator's functions, found on first use, which is before any thread of ours.
struct Local {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  size_t (*usable_size)(void*);
};
const Local& local();

}  // namespace tasuki::cluster::preload
