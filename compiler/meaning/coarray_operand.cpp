#include "compiler/meaning/coarray_operand.h"

#include <algorithm>
#include <cstdlib>

#include "tasuki/compiler/local_view.h"

namespace tasuki::cc {
namespace {

constexpr const char* kAll = "(-9223372036854775807L - 1)";  // PTRDIFF_MIN: what is left

// An integer constant, with a sign or not.
bool literal(const Unit& in, size_t first, size_t last, long long* value) {
  bool negative = false;
  if (in.text.is(first, "-")) {
    negative = true;
    first = in.text.next(first);
  }
  if (first == kNone || in.text.next(first) != last || in.text.tokens()[first].kind != TokenKind::number)
    return false;
  const std::string digits(in.text.spelling(first));
  char* end = nullptr;
  const long long magnitude = strtoll(digits.c_str(), &end, 0);
  if (*end != '\0' && std::string("uUlL").find(*end) == std::string::npos) return false;
  *value = negative ? -magnitude : magnitude;
  return true;
}

class Reader {
 public:
  Reader(const Unit& in, size_t begin, bool only_type) : in_(in), only_type_(only_type), at_(begin) {
    operand_.begin = begin;
  }

  Operand run() {
    primary();
    while (step()) {
    }
    operand_.end = at_;
    operand_.good = good_;
    if (good_) finish();
    return std::move(operand_);
  }

 private:
  void error(size_t token, const std::string& what, const std::string& advice) {
    if (good_) in_.diagnostics.error(in_.text.begin_of(token), what, advice);
    good_ = false;
  }

  void append(const std::string& text) {
    operand_.object += text;
    operand_.typed += text;
  }

  void primary() {
    const size_t first = at_;
    at_ = in_.text.is(at_, "(") ? in_.match(at_) + 1 : at_ + 1;
    operand_.name = in_.text.is_word(first) ? std::string(in_.text.spelling(first)) : "";
    append(in_.text.is(first, "(") ? "(" + in_.c(first + 1, at_ - 1) + ")" : in_.c(first, at_));
  }

  // One [..], .name, ->name, (..) or :[..].
  bool step() {
    const size_t here = at_;
    if (here >= in_.text.tokens().size()) return false;
    if (in_.text.tokens()[here].kind == TokenKind::directive) {
      at_++;
      return true;
    }
    if (in_.text.is(here, "[")) return bracket();
    if (in_.tokens.colons.contains(here)) return coindex();
    if (in_.text.is_any(here, ".", "->")) {
      const size_t member = in_.text.next(here);
      if (!in_.text.is_word(member)) return false;
      if (in_.text.is(here, "->") && !operand_.dimensions.empty())
        error(here,
              "the elements of a section must lie in one array: no pointer may stand behind the section",
              "write a loop for structures that point to others");
      at_ = member + 1;
      if (in_.analysis.bit_fields.contains(in_.text.begin_of(member))) {
        bit_field(here, member);
        return true;
      }
      append(std::string(in_.text.spelling(here)) + std::string(in_.text.spelling(member)));
      return true;
    }
    if (in_.text.is(here, "(") && in_.match(here) > here) {
      append("(" + in_.c(here + 1, in_.match(here)) + ")");
      operand_.called = true;
      at_ = in_.match(here) + 1;
      return true;
    }
    return false;
  }

  // It has no address: what can be moved is a part of the structure.
  void bit_field(size_t access, size_t member) {
    operand_.bit_field = in_.text.spelling(member);
    if (!operand_.dimensions.empty())
      error(member, "'" + operand_.bit_field + "' is a bit-field, which no section can have",
            "write a loop over the elements");
    if (!in_.text.is(access, "->")) return;
    operand_.object = "(*" + operand_.object + ")";
    operand_.typed = "(*" + operand_.typed + ")";
  }

  bool coindex() {
    if (operand_.coindex != nullptr) error(at_, "two images for one object", "drop one of them");
    operand_.coindex = in_.tokens.coindex_at(at_);
    at_ = operand_.coindex->end;
    return true;
  }

  bool bracket() {
    const size_t open = at_, close = in_.match(open);
    if (close <= open) return false;
    const ExpressionType* type = in_.type(operand_.begin, open);
    const bool is_array =
        type != nullptr && (type->shape == Shape::array || type->shape == Shape::variable_array);
    const std::string extent =
        is_array ? "sizeof(" + operand_.typed + ") / sizeof(" + operand_.typed + "[0])" : "0";
    const auto section = in_.tokens.sections.find(open);
    if (section != in_.tokens.sections.end()) {
      if (!is_array && !operand_.dimensions.empty())
        error(open,
              "the elements of a section must lie in one array: no pointer may stand behind the section",
              "write a loop for rows that lie apart");
      add_section(section->second, close, is_array,
                  is_array && type->shape == Shape::array ? type->count : -1, extent);
      append("[0]");
    } else if (!operand_.dimensions.empty()) {
      const std::string index = in_.c(open + 1, close);
      operand_.dimensions.push_back("{" + index + ", 1, 1, " + extent + ", sizeof(" + operand_.typed +
                                    "[0])}");
      append("[0]");
    } else {
      std::string index = in_.c(open + 1, close);
      if (in_.options.checked && is_array)
        index = "tasuki_xmp_index(" + index + ", " + extent + ", " + std::to_string(brackets_) + ", " +
                quoted(operand_.name) + ", " + in_.place(open) + ")";
      operand_.object += "[" + index + "]";
      operand_.typed += "[0]";
    }
    brackets_++;
    at_ = close + 1;
    return true;
  }

  void add_section(const SectionBracket& s, size_t close, bool is_array, long long count,
                   const std::string& extent) {
    const size_t length_end = s.second_colon != kNone ? s.second_colon : close;
    const bool has_lower = in_.text.next(s.open) != s.colon,
               has_length = in_.text.next(s.colon) != length_end;
    const bool has_stride = s.second_colon != kNone && in_.text.next(s.second_colon) != close;
    long long lower = 0, length = -1, stride = 1;
    const bool lower_known = !has_lower || literal(in_, in_.text.next(s.open), s.colon, &lower);
    const bool length_known = has_length && literal(in_, in_.text.next(s.colon), length_end, &length);
    const bool stride_known = !has_stride || literal(in_, in_.text.next(s.second_colon), close, &stride);
    if (!has_length && !is_array)
      error(s.open, "a section of a pointer needs a length: nobody knows where the memory ends",
            "write [lower:length]");
    if (length_known && length < 1)
      error(s.colon, "the length of a section must be greater than zero, not " + std::to_string(length),
            "write [lower:length:stride]; the second part counts elements");
    if (has_stride && stride_known && stride == 0)
      error(s.second_colon, "the stride of a section must not be zero",
            "write a positive or a negative number");
    if (!has_lower && has_stride && stride_known && stride < 0 && length != 1)
      error(s.open,
            "a section with a negative stride must say where it begins: a lower bound that is left out is 0",
            "write [n-1:n:-1] for n elements from the last to the first");
    long long elements = length_known ? length : -1;
    if (!has_length && count >= 0 && lower_known && stride_known && stride != 0)
      elements = stride > 0 ? (count - lower + stride - 1) / stride : lower / -stride + 1;
    operand_.elements = operand_.elements < 0 || elements < 0 ? -1 : operand_.elements * elements;
    operand_.rank++;
    const auto part = [&](bool there, size_t first, size_t last, const char* otherwise) {
      return there ? in_.c(first, last) : std::string(otherwise);
    };
    const std::string length_text = part(has_length, s.colon + 1, length_end, kAll);
    operand_.dimensions.push_back("{" + part(has_lower, s.open + 1, s.colon, "0") + ", " + length_text +
                                  ", " + part(has_stride, s.second_colon + 1, close, "1") + ", " + extent +
                                  ", sizeof(" + operand_.typed + "[0])}");
  }

  void finish() {
    const ExpressionType* type = in_.type(operand_.begin, operand_.end);
    const bool is_array =
        type != nullptr && (type->shape == Shape::array || type->shape == Shape::variable_array);
    operand_.device = is_on_device(in_, operand_.begin, operand_.end);
    if (operand_.coindex != nullptr) find_coarray();
    if (is_array && operand_.rank > 0)
      error(operand_.begin, "an element of this section is an array itself",
            "write an index or a section for each dimension");
    else if (is_array && operand_.coindex != nullptr && !only_type_)
      error(operand_.begin, "an array in another image can be used only by its elements or as a section",
            "write " + as_section(in_, operand_.begin, operand_.end, *type) + " in an array assignment");
    operand_.good = good_;
  }

  // The name that makes it a coarray: the first one in the operand that is, brackets and arguments aside.
  void find_coarray() {
    for (size_t i = operand_.begin; i < operand_.end; i++) {
      if ((in_.text.is(i, "[") || (in_.text.is(i, "(") && i != operand_.begin)) && in_.match(i) > i &&
          i > operand_.begin) {
        i = in_.match(i);
        continue;
      }
      if (!in_.text.is_word(i)) continue;
      const auto reference = in_.analysis.references.find(in_.text.begin_of(i));
      if (reference == in_.analysis.references.end()) continue;
      const auto known = in_.names.codimensions.find(reference->second);
      if (known == in_.names.codimensions.end()) continue;
      operand_.name = in_.text.spelling(i);
      const size_t declared = known->second->opens.size(), written = operand_.coindex->opens.size();
      if (declared != written)
        error(operand_.coindex->colon,
              "'" + operand_.name + "' has " + std::to_string(declared) + " codimension" +
                  (declared == 1 ? "" : "s") + ", and " + std::to_string(written) +
                  (written == 1 ? " is" : " are") + " given",
              "write one bracket behind the colon for each of its codimensions");
      operand_.codimensions = known->second;
      for (const OnNodes& on : in_.names.on_nodes)
        if (on.entity == reference->second && i >= on.scope.first && i < on.scope.last)
          operand_.on_nodes = on.directive;
      return;
    }
    error(operand_.coindex->colon,
          "'" + operand_.name + "' is not a coarray: it has no object in other images",
          "declare it with codimensions: ..:[*]");
  }

  const Unit& in_;
  const bool only_type_;
  size_t at_;
  Operand operand_;
  int brackets_ = 0;
  bool good_ = true;
};

}  // namespace

Operand read_operand(const Unit& in, size_t begin, bool only_type) {
  return Reader(in, begin, only_type).run();
}

size_t variable_in(const Unit& in, const TokenRange& range) {
  for (size_t i = range.first; !range.empty() && i < range.last; i++) {
    if (in.text.is(i, "sizeof")) {
      i = in.text.next(i);
      if (in.text.is(i, "(") && in.match(i) > i) i = in.match(i);
      continue;
    }
    if (!in.text.is_word(i)) continue;
    const Declaration* d = in.analysis.find(in.text.spelling(i), in.text.begin_of(i));
    if (d != nullptr && d->what != Declares::constant && d->what != Declares::type) return i;
  }
  return kNone;
}

size_t operand_end(const Unit& in, size_t begin) {
  size_t at = in.text.is(begin, "(") ? in.match(begin) + 1 : begin + 1;
  while (at < in.text.tokens().size()) {
    if (in.text.tokens()[at].kind == TokenKind::directive)
      at++;
    else if (in.text.is_any(at, "[", "(") && in.match(at) > at)
      at = in.match(at) + 1;
    else if (in.tokens.colons.contains(at))
      at = in.tokens.coindex_at(at)->end;
    else if (in.text.is_any(at, ".", "->") && in.text.is_word(in.text.next(at)))
      at = in.text.next(at) + 1;
    else
      break;
  }
  return at;
}

bool is_on_device(const Unit& in, size_t first, size_t last) {
  for (size_t i = first; i < last; i++) {
    if (i > first && in.text.is_any(i, "[", "(") && in.match(i) > i)
      i = in.match(i);  // what it is in does not depend on its indices
    else if (in.acc.is_device(i))
      return true;
  }
  return false;
}

std::string as_section(const Unit& in, size_t first, size_t last, const ExpressionType& type) {
  std::string form, image;
  for (size_t i = first; i < last; i++) {
    if (in.tokens.colons.contains(i)) {
      i = in.tokens.coindex_at(i)->end - 1;
      image = ":[image]";
    } else if (in.text.tokens()[i].kind != TokenKind::directive) {
      form += in.text.spelling(i);
    }
  }
  for (char c : type.name)
    if (c == '[') form += "[:]";
  return form + image;
}

std::string on_nodes_name(const Directive& coarray) {
  return "__tasuki_on" + std::to_string(coarray.word);
}

namespace {

// Among the images of the coarray.
std::string subscript_of(const Unit& in, const Operand& operand) {
  const Coindex& c = *operand.coindex;
  std::string subscripts, extents;
  const auto inside = [&](size_t open) { return in.c(open + 1, in.match(open)); };
  if (c.opens.size() == 1) return inside(c.opens[0]);
  for (size_t i = 0; i < c.opens.size(); i++) {
    subscripts += (i > 0 ? ", " : "") + inside(c.opens[i]);
    if (operand.codimensions != nullptr && i + 1 < operand.codimensions->opens.size())
      extents += (i > 0 ? ", " : "") + inside(operand.codimensions->opens[i]);
  }
  return "tasuki_xmp_image(" + quoted(operand.name) + ", " + std::to_string(c.opens.size()) +
         ", (const int[]){" + extents + "}, (const int[]){" + subscripts + "}, " + in.place(operand.begin) +
         ")";
}

}  // namespace

std::string image_of(const Unit& in, const Operand& operand) {
  const std::string image = subscript_of(in, operand);
  if (operand.on_nodes == nullptr) return image;
  return "tasuki_xmp_on_node(" + on_nodes_name(*operand.on_nodes) + ", " + image + ", " +
         quoted(operand.name) + ", " + in.place(operand.begin) + ")";
}

std::string section_of(const Unit& in, const Operand& operand) {
  std::string dimensions;
  for (const std::string& d : operand.dimensions) dimensions += (dimensions.empty() ? "" : ", ") + d;
  const unsigned flags = (operand.coindex != nullptr ? unsigned{TASUKI_XMP_REMOTE} : 0U) |
                         (in.options.checked ? unsigned{TASUKI_XMP_CHECK} : 0U) |
                         (operand.device ? unsigned{TASUKI_XMP_DEVICE} : 0U);
  return "{(void*)&" + operand.object + ", sizeof(" + operand.typed +
         "), (const struct __tasuki_xmp_dimension[]){" + dimensions + "}, " +
         std::to_string(operand.dimensions.size()) + ", " +
         (operand.coindex != nullptr ? image_of(in, operand) : "0") + ", " + std::to_string(flags) + ", " +
         quoted(operand.name) + "}";
}

}  // namespace tasuki::cc
