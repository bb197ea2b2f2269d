/* The ranks of `tasuki mem` that lend memory, without any program of the user's; and rank 0 when it has none
 * either: the servers then end at once, and the job with the exit code that is given. */
#include <stdlib.h>
#include <tasuki/dlm.h>

int main(int argc, char** argv) {
  dlm_startup(0, 0); /* a memory server ends in there */
  dlm_shutdown();
  return argc > 1 ? atoi(argv[1]) : 0;
}
