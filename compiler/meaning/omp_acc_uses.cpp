#include "compiler/meaning/omp_acc_uses.h"

#include <algorithm>

#include "compiler/meaning/unit.h"
#include "compiler/tokens/omp_acc_line.h"

namespace tasuki::cc {
namespace {

class PragmaReader {
 public:
  explicit PragmaReader(const Unit& unit)
      : text_(unit.text), analysis_(unit.analysis), arrays_(unit.arrays), diagnostics_(unit.diagnostics) {}

  void read(size_t token, const Options& options) {
    line_ = text_.spelling(token);
    at_ = 1;
    base_ = text_.begin_of(token);
    if (word() != "pragma") return;
    const std::string_view kind = word();
    if (kind == "weak" || kind == "redefine_extname") return read_names(kind);
    acc_ = kind == "acc";
    const bool obeyed =
        acc_ ? options.openacc && arrays_.kind == ArrayKind::dlm : kind == "omp" && options.openmp;
    if (!obeyed) return;
    read_clauses();
  }

  std::vector<PragmaUse> uses;

 private:
  void skip_blanks() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) at_++;
  }
  std::string_view word() {
    skip_blanks();
    const size_t begin = at_;
    while (at_ < line_.size() && is_word_character(line_[at_])) at_++;
    return line_.substr(begin, at_ - begin);
  }

  size_t array_at(std::string_view name, size_t offset) const {
    const bool known = std::any_of(arrays_.arrays.begin(), arrays_.arrays.end(),
                                   [&](const Array& a) { return a.name == name; });
    const Declaration* d = known ? analysis_.find(name, offset) : nullptr;
    return d != nullptr ? arrays_.find(d->entity) : kNone;
  }

  void read_names(std::string_view kind) {
    const std::string_view name = word();
    const size_t offset = base_ + static_cast<size_t>(name.data() - line_.data());
    const auto same = [&](const Array& a) { return a.name == name && !a.block_scope; };
    if (std::any_of(arrays_.arrays.begin(), arrays_.arrays.end(), same))
      diagnostics_.error(offset,
                         "'#pragma " + std::string(kind) +
                             "' applies to symbols of the executable, and the " + arrays_.noun() + " '" +
                             std::string(name) + "' is not one",
                         "drop the pragma");
  }

  // Words, and parentheses behind some of them: clause(list), clause(modifier: list).
  void read_clauses() {
    std::string_view clause, previous;
    int depth = 0;
    bool behind_colon = false;
    while (at_ < line_.size()) {
      skip_blanks();
      if (at_ >= line_.size()) break;
      const char c = line_[at_];
      if (is_word_character(c) && (c < '0' || c > '9')) {
        const std::string_view name = word();
        if (depth > 0 && (at_ < 2 || !is_member(name))) found(name, clause, depth, behind_colon);
        previous = name;
        continue;
      }
      if (c == '"') {
        at_ = std::min(line_.find('"', at_ + 1), line_.size() - 1);
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
        while (at_ + 1 < line_.size() && (is_word_character(line_[at_ + 1]) || line_[at_ + 1] == '.')) at_++;
      }
      at_++;
    }
  }

  bool is_member(std::string_view name) const {
    size_t before = static_cast<size_t>(name.data() - line_.data());
    while (before > 0 && line_[before - 1] == ' ') before--;
    return before > 0 && (line_[before - 1] == '.' || (before > 1 && line_.substr(before - 2, 2) == "->"));
  }

  void found(std::string_view name, std::string_view clause, int depth, bool behind_colon) {
    const size_t begin = base_ + static_cast<size_t>(name.data() - line_.data());
    const size_t array = array_at(name, begin);
    if (array == kNone || one_of(clause, {"critical", "hint", "ordered"})) return;
    const std::string text(name), quoted_clause = "'" + std::string(clause) + "'";
    bool as_variable = false;
    if (depth == 1) {
      if (goes_to_device(clause, acc_))
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
  std::string_view line_;
  bool acc_ = false;
  size_t at_ = 0;
  size_t base_ = 0;
};

}  // namespace

std::vector<PragmaUse> find_pragma_uses(const Unit& unit) {
  PragmaReader reader(unit);
  for (size_t i = 0; i < unit.text.tokens().size(); i++)
    if (unit.text.tokens()[i].kind == TokenKind::directive) reader.read(i, unit.options);
  return std::move(reader.uses);
}

}  // namespace tasuki::cc
