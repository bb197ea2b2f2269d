// What the preload library of `tasuki mem` and the Python package use of libdlmmpi, besides dlm.h and
// pinning.h.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// As dlm_shutdown, while the process ends: cluster memory stays where it is for threads that run until the
// very end, but what is away does not come any more. A second call does nothing.
void tasuki_dlm_stop(void);

// 1: the kernel cannot serve page faults here, so that system calls on cluster memory need the wrappers.
int tasuki_dlm_needs_wrappers(void);

// Bytes of local memory that the program has now beside the pages of cluster memory; 0: there is no pager.
// Not exported: for the preload library only, which has it inside.
unsigned long tasuki_dlm_beside(void);

#ifdef __cplusplus
}
#endif
