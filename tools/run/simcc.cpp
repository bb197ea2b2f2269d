// `tasuki simcc`: the compiler, with what programs for the simulator need.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "os/process/command.h"
#include "os/process/executable.h"
#include "tools/command.h"
#include "tools/words.h"

namespace tasuki::tool {
namespace {

bool any_of(const std::vector<std::string>& arguments, std::initializer_list<const char*> wanted) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& a) {
    return std::find(wanted.begin(), wanted.end(), a) != wanted.end();
  });
}

bool has_cxx_source(const std::vector<std::string>& arguments) {
  for (const std::string& a : arguments)
    for (const char* ending : {".cpp", ".cc", ".cxx", ".C", ".c++"})
      if (a.size() > strlen(ending) && a[0] != '-' && a.ends_with(ending)) return true;
  return false;
}

// A variable such as CC may hold options as well: "gcc -m64".
std::vector<std::string> words(const char* variable, const char* otherwise) {
  const char* value = getenv(variable);
  std::string text = value != nullptr && *value != 0 ? value : otherwise;
  std::vector<std::string> result;
  for (size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string::npos;) {
    const size_t end = std::min(text.find(' ', at), text.size());
    result.push_back(text.substr(at, end - at));
    at = end;
  }
  return result;
}

int compile(std::vector<std::string> arguments, bool cxx) {
  cxx = cxx || has_cxx_source(arguments);
  std::vector<std::string> command = cxx ? words("CXX", "c++") : words("CC", "cc");
  const bool library = any_of(arguments, {"-shared"});
  const bool links =
      !any_of(arguments, {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--version", "-dumpmachine", "-v"});
  // Each rank gets a copy of the program at an address of its own.
  if (!any_of(arguments, {"-fPIC", "-fpic"})) command.push_back(library ? "-fPIC" : "-fPIE");
  command.push_back("-I" + os::own_prefix() + "/include/tasuki/simmpi");
  command.push_back("-I" + os::own_prefix() + "/include");
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (links) {
    if (!library) command.push_back("-pie");
    command.push_back("-L" + os::own_prefix() + "/lib/tasuki/simmpi");
    command.push_back("-lmpi_abi");
  }
  os::become(command);
  fprintf(stderr, "tasuki simcc: %s: %s (CC and CXX name the compilers)\n", command[0].c_str(),
          strerror(errno));
  return 127;
}

}  // namespace

void add_simcc(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("simcc",
                                     "Compile an MPI program for the simulator. The program also runs on any "
                                     "MPI library with the standard ABI.");
  cmd->prefix_command();
  auto cxx = std::make_shared<bool>(false);
  cmd->add_flag("--cxx", *cxx, "Use the C++ compiler (the default if a source is C++)");
  cmd->callback([cmd, cxx, exit_code] {
    std::vector<std::string> arguments = words_after_options(*cmd);
    if (arguments.empty()) {
      fprintf(stderr, "tasuki simcc: compile what? (tasuki simcc prog.c -o prog)\n");
      *exit_code = 2;
      return;
    }
    *exit_code = compile(std::move(arguments), *cxx);
  });
}

}  // namespace tasuki::tool
