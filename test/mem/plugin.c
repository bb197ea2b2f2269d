/* A plug-in of hwloc that is none: hwloc loads it while the MPI library starts, and closes it at once. What it
 * has registered for its end (as LLVM does, which comes with OpenCL) must have run by then, not when the
 * program ends. */
#include <stdlib.h>

static void ended(void) {}

__attribute__((constructor)) static void loaded(void) {
  atexit(ended);
}
