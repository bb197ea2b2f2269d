#include "compiler/lower/global/gmove.h"

#include <algorithm>

#include "compiler/lower/global/node_sets.h"
#include "compiler/meaning/coarray_operand.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::cc {
namespace {

class Gmove {
 public:
  Gmove(const Unit& in, const GmoveDirective& d, const TokenRange& statement)
      : in_(in),
        text_(in.text),
        names_(in.global),
        d_(d),
        first_(statement.first),
        end_(text_.previous(statement.last)) {}

  std::string run() {
    if (!text_.is(end_, ";") || !(text_.is_word(first_) || text_.is_any(first_, "(", "*")))
      return refuse(first_);
    left_ = read(first_);
    if (!left_.good) return "";
    mark_device(&left_);
    const size_t equals = text_.skip_directives(left_.end), right = text_.next(equals);
    if (!text_.is(equals, "=") || right == kNone || right >= end_) return refuse(first_);
    if (is_place(right)) {
      right_ = read(right);
      if (!right_.good) return "";
      mark_device(&right_);
      if (!names_fit()) return "";
      if (right_.array == kNone && right_.local.rank == 0 && !right_.device) return from_value(right);
      return between();
    }
    if (in_.tokens.has_section(right, end_)) return refuse(right);
    return names_fit() ? from_value(right) : "";
  }

 private:
  struct Side {
    size_t begin = kNone, end = kNone;
    size_t array = kNone;
    std::string section = {};  // a pointer to it
    Operand local = {};
    bool good = false, device = false;
  };

  // acc: both variables; acc(a): those that are named.
  void mark_device(Side* side) const {
    const auto is_named = [&](size_t name) { return text_.spelling(name) == text_.spelling(side->begin); };
    side->device = d_.on_device && (d_.device_names.empty() ||
                                    std::any_of(d_.device_names.begin(), d_.device_names.end(), is_named));
    // The flags are the last member.
    if (side->device)
      side->section.replace(side->section.size() - 2, 2, std::to_string(TASUKI_XMP_DEVICE) + "}");
  }

  bool names_fit() const {
    for (size_t name : d_.device_names) {
      const auto is = [&](const Side& side) {
        return side.begin != kNone && text_.spelling(name) == text_.spelling(side.begin);
      };
      if (is(left_) || is(right_)) continue;
      const std::string quoted_name = "'" + std::string(text_.spelling(name)) + "'";
      in_.diagnostics.error(text_.begin_of(name), quoted_name + " is on neither side of the assignment",
                            "name one of its variables, or write acc for both");
      return false;
    }
    return true;
  }

  std::string refuse(size_t token) {
    in_.diagnostics.error(text_.begin_of(token),
                          "gmove must stand before an assignment of one variable, element or section",
                          "write a[0:n] = b[0:n]; or x = a[i]; behind it");
    return "";
  }

  // Is all that is left one variable, with its subscripts?
  bool is_place(size_t begin) const {
    return (text_.is_word(begin) || text_.is(begin, "(")) && !text_.is(begin, "sizeof") &&
           text_.skip_directives(operand_end(in_, begin)) == end_;
  }

  Side read(size_t begin) {
    Side side{.begin = begin};
    if (text_.is_word(begin)) side.array = names_.find_array(text_, in_.analysis, begin);
    if (side.array == kNone) {
      side.local = read_operand(in_, begin);
      side.good = side.local.good;
      side.end = side.local.end;
      if (side.good && side.local.coindex != nullptr) {
        in_.diagnostics.error(text_.begin_of(begin), "gmove cannot copy from or to one image",
                              "write an array assignment without gmove");
        side.good = false;
      }
      if (side.good)
        side.section = "&(const struct __tasuki_xmp_global_section){0, &(struct __tasuki_xmp_section)" +
                       section_of(in_, side.local) + ", 0, 0, 0}";
      return side;
    }
    const DistributedArray& a = names_.arrays[side.array];
    std::string triplets;
    side.end = begin + 1;
    int dimension = 0;
    for (size_t open = text_.next(begin); text_.is(open, "[") && dimension < a.rank();
         open = text_.skip_directives(side.end), dimension++) {
      triplets += (dimension > 0 ? ", " : "") + array_triplet(in_, open);
      side.end = in_.match(open) + 1;
    }
    side.good = dimension == a.rank();
    if (!side.good)
      in_.diagnostics.error(text_.begin_of(begin),
                            "'" + a.name + "' has " + counted(a.dimensions.size(), "dimension") + ", and " +
                                counted_are(static_cast<size_t>(dimension), "subscript") + " given",
                            "write an index or a section for each, such as [:]");
    side.section = "&(const struct __tasuki_xmp_global_section){&" + a.record() + ", 0, " +
                   std::to_string(a.rank()) + ", (const struct __tasuki_xmp_triplet[]){" + triplets + "}, 0}";
    return side;
  }

  std::string call(const std::string& to, const std::string& from, bool lasting) const {
    unsigned flags = 0;
    if (d_.in) flags |= TASUKI_XMP_IN;
    if (d_.out) flags |= TASUKI_XMP_OUT;
    const bool async = !d_.async.empty() && lasting;
    if (async) flags |= TASUKI_XMP_ASYNC;
    return "tasuki_xmp_gmove(" + to + ", " + from + ", " + std::to_string(flags) + ", " +
           (async ? in_.c(d_.async.first, d_.async.last) : "0") + ", " + in_.place(d_.name) + ");";
  }

  const ExpressionType* type(const Side& side) const { return in_.type(side.begin, side.end); }
  std::string element_type(const Side& side) const {
    return side.array != kNone ? names_.arrays[side.array].element_type() : side.local.element_type();
  }
  static std::string variable(const std::string& name) {
    return "&(const struct __tasuki_xmp_global_section){0, &(struct __tasuki_xmp_section){&" + name +
           ", sizeof " + name + ", 0, 0, 0, 0, \"\"}, 0, 0, 0}";
  }

  std::string between() {
    const ExpressionType *to = type(left_), *from = type(right_);
    if (to == nullptr || from == nullptr || to->name == from->name)
      return call(left_.section, right_.section, true);
    if (left_.array == kNone && left_.local.rank == 0 && right_.local.rank == 0)
      return "{ " + element_type(right_) + " __tasuki_v; " +
             call(variable("__tasuki_v"), right_.section, false) + " " + in_.c(left_.begin, left_.end) +
             " = __tasuki_v; }";
    in_.diagnostics.error(
        text_.begin_of(first_),
        "gmove cannot convert elements: '" + to->name + "' on the left, '" + from->name + "' on the right",
        "give both the same type");
    return "";
  }

  std::string from_value(size_t right) {
    return "{ " + element_type(left_) + " __tasuki_v = (" + in_.c(right, end_) + "); " +
           call(left_.section, variable("__tasuki_v"), false) + " }";
  }

  const Unit& in_;
  const Text& text_;
  const GlobalNames& names_;
  const GmoveDirective& d_;
  size_t first_, end_;  // the assignment, and its semicolon
  Side left_, right_;
};

}  // namespace

std::string lower_gmove(const Unit& in, const GmoveDirective& directive, const TokenRange& statement) {
  return Gmove(in, directive, statement).run();
}

}  // namespace tasuki::cc
