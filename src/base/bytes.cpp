#include "base/bytes.h"

#include <charconv>
#include <cstdio>

namespace tasuki {
namespace {

struct Unit {
  std::string_view name;
  uint64_t binary, standard;  // bytes; 0: no unit there
};

constexpr uint64_t kKi = 1024, kMi = 1024 * kKi, kGi = 1024 * kMi, kTi = 1024 * kGi;
constexpr uint64_t kK = 1000, kM = 1000 * kK, kG = 1000 * kM, kT = 1000 * kG;
constexpr Unit kUnits[] = {{"", 1, 1},        {"B", 1, 1},       {"KiB", kKi, kKi}, {"MiB", kMi, kMi},
                           {"GiB", kGi, kGi}, {"TiB", kTi, kTi}, {"KB", kKi, kK},   {"MB", kMi, kM},
                           {"GB", kGi, kG},   {"TB", kTi, kT},   {"kB", 0, kK},     {"K", kKi, 0},
                           {"M", kMi, 0},     {"G", kGi, 0},     {"T", kTi, 0}};

uint64_t bytes_of(std::string_view unit, ByteUnits units) {
  for (const Unit& u : kUnits)
    if (unit == u.name) return units == ByteUnits::binary ? u.binary : u.standard;
  return 0;
}

// digits * 10^exponent. Not a double: what reads one weighs more than all else here, and shims link this.
struct Decimal {
  uint64_t digits = 0;
  int exponent = 0;
};

template <typename T>
bool take(std::string_view* text, T* value) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

// The number at the beginning of the text, which loses it: "12", "1.5", "1e6".
bool take_decimal(std::string_view* text, Decimal* number) {
  bool any = false, fraction = false;
  for (; !text->empty(); text->remove_prefix(1)) {
    const char c = text->front();
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    if (__builtin_mul_overflow(number->digits, 10, &number->digits) ||
        __builtin_add_overflow(number->digits, c - '0', &number->digits))
      return false;
    number->exponent -= fraction ? 1 : 0;
  }
  if (!any) return false;
  if (!text->empty() && (text->front() == 'e' || text->front() == 'E')) {
    std::string_view rest = text->substr(1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    if (int16_t power = 0; take(&rest, &power)) {
      number->exponent += power;
      *text = rest;
    }
  }
  return true;
}

void strip(std::string_view* text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text->empty() && blank(text->front())) text->remove_prefix(1);
  while (!text->empty() && blank(text->back())) text->remove_suffix(1);
}

}  // namespace

bool parse_bytes(std::string_view text, ByteUnits units, uint64_t* bytes) {
  Decimal number;
  if (units == ByteUnits::binary) {
    if (!take(&text, &number.digits)) return false;
  } else {
    strip(&text);
    if (!take_decimal(&text, &number)) return false;
    strip(&text);
  }
  const uint64_t unit = bytes_of(text, units);
  uint64_t value = 0;
  if (unit == 0 || __builtin_mul_overflow(number.digits, unit, &value)) return false;
  for (; value != 0 && number.exponent < 0; number.exponent++, value /= 10)
    if (value % 10 != 0) return false;
  for (; value != 0 && number.exponent > 0; number.exponent--)
    if (__builtin_mul_overflow(value, 10, &value)) return false;
  *bytes = value;
  return true;
}

std::string bytes_text(uint64_t bytes, BytesStyle style) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr size_t kLargest = std::size(kNames) - 1, kLargestRead = 4;
  size_t unit = 0;
  if (style == BytesStyle::rounded || style == BytesStyle::mebibytes) {
    double value = static_cast<double>(bytes);
    if (style == BytesStyle::mebibytes)
      value /= static_cast<double>(kMi), unit = 2;
    else
      for (; value >= 1024 && unit < kLargest; unit++) value /= 1024;
    const bool whole = style == BytesStyle::rounded && (value >= 100 || unit == 0);
    char text[40];
    snprintf(text, sizeof text, whole ? "%.0f %s" : "%.1f %s", value, kNames[unit]);
    return text;
  }
  for (; bytes != 0 && bytes % 1024 == 0 && unit < kLargestRead; unit++) bytes /= 1024;
  std::string name = kNames[unit];
  if (style == BytesStyle::prefix) name.pop_back();
  return std::to_string(bytes) + (style == BytesStyle::exact ? " " : "") + name;
}

}  // namespace tasuki
