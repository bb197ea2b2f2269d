#pragma once

/* How often the profiler's wrappers of Init, Send, Irecv and Waitany have been called. */
void profiler_counts(int* inits, int* sends, int* irecvs, int* waits);
