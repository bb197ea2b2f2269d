// What the preload library of `tasuki mem` and the wrappers of libc and MPI calls use of libdlmmpi, besides dlm.h.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// As dlm_startup, for a program that knows nothing of cluster memory and has no arguments for it: settings come
// from the environment.
void tasuki_dlm_start(void);
// Between start and shutdown, in the process that started?
int tasuki_dlm_running(void);
// Is the calling thread the pager's own (or one of MPI's in it)? Its memory must never be cluster memory.
int tasuki_dlm_inside(void);
// Of the allocation that begins at p; 0: none does.
size_t tasuki_dlm_size_of(const void* p);
// Pager::touches, needs_pin, pin, unpin (pager/pager.h); 0 and nothing when not running.
int tasuki_dlm_touches(const void* p, size_t bytes);
int tasuki_dlm_needs_pin(void);
size_t tasuki_dlm_pin(const void* p, size_t bytes, int write);
void tasuki_dlm_unpin(const void* p, size_t bytes);

#ifdef __cplusplus
}
#endif
