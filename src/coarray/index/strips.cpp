#include "coarray/index/strips.h"

#include <map>

namespace tasuki::coarray {

std::vector<Strip> strips_of(const std::vector<Run>& to_positions, const std::vector<Run>& from_positions,
                             int64_t period, const std::function<int64_t(int64_t)>& to,
                             const std::function<int64_t(int64_t)>& from) {
  struct Open {
    size_t strip;
    int64_t next;  // position at which the strip would go on
  };
  std::map<int64_t, Open> open;  // by position modulo the period
  std::vector<Strip> strips;
  for (size_t i = 0, j = 0; i < to_positions.size() && j < from_positions.size();) {
    const Run &a = to_positions[i], &b = from_positions[j];
    const Run both = common(a, b);
    if (a.last() < b.last())
      i++;
    else
      j++;
    if (both.count == 0) continue;
    Strip strip;
    strip.count = both.count;
    strip.to = to(both.begin);
    strip.from = from(both.begin);
    if (both.count > 1) {
      strip.to_step = to(both.at(1)) - strip.to;
      strip.from_step = from(both.at(1)) - strip.from;
    }
    if (period > 0) {
      const auto [entry, fresh] = open.try_emplace(both.begin % period, Open{0, 0});
      Open& known = entry->second;
      if (!fresh && known.next == both.begin && strips[known.strip].count == strip.count) {
        Strip& last = strips[known.strip];
        if (last.repeat == 1) {
          last.to_again = strip.to - last.to;
          last.from_again = strip.from - last.from;
        }
        last.repeat++;
        known.next += period;
        continue;
      }
      known = {strips.size(), both.begin + period};
    }
    strips.push_back(strip);
  }
  return strips;
}

}  // namespace tasuki::coarray
