/* Python's command, with the interpreter's library that the first argument names instead of code of its own.
 * It is linked with none, so that it fits every version that has Py_BytesMain (3.8). The library's names are
 * global, as an interpreter's are: extension modules are not linked with it.
 *
 *   python-main LIBRARY NAME [ARGUMENTS...]      NAME: argv[0] as the interpreter would find it
 *
 * Nothing here may differ from the interpreter before its first line: no variable, no descriptor is left. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: python-main LIBRARY NAME [ARGUMENTS...]\n");
    return 2;
  }
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  int (*run)(int, char**) = NULL;
  if (library != NULL) *(void**)&run = dlsym(library, "Py_BytesMain");
  if (run == NULL) {
    const char* const why = dlerror();
    fprintf(stderr, "tasuki: cannot load Python's library: %s (TASUKI=off runs %s itself)\n",
            why != NULL ? why : argv[1], argv[2]);
    return 127;
  }
  return run(argc - 2, argv + 2);
}
