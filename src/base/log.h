// Messages to the user, on stderr, one line each: "tasuki: <text>". Safe in a preloaded library: no locale,
// no iostream, one write(2) per line so that lines of several ranks do not mix. Thread-safe.
#pragma once

namespace tasuki {

enum class LogLevel { error = 0, warning = 1, info = 2, debug = 3 };

// Messages above the level are dropped. The default is `warning`; TASUKI_LOG=error|warning|info|debug changes
// it.
void set_log_level(LogLevel level);
LogLevel log_level();

[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...);

}  // namespace tasuki
