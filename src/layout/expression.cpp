#include "layout/expression.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

namespace tasuki::layout {
namespace {

constexpr int kDeepest = 100;

struct Basic {
  const char* name;
  uint64_t bytes, alignment;
};
constexpr Basic kBasics[] = {
    {"byte", 1, 1},
    {"char", 1, 1},
    {"int8", 1, 1},
    {"uint8", 1, 1},
    {"bool", 1, 1},
    {"short", 2, 2},
    {"int16", 2, 2},
    {"uint16", 2, 2},
    {"int", 4, 4},
    {"unsigned", 4, 4},
    {"int32", 4, 4},
    {"uint32", 4, 4},
    {"float", 4, 4},
    {"integer", 4, 4},
    {"real", 4, 4},
    {"long", 8, 8},
    {"int64", 8, 8},
    {"uint64", 8, 8},
    {"double", 8, 8},
    {"aint", 8, 8},
    {"complex", 8, 4},
    {"double_complex", 16, 8},
    {"double_precision", 8, 8},
    {"long_double", 16, 16},
};

struct Release {
  void operator()(const Layout* l) const { release(l); }
};
using Owned = std::unique_ptr<const Layout, Release>;

struct Type {
  Owned layout;
  uint64_t alignment = 1;
};

struct SyntaxError {
  size_t at;  // 0-based
  std::string text;
};

// Recursive descent; errors leave by exception and become a Status in parse().
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Owned whole() {
    Type t = type();
    skip();
    if (at_ < text_.size()) fail("'" + next() + "' after the end of the expression");
    return std::move(t.layout);
  }

 private:
  using Numbers = std::vector<int64_t>;

  [[noreturn]] void fail(const std::string& what) { fail_at(at_, what); }
  [[noreturn]] static void fail_at(size_t at, const std::string& what) { throw SyntaxError{at, what}; }

  void skip() {
    while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_]))) at_++;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string next() { return at_ < text_.size() ? std::string(1, text_[at_]) : "end of text"; }
  bool accept(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail(std::string("expected '") + c + "', found " + (at_ < text_.size() ? "'" + next() + "'" : next()));
  }

  std::string word() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      at_++;
    return std::string(text_.substr(begin, at_ - begin));
  }

  // ---- numbers
  int64_t number() {
    int64_t value = product();
    for (;;) {
      const bool plus = accept('+');
      if (!plus && !accept('-')) return value;
      const int64_t other = product();
      refuse(plus ? __builtin_add_overflow(value, other, &value)
                  : __builtin_sub_overflow(value, other, &value));
    }
  }
  int64_t product() {
    int64_t value = factor();
    while (accept('*')) {
      const int64_t other = factor();
      refuse(__builtin_mul_overflow(value, other, &value));
    }
    return value;
  }
  int64_t factor() {
    if (++depth_ > kDeepest) fail("nested too deeply");
    int64_t value = 0;
    if (accept('-')) {
      value = -factor();
    } else if (accept('(')) {
      value = number();
      expect(')');
    } else {
      const size_t begin = (skip(), at_);
      for (; at_ < text_.size() && isdigit(static_cast<unsigned char>(text_[at_])); at_++)
        refuse(__builtin_mul_overflow(value, 10, &value) ||
               __builtin_add_overflow(value, text_[at_] - '0', &value));
      if (at_ == begin)
        fail("expected a number, found " + (at_ < text_.size() ? "'" + next() + "'" : next()));
    }
    depth_--;
    return value;
  }
  void refuse(bool overflow) {
    if (overflow) fail("a number does not fit into 64 bits");
  }
  uint64_t count() {
    const size_t begin = (skip(), at_);
    const int64_t value = number();
    if (value < 0) fail_at(begin, "a count must not be negative");
    return static_cast<uint64_t>(value);
  }
  Numbers list() {
    Numbers numbers;
    expect('[');
    if (accept(']')) return numbers;
    do numbers.push_back(number());
    while (accept(','));
    expect(']');
    return numbers;
  }
  std::vector<uint64_t> counts() {
    const size_t begin = (skip(), at_);
    const Numbers numbers = list();
    for (const int64_t n : numbers)
      if (n < 0) fail_at(begin, "a block length must not be negative");
    return std::vector<uint64_t>(numbers.begin(), numbers.end());
  }
  Numbers list_of(size_t n, const char* what) {
    const size_t begin = (skip(), at_);
    Numbers numbers = list();
    if (numbers.size() != n)
      fail_at(begin, std::string(what) + ": " + std::to_string(numbers.size()) + " where " +
                         std::to_string(n) + " are needed");
    return numbers;
  }
  // Displacements or strides in elements of `t` to bytes.
  Numbers in_bytes(Numbers numbers, const Type& t, size_t at) {
    for (int64_t& n : numbers) n = in_bytes(n, t, at);
    return numbers;
  }
  int64_t in_bytes(int64_t n, const Type& t, size_t at) {
    if (__builtin_mul_overflow(n, extent(t.layout.get()), &n)) fail_at(at, "too large");
    return n;
  }

  // ---- types
  Type made(const Layout* l, uint64_t alignment, size_t at) {
    if (l == nullptr) fail_at(at, "the type is larger than 63 bits can count");
    return {Owned(l), alignment};
  }
  Type child() {
    expect(',');
    return type();
  }

  Type type() {
    if (++depth_ > kDeepest) fail("nested too deeply");
    const size_t begin = (skip(), at_);
    std::string name = word();
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return tolower(c); });
    if (name.rfind("mpi_", 0) == 0) name.erase(0, 4);
    if (name.rfind("type_", 0) == 0) name.erase(0, 5);
    if (name.rfind("create_", 0) == 0) name.erase(0, 7);
    if (name.empty()) fail("expected a type, found " + (at_ < text_.size() ? "'" + next() + "'" : next()));
    Type t;
    const auto* basic =
        std::find_if(std::begin(kBasics), std::end(kBasics), [&](const Basic& b) { return name == b.name; });
    if (basic != std::end(kBasics))
      t = made(make_dense(basic->bytes), basic->alignment, begin);
    else if (name == "struct")
      t = structure(begin);
    else
      t = constructor(name, begin);
    while (accept('[')) {
      const uint64_t n = count();
      expect(']');
      t = made(make_contiguous(n, t.layout.get()), t.alignment, begin);
    }
    depth_--;
    return t;
  }

  Type constructor(const std::string& name, size_t begin) {
    const bool bytes = name[0] == 'h';
    const std::string kind = bytes ? name.substr(1) : name;
    static constexpr const char* kNames[] = {
        "contiguous",    "vector",         "hvector",  "indexed", "hindexed",
        "indexed_block", "hindexed_block", "subarray", "resized", "dup"};
    if (std::none_of(std::begin(kNames), std::end(kNames), [&](const char* n) { return name == n; }))
      fail_at(
          begin,
          "'" + name +
              "' is no type; known are contiguous, vector, hvector, indexed, hindexed, indexed_block, "
              "hindexed_block, subarray, resized, struct{...}, and basic types such as int, float, double");
    expect('(');
    Type result;
    if (name == "dup") {
      result = type();
    } else if (name == "contiguous") {
      const uint64_t n = count();
      const Type t = child();
      result = made(make_contiguous(n, t.layout.get()), t.alignment, begin);
    } else if (kind == "vector") {
      const uint64_t n = count();
      expect(',');
      const uint64_t length = count();
      expect(',');
      const size_t at = (skip(), at_);
      int64_t stride = number();
      const Type t = child();
      if (!bytes) stride = in_bytes(stride, t, at);
      result = made(make_hvector(n, length, stride, t.layout.get()), t.alignment, begin);
    } else if (kind == "indexed") {
      const std::vector<uint64_t> lengths = counts();
      expect(',');
      const size_t at = (skip(), at_);
      Numbers where = list_of(lengths.size(), "displacements");
      const Type t = child();
      if (!bytes) where = in_bytes(std::move(where), t, at);
      result = made(make_hindexed(lengths.size(), lengths.data(), where.data(), t.layout.get()), t.alignment,
                    begin);
    } else if (kind == "indexed_block") {
      const uint64_t length = count();
      expect(',');
      const size_t at = (skip(), at_);
      Numbers where = list();
      const Type t = child();
      if (!bytes) where = in_bytes(std::move(where), t, at);
      result =
          made(make_hindexed_block(where.size(), length, where.data(), t.layout.get()), t.alignment, begin);
    } else if (name == "subarray") {
      result = subarray(begin);
    } else {
      const int64_t lower = number();
      expect(',');
      const int64_t length = number();
      const Type t = child();
      result = made(make_resized(lower, length, t.layout.get()), t.alignment, begin);
    }
    expect(')');
    return result;
  }

  Type subarray(size_t begin) {
    const size_t at = (skip(), at_);
    const Numbers sizes = list();
    if (sizes.empty()) fail_at(at, "a subarray needs at least one dimension");
    expect(',');
    const Numbers subsizes = list_of(sizes.size(), "subsizes");
    expect(',');
    const Numbers starts = list_of(sizes.size(), "starts");
    for (size_t i = 0; i < sizes.size(); i++)
      if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || subsizes[i] > sizes[i] - starts[i])
        fail_at(at, "dimension " + std::to_string(i) + ": " + std::to_string(subsizes[i]) +
                        " elements from " + std::to_string(starts[i]) + " do not lie within " +
                        std::to_string(sizes[i]));
    const Type t = child();
    char order = 'C';
    if (accept(',')) {
      const size_t where = (skip(), at_);
      const std::string text = word();
      if (text != "C" && text != "F") fail_at(where, "the order is C or F");
      order = text[0];
    }
    return made(make_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(), starts.data(),
                              order, t.layout.get()),
                t.alignment, begin);
  }

  Type structure(size_t begin) {
    std::vector<Type> members;
    std::vector<const Layout*> children;
    Numbers where;
    uint64_t alignment = 1;
    int64_t end = 0;  // where C would place the next member, before alignment
    expect('{');
    while (peek() != '}') {
      Type t = type();
      const auto step = static_cast<int64_t>(t.alignment);
      int64_t place = (end + step - 1) / step * step;
      if (accept('@')) place = number();
      end = place + lower_bound(t.layout.get()) + extent(t.layout.get());
      if (end < 0) end = 0;
      alignment = std::max(alignment, t.alignment);
      where.push_back(place);
      children.push_back(t.layout.get());
      members.push_back(std::move(t));
      if (!accept(';') && !accept(',')) break;
    }
    expect('}');
    const std::vector<uint64_t> ones(children.size(), 1);
    Type all =
        made(make_struct(children.size(), ones.data(), where.data(), children.data()), alignment, begin);
    const int64_t span = extent(all.layout.get()), step = static_cast<int64_t>(alignment);
    if (span % step == 0) return all;
    return made(make_resized(lower_bound(all.layout.get()), (span / step + 1) * step, all.layout.get()),
                alignment, begin);
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<const Layout*> parse(std::string_view text, size_t* column) {
  try {
    return Parser(text).whole().release();
  } catch (const SyntaxError& e) {
    *column = e.at + 1;
    return Status::error(EINVAL, "column " + std::to_string(e.at + 1) + ": " + e.text);
  }
}

}  // namespace tasuki::layout
