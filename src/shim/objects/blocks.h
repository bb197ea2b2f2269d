// Memory for the packed bytes of messages, kept for the next one: to have the pages of fresh memory mapped
// costs more than to pack into it.
#pragma once

#include <cstdint>

namespace tasuki::shim {

// Aligned to a cache line; nullptr: no memory, or too much of it in use.
char* take_block(uint64_t bytes);
// The same however much is in use: for an operation that other ranks count on.
char* take_needed_block(uint64_t bytes);
void give_block(char* packed);

}  // namespace tasuki::shim
