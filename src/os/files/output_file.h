// Files that a command writes when its work is done: whether they can be written is found out before it
// begins.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tasuki::os {

// Can `path` be written? What it has stays, and nothing is left where there was nothing. `option` is what
// named it, for the message: "--json". An empty path is none, and ok.
Status check_output(std::string_view option, const std::string& path);

// Replaces what `path` has.
Status write_output(std::string_view option, const std::string& path, std::string_view text);

}  // namespace tasuki::os
