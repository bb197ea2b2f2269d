// What every program of the tasuki command has: the command line, read by CLI11, and the programs that the
// command consists of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/command.h"

namespace tasuki::tool {

// The words of main(), where `tasuki help run` is `tasuki run --help`.
std::vector<std::string> words_of(int argc, char** argv);

// What --version says: the version in the first line, then how it was built and for which MPI.
std::string version_text();

// The words that this process was started with, and as one line to be typed again.
std::vector<std::string> own_words();
std::string command_line();

using AddCommand = void (*)(CLI::App& app, int* exit_code);

// The whole of a program: reads the command line (words_of) and carries it out; the exit code. `commands` are
// those that stand in this program, in the order of --help.
int carry_out(const std::vector<std::string>& argv, std::span<const AddCommand> commands);

// A subcommand that is a program of its own in libexec/tasuki, as git has it: `tasuki run`, which every rank
// starts, does not load the simulator.
struct Part {
  const char *command, *program, *about;
};
inline constexpr Part kParts[] = {
    {"bench", "tasuki-bench", kAboutBench},
    {"sim", "tasuki-sim", kAboutSim},
    {"tune", "tasuki-bench", kAboutTune},
};

// The part that `words`, the command line without its first word, are for; nullptr: this program itself.
const Part* part_of(const std::vector<std::string>& words);
// This process becomes the part. Returns only if that fails: the exit code; what to do has been said.
int become_part(const Part& part, const std::vector<std::string>& argv);
// The file of a part.
std::string path_of(const Part& part);
// For --help and for what is not known: the names of the commands that are parts.
void add_part(CLI::App& app, const Part& part);

}  // namespace tasuki::tool
