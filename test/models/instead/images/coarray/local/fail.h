// Stands for src/coarray/local/fail.h.
#pragma once

namespace tasuki::coarray {

struct Where {
  const char* file;
  int line;
};
[[noreturn]] void fail(Where where, const char* format, ...);

}  // namespace tasuki::coarray
