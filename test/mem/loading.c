/* Memory that is used while the loader holds its lock: the pager may not need it. Run plainly and under `tasuki mem`, with
 * the same output.
 *
 *   mem_loading LIBRARY    loads and unloads the library (loading_library.c) in main, and in a thread beside others */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY ((size_t)24 << 20)

static atomic_int stop;

/* Goes through more than fits, so that pages come and go all the time. */
static void* compute(void* argument) {
  unsigned long* at = argument;
  const size_t n = MEMORY / sizeof *at;
  for (size_t i = 0; i < n; i++) at[i] = i;
  for (unsigned long round = 0; !atomic_load(&stop) && round < 1000; round++)
    for (size_t i = 0; i < n && !atomic_load(&stop); i += 512) at[i] += 1;
  return NULL;
}

static void load(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
  if (dlsym(library, "no_such_function") != NULL) exit(1);
  dlclose(library);
}

static void* load_in_thread(void* path) {
  load(path);
  return NULL;
}

static void at_end(void) {
  char* at = malloc(MEMORY);
  memset(at, 1, MEMORY);
  printf("at exit %d\n", at[MEMORY - 1]);
  free(at);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  atexit(at_end);
  setenv("LOADING_WHAT", "", 1);
  load(argv[1]);
  setenv("LOADING_WHAT", "thread,fork,load", 1);
  load(argv[1]);
  unsigned long* numbers = malloc(MEMORY);
  pthread_t computing, loading;
  pthread_create(&computing, NULL, compute, numbers);
  pthread_create(&loading, NULL, load_in_thread, argv[1]);
  pthread_join(loading, NULL);
  atomic_store(&stop, 1);
  pthread_join(computing, NULL);
  for (size_t i = 1; i < MEMORY / sizeof *numbers; i += i % 512 == 511 ? 2 : 1)
    if (numbers[i] != i) return 3;
  printf("done\n");
  return 0;
}
