#include "coarray/local/fail.h"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "os/files/streams.h"
#include "os/process/self.h"

namespace tasuki::coarray {
namespace {

std::atomic<bool> failed = false;

}  // namespace

bool has_failed() {
  return failed.load(std::memory_order_relaxed);
}

void fail(Where where, const char* format, ...) {
  char text[1024];
  int length = where.file != nullptr ? snprintf(text, sizeof text, "%s:%d: error: ", where.file, where.line)
                                     : snprintf(text, sizeof text, "tasuki: error: ");
  va_list arguments;
  va_start(arguments, format);
  if (length < static_cast<int>(sizeof text))
    length += vsnprintf(text + length, sizeof text - static_cast<size_t>(length), format, arguments);
  va_end(arguments);
  if (length > static_cast<int>(sizeof text) - 2) length = sizeof text - 2;
  text[length] = '\n';
  fflush(stdout);
  if (!os::write_errors({text, static_cast<size_t>(length) + 1})) perror("tasuki");
  failed.store(true, std::memory_order_relaxed);
  os::end_in(20);  // also if the abort does not end this process: its launcher then ends the others
  int initialised = 0, finalised = 0;
  PMPI_Initialized(&initialised);
  PMPI_Finalized(&finalised);
  // Launchers drop what they have not read yet when a job is aborted.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (initialised != 0 && finalised == 0) PMPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

}  // namespace tasuki::coarray
