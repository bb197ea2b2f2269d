// What every measured program does: a rank takes commands from one named pipe and answers through another
// (see driver/job.h), and takes times.
#pragma once

#include <stddef.h>
#include <stdio.h>

extern int g_rank, g_ranks;
extern FILE*
    g_answer;  // one line a command: "ok", "wrong" or "error", then tab-separated fields; lines "progress" before it

// Runs the program: MPI from Init to Finalize, `obey` for each command until it returns 0, `end` at the end.
int serve(int argc, char** argv, int most_ranks, int (*obey)(char* line), void (*end)(void));
void answer(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Tells the driver, at most every few seconds, that this rank gets on: what takes a moment on a quiet machine
// may take minutes beside other programs.
void report_progress(void);
// In a loop of repetitions that are timed together: 25 ns for 64 of them.
static inline void repeated(long repetition) {
  if (repetition % 64 == 63) report_progress();
}

double now(void);                                   // seconds
int compare_doubles(const void* a, const void* b);  // for qsort
double quantile(const double* sorted, int n, double q);
// The fields "median", "low", "high", "minimum" of `n` samples in microseconds, which it sorts.
void time_fields(double* samples, int n, char* text, size_t bytes);
void answer_times(double* samples, int n);
// The median time of `copy` in microseconds, measured in blocks for about `budget` seconds.
double time_copy(void (*copy)(char* to, const char* from), char* to, const char* from, double budget);
// Bytes that can be had without swapping; SIZE_MAX if the kernel does not say.
size_t available_memory(void);
