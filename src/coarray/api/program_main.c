/* The main that programs with coarrays begin with: linked with --wrap=main, it stands before the program's
 * own, whatever form that has, in whatever language. MPI runs from before main to the end of the last
 * coarray, whoever asks for it. */
#include <tasuki/compiler/local_view.h>

/* libtasukixmp looks for this name: without it the program's main would run before its coarrays have memory.
   */
extern const int tasuki_xmp_main_waits;
const int tasuki_xmp_main_waits = 1;

int __real_main(int argc, char** argv, char** environment);
int __wrap_main(int argc, char** argv, char** environment);
int __wrap_MPI_Init(int* argc, char*** argv);
int __wrap_MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int __wrap_MPI_Finalize(void);

int __wrap_main(int argc, char** argv, char** environment) {
  const int failed = tasuki_xmp_main_begin(&argc, &argv);
  return failed != 0 ? failed : __real_main(argc, argv, environment);
}

int __wrap_MPI_Init(int* argc, char*** argv) {
  (void)argc, (void)argv;
  return tasuki_xmp_mpi_init();
}

int __wrap_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  (void)argc, (void)argv, (void)required;
  return tasuki_xmp_mpi_init_thread(provided);
}

int __wrap_MPI_Finalize(void) {
  return tasuki_xmp_mpi_finalize();
}
