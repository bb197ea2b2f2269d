// libexec/tasuki/tasuki-sim: `tasuki sim`, which bin/tasuki becomes.
#include "tools/command_line.h"

int main(int argc, char** argv) {
  static constexpr tasuki::tool::AddCommand kCommands[] = {tasuki::tool::add_sim};
  return tasuki::tool::carry_out(tasuki::tool::words_of(argc, argv), kCommands);
}
