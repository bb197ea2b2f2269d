#include "report/json.h"

#include <cmath>
#include <cstdio>

namespace tasuki::report {
namespace {

// The bytes of a character of UTF-8 at the beginning of `text`; 0: it begins with none.
size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t bytes = first < 0x80                    ? 1
                       : first >= 0xC2 && first < 0xE0 ? 2
                       : first >= 0xE0 && first < 0xF0 ? 3
                       : first >= 0xF0 && first < 0xF5 ? 4
                                                       : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; i++)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  return bytes;
}

}  // namespace

std::string quoted(std::string_view plain) {
  std::string out = "\"";
  while (!plain.empty()) {
    const size_t bytes = character(plain);
    const char c = plain[0];
    if (bytes == 0) {
      out += '?';
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += plain.substr(0, bytes);
    }
    plain.remove_prefix(bytes > 0 ? bytes : 1);
  }
  return out + "\"";
}

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void Json::append(const char* name, const std::string& value) {
  if (text_.size() > 1) text_ += ", ";
  if (name != nullptr) text_ += quoted(name) + ": ";
  text_ += value;
}

}  // namespace tasuki::report
