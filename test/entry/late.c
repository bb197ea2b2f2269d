/* A program without MPI that loads a module which has it, privately, as Python does with mpi4py: argv[1] is
 * the module. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* module = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!module) {
    fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: late MODULE");
    return 2;
  }
  int (*run)(void);
  *(void**)&run = dlsym(module, "run");
  return run ? run() : 3;
}
