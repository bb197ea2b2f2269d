#include "coarray/local/fail.h"

#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace tasuki::coarray {
namespace {

std::atomic<bool> failed = false;

// The process ends, even if the abort does not: its launcher then ends the others.
void end_soon() {
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  signal(SIGALRM, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(20);
}

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
  // One write, so that lines of several images do not mix.
  if (write(STDERR_FILENO, text, static_cast<size_t>(length) + 1) < 0) perror("tasuki");
  failed.store(true, std::memory_order_relaxed);
  end_soon();
  int initialised = 0, finalised = 0;
  PMPI_Initialized(&initialised);
  PMPI_Finalized(&finalised);
  // Launchers drop what they have not read yet when a job is aborted.
  usleep(100'000);
  if (initialised != 0 && finalised == 0) PMPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

}  // namespace tasuki::coarray
