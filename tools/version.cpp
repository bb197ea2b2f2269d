// What --version says. A file of its own: it is compiled again with each commit.
#include "base/mpi_abi.h"
#include "generated/commit.h"
#include "os/files/paths.h"
#include "os/process/executable.h"
#include "tools/command_line.h"

namespace tasuki::tool {

std::string version_text() {
  std::string text = "tasuki " TASUKI_VERSION "\n" TASUKI_COMMIT "compiler: " TASUKI_COMPILER "\nMPI:";
  const std::string folder = os::own_prefix() + "/lib/tasuki/";
  bool any = false;
  for (const MpiAbiNames& abi : kMpiAbis) {
    if (!os::can_read(folder + abi.shim)) continue;
    text += std::string(any ? ", " : " ") + abi.title + " (" + abi.sonames[0] + ")";
    any = true;
  }
  return text + (any ? "" : " none: no shim in " + folder);
}

}  // namespace tasuki::tool
