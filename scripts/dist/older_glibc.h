// Included first in a build for an older glibc (scripts/dist/build.sh). That build sees the headers and
// libraries of glibc 2.31; this file asks for what 2.28 has, too.
#ifndef TASUKI_OLDER_GLIBC_H
#define TASUKI_OLDER_GLIBC_H

// 2.29 has newer versions of these, which set errno without a detour. The results are the same.
__asm__(".symver pow, pow@GLIBC_2.2.5");
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver exp2, exp2@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
__asm__(".symver log2, log2@GLIBC_2.2.5");

// Numbers of the kernel's interface that the headers of glibc 2.31 do not have yet.
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#define MADV_POPULATE_WRITE 23
#define MREMAP_DONTUNMAP 4
#define SYS_close_range __NR_close_range
#define SYS_process_madvise __NR_process_madvise

#ifdef __cplusplus
// The compiler's library was made for a glibc with pthread_cond_clockwait (2.30) and its relatives. Without
// the macros it waits in another way.
#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
#endif

#endif
