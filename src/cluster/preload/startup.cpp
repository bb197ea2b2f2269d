// dlm_startup under `tasuki mem`: the program's arguments are its own. That command has read the settings,
// and put those of a file into the environment: what is preloaded into any program carries no parser, and
// nothing that makes pages.
#include "cluster/api/runtime.h"
#include "cluster/preload/page_program.h"
#include "tasuki/dlm.h"

extern "C" [[gnu::visibility("default")]] int dlm_startup(int*, char***) {
  using namespace tasuki::cluster;
  Runtime::instance().start(nullptr, nullptr, environment_options, preload::write_report);
  return 0;
}
