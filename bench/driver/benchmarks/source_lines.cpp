#include "bench/driver/benchmarks/source_lines.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "os/files/text_file.h"

namespace tasuki::bench {
namespace {

// The line's directive and its first word: "# ifndef NAME" gives {"ifndef", "NAME"}; none: two empty strings.
std::pair<std::string, std::string> directive_of(const std::string& line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return {};
  std::istringstream words(line.substr(at + 1));
  std::string name, argument;
  words >> name >> argument;
  return {name, argument.substr(0, argument.find('('))};
}

class Counter {
 public:
  Status count(const std::filesystem::path& file, bool own) {
    const Result<std::string> text = os::read_file(file.string());
    if (!text.ok()) return text.status();
    std::istringstream lines(without_comments(text.value()));
    std::vector<bool> conditions;  // that enclose the line: does it hold?
    for (std::string line; std::getline(lines, line);) {
      if (line.find_first_not_of(" \t\r\f\v") == std::string::npos) continue;
      const auto [name, argument] = directive_of(line);
      if (name == "endif" && !conditions.empty()) conditions.pop_back();
      const bool compiled = std::find(conditions.begin(), conditions.end(), false) == conditions.end();
      if (name == "else" && !conditions.empty()) conditions.back() = !conditions.back();
      if (name == "ifdef" || name == "ifndef")
        conditions.push_back(defined_.contains(argument) == (name == "ifdef"));
      else if (name == "if")
        conditions.push_back(true);
      // #else belongs to its #if: that is there if what encloses it is.
      const bool counts = name == "else" ? others_hold(conditions) : compiled;
      if (!counts) continue;
      (own ? lines_.own : lines_.shared)++;
      if (name == "define") defined_.insert(argument);
      if (name == "undef") defined_.erase(argument);
      if (name != "include" || argument.size() < 2 || argument[0] != '"') continue;
      const auto header = file.parent_path() / argument.substr(1, argument.size() - 2);
      if (!seen_.insert(header.lexically_normal().string()).second) continue;
      if (Status s = count(header, false); !s.ok()) return s;
    }
    return Status();
  }
  SourceLines lines() const { return lines_; }

 private:
  static bool others_hold(const std::vector<bool>& conditions) {
    return conditions.empty() ||
           std::find(conditions.begin(), conditions.end() - 1, false) == conditions.end() - 1;
  }

  std::set<std::string> defined_, seen_;
  SourceLines lines_;
};

}  // namespace

std::string without_comments(const std::string& source) {
  std::string out;
  enum { code, line_comment, comment, quoted } state = code;
  char quote = 0;
  for (size_t i = 0; i < source.size(); i++) {
    const char c = source[i], next = i + 1 < source.size() ? source[i + 1] : '\0';
    if (state == code && c == '/' && (next == '/' || next == '*')) {
      state = next == '/' ? line_comment : comment;
      out += ' ', i++;
    } else if (state == comment && c == '*' && next == '/') {
      state = code, i++;
    } else if (state == comment || state == line_comment) {
      if (c == '\n') out += c;
      if (c == '\n' && state == line_comment) state = code;
    } else {
      out += c;
      if (state == quoted && c == '\\' && next != '\0')
        out += next, i++;
      else if (state == quoted && (c == quote || c == '\n'))
        state = code;
      else if (state == code && (c == '"' || c == '\''))
        state = quoted, quote = c;
    }
  }
  return out;
}

Result<SourceLines> count_source_lines(const std::string& file) {
  Counter counter;
  if (Status s = counter.count(file, true); !s.ok()) return s;
  return counter.lines();
}

}  // namespace tasuki::bench
