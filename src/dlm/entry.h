// What the preload library of `tasuki mem` uses of libdlmmpi, besides dlm.h and pinning.h.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// As dlm_shutdown, while the process ends: cluster memory stays where it is for threads that run until the very end, but
// what is away does not come any more. A second call does nothing.
void tasuki_dlm_stop(void);

#ifdef __cplusplus
}
#endif
