// Transfers that go on behind the call that began them.
#pragma once

namespace tasuki::cluster {

// The system calls of Linux' asynchronous I/O, with their numbers, as syscall() makes them.
long asynchronous(long number, long a, long b, long c, long d, long e, long f);

}  // namespace tasuki::cluster
