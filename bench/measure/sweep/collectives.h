// Collective operations on buffers of one piece for each rank. A piece has the shape that the driver chose.
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { kMargin = 64, kGap = 0xa5 };  // of every buffer: bytes on either side, and what is in them

// What one piece is; `span` bytes with gaps, `block * count` of data.
struct shape {
  MPI_Datatype type;
  size_t block, count, stride, span;
};

// -1: no such operation.
int find_collective(const char* name);
// Makes buffers for the shape when they are first needed; 0: no memory.
int need_pieces(const struct shape* shape);
void drop_pieces(void);
void run_collective(int operation);
// All ranks have ended it when one has: it is a barrier, or has one.
int ends_for_all(int operation);
// With data of its own for each seed; 0 and a text if a byte is wrong.
int verify_collective(int operation, uint64_t seed, char* text, size_t room);

uint64_t mix(uint64_t z);
int is_gap(const char* p, size_t n);
char* new_buffer(size_t bytes);
