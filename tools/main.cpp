// tasuki: one command for everything a user does.
#include "tools/command_line.h"

namespace tasuki::tool {
namespace {

// Parts carry themselves out (become_part); here they are names for --help.
template <size_t kPart>
void name_part(CLI::App& app, int*) {
  add_part(app, kParts[kPart]);
}

}  // namespace
}  // namespace tasuki::tool

int main(int argc, char** argv) {
  using namespace tasuki::tool;
  const std::vector<std::string> words = words_of(argc, argv);
  if (const Part* part = part_of({words.begin() + 1, words.end()}); part != nullptr)
    return become_part(*part, words);
  static constexpr AddCommand kCommands[] = {
      add_run,      add_check_layout, add_gdb,      add_settings, add_doctor, add_layout,
      name_part<0>, name_part<1>,     name_part<2>, add_simcc,    add_mem,    add_lend,
  };
  return carry_out(words, kCommands);
}
