// What --version says. A file of its own: it is compiled again with each commit.
#include "generated/commit.h"
#include "os/files/paths.h"
#include "os/process/executable.h"
#include "tools/command_line.h"

namespace tasuki::tool {
namespace {

// The shims, by the ABI that they are made for.
struct Shim {
  const char *file, *abi;
};
constexpr Shim kShims[] = {{"libtasuki-openmpi.so", "Open MPI 4 and 5 (libmpi.so.40)"},
                           {"libtasuki-mpich.so", "MPICH and its kin (libmpi.so.12)"}};

}  // namespace

std::string version_text() {
  std::string text = "tasuki " TASUKI_VERSION "\n" TASUKI_COMMIT "compiler: " TASUKI_COMPILER "\nMPI:";
  const std::string folder = os::own_prefix() + "/lib/tasuki/";
  bool any = false;
  for (const Shim& shim : kShims) {
    if (!os::can_read(folder + shim.file)) continue;
    text += std::string(any ? ", " : " ") + shim.abi;
    any = true;
  }
  return text + (any ? "" : " none: no shim in " + folder);
}

}  // namespace tasuki::tool
