// The break of an address space that several programs share: each libc believes that it alone moves it. One
// that moves it up would take what another one has taken; one that moves it down takes memory from all that
// have some there.
#pragma once

namespace tasuki::os {

// stays: as on a kernel without CONFIG_CHECKPOINT_RESTORE.
enum class HeapStart { moves, stays };

// The break moves no more, whoever asks. Up: sbrk fails with ENOMEM, and every libc takes memory from mmap
// instead. Down: the kernel leaves it where it is, which programs take for memory that could not be given
// back.
bool stop_the_break(HeapStart heap);

}  // namespace tasuki::os
