#include "bench/driver/figures/text.h"

#include <cstdarg>
#include <cstdio>

#include "base/bytes.h"

namespace tasuki::bench {

void append(std::string* out, const char* format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  *out += line;
}

std::string readable(uint64_t n) {
  return bytes_text(n, BytesStyle::prefix);
}

std::string ratio_text(double value) {
  char text[32];
  snprintf(text, sizeof text, value > 0 && value < 0.01 ? "%.2g" : "%.2f", value);
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace tasuki::bench
