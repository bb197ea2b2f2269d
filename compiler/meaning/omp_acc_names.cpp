#include "compiler/meaning/omp_acc_names.h"

#include <algorithm>

#include "compiler/tokens/omp_acc_line.h"

namespace tasuki::cc {
namespace {

class PragmaReader {
 public:
  PragmaReader(const Text& text, const Analysis& analysis, const RuntimeArrays& arrays,
               Diagnostics* diagnostics)
      : text_(text), analysis_(analysis), arrays_(arrays), diagnostics_(*diagnostics) {}

  void read(size_t token, Pragmas active) {
    const std::string_view line = text_.spelling(token);
    at_ = 1;
    base_ = text_.begin_of(token);
    if (word(line) != "pragma") return;
    const std::string_view kind = word(line);
    if (kind == "weak" || kind == "redefine_extname") return read_names(line, kind);
    const bool acc = kind == "acc";
    if (!(kind == "omp" && active.openmp) && !(acc && active.openacc)) return;
    read_clauses(line, acc);
  }

  std::vector<PragmaUse> uses;

 private:
  void skip_blanks(std::string_view line) {
    while (at_ < line.size() && (line[at_] == ' ' || line[at_] == '\t')) at_++;
  }
  std::string_view word(std::string_view line) {
    skip_blanks(line);
    const size_t begin = at_;
    while (at_ < line.size() && is_word_character(line[at_])) at_++;
    return line.substr(begin, at_ - begin);
  }

  size_t array_at(std::string_view name, size_t offset) const {
    const bool known = std::any_of(arrays_.arrays.begin(), arrays_.arrays.end(),
                                   [&](const Array& a) { return a.name == name; });
    const Declaration* d = known ? analysis_.find(name, offset) : nullptr;
    return d != nullptr ? arrays_.find(d->entity) : kNone;
  }

  void read_names(std::string_view line, std::string_view kind) {
    const std::string_view name = word(line);
    const size_t offset = base_ + static_cast<size_t>(name.data() - line.data());
    const auto same = [&](const Array& a) { return a.name == name && !a.block_scope; };
    if (std::any_of(arrays_.arrays.begin(), arrays_.arrays.end(), same))
      diagnostics_.error(offset,
                         "'#pragma " + std::string(kind) + "' speaks of symbols of the executable; the " +
                             arrays_.noun() + " '" + std::string(name) + "' is none",
                         "drop the pragma");
  }

  // Words, and parentheses behind some of them: clause(list), clause(modifier: list).
  void read_clauses(std::string_view line, bool acc) {
    std::string_view clause, previous;
    int depth = 0;
    bool behind_colon = false;
    while (at_ < line.size()) {
      skip_blanks(line);
      if (at_ >= line.size()) break;
      const char c = line[at_];
      if (is_word_character(c) && (c < '0' || c > '9')) {
        const std::string_view name = word(line);
        if (depth > 0 && (at_ < 2 || !is_member(line, name)))
          found(line, name, clause, depth, behind_colon, acc);
        previous = name;
        continue;
      }
      if (c == '"') {
        at_ = std::min(line.find('"', at_ + 1), line.size() - 1);
      } else if (c == '(' || c == '[') {
        if (depth++ == 0) {
          clause = previous;
          behind_colon = false;
        }
      } else if (c == ')' || c == ']') {
        depth--;
      } else if (c == ':' && depth == 1) {
        behind_colon = true;
      } else if (c >= '0' && c <= '9') {
        while (at_ + 1 < line.size() && (is_word_character(line[at_ + 1]) || line[at_ + 1] == '.')) at_++;
      }
      at_++;
    }
  }

  static bool is_member(std::string_view line, std::string_view name) {
    size_t before = static_cast<size_t>(name.data() - line.data());
    while (before > 0 && line[before - 1] == ' ') before--;
    return before > 0 && (line[before - 1] == '.' || (before > 1 && line.substr(before - 2, 2) == "->"));
  }

  void found(std::string_view line, std::string_view name, std::string_view clause, int depth,
             bool behind_colon, bool acc) {
    const size_t begin = base_ + static_cast<size_t>(name.data() - line.data());
    const size_t array = array_at(name, begin);
    if (array == kNone || one_of(clause, {"critical", "hint", "ordered"})) return;
    const std::string text(name), quoted_clause = "'" + std::string(clause) + "'";
    bool as_variable = false;
    if (depth == 1) {
      if (goes_to_device(clause, acc))
        return diagnostics_.error(begin,
                                  "a " + arrays_.noun() + " cannot stand in " + quoted_clause +
                                      ": an accelerator cannot reach " +
                                      (arrays_.kind == ArrayKind::dlm ? "cluster memory" : "its memory yet"),
                                  "copy the part that the accelerator needs into an ordinary array");
      if (makes_copies(clause) && !(clause == "linear" && behind_colon))
        return diagnostics_.error(begin,
                                  "a " + arrays_.noun() + " cannot stand in " + quoted_clause +
                                      ": no thread has a copy of '" + text + "'",
                                  "declare an ordinary local array for the copies");
      as_variable = wants_variable(clause) && !behind_colon;
    }
    uses.push_back({begin, begin + name.size(), array, analysis_.function_at(begin), as_variable});
  }

  const Text& text_;
  const Analysis& analysis_;
  const RuntimeArrays& arrays_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  size_t base_ = 0;
};

}  // namespace

std::vector<PragmaUse> find_pragma_uses(const Text& text, const Analysis& analysis,
                                        const RuntimeArrays& arrays, const Pragmas& pragmas,
                                        Diagnostics* diagnostics) {
  PragmaReader reader(text, analysis, arrays, diagnostics);
  for (size_t i = 0; i < text.tokens().size(); i++)
    if (text.tokens()[i].kind == TokenKind::directive) reader.read(i, pragmas);
  return std::move(reader.uses);
}

}  // namespace tasuki::cc
