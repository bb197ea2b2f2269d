// dlm_startup of libdlmmpi: settings come from the program's arguments, the environment and a file.
#include "cluster/api/report_page.h"
#include "cluster/api/runtime.h"
#include "cluster/settings/command_line.h"
#include "tasuki/dlm.h"

extern "C" [[gnu::visibility("default")]] int dlm_startup(int* argc, char*** argv) {
  using namespace tasuki::cluster;
  Runtime::instance().start(argc, argv, read_options, write_report);
  return 0;
}
