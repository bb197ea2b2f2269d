#include "pager/pages/streams.h"

#include <algorithm>

namespace tasuki::pager {

FetchPlan Streams::fault(uint32_t region, Locality* locality, uint64_t unit, bool write) {
  clock_++;
  if (Stream* s = continued_by(region, *locality, unit)) return go_on(s, locality, unit, write);
  return begin(region, locality, unit, write);
}

// Random accesses come near one of the streams by chance, if there are many for the size of the region; what
// has gone on once is believed.
bool Streams::may_go_on(const Stream& s, const Locality& locality) {
  constexpr uint64_t kLeast = 4, kUnits = 64;  // one stream in so many units
  return s.streak > 0 || locality.begun - s.number < std::max(kLeast, locality.units / kUnits);
}

// Forward: the fault is where the last fetch ended, or a little behind (a unit or two that the program
// skips).
Streams::Stream* Streams::continued_by(uint32_t region, const Locality& locality, uint64_t unit) {
  if (locality.advice == Advice::random) return nullptr;
  constexpr uint64_t kSkipped = 2;
  for (Stream& s : streams_) {
    if (!s.used || s.region != region || !may_go_on(s, locality)) continue;
    const uint64_t page = locality.fixed != 0 ? locality.fixed
                          : s.streak > 0      ? locality.granule / 2
                                              : kSkipped;
    const uint64_t near = std::max(kSkipped, page);
    // What was fetched ahead may be gone again, or never have come for lack of memory.
    if (!s.backward && unit > s.at && unit < s.next + near) return &s;
    if (s.backward && unit < s.at && unit + near >= s.first) return &s;
    if (s.streak == 0 && unit < s.first && unit + near >= s.first) {
      s.backward = true;
      return &s;
    }
  }
  return nullptr;
}

uint32_t Streams::window_limit() const {
  uint64_t active = 1;
  for (const Stream& s : streams_)
    if (s.used && s.streak > 1 && s.age + kStreams > clock_) active++;
  // 2 MiB ahead is far enough for any network; all windows together leave a half of the local memory alone.
  // (A quarter for the windows makes pages of half the size: Himeno M with 17 MB local and 14 streams took
  // 1.3 times as long, MG W at 25 % 1.5 times.)
  return static_cast<uint32_t>(std::clamp<uint64_t>(local_units_ / 2 / active, 1, 512));
}

uint32_t Streams::page_of(const Stream& s, const Locality& locality) {
  if (locality.fixed != 0) return locality.fixed;
  return std::max(locality.granule, std::clamp(s.window / 2, kStreamPage, kMaxStreamPage));
}

FetchPlan Streams::go_on(Stream* s, Locality* locality, uint64_t unit, bool write) {
  // What the stream had fetched is gone again, before it was used, or has not come for lack of memory. Once
  // and again that may be; where it is so each time, this is no stream but chance, as in a small region.
  constexpr uint32_t kVain = 3;
  s->vain = (s->backward ? unit >= s->first : unit < s->next) ? s->vain + 1 : 0;
  if (s->streak == 0) judge(locality, s->vain == 0);
  s->streak++;
  s->age = clock_;
  s->writes = write || s->writes;
  s->at = unit;

  const uint32_t page = page_of(*s, *locality);
  const uint32_t limit =
      std::max(locality->advice == Advice::sequential ? window_limit() * 2 : window_limit(), page);
  s->window = s->vain > kVain ? std::max(s->window / 2, std::max(1u, locality->fixed))
                              : std::min(std::max(s->window * 2, page), limit);
  if (locality->fixed == 0 && s->streak < 2)
    s->window = std::min(s->window, std::max(2 * locality->granule, 2u));
  const uint32_t demand = std::min(page, s->window);

  FetchPlan plan;
  plan.write = s->writes;
  plan.page = page;
  plan.backward = s->backward;
  if (locality->fixed != 0) unit -= unit % locality->fixed;
  const uint32_t ahead = prefetch_ == Prefetch::off ? 0 : (s->window - demand) / page * page;
  if (!s->backward) {
    plan.first = unit;
    plan.units = demand;
    plan.ahead_first = unit + demand;
    plan.ahead_units = ahead;
    s->next = unit + demand + ahead;
  } else {
    const uint64_t low = locality->fixed != 0 ? unit : unit + 1 - std::min<uint64_t>(unit + 1, demand);
    plan.first = low;
    plan.units = locality->fixed != 0 ? demand : static_cast<uint32_t>(unit + 1 - low);
    plan.ahead_units = static_cast<uint32_t>(std::min<uint64_t>(ahead, low));
    plan.ahead_first = low - plan.ahead_units;
    s->first = plan.ahead_first;
  }
  return plan;
}

FetchPlan Streams::awaited(uint32_t region, const Locality& locality, uint64_t unit) {
  FetchPlan plan;
  if (prefetch_ == Prefetch::off) return plan;
  for (Stream& s : streams_) {
    const bool within = s.backward ? unit < s.at && unit >= s.first : unit > s.at && unit < s.next;
    if (!s.used || s.region != region || s.streak == 0 || !within) continue;
    s.at = unit;
    s.age = ++clock_;
    plan.write = s.writes;
    plan.page = page_of(s, locality);
    plan.backward = s.backward;
    const uint64_t left = s.backward ? unit + 1 - s.first : s.next - unit;
    const uint64_t window = std::min(s.window, window_limit());
    uint64_t ahead = window > left ? (window - left) / plan.page * plan.page : 0;
    if (s.backward) {
      ahead = std::min(ahead, s.first);
      s.first -= ahead;
    }
    plan.ahead_first = s.backward ? s.first : s.next;
    plan.ahead_units = static_cast<uint32_t>(ahead);
    if (!s.backward) s.next += ahead;
    return plan;
  }
  return plan;
}

FetchPlan Streams::begin(uint32_t region, Locality* locality, uint64_t unit, bool write) {
  Stream* oldest = &streams_[0];
  for (Stream& s : streams_) {
    if (!s.used) {
      oldest = &s;
      break;
    }
    if (s.age < oldest->age) oldest = &s;
  }
  if (locality->fixed == 0) judge(locality, false);

  const int64_t here = static_cast<int64_t>(unit);
  if (locality->last >= 0)
    locality->steps[locality->step_count++ % locality->steps.size()] = here - locality->last;
  locality->last = here;

  const uint32_t page =
      locality->fixed != 0 ? locality->fixed : (locality->advice == Advice::random ? 1 : locality->granule);
  FetchPlan plan;
  plan.first = unit - unit % page;
  plan.units = page;
  plan.write = write || will_be_written(locality);
  *oldest = {region, true, false, write,  plan.first,        plan.first + page,
             unit,   page, 0,     clock_, ++locality->begun, 0};

  plan.stride = locality->advice == Advice::random ? 0 : stride_of(*locality);
  if (plan.stride != 0) plan.ahead_units = std::min<uint32_t>(8, window_limit() / page);
  return plan;
}

// `continued`: a stream went on after its first fetch; else: a fetch stood alone so far (a stream that
// continues later is counted twice, once each way, so a half of continued ones means that all are).
void Streams::judge(Locality* l, bool continued) {
  if (l->fixed != 0) return;
  (continued ? l->continued : l->isolated)++;
  if (l->isolated < l->hold) return;
  if (l->continued * 2 >= l->isolated) {
    if (l->granule < kMaxGranule) {
      l->granule *= 2;
      // Smaller was tried and was worse: wait longer before the next attempt.
      l->hold = std::min(l->hold * 4, 4096u);
    }
  } else if (l->continued * 8 <= l->isolated && l->granule > 1) {
    l->granule /= 2;
  }
  l->isolated = l->continued = 0;
}

int64_t Streams::stride_of(const Locality& l) const {
  const uint32_t n = std::min<uint32_t>(l.step_count, l.steps.size());
  if (prefetch_ == Prefetch::off || prefetch_ == Prefetch::sequential || n < 4) return 0;
  if (prefetch_ == Prefetch::strided) {
    const int64_t a = l.steps[(l.step_count - 1) % l.steps.size()],
                  b = l.steps[(l.step_count - 2) % l.steps.size()];
    return a == b ? a : 0;
  }
  int64_t candidate = 0;
  uint32_t votes = 0, count = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (votes == 0) candidate = l.steps[i];
    votes += l.steps[i] == candidate ? 1 : static_cast<uint32_t>(-1);
  }
  for (uint32_t i = 0; i < n; i++) count += l.steps[i] == candidate;
  return count * 2 > n ? candidate : 0;
}

// To be fetched for reading and then written costs a second fault. One in 16 is tried all the same, to see
// whether they are still written.
bool Streams::will_be_written(Locality* l) {
  constexpr uint32_t kLeast = 8, kMost = 64, kTry = 16;
  if (l->read >= kLeast && l->rewritten * 4 > l->read * 3 && ++l->expected % kTry != 0) return true;
  if (++l->read == kMost) {
    l->read /= 2;
    l->rewritten /= 2;
  }
  return false;
}

void Streams::written(uint32_t region, Locality* locality, uint64_t unit) {
  if (locality->rewritten < locality->read) locality->rewritten++;
  for (Stream& s : streams_)
    if (s.used && s.region == region && unit >= s.first && unit < s.next + s.window) s.writes = true;
}

void Streams::forget(uint32_t region) {
  for (Stream& s : streams_)
    if (s.region == region) s.used = false;
}

}  // namespace tasuki::pager
