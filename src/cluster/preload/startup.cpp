// dlm_startup under `tasuki mem`: the program's arguments are its own. That command has read the settings,
// and put those of a file into the environment: what is preloaded into any program carries no parser.
#include "cluster/api/runtime.h"
#include "tasuki/dlm.h"

extern "C" [[gnu::visibility("default")]] int dlm_startup(int*, char***) {
  tasuki::cluster::Runtime::instance().start(nullptr, nullptr, tasuki::cluster::environment_options);
  return 0;
}
