// Where programs are: this one, and others by their names.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace tasuki::os {

// The file that this process executes, without links; "" if the kernel does not say.
std::string own_executable();
// The same of another process; "" if it is not ours to see.
std::string executable_of(pid_t pid);
// PREFIX of PREFIX/bin/program; "" where the path has no folder above that of the program.
std::string prefix_of(const std::string& program);
// The folder that holds bin/, include/tasuki/, lib/tasuki/ and libexec/tasuki/, the build tree or the
// installation, for a program in bin/ or libexec/tasuki/; "..": not known.
std::string own_prefix();

// 0: this file can be executed; else the reason as an errno.
int why_not_executable(const std::string& path);

// The folders of a list as PATH is one, in its order; an empty entry is ".". nullptr: those of execvp.
std::vector<std::string> search_folders(const char* list);

// The file that execvp would start. A name with a slash is itself. EACCES: what has the name cannot be
// executed; ENOENT: nothing has it.
Result<std::string> find_in_path(const std::string& name, const char* list);

}  // namespace tasuki::os
