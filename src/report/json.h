// JSON, written only. A library for it would be in every program that `tasuki mem` runs.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace tasuki::report {

// A string of JSON. The names of programs are bytes; what is not UTF-8 becomes '?'.
std::string quoted(std::string_view plain);
// null if it is not finite.
std::string number(double value);

// An object, Json('{'), or an array, Json('['), member by member. Strings are quoted() by the caller.
class Json {
 public:
  explicit Json(char begin) : end_(begin == '{' ? '}' : ']'), text_(1, begin) {}
  void add(const char* name, const std::string& value) { append(name, value); }
  void add(const char* name, const Json& value) { append(name, value.done()); }
  template <typename Number>
  void add(const char* name, Number value) {
    append(name, text_of(value));
  }
  void add(const Json& element) { append(nullptr, element.done()); }
  void add(const std::string& element) { append(nullptr, element); }
  void add(double element) { append(nullptr, number(element)); }
  std::string done() const { return text_ + end_; }

 private:
  template <typename Number>
  static std::string text_of(Number value) {
    if constexpr (std::is_same_v<Number, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_floating_point_v<Number>)
      return number(value);
    else
      return std::to_string(value);
  }
  void append(const char* name, const std::string& value);
  char end_;
  std::string text_;
};

}  // namespace tasuki::report
