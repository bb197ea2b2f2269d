#include "compiler/text/edits.h"

#include <algorithm>

namespace tasuki::cc {

void Edits::replace(size_t begin, size_t end, std::string what) {
  edits_[begin].push_back({end, std::move(what)});
}

void Edits::cut(size_t begin, size_t end, std::string what) {
  cuts_[begin] = {end, std::move(what)};
}

// As many lines as the range has; where a marker of the preprocessor is lost with it, one that says where we
// are.
std::string Edits::lines(size_t begin, size_t end) const {
  const std::string cut = text_.bytes().substr(begin, end - begin);
  const size_t first = text_.first_from(begin);
  for (size_t i = first; i != kNone && i < text_.tokens().size() && text_.begin_of(i) < end; i++) {
    if (text_.tokens()[i].kind != TokenKind::directive) continue;
    const Place place = text_.place(end);
    return "\n# " + std::to_string(place.line) + " " + quoted(place.file) + "\n";
  }
  return std::string(static_cast<size_t>(std::count(cut.begin(), cut.end(), '\n')), '\n');
}

std::string Edits::render(size_t begin, size_t end, bool with_cuts) const {
  std::string result;
  size_t at = begin;
  while (at < end) {
    const auto edit = edits_.lower_bound(at);
    const auto cut = cuts_.lower_bound(at);
    size_t next = end;
    if (edit != edits_.end()) next = std::min(next, edit->first);
    if (with_cuts && cut != cuts_.end()) next = std::min(next, cut->first);
    result.append(text_.bytes(), at, next - at);
    at = next;
    if (at >= end) break;
    const bool is_cut = with_cuts && cut != cuts_.end() && cut->first == at;
    if (edit != edits_.end() && edit->first == at) {
      size_t behind = at;
      for (const Edit& e : edit->second) {
        if (is_cut && e.end > at) continue;  // inside what is taken out
        result += e.what;
        behind = std::max(behind, e.end);
      }
      if (behind > at) {
        at = behind;
        continue;
      }
    }
    if (is_cut) {
      result += cut->second.what + lines(at, cut->second.end);
      at = cut->second.end;
      continue;
    }
    if (at < end) result += text_.bytes()[at++];
  }
  return result;
}

}  // namespace tasuki::cc
