/* A library as numpy's OpenBLAS: its constructor maps memory and uses it, while the loader holds its lock. By
 * LOADING_WHAT it also starts a thread, forks, or loads a library itself. (By a variable: a constructor has no arguments.) */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY ((size_t)32 << 20)

static unsigned char* mapped;

static unsigned long fill(unsigned char* at, int seed) {
  unsigned long sum = 0;
  for (size_t i = 0; i < MEMORY; i += 1024) at[i] = (unsigned char)(i / 1024 + (size_t)seed);
  for (size_t i = 0; i < MEMORY; i += 1024) sum = sum * 31 + at[i];
  return sum;
}

static void* in_thread(void* sum) {
  unsigned char* at = malloc(MEMORY);
  *(unsigned long*)sum = fill(at, 2);
  free(at);
  return NULL;
}

static int does(const char* what) {
  const char* list = getenv("LOADING_WHAT");
  return list != NULL && strstr(list, what) != NULL;
}

__attribute__((constructor)) static void loaded(void) {
  mapped = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) abort();
  unsigned long sum = fill(mapped, 1), more = 0;
  if (does("thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, &more);
    fill(mapped, 3);
    pthread_join(thread, NULL);
  }
  int status = 0;
  if (does("fork")) {
    pid_t child = fork();
    if (child == 0) {
      unsigned char* at = malloc(MEMORY); /* local: cluster memory is the parent's */
      _exit(fill(at, 1) == sum ? 7 : 1);
    }
    waitpid(child, &status, 0);
  }
  if (does("load")) dlclose(dlopen("libutil.so.1", RTLD_NOW));
  printf("constructor %lx %lx %x\n", sum, more, (unsigned)status);
  fflush(stdout); /* a shell that exec replaces would lose it, or not */
}

__attribute__((destructor)) static void unloaded(void) {
  unsigned char* at = calloc(1, MEMORY);
  const unsigned long sum = fill(at, 4);
  free(at);
  printf("destructor %lx %lx\n", sum, fill(mapped, 5));
  munmap(mapped, MEMORY);
  fflush(stdout);
}
