#include "compiler/lower/global/node_sets.h"

namespace tasuki::cc {
namespace {

std::string part(const Unit& in, const TokenRange& range) {
  return "(" + in.c(range.first, range.last) + ")";
}

std::string triplet(const Unit& in, const NodeSpace& space, const NodesReference& r, int dimension) {
  const NodeSubscript& s = r.subscripts[static_cast<size_t>(dimension)];
  const std::string less = space.from_one(r) ? " - 1" : "";
  if (s.own) return "{0, 0, 0}";
  if (!s.is_range) return "{" + part(in, s.lower) + less + ", 1, 1}";
  std::string begin = kOpen, count = kOpen;
  const std::string step = s.stride.empty() ? "1" : part(in, s.stride);
  if (!s.lower.empty()) begin = part(in, s.lower) + less;
  if (!s.upper.empty() && r.brackets) count = part(in, s.upper);
  if (!s.upper.empty() && !r.brackets) {
    std::string lower = "1";
    if (!s.lower.empty())
      lower = part(in, s.lower);
    else if (space.template_ != nullptr)
      lower = space.record() + ".dimension[" + std::to_string(dimension) + "].lower";
    count = "(" + part(in, s.upper) + " - " + lower + ") / " + step + " + 1";
  }
  return "{" + begin + ", " + count + ", " + step + "}";
}

}  // namespace

NodeSpace find_space(const Unit& in, const NodesReference& r) {
  NodeSpace space;
  const std::string name(in.text.spelling(r.name));
  space.template_ = in.global.find_template(name, r.name);
  space.nodes = in.global.find_nodes(name, r.name);
  // The inner of the two.
  if (space.template_ != nullptr && space.nodes != nullptr) {
    if (space.template_->scope.first > space.nodes->scope.first)
      space.nodes = nullptr;
    else
      space.template_ = nullptr;
  }
  if (!space) {
    in.diagnostics.error(in.text.begin_of(r.name), "there is no template or node array '" + name + "' here",
                         "declare it before: #pragma xmp template " + name + "(0:N-1)");
    return space;
  }
  const size_t wanted = static_cast<size_t>(space.dimensions()), given = r.subscripts.size();
  if (given == 0 || given == wanted) return space;
  in.diagnostics.error(in.text.begin_of(r.name),
                       "'" + name + "' has " + counted(wanted, "dimension") + ", and " +
                           counted_are(given, "subscript") + " given",
                       "write a subscript, a range or * for each of its dimensions");
  return {};
}

std::string node_set(const Unit& in, const NodeSpace& space, const NodesReference& r,
                     const std::set<int>& open) {
  std::string all;
  for (int k = 0; k < static_cast<int>(r.subscripts.size()); k++)
    all += (k > 0 ? ", " : "") +
           (open.contains(k) ? "{" + std::string(kOpen) + ", " + kOpen + ", 1}" : triplet(in, space, r, k));
  return "&(const struct __tasuki_xmp_on){&" + space.record() + ", " +
         (all.empty() ? "0" : "(const struct __tasuki_xmp_triplet[]){" + all + "}") + "}";
}

std::string array_triplet(const Unit& in, size_t open) {
  const size_t close = in.match(open);
  const auto section = in.tokens.sections.find(open);
  if (section == in.tokens.sections.end()) return "{" + in.c(open + 1, close) + ", 1, 1}";
  const SectionBracket& s = section->second;
  const size_t length_end = s.second_colon != kNone ? s.second_colon : close;
  const auto piece = [&](size_t first, size_t last, const char* otherwise) {
    return in.text.skip_directives(first) >= last ? std::string(otherwise) : in.c(first, last);
  };
  return "{" + piece(open + 1, s.colon, kOpen) + ", " + piece(s.colon + 1, length_end, kOpen) + ", " +
         (s.second_colon == kNone ? "1" : piece(s.second_colon + 1, close, "1")) + "}";
}

}  // namespace tasuki::cc
