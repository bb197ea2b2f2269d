// Events of this thread, counted by the processor or the kernel (perf_event_open), while messages travel:
// figure 12 of the paper on derived datatypes counts cache misses.
#pragma once

#include <stddef.h>

// Names with blanks between: "l1d-misses llc-misses". Returns 0, or a text that says what is missing here.
const char* counters_open(const char* names);
void counters_begin(void);
void counters_end(void);
// Since counters_begin(), divided by `n`: "\tNAME=number" for each; "" if none is open.
void counter_fields(double n, char* text, size_t bytes);
