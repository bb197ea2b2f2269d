#include <algorithm>
#include <cstring>
#include <string>

#include "layout/layout_impl.h"

namespace tasuki::layout {
namespace {

template <typename T>
std::string number(T value) {
  return std::to_string(value);
}
std::string displacement(int64_t value) {
  return (value >= 0 ? "+" : "") + number(value);
}

void describe_node(std::string& out, const Node& n) {
  switch (n.kind) {
    case Kind::empty:
      out += "empty";
      return;
    case Kind::block:
      out += number(n.size) + " B";
      return;
    case Kind::strided:
      out += "vector " + number(n.count) + " x ";
      break;
    case Kind::indexed:
      out += "indexed " + number(n.count) + " x ";
      break;
    case Kind::blocks:
      out += "blocks " + number(n.count) + ", " + number(n.size) + " B";
      return;
    case Kind::seq: {
      constexpr uint64_t kShown = 8;
      out += "struct " + number(n.count) + " of {";
      for (uint64_t i = 0; i < std::min(n.count, kShown); i++) {
        out += (i ? ", " : "") + displacement(n.offsets[i]) + ": ";
        describe_node(out, *n.children[i]);
      }
      out += n.count > kShown ? ", ...}" : "}";
      return;
    }
  }
  if (n.block) {
    out += number(n.block) + " B";
  } else {
    out += '(';
    describe_node(out, *n.child);
    out += ')';
  }
  if (n.kind == Kind::strided) out += " stride " + number(n.stride) + " B";
}

}  // namespace

size_t describe(const Layout* l, char* text, size_t capacity) {
  std::string out;
  describe_node(out, l->root);
  if (l->root.kind != Kind::empty && l->origin != 0) out += " at " + displacement(l->origin);
  out += ", extent " + number(l->extent) + " B";
  if (l->lower_bound != 0) out += " from " + displacement(l->lower_bound);
  if (capacity > 0) {
    const size_t n = std::min(capacity - 1, out.size());
    std::memcpy(text, out.data(), n);
    text[n] = '\0';
  }
  return out.size();
}

}  // namespace tasuki::layout
