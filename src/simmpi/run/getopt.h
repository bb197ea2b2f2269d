// getopt for ranks. The C library's keeps its place in variables of its own, of which there is one for all
// ranks; this one keeps it in the rank's, and gives results in the program's own optarg, optind, opterr and
// optopt.
#pragma once

struct option;

namespace tasuki::simmpi {

int sim_getopt(int argc, char* const argv[], const char* options);
int sim_getopt_long(int argc, char* const argv[], const char* options, const option* longs, int* index);
int sim_getopt_long_only(int argc, char* const argv[], const char* options, const option* longs, int* index);

}  // namespace tasuki::simmpi
