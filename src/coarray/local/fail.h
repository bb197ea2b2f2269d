// Errors of the user's program: one message, and the whole job ends with exit code 1.
#pragma once

namespace tasuki::coarray {

// Where in the user's source; file nullptr: in a function of xmp.h, whose name stands in `what`.
struct Where {
  const char* file;
  int line;
};

// Is this process on its way out by fail()? MPI_Abort of MPICH calls exit(), and what exit() calls must not
// wait for others then.
bool has_failed();

[[noreturn]] [[gnu::format(printf, 2, 3)]] void fail(Where where, const char* format, ...);

}  // namespace tasuki::coarray
