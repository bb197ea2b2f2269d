#include "compiler/tokens/whole_arrays.h"

#include "compiler/text/edits.h"

namespace tasuki::cc {
namespace {

bool is_procedure(const Text& text, size_t word) {
  return text.is_any(word, "xmp_scatter", "xmp_gather", "xmp_pack", "xmp_unpack", "xmp_transpose",
                     "xmp_matmul", "xmp_sort_up", "xmp_sort_down");
}

// Behind name[:][:].., if that is an argument; else kNone.
size_t whole_end(const Text& text, size_t name) {
  if (!text.is_word(name)) return kNone;
  size_t at = text.next(name);
  for (; text.is(at, "[") && text.is(text.next(at), ":"); at = text.next(at)) {
    at = text.next(text.next(at));
    if (!text.is(at, "]")) return kNone;
  }
  return text.is(text.previous(at), "]") && text.is_any(at, ",", ")") ? at : kNone;
}

// name[..][0:4].., a part of an array.
bool is_part(const Text& text, size_t name) {
  if (!text.is_word(name)) return false;
  for (size_t open = text.next(name); text.is(open, "["); open = text.next(text.tokens()[open].match))
    for (size_t i = text.next(open); i < text.tokens()[open].match && !text.is(i, "?"); i = text.next(i))
      if (text.is(i, ":")) return true;
  return false;
}

}  // namespace

std::string whole_arrays_as_descriptors(const Text& text, Diagnostics* diagnostics) {
  Edits edits(text);
  for (size_t i = 0; i < text.tokens().size(); i++) {
    const size_t open = text.next(i);
    if (!is_procedure(text, i) || !text.is(open, "(")) continue;
    for (size_t argument = open; text.is_any(argument, "(", ",");) {
      const size_t name = text.next(argument), end = whole_end(text, name);
      if (end != kNone) {
        edits.insert(text.begin_of(name), "xmp_desc_of(");
        edits.replace(text.end_of(name), text.end_of(text.previous(end)), ")");
      } else if (is_part(text, name)) {
        diagnostics->error(
            text.begin_of(name),
            "'" + std::string(text.spelling(i)) + "' takes whole arrays, and this is a part of one",
            "write " + std::string(text.spelling(name)) + "[:], with as many [:] as there are dimensions");
      }
      for (argument = name; argument != kNone && !text.is_any(argument, ",", ")", ";");
           argument = text.next(argument))
        if (text.is_any(argument, "(", "[", "{") && text.tokens()[argument].match > argument)
          argument = text.tokens()[argument].match;
    }
  }
  return edits.all();
}

}  // namespace tasuki::cc
