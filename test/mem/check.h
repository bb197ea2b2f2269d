/* For programs whose output is compared: what must hold, and where it did not. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      printf("line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
      fflush(stdout);                                                  \
      abort();                                                         \
    }                                                                  \
  } while (0)
