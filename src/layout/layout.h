// layout: what a datatype is, without MPI. A Layout describes the bytes that `count` consecutive elements of
// a non-contiguous type occupy, in the order in which they are packed.
//
//   element   one instance of a type; element i starts at base + i * extent
//   packed    the bytes of the elements in type-map order, without gaps: what MPI_Pack would produce
//   run       a maximal contiguous piece of memory, in packed order
//
// A Layout is immutable and reference-counted plain data (no virtual functions, no pointers to functions, no
// std:: containers): another task of the same address space, whose code and globals are its own, may read it
// through a pointer. It is freed by the task that built it. Building costs O(description); a message costs
// nothing. All functions are thread-safe on one Layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::layout {

struct Layout;  // defined in layout_impl.h

// A typed buffer. Dense bytes are {p, n, byte_layout()}.
struct Region {
  char* base;      // address of element 0's origin (MPI's buf); lower bound may be negative
  uint64_t count;  // elements
  const Layout* layout;
};

// ---- construction
// Each returns a new reference, or nullptr when memory is exhausted or a size does not fit into 63 bits.
// Displacements and strides are in bytes. Child references are retained as needed; the caller keeps its own.
// Equal memory maps give equal normal forms as far as merging sees it (adjacent runs merge across levels).
const Layout* byte_layout();               // one byte; static, release() is a no-op
const Layout* make_dense(uint64_t bytes);  // `bytes` contiguous bytes, extent = bytes
const Layout* make_contiguous(uint64_t count, const Layout* child);
const Layout* make_hvector(uint64_t count, uint64_t block_length, int64_t stride, const Layout* child);
const Layout* make_hindexed_block(uint64_t count, uint64_t block_length, const int64_t* displacements,
                                  const Layout* child);
const Layout* make_hindexed(uint64_t count, const uint64_t* block_lengths, const int64_t* displacements,
                            const Layout* child);
const Layout* make_struct(uint64_t count, const uint64_t* block_lengths, const int64_t* displacements,
                          const Layout* const* children);
const Layout* make_resized(int64_t lower_bound, int64_t extent, const Layout* child);
// n-dimensional subarray; order 'C' (row-major) or 'F'. Sizes and starts in elements.
const Layout* make_subarray(int ndims, const int64_t* sizes, const int64_t* subsizes, const int64_t* starts,
                            char order, const Layout* child);

const Layout* retain(const Layout* l);
void release(const Layout* l);

// ---- properties
uint64_t size(const Layout* l);  // packed bytes of one element
int64_t lower_bound(const Layout* l);
int64_t extent(const Layout* l);
int64_t true_lower_bound(const Layout* l);
int64_t true_extent(const Layout* l);
uint64_t run_count(const Layout* l);    // runs of one element after merging
uint64_t typical_run(const Layout* l);  // size / runs, at least 1 when size > 0: what the cost model looks at
uint64_t depth(const Layout* l);

// Packed bytes of the region.
inline uint64_t bytes(const Region& r) {
  return r.count * size(r.layout);
}

// What copying the region touches, about: from counts, sizes and extents only, so in O(1). Runs that happen
// to touch each other across elements count as several unless the whole region is dense; lines and pages as
// if the runs lay anywhere within the region's span.
struct Footprint {
  uint64_t bytes, runs;
  uint64_t lines;  // cache lines of 64 bytes
  uint64_t pages;  // of 4 KiB
};
Footprint footprint(const Region& r);

// True when the region's packed bytes are contiguous in memory and in order; *start is then the first of
// them.
bool is_dense(const Region& r, char** start);

// A step for cutting the region's packed bytes into parts: parts that begin at multiples of it keep blocks
// whole and move the rows of a transpose together that share cache lines (1.5 to 5 times faster, and no line
// written by two sides). At least 1; may exceed the region's bytes.
uint64_t grain(const Region& r);

// ---- moving bytes; `from` and `n` are in packed bytes, from + n <= bytes(region)
// ------------------------------------------------ Any partition of a range, in any order, by any number of
// threads, gives the same bytes (ranges of a destination must not overlap in memory, as MPI requires). Seek
// costs O(log runs) or better.
void pack(char* out, const Region& src, uint64_t from, uint64_t n);
void unpack(const Region& dst, uint64_t from, uint64_t n, const char* in);
void copy(const Region& dst, const Region& src, uint64_t from, uint64_t n);

// Calls visit(context, address, length) for each run of the range in packed order, stops when it returns
// false. Runs that touch in memory are merged.
void for_each_run(const Region& r, uint64_t from, uint64_t n,
                  bool (*visit)(void* context, char* address, uint64_t length), void* context);

// The same memory map: the same bytes in the same packed order, the same lower bound and extent, however the
// layouts were constructed. O(1) for shared nodes, O(description) for equal normal forms, O(runs) at worst.
bool equal(const Layout* a, const Layout* b);
// Equal layouts have equal hashes, in every task and run. O(log runs).
uint64_t hash(const Layout* l);

// A one-line description for humans, e.g. "vector 128 x 8 B stride 1024 B, extent 131072 B". Returns the
// length that the whole text needs (like snprintf).
size_t describe(const Layout* l, char* text, size_t capacity);

}  // namespace tasuki::layout
