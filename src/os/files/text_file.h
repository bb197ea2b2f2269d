// Whole files of text, read and written at once. Errors say "PATH: cannot be read: REASON".
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tasuki::os {

Result<std::string> read_file(const std::string& path);

// The same of what may be missing, such as a file of /proc or /sys: "" if it cannot be read.
std::string file_or_empty(const std::string& path);
// Its first line without the newline; "" if it cannot be read.
std::string first_line(const std::string& path);

// Replaces what is there; a pipe or a device gets the text.
Status write_file(const std::string& path, std::string_view text);

// The same at one moment: whoever opens the file finds the old text or the new one, as a whole. Until then
// the new one is in PATH.new.
Status replace_file(const std::string& path, std::string_view text);
// Can replace_file write there? Leaves nothing behind.
Status can_replace(const std::string& path);

// The error of those who write a file in their own way.
Status cannot_write(const std::string& path, int error);

}  // namespace tasuki::os
