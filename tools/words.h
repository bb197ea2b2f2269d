// The words of the command line that CLI11 does not understand, and the variables that nobody reads: named,
// with what was probably meant.
#pragma once

#include <string>
#include <vector>

#include "tools/command.h"

namespace tasuki::tool {

// Stands first in a `tasuki run` that another one has put behind a wrapper: what concerns the job has been
// said.
inline constexpr const char* kBehindWrapper = "--behind-wrapper";

// The words to be read by CLI11: "--" before a program, or among its arguments, is left to take_program.
std::vector<std::string> mark_end_of_options(const CLI::App& app, std::vector<std::string> words);

// What follows a subcommand's own options, without a "--" before it.
std::vector<std::string> words_after_options(const CLI::App& cmd);

// Before CLI11 looks, which would speak of the arguments as a whole. False: a command among them is unknown,
// and has been named.
bool knows_words(const CLI::App& app, const std::vector<std::string>& words);

// After it has complained: which of the options are slips.
void name_slips(const CLI::App& app, const std::vector<std::string>& words);

// Variables of the environment that nobody reads, once per job.
void look_at_settings(const std::vector<std::string>& words);

}  // namespace tasuki::tool
