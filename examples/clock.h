/* What the programs of himeno/, cg/, fft2d/ and wavefront/ measure: the time of an iteration in its parts; and
 * how they tell it, to people and, as the last line, to programs. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdio.h>
#include <string.h>
#include <time.h>

static struct { double at, compute, communication, reduction; } clock_;

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void start_clock(void) {
  memset(&clock_, 0, sizeof clock_);
  clock_.at = now();
}
/* What has passed since the last call goes to one of the three. */
static inline void spent(double* what) {
  const double at = now();
  *what += at - clock_.at, clock_.at = at;
}
static inline double seconds_per_iteration(int iterations) {
  return (clock_.compute + clock_.communication + clock_.reduction) / iterations;
}

static inline void print_times(int iterations) {
  printf("  iterations            %d\n", iterations);
  printf("  time per iteration    %.6f s: compute %.6f, communication %.6f, reduction %.6f\n",
         seconds_per_iteration(iterations), clock_.compute / iterations, clock_.communication / iterations,
         clock_.reduction / iterations);
}

/* The last line, JSON; the program's exit code. */
static inline int print_result(const char* program, const char* version, const char* size, int processes,
                               int iterations, double performance, int verified) {
  printf("{\"program\": \"%s\", \"version\": \"%s\", \"size\": \"%s\", \"processes\": %d, ", program, version,
         size, processes);
  printf("\"seconds_per_iteration\": %.9f, \"compute\": %.9f, \"communication\": %.9f, \"reduction\": %.9f, ",
         seconds_per_iteration(iterations), clock_.compute / iterations, clock_.communication / iterations,
         clock_.reduction / iterations);
  printf("\"performance\": %.1f, \"verified\": %s}\n", performance, verified ? "true" : "false");
  return verified ? 0 : 1;
}
#endif
