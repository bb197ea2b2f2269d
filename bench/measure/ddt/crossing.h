// What the machine takes to bring what a message carries from one core to the other, without any message: the
// limit of one whose sender has just written it and whose receiver reads it next.
#pragma once

#include "row.h"

// What an application does to a halo between two exchanges, as far as the caches are concerned: it has
// written the lines that it sends and reads the lines that it received. Values stay as they are.
void write_sent_lines(const struct instance* in, char* arena);
void read_received_lines(const struct instance* in, const char* arena);
// The lines that are sent, where they are: what a receiver would do without a message.
void read_sent_lines(const struct instance* in, const char* arena);

// Half round trips in microseconds, medians, with the writing and reading.
struct crossing {
  double in_place;  // one thread writes the lines of the message, the other one reads them where they are
  double packed;    // the one writes them and packs them by hand, the other one reads the packed bytes
};

// By two threads, the caller's and one on `core`, each with an arena, for about `seconds`. The arenas keep
// their bytes. Returns 0, or -1 if there is no memory or no such core.
int measure_crossing(const struct instance* in, char* arenas[2], int core, double seconds,
                     struct crossing* result);
