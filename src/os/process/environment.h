// Environments of programs: lists of "NAME=value".
#pragma once

#include <string>
#include <vector>

namespace tasuki::os {

std::vector<std::string> environment_of_self();
char** environment_block();  // the same as libc has it, ended by nullptr; valid until a variable changes
// That of this process with these variables, "NAME=value", in addition or instead.
std::vector<std::string> environment_with(const std::vector<std::string>& variables);

// Value of a variable in such a list, nullptr if unset.
const char* variable(const std::vector<std::string>& environment, const char* name);
void set_variable(std::vector<std::string>* environment, const std::string& name, const std::string& value);

}  // namespace tasuki::os
