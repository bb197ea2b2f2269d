#include "compiler/text/diagnostics.h"

#include <cstdio>

namespace tasuki::cc {

std::string Diagnostics::position(size_t offset, std::string* line, unsigned* column) const {
  const Place place = text_->place(offset);
  *column = text_->column(offset, line);
  std::string result = place.file + ":" + std::to_string(place.line) + ":";
  if (*column != 0) result += std::to_string(*column) + ":";
  return result;
}

void Diagnostics::print(size_t offset, const char* kind, const std::string& what) {
  std::string line;
  unsigned column = 0;
  const std::string where = position(offset, &line, &column);
  fprintf(stderr, "%s %s: %s\n", where.c_str(), kind, what.c_str());
  if (column == 0) return;
  const unsigned number = text_->place(offset).line;
  std::string blanks = line.substr(0, column - 1);
  for (char& c : blanks)
    if (c != '\t') c = ' ';
  fprintf(stderr, "%5u | %s\n      | %s^\n", number, line.c_str(), blanks.c_str());
}

void Diagnostics::error(size_t offset, const std::string& what, const std::string& advice) {
  errors_++;
  print(offset, "error", what);
  std::string line;
  unsigned column = 0;
  if (!advice.empty())
    fprintf(stderr, "%s note: %s\n", position(offset, &line, &column).c_str(), advice.c_str());
}

void Diagnostics::note(size_t offset, const std::string& what) {
  print(offset, "note", what);
}

std::string counted(size_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string counted_are(size_t n, const std::string& noun) {
  return counted(n, noun) + (n == 1 ? " is" : " are");
}

}  // namespace tasuki::cc
