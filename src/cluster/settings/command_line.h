// The settings of a program with cluster memory from everywhere that a user may give them: behind the last
// "--" of its command line, in the environment (TASUKI_DLM_...), in a TOML file (--config); the first place
// that gives a setting counts. In libdlmmpi and in the command `tasuki mem`; the library that `tasuki mem`
// preloads reads the environment only.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/settings/options.h"

namespace tasuki::cluster {

// `arguments`: what stands behind the last "--". `ranks`: as for make_options().
Result<Options> read_options(const std::vector<std::string>& arguments, int ranks);

// A line is a number of MiB as in the paper, or a size with its unit; '#' begins a comment.
Result<MemorySizes> read_memory_sizes(const std::string& path);

// Adds what a TOML file gives and `values` has not yet.
Status add_file(const std::string& path, Values* values);

}  // namespace tasuki::cluster
