// coarray-<mpi>: a section of a three-dimensional array of double goes from rank 0 to rank 1 and back, by
// messages, by MPI's windows or by coarrays; see main.c.
#pragma once

#include <stddef.h>

enum { kGap = 0xa5, kMargin = 8 };  // doubles on either side of an array
enum way { kMessages, kWindow, kCoarrays };

// The array is double[extent[0]][extent[1]][extent[2]]; of dimension i the section has `length[i]` elements
// from `lower[i]` on.
struct section {
  size_t extent[3], lower[3], length[3];
};
extern struct section g_section;
size_t array_elements(void);    // of the array
size_t section_elements(void);  // of the section
int is_dense(void);             // the section is one piece of memory

// Of this rank: what rank 0 sends from, and what is received into; without margins.
extern double *g_source, *g_target;
// Dense buffers for packed transfers.
extern double *g_packed_out, *g_packed_in;
extern size_t g_room;  // elements that each of the four has

// The section to dense memory and back, as one would write it by hand.
void pack(double* dense, const double* array);
void unpack(double* array, const double* dense);

// Memory of a way: `elements` doubles, reachable for the other rank by that way; NULL if there is none.
// Collective.
double* window_memory(size_t elements);
void window_end(void);
double* coarray_memory(size_t elements);
void coarray_end(void);

// Waits for the other rank; afterwards each sees what the other has stored before.
void message_meet(void);
void window_meet(void);
void coarray_meet(void);

// Round trips of both ranks. The one whose data has arrived is told so and sends it back, from its target.
void send_round(void);
void send_packed_round(void);
void window_put_round(void);
void window_get_round(void);
void window_put_packed_round(void);
void coarray_put_round(void);
void coarray_get_round(void);
// By rank 0 alone: one transfer, until it is complete at the target.
void window_put_alone(void);
void window_get_alone(void);
void coarray_put_alone(void);
void coarray_get_alone(void);
