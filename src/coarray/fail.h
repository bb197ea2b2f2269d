// Errors of the user's program: one message, and the whole job ends with exit code 1.
#pragma once

namespace tasuki::coarray {

// Where in the user's source; file nullptr: in a function of xmp.h, whose name stands in `what`.
struct Where {
  const char* file;
  int line;
};

[[noreturn]] [[gnu::format(printf, 2, 3)]] void fail(Where where, const char* format, ...);

}  // namespace tasuki::coarray
