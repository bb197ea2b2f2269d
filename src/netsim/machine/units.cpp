#include <charconv>
#include <cmath>

#include "netsim/machine/machine.h"

namespace tasuki::netsim {
namespace {

struct Unit {
  const char* name;
  double factor;
};

constexpr Unit kRates[] = {{"B/s", 1},         {"KB/s", 1e3},        {"kB/s", 1e3},
                           {"MB/s", 1e6},      {"GB/s", 1e9},        {"TB/s", 1e12},
                           {"KiB/s", 1024},    {"MiB/s", 1048576.0}, {"GiB/s", 1073741824.0},
                           {"Mbit/s", 1.25e5}, {"Gbit/s", 1.25e8},   {"Tbit/s", 1.25e11}};
constexpr Unit kTimes[] = {{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"µs", 1e6}, {"ms", 1e9}, {"s", 1e12}};

// A number that is finite and not negative, blanks, and one of the units.
template <size_t N>
bool parse(std::string_view text, const Unit (&units)[N], double* value) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (text != unit.name) continue;
    *value = number * unit.factor;
    return true;
  }
  return false;
}

constexpr double kMostWhole = 9e18;  // what fits 64 bits

}  // namespace

bool parse_bandwidth(std::string_view text, double* bytes_per_second) {
  return parse(text, kRates, bytes_per_second);
}

bool parse_time(std::string_view text, Time* time) {
  double value = 0;
  if (!parse(text, kTimes, &value) || value > kMostWhole) return false;
  *time = static_cast<Time>(std::llround(value));
  return true;
}

}  // namespace tasuki::netsim
