// A memory barrier on every thread of the address space, hence of all tasks of a space, paid by the caller
// alone.
#pragma once

namespace tasuki::os {

// After it returns every thread of this address space has executed a full memory barrier. Registers on first
// use. Returns false where the kernel cannot do it (then only a bounded wait is safe).
bool memory_barrier_all_threads();

}  // namespace tasuki::os
