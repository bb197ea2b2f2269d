// Questions about files that people name.
#pragma once

#include <string>
#include <vector>

namespace tasuki::os {

// May this process read it? If not, the reason is in errno. Whether it may be executed:
// os/process/executable.h.
bool can_read(const std::string& path);

// What matches a pattern of the shell (* ? [...]), in alphabetic order.
std::vector<std::string> paths_like(const std::string& pattern);

}  // namespace tasuki::os
