/* The main that programs with dlm arrays begin with: linked with --wrap=main, it stands before the program's
 * own, whatever form that has, in whatever language. */
#include <tasuki/compiler/dlm_arrays.h>

/* libdlmmpi looks for this name: without it the program's main would run before its arrays have memory. */
const int tasuki_dlm_main_waits = 1;

int __real_main(int argc, char** argv, char** environment);
int __wrap_main(int argc, char** argv, char** environment);

int __wrap_main(int argc, char** argv, char** environment) {
  const int failed = tasuki_dlm_main_begin(&argc, &argv);
  return failed != 0 ? failed : __real_main(argc, argv, environment);
}
