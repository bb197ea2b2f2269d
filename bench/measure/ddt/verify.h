// Verification: every 4-byte word of an arena holds a value computed from its place, its rank and a seed, so
// that after a message each word can be told: received data must be the sender's, all else must be untouched.
#pragma once

#include "row.h"

struct fill {
  uint32_t base_seed;  // outside the windows, set once when the row is opened
  uint32_t seed;       // inside, fresh in every round
};

// Fills the whole arena, or its windows only.
void fill_arena(const struct instance* in, char* arena, int rank, struct fill f, int whole);

// Overwrites what a message will bring, so that a message that never came is noticed.
void poison_receive(const struct instance* in, char* arena);

// Checks the arena of `rank` after a message from the other rank (see in_place in row.h: there the data is
// always rank 0's). Leaves the arena as fill_arena() had made it. Returns 1 when every byte is right; else 0
// and says in `text` what was found.
int check_arena(const struct instance* in, char* arena, int rank, struct fill f, int whole, char* text,
                size_t text_bytes);
