#include "bench/driver/figures/text.h"

#include <cstdarg>
#include <cstdio>

namespace tasuki::bench {

void append(std::string* out, const char* format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  *out += line;
}

std::string readable(uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + "Mi";
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + "Ki";
  return std::to_string(bytes);
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
