// Programs that a measured program starts.
#pragma once

// Runs words[0] to its end; `words` ends with NULL as argv does. Its status as waitpid gives it, or -1: it
// cannot be run, which is said on stderr. `output`, if not NULL, gets what the program writes, with a 0 at
// the end, for the caller to free; NULL if the status is not 0.
int run_words(char* const* words, char** output);
