// A memory barrier on every thread of the address space, hence of all tasks of a space, paid by the caller
// alone.
#pragma once

namespace tasuki::os {

// After it returns every thread of this address space has executed a full memory barrier. Registers on first
// use. Returns false where the kernel cannot do it (then only a bounded wait is safe).
bool memory_barrier_all_threads();

// The same for the threads of every process that has called take_part_in_barriers().
bool memory_barrier_all_processes();
bool take_part_in_barriers();

}  // namespace tasuki::os
