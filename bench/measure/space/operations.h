// What a program asks of the kernel: one operation at a time, with a check of what it has done.
#pragma once

#include <stddef.h>

enum outcome { kDone, kRefused, kWrong };

// -1: no such operation.
int find_operation(const char* name);
// Once, on memory of `bytes` bytes. The time of the operation alone, in seconds, is added to `seconds`; what
// is prepared before it and looked at after it does not count. On kRefused and kWrong `text` says why.
enum outcome run_operation(int operation, size_t bytes, double* seconds, char* text, size_t room);

// The ranks tell each other where the memory is that their neighbours read; all ranks together, once.
void meet_neighbours(void);
// Whether this rank finds the memory of its neighbour in its own address space.
int shares_with_neighbour(void);
