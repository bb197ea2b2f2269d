// `tasuki settings`: the table of settings with defaults and the values in force.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/settings.h"
#include "tools/command.h"

namespace tasuki::tool {
namespace {

void print_text() {
  printf("%-23s %-10s %-10s %s\n", "setting", "default", "here", "meaning");
  for (const Setting& s : settings()) {
    const char* here = getenv(s.name);
    printf("%-23s %-10s %-10s %s", s.name, s.default_value, here != nullptr ? here : "-", s.help);
    if (s.choices != nullptr) printf(" (%s)", s.choices);
    printf("\n");
  }
}

const char* accepted(const Setting& s) {
  switch (s.kind) {
    case SettingKind::flag:
      return "on, off";
    case SettingKind::bytes:
      return "size";
    case SettingKind::count:
      return "number";
    case SettingKind::count_or_auto:
      return "auto, number";
    case SettingKind::choice:
      return s.choices;
    case SettingKind::text:
      break;
  }
  return "text";
}

// The table of docs/manual.md: the same on every machine, so without the values in force here.
void print_markdown() {
  printf("| setting | values | default | meaning |\n|---|---|---|---|\n");
  for (const Setting& s : settings()) {
    std::string values = accepted(s);
    for (size_t at = 0; (at = values.find('|', at)) != std::string::npos; at += 2)
      values.replace(at, 1, ", ");
    printf("| `%s` | %s | %s | %s |\n", s.name, values.c_str(), s.default_value, s.help);
  }
}

}  // namespace

void add_settings(CLI::App& app, int* exit_code) {
  CLI::App* cmd =
      app.add_subcommand("settings", "Print every setting, its default, and its value in this environment.");
  auto markdown = std::make_shared<bool>(false);
  cmd->add_flag("--markdown", *markdown, "Print them as the table of the manual");
  cmd->callback([markdown, exit_code] {
    if (*markdown) {
      print_markdown();
    } else {
      print_text();
    }
    *exit_code = 0;
  });
}

}  // namespace tasuki::tool
