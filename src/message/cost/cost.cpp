#include "message/cost/cost.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/take_word.h"

namespace tasuki::message {
namespace {

using layout::Footprint;

// A side that joins, or is waited for, costs the other one so many flags: it takes the transfer's lines,
// claims, and tells the end.
constexpr double kJoin = 4.5;
// See move_message() in transfer.cpp.
constexpr double kUnits = 8, kSmallestUnit = 1024, kLargestUnit = 8192;
// Ways whose times differ by less than the model is right about are alike.
constexpr double kAlike = 1.15;

double fetch(const Costs& c, const Footprint& f) {
  return static_cast<double>(f.lines) * c.line + static_cast<double>(f.pages) * c.page;
}
double loops(const Costs& c, const Footprint& f) {
  return f.runs > 1 ? static_cast<double>(f.runs) * c.run : 0;
}

uint64_t bytes_of(double n) {
  return static_cast<uint64_t>(std::clamp(n, 1024.0, 1048576.0));
}

}  // namespace

bool plausible(const Costs& c) {
  for (size_t i = 0; i < kCostCount; i++)
    if (const double v = cost_at(c, i); !(v > 0 && v < 1e6)) return false;  // false for NaN too
  return true;
}

bool parse_costs(std::string_view text, Costs* costs) {
  Costs found{};
  while (!text.empty()) {
    const std::string_view word = take_word(&text, ' ');
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    size_t i = 0;
    while (i < kCostCount && word.substr(0, equals) != kCostNames[i]) i++;
    if (i == kCostCount) return false;
    const char* last = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + equals + 1, last, cost_at(found, i));
    if (error != std::errc() || stop != last) return false;
  }
  if (!plausible(found)) return false;
  *costs = found;
  return true;
}

size_t format_costs(const Costs& costs, char* text, size_t capacity) {
  size_t length = 0;
  for (size_t i = 0; i < kCostCount; i++) {
    char word[64];
    char* end = word;
    if (i != 0) *end++ = ' ';
    const size_t name = strlen(kCostNames[i]);
    memcpy(end, kCostNames[i], name);
    end += name;
    *end++ = '=';
    end = std::to_chars(end, word + sizeof word, cost_at(costs, i)).ptr;
    for (const char* p = word; p < end; p++, length++)
      if (length + 1 < capacity) text[length] = *p;
  }
  if (capacity != 0) text[std::min(length, capacity - 1)] = 0;
  return length;
}

Thresholds thresholds(const Costs& c) {
  return {
      // The way through a buffer costs less than to look for a receiver that is elsewhere, and then to wait
      // for it.
      bytes_of(8 * c.handshake / c.staged_byte),
      // Telling takes about two handshakes, a seventh of the time of such a copy.
      bytes_of(13.1 * c.handshake / c.byte),
      // Half the copying saved pays for the other side's joining.
      bytes_of(2 * kJoin * c.handshake / c.byte),
  };
}

double time_of(Way way, const Costs& c, const Footprint& source, const Footprint& destination, bool touched) {
  const double n = static_cast<double>(std::min(source.bytes, destination.bytes));
  const double copy = loops(c, source) + loops(c, destination) + n * c.byte;
  const double there = fetch(c, source), here = fetch(c, destination);
  switch (way) {
    case Way::alone:
      return copy + (touched ? kThereAndBack * std::max(there, here) : 0);
    case Way::direct:
      return copy / 2 + kJoin * c.handshake + (touched ? kThereAndBack * (there + here) / 2 : 0);
    case Way::pipelined:
      break;
  }
  const double units = std::ceil(n / std::clamp(n / kUnits, kSmallestUnit, kLargestUnit));
  return std::max(loops(c, source), loops(c, destination)) + n * (c.byte + c.staged_byte) + c.handshake +
         units * c.unit;
}

Prospects prospects(const Costs& c, const Footprint& source, const Footprint& destination) {
  Prospects p;
  for (size_t i = 0; i < Prospects::kWays; i++)
    p.touched[i] = time_of(static_cast<Way>(i), c, source, destination, true);
  const double least = *std::min_element(std::begin(p.touched), std::end(p.touched));
  p.best = Way::direct;
  double untouched = HUGE_VAL;
  for (const Way w : {Way::direct, Way::alone, Way::pipelined}) {
    if (p.touched_by(w) > least * kAlike) continue;
    const double time = time_of(w, c, source, destination, false);
    if (time >= untouched) continue;
    untouched = time;
    p.best = w;
  }
  return p;
}

bool pack_at_source(const Costs& c, const Footprint& source) {
  const double n = static_cast<double>(source.bytes);
  const double fetched = kThereAndBack * fetch(c, source);
  const double packed = n * c.staged_byte + 2 * c.handshake;
  return packed < fetched;
}

}  // namespace tasuki::message
