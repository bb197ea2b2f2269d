#include "os/process/environment.h"

#include <unistd.h>

#include <cstring>

namespace tasuki::os {

std::vector<std::string> environment_of_self() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; entry++) all.emplace_back(*entry);
  return all;
}

char** environment_block() {
  return environ;
}

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = environment_of_self();
  for (const std::string& variable : variables) {
    const size_t end = variable.find('=');
    set_variable(&all, variable.substr(0, end), variable.substr(end + 1));
  }
  return all;
}

const char* variable(const std::vector<std::string>& environment, const char* name) {
  const size_t length = strlen(name);
  for (const std::string& entry : environment)
    if (entry.compare(0, length, name) == 0 && entry[length] == '=') return entry.c_str() + length + 1;
  return nullptr;
}

void set_variable(std::vector<std::string>* environment, const std::string& name, const std::string& value) {
  const std::string prefix = name + "=";
  for (std::string& entry : *environment) {
    if (entry.compare(0, prefix.size(), prefix) != 0) continue;
    entry = prefix + value;
    return;
  }
  environment->push_back(prefix + value);
}

}  // namespace tasuki::os
