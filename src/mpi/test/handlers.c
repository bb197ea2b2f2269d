/* A library with an exit handler and a destructor, which count themselves. */
#include <stdlib.h>

int handlers_run, destructors_run;

static void handler(void) {
  handlers_run++;
}

static __attribute__((constructor)) void begin(void) {
  atexit(handler);
}

static __attribute__((destructor)) void end(void) {
  destructors_run++;
}
