// The rows of the derived-datatype benchmark: which bytes an application exchanges, how it tells MPI, and how
// it would copy them by hand. The patterns are those of DDTBench (Schneider, Gerstenberger, Hoefler:
// Micro-Applications for Communication Data Access Patterns and MPI Datatypes, EuroMPI 2012); sizes are the
// ones of the applications.
//
//   pattern   one communication of one application, e.g. the x face of NAS MG
//   row       a pattern at one problem size
//   arena     the memory of all arrays of a row on one rank; the arrays keep a guard between each other
//   element   the innermost basic type (4 or 8 bytes); a message is `elements` of them in packed order
//
// Each pattern says the same thing three times, independently: as MPI datatypes, as a map of elements (which
// element of the sender's arena goes to which one of the receiver's), and as the loops that an application
// would write. Verification holds them against each other.
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { kMaxArrays = 10, kMaxDims = 8 };

struct instance;

struct pattern {
  const char* name;
  const char* description;
  size_t element;  // bytes of an element
  // Fills in `at`, `arena_bytes`, `elements` and the index lists. No memory of the arena exists yet.
  void (*layout)(struct instance*);
  // Builds and commits `send` and `receive`.
  void (*types)(struct instance*);
  // Calls map_element() for each element of a message, in packed order.
  void (*map)(struct instance*);
  // What a hand-written exchange between two arenas of one process would do.
  void (*direct)(const struct instance*, char* to_arena, const char* from_arena);
};

struct row {
  const struct pattern* pattern;
  int n[kMaxDims];  // sizes, as the pattern's layout function explains them
};

extern const struct row kRows[];
extern const int kRowCount;
extern const struct row kContiguousRows[];
extern const int kContiguousRowCount;

extern const struct pattern kWrfXVec, kWrfYVec, kWrfXSa, kWrfYSa, kMilc, kLuX, kLuY, kMgX, kMgY, kMgZ;
extern const struct pattern kFft2, kSpecfemMt, kSpecfemOc, kSpecfemCm, kLammpsFull, kLammpsAtomic;
extern const struct pattern kContiguous;

struct message_end {  // arguments of MPI_Send and MPI_Recv
  void* buffer;
  int count;
  MPI_Datatype type;
};

struct window {  // a range of arena bytes, [begin, end)
  size_t begin, end;
};

// A row that is ready to be exchanged, on one rank.
struct instance {
  const struct row* row;
  const struct pattern* pattern;
  const int* n;
  char* arena;
  size_t arena_bytes;
  size_t at[kMaxArrays];  // where each array begins in the arena
  struct message_end send, receive;
  size_t elements;
  // The map: element k comes from element from[k] of the sender's arena and goes to element to[k] of the
  // receiver's, both in units of the element's size.
  uint32_t *from, *to;
  size_t mapped;
  int in_place;  // from and to are the same list: a rank sends back what it received
  int* list[2];  // index lists of the unstructured patterns
  // The cache lines that one message reads and writes, as arena offsets.
  size_t *from_lines, *to_lines;
  size_t from_line_count, to_line_count;
  // The windows around the data: they are refilled and checked in every timed round; the whole arena is at
  // the beginning and at the end of a row.
  struct window* windows;
  size_t window_count;
};

// Reserves the next array of `bytes` in the arena, returns its offset. For layout functions.
size_t place_array(struct instance* in, size_t bytes);
void map_element(struct instance* in, size_t from_byte, size_t to_byte);
// `count` distinct numbers below `limit` in random order; the same ones in every process and run.
int* random_list(int count, int limit, uint64_t seed);
void* checked_malloc(size_t bytes);

// Message size in bytes and arena size, without building anything.
void row_size(const struct row* r, size_t* message_bytes, size_t* arena_bytes);

// Returns 0, or -1 when there is no memory for the arena.
int instance_open(struct instance* in, const struct row* r);
void instance_close(struct instance* in);
// Memory for a second arena of the same shape, nullptr when there is none; for free().
char* new_arena(const struct instance* in);
