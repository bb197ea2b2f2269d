#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace tasuki {
namespace {
std::atomic<LogLevel> g_level{LogLevel::warning};
}

void set_log_level(LogLevel level) {
  g_level.store(level, std::memory_order_relaxed);
}
LogLevel log_level() {
  return g_level.load(std::memory_order_relaxed);
}

void log(LogLevel level, const char* format, ...) {
  if (level > log_level()) return;
  const int saved = errno;
  char line[1024];
  const int prefix = snprintf(line, sizeof line, "tasuki: ");
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line + prefix, sizeof line - prefix - 1, format, args);
  va_end(args);
  if (n < 0) n = 0;
  size_t end = prefix + static_cast<size_t>(n);
  if (end > sizeof line - 2) end = sizeof line - 2;  // a longer text is cut, the line still ends
  line[end] = '\n';
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, end + 1);
  errno = saved;
}

}  // namespace tasuki
