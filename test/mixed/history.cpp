#include "history.h"

#include <algorithm>

namespace mixed {
namespace {

const Message* message_of(const Plan& plan, const Event& e) {
  return e.message < 0 ? nullptr : &plan.messages[static_cast<size_t>(e.message)];
}

// Why `x` must have happened before `y`, or nullptr.
const char* before(const Plan& plan, const Event& x, const Event& y) {
  // Time. A cancellation cannot happen before MPI_Cancel is called, a match not before the receive is posted.
  const long start = y.kind == Event::cancelled ? y.cancel : y.begun;
  if (x.ended <= start) return "its end was seen before the other began";
  const Message *mx = message_of(plan, x), *my = message_of(plan, y);
  if (my == nullptr) return nullptr;
  if (x.kind == Event::probe) return mx == my ? "it found the message that the other received" : nullptr;
  if (mx != nullptr && mx->from == my->from && mx->comm == my->comm && mx->number < my->number &&
      y.pattern.matches(*mx))
    return "its message was sent before, and the other accepts it";
  if (x.thread == y.thread && x.posted <= y.begun && x.pattern.matches(*my))
    return "it was posted before, and accepts the other's message";
  return nullptr;
}

}  // namespace

std::string describe(const Plan& plan, const Event& e) {
  static const char* const names[] = {"receive", "matched probe", "probe", "cancelled receive"};
  std::string text = std::string(names[e.kind]) + " (" + describe(plan, e.pattern) + ", ticks " +
                     std::to_string(e.begun) + "-" + (e.ended == LONG_MAX ? "" : std::to_string(e.ended));
  if (e.cancel != LONG_MAX) text += ", MPI_Cancel at " + std::to_string(e.cancel);
  if (e.thread > 0) text += ", thread " + std::to_string(e.thread);
  text += ")";
  if (e.message >= 0) text += " of " + describe(plan, plan.messages[static_cast<size_t>(e.message)]);
  return text;
}

std::string judge(const Plan& plan, const std::vector<Event>& all) {
  for (int c = 0; c < static_cast<int>(plan.comms.size()); c++) {
    std::vector<const Event*> events;
    for (const Event& e : all)
      if (e.pattern.comm == c) events.push_back(&e);
    const size_t n = events.size();
    std::vector<std::vector<int>> later(n);
    std::vector<int> earlier(n, 0);
    for (size_t x = 0; x < n; x++)
      for (size_t y = 0; y < n; y++)
        if (x != y && before(plan, *events[x], *events[y]) != nullptr) {
          later[x].push_back(static_cast<int>(y));
          earlier[y]++;
        }
    // All events can be put in order if there is always one with nothing before it.
    std::vector<int> free;
    for (size_t x = 0; x < n; x++)
      if (earlier[x] == 0) free.push_back(static_cast<int>(x));
    size_t placed = 0;
    while (!free.empty()) {
      const size_t x = static_cast<size_t>(free.back());
      free.pop_back();
      placed++;
      for (int y : later[x])
        if (--earlier[static_cast<size_t>(y)] == 0) free.push_back(y);
    }
    if (placed == n) continue;
    // The shortest cycle, for people.
    std::vector<int> best;
    for (size_t s = 0; s < n; s++) {
      if (earlier[s] == 0) continue;
      std::vector<int> from(n, -1), queue = {static_cast<int>(s)};
      bool closed = false;
      for (size_t i = 0; i < queue.size() && !closed; i++)
        for (int y : later[static_cast<size_t>(queue[i])]) {
          if (y == static_cast<int>(s)) {
            std::vector<int> cycle;
            for (int x = queue[i]; x != -1; x = from[static_cast<size_t>(x)]) cycle.push_back(x);
            std::reverse(cycle.begin(), cycle.end());
            if (best.empty() || cycle.size() < best.size()) best = cycle;
            closed = true;
            break;
          }
          if (from[static_cast<size_t>(y)] < 0) {
            from[static_cast<size_t>(y)] = queue[i];
            queue.push_back(y);
          }
        }
    }
    std::string text =
        "no order of these events is allowed; each must have come before the next, and the last before the "
        "first:";
    for (size_t i = 0; i < best.size(); i++) {
      const Event &x = *events[static_cast<size_t>(best[i])],
                  &y = *events[static_cast<size_t>(best[(i + 1) % best.size()])];
      text += "\n  " + describe(plan, x) + "\n    before the next: " + before(plan, x, y);
    }
    return text;
  }
  return "";
}

}  // namespace mixed
