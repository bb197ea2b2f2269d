#include "compiler/lower/local/directives.h"

#include <algorithm>

namespace tasuki::cc {
namespace {

// The declaration of a node array that a name means in the directive at `word`.
const Directive* declaration_of(const Unit& in, size_t name, size_t word) {
  const size_t function = in.analysis.function_at(in.text.begin_of(word));
  const Directive* found = nullptr;
  for (const Directive& d : in.tokens.directives) {
    if (d.kind != DirectiveKind::nodes || d.word >= word ||
        in.text.spelling(d.nodes.name) != in.text.spelling(name))
      continue;
    const size_t its_function = in.analysis.function_at(in.text.begin_of(d.word));
    if (its_function == kNone || its_function == function) found = &d;
  }
  return found;
}

class LocalDirective {
 public:
  LocalDirective(const Unit& in, const Directive& directive) : in_(in), d_(directive) {}

  std::string run() {
    const std::string place = in_.place(d_.name);
    switch (d_.kind) {
      case DirectiveKind::nonblock:
      case DirectiveKind::image:
        return "";
      case DirectiveKind::coarray:
        return std::string(is_automatic_name(d_.nodes) ? "" : "static ") +
               "const struct __tasuki_xmp_nodes* const " + on_nodes_name(d_) + " = &" + record(d_.nodes) +
               ";";
      case DirectiveKind::wait_nonblock:
        return std::string("tasuki_xmp_wait_nonblock(") + (d_.option ? "1" : "0") + ", " + place + ");";
      case DirectiveKind::post:
        return "tasuki_xmp_post(" + node() + ", " + range(d_.tag) + ", " + place + ");";
      case DirectiveKind::wait:
        if (d_.nodes.name == kNone) return "tasuki_xmp_wait_any(" + place + ");";
        if (d_.tag.empty()) return "tasuki_xmp_wait_node(" + node() + ", " + place + ");";
        return "tasuki_xmp_wait(" + node() + ", " + range(d_.tag) + ", " + place + ");";
      case DirectiveKind::lock:
      case DirectiveKind::unlock:
        return lock();
      case DirectiveKind::nodes:
        return nodes();
    }
    return "";
  }

 private:
  std::string range(const TokenRange& r) { return in_.c(r.first, r.last); }
  std::string record(const NodesReference& r) const {
    return "__tasuki_nodes_" + std::string(in_.text.spelling(r.name));
  }

  std::string node() {
    std::string index;
    for (const NodeSubscript& s : d_.nodes.subscripts)
      index += (index.empty() ? "(" : ", (") + range(s.lower) + (d_.nodes.brackets ? ")" : ") - 1");
    return "tasuki_xmp_node(&" + record(d_.nodes) + ", (const int[]){" + index + "}, " + in_.place(d_.name) +
           ")";
  }

  std::string lock() {
    const bool locks = d_.kind == DirectiveKind::lock;
    const Operand object = read_operand(in_, d_.lock.first);
    if (!object.good) return "";
    if (object.end < d_.lock.last) {
      in_.diagnostics.error(in_.text.begin_of(object.end), "a lock must be one object",
                            "write lock(l:[image]) or lock(l[i]:[image])");
      return "";
    }
    const auto pointer = [&](const TokenRange& r) {
      return r.empty() ? std::string("(int*)0") : "&(" + range(r) + ")";
    };
    return std::string(locks ? "tasuki_xmp_lock(" : "tasuki_xmp_unlock(") + "&" + object.object + ", " +
           (object.coindex != nullptr ? image_of(in_, object) : "xmp_this_image()") + ", " +
           (locks ? pointer(d_.acquired) + ", " : "") + pointer(d_.status) + ", " + in_.place(d_.name) + ");";
  }

  // The initialiser of an array of ranges, one of each dimension, from 0.
  std::string ranges(const NodesReference& r) {
    std::string all;
    for (const NodeSubscript& s : r.subscripts) {
      std::string begin = "0", count = "-1", step = "1";
      const auto part = [&](const TokenRange& p) { return "(" + range(p) + ")"; };
      if (s.own) {
        step = "0";
        count = "1";
      } else {
        if (!s.lower.empty()) begin = part(s.lower) + (r.brackets ? "" : " - 1");
        if (!s.stride.empty()) step = part(s.stride);
        if (!s.is_range)
          count = "1";
        else if (!s.upper.empty())
          count = r.brackets ? part(s.upper)
                             : "(" + part(s.upper) + " - " + (s.lower.empty() ? "1" : part(s.lower)) +
                                   ") / " + step + " + 1";
      }
      all += (all.empty() ? "{" : ", {") + begin + ", " + count + ", " + step + "}";
    }
    return "{" + all + "}";
  }

  std::string nodes() {
    const std::string name(in_.text.spelling(d_.nodes.name)), record_name = record(d_.nodes);
    std::string sizes;
    for (const NodeSubscript& s : d_.nodes.subscripts)
      sizes += (sizes.empty() ? "" : ", ") + (s.own ? std::string("-1") : range(s.lower));
    const bool part = d_.origin == "=", automatic = is_automatic(in_, d_);
    const std::string storage = automatic ? "" : "static ";
    const std::string kind = part ? "4" : d_.origin == "**" ? "1" : d_.origin == "*" ? "2" : "3";
    std::string ranges_name = "0", before;
    if (part) {
      ranges_name = record_name + "_of";
      before = storage + "const struct __tasuki_xmp_range " + ranges_name + "[] = " + ranges(d_.whole) + "; ";
    }
    const std::string result = before + storage + "struct __tasuki_xmp_nodes " + record_name +
                               " = {1, sizeof(struct __tasuki_xmp_nodes), " +
                               std::to_string(d_.nodes.subscripts.size()) + ", {" + sizes + "}, " + kind +
                               ", " + (part ? "&" + record(d_.whole) : "0") + ", " + ranges_name + ", " +
                               quoted(name) + ", " + in_.place(d_.name) + ", {0, 0}}; ";
    if (automatic) return result + "tasuki_xmp_nodes_define(&" + record_name + ");";
    return result + "static struct __tasuki_xmp_nodes* " + record_name +
           "_entry __attribute__((used, section(\"tasuki_xmpnodes\"))) = &" + record_name + ";";
  }

  bool is_automatic_name(const NodesReference& r) const {
    const Directive* declared = declaration_of(in_, r.name, d_.word);
    return declared != nullptr && is_automatic(in_, *declared);
  }

  const Unit& in_;
  const Directive& d_;
};

}  // namespace

bool is_automatic(const Unit& in, const Directive& d) {
  if (in.analysis.function_at(in.text.begin_of(d.word)) == kNone) return false;
  if (d.origin == "*") return true;
  for (const NodesReference* r : {&d.nodes, &d.whole})
    for (const NodeSubscript& s : r->subscripts)
      for (const TokenRange& range : {s.lower, s.upper, s.stride})
        if (!range.empty() && variable_in(in, range) != kNone) return true;
  if (d.whole.name == kNone) return false;
  const Directive* whole = declaration_of(in, d.whole.name, d.word);
  return whole != nullptr && is_automatic(in, *whole);
}

std::string lower_sync(const Unit& in, const Directive& image, size_t function) {
  return "tasuki_" + std::string(in.text.spelling(function)) + "_on(&__tasuki_nodes_" +
         std::string(in.text.spelling(image.nodes.name)) + ", " + in.place(function) + ", ";
}

std::string lower_directive(const Unit& in, const Directive& directive) {
  return LocalDirective(in, directive).run();
}

}  // namespace tasuki::cc
