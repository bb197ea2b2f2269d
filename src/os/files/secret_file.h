// Files with a secret of this user: some random bytes that nobody else can read.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace tasuki::os {

// Errors: of open (ENOENT: there is none); EACCES: others can read it, or it is theirs; EINVAL: it
// has another length, or is no regular file.
Status read_secret(const std::string& file, void* to, size_t bytes);
// The same after making it, with its folder, where there is none. Of several that make it at a time all get
// the same.
Status make_secret(const std::string& file, void* to, size_t bytes);

}  // namespace tasuki::os
