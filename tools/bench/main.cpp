// libexec/tasuki/tasuki-bench: `tasuki bench` and `tasuki tune`, which bin/tasuki becomes.
#include "tools/command_line.h"

int main(int argc, char** argv) {
  static constexpr tasuki::tool::AddCommand kCommands[] = {tasuki::tool::add_bench, tasuki::tool::add_tune};
  return tasuki::tool::carry_out(tasuki::tool::words_of(argc, argv), kCommands);
}
