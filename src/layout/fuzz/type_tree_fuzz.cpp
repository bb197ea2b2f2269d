// libFuzzer: the input encodes two type trees, ranges and data; any difference from the byte map is a crash.
//   type_tree_fuzz -max_len=512 -max_total_time=60
#include <cstdio>
#include <cstdlib>

#include "layout/test/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t n) {
  using namespace tasuki::layout::testing;
  Choices choices(data, n);
  const std::string wrong = check_case(choices, 2000, false);
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
