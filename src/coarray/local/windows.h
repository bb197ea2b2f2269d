// windows: what MPI libraries need so that they have windows between hosts, and end afterwards.
#pragma once

namespace tasuki::coarray {

// Before MPI_Init. Debian's Open MPI 4.1 switches off the component that makes windows of messages, so that
// hosts connected by TCP have none at all; this switches it on again, in jobs of several hosts and if nothing
// in the environment says otherwise. It is the last choice of that library, after all that use the network's
// own remote access.
void permit_windows();

// After MPI has refused a window: fails with a message, unless it may have been for want of memory.
void explain_no_window(int rc);

// Between the last other call and MPI_Finalize in jobs of several hosts: MPICH before 4.2 hangs there every
// other time if one process still progresses when another begins to close its connections (docs/tasks.md),
// and never in 40 runs if all have slept.
void sleep_before_finalize();

}  // namespace tasuki::coarray
