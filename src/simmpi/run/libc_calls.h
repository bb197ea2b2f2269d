// What belongs to a process and therefore to a rank: the start of main(), exit, environment, clocks, random
// numbers...
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tasuki::simmpi {

class Rank;

// Body of a rank's first task: constructors, main(), destructors.
void run_main(Rank* rank);

// The rank's own function for a name of the C library; nullptr: the library's will do.
void* process_function(std::string_view name);

}  // namespace tasuki::simmpi
