#include "compiler/meaning/unit.h"

namespace tasuki::cc {

std::string Unit::place(size_t token) const {
  const Place place = text.place(text.begin_of(token));
  return quoted(place.file) + ", " + std::to_string(place.line);
}

const ExpressionType* Unit::type(size_t first, size_t last) const {
  const size_t end = text.previous(last);
  if (end == kNone || end < first) return nullptr;
  const auto found = analysis.types.find({text.begin_of(first), text.end_of(end)});
  return found == analysis.types.end() ? nullptr : &found->second;
}

}  // namespace tasuki::cc
