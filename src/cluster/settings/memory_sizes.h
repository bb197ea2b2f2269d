// What the file of memory sizes (--memfile) says: how many bytes each rank gives. `tasuki mem` reads the file
// and hands over what it says in the environment, so that what is preloaded into programs reads no files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tasuki::cluster {

struct MemorySizes {
  std::string file;
  int lines = 0;  // of the file
  std::vector<uint64_t> bytes;
};

// The first `ranks` of them; it is an error if there are fewer. More are a warning.
Result<std::vector<uint64_t>> sizes_of_ranks(const MemorySizes& sizes, int ranks);

// Only set by `tasuki mem`, which hides it from the program.
inline constexpr const char* kSizesVariable = "TASUKI_MEM_SIZES";
// How many processes of a job borrow from the same lenders, as `tasuki mem` tells its library.
inline constexpr const char* kPartsVariable = "TASUKI_MEM_PARTS";
std::string handed_over(const MemorySizes& sizes);
// What handed_over() wrote in `text` (nullptr: nothing) of this file. An error if that is another
// file, or none.
Result<MemorySizes> taken_over(const char* text, const std::string& file);

// errno's, for a file of sizes.
Status cannot_read_sizes(const std::string& file);

}  // namespace tasuki::cluster
