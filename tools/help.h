// How --help looks. The man pages are made of the same text (scripts/man_pages.py).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tasuki::tool {

// CLI11's layout, with the program that a command starts in the usage line, and without the types that CLI11
// derives from its own checks.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace tasuki::tool
