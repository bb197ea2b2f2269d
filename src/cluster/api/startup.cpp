// dlm_startup of libdlmmpi: settings come from the program's arguments, the environment and a file.
#include "cluster/api/runtime.h"
#include "cluster/settings/command_line.h"
#include "tasuki/dlm.h"

extern "C" [[gnu::visibility("default")]] int dlm_startup(int* argc, char*** argv) {
  tasuki::cluster::Runtime::instance().start(argc, argv, tasuki::cluster::read_options);
  return 0;
}
