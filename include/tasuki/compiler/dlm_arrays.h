/* What tasukicc emits calls of: how the arrays of `dlm double a[N];` get their memory. Programs use dlm.h.
 *
 * tasukicc makes each dlm array a pointer to an array, and leaves a record of it in the section tasuki_dlm
 * (pointers to records, so that the section is dense). A constructor in each object registers the section of
 * its program or library; between that and main, tasuki_dlm_main_begin gives all arrays their memory. Arrays
 * of a library that is loaded later get it when they are registered.
 *
 * A record can grow, because it says its size. New members are appended; a record without them is as one
 * with 0 in them, and the library does then what it did before. libdlmmpi takes a larger record, and reads
 * and writes the members that it knows. It refuses a record that is smaller than those of the first version,
 * or whose size no version has: the program ends with a message and exit code 1.
 */
#ifndef TASUKI_COMPILER_DLM_ARRAYS_H
#define TASUKI_COMPILER_DLM_ARRAYS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tasuki_dlm_array {
  size_t struct_size; /* sizeof(struct tasuki_dlm_array) */
  void* pointer;      /* the address of the pointer to set: T (**)[N]. NULL: only `compute` */
  size_t bytes;       /* of the array; records with the same pointer are one array, the largest counts */
  size_t alignment;   /* a power of two */
  const void* image;  /* what the array begins with, the rest is zero. NULL: nothing */
  size_t image_bytes; /* at most `bytes` */
  void (*compute)(
      void);        /* stores initial values that hold addresses of dlm arrays; called when all have memory.
                             NULL: nothing */
  const char* name; /* for messages: the array, and where its declaration is */
  const char* file;
  size_t line;
  void* state[2]; /* the library's; zero at first */
};

/* Registers the records that [begin, end) points to; NULL pointers and records that are known already are
 * passed over. Before dlm_startup they wait for tasuki_dlm_main_begin; afterwards they get their memory at
 * once. Ends the program with a message and exit code 1 if that cannot be had, or if the program was not
 * linked by tasukicc, so that nobody would call tasuki_dlm_main_begin. Any thread may call it. */
void tasuki_dlm_register(struct tasuki_dlm_array* const* begin, struct tasuki_dlm_array* const* end);

/* Called once, before main: dlm_startup, and memory for all registered arrays. Does nothing if none are
 * registered. 0, or the exit code that main is to return; the message is out then. */
int tasuki_dlm_main_begin(int* argc, char*** argv);

#ifdef __cplusplus
}
#endif
#endif
