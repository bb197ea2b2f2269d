#include "schedule/schedule.h"

#include <algorithm>
#include <cerrno>

#include "schedule/algorithms.h"

namespace tasuki::schedule {
namespace {

Status check(const Algorithm& a, const Parameters& p) {
  const auto wrong = [&](const std::string& what) {
    return Status::error(EINVAL, std::string(a.name) + ": " + what);
  };
  if (p.ranks == 0) return wrong("needs at least one rank");
  if (p.root >= p.ranks)
    return wrong("root " + std::to_string(p.root) + " is not one of " + std::to_string(p.ranks) + " ranks");
  // All buffers together are a few times this.
  if (p.bytes > UINT64_MAX / 16 / p.ranks)
    return wrong(std::to_string(p.bytes) + " bytes are too many for " + std::to_string(p.ranks) + " ranks");
  if (p.shape.empty())
    return a.needs_shape ? wrong("needs the shape of a torus or mesh, for example 4x4x2") : Status();
  uint64_t nodes = 1;
  for (const uint32_t extent : p.shape) {
    if (extent == 0) return wrong("an extent of the shape is 0");
    nodes *= extent;
    if (nodes > UINT32_MAX) return wrong("the shape has too many nodes");
  }
  if (nodes != p.ranks)
    return wrong("the shape has " + std::to_string(nodes) + " nodes for " + std::to_string(p.ranks) +
                 " ranks");
  return Status();
}

uint32_t hops_along(uint32_t extent, bool wraps, uint32_t from, uint32_t to) {
  const uint32_t straight = from > to ? from - to : to - from;
  return wraps ? std::min(straight, extent - straight) : straight;
}

}  // namespace

Result<Schedule> make(const Algorithm& algorithm, const Parameters& parameters) {
  Status status = check(algorithm, parameters);
  if (!status.ok()) return status;
  Result<Outline> outline = algorithm.outline(parameters);
  if (!outline.ok()) return outline.status();
  Schedule s;
  s.algorithm_ = algorithm.name;
  s.operation_ = algorithm.operation;
  s.ranks_ = parameters.ranks;
  s.buffers_ = std::move(outline.value().buffers);
  Schedule::Part part{&algorithm, parameters, {}};
  for (size_t i = 0; i < s.buffers_.size(); i++) part.buffers.push_back(static_cast<uint8_t>(i));
  s.parts_.push_back(std::move(part));
  const std::vector<uint32_t>& rounds = outline.value().rounds;
  s.spans_.resize(rounds.size());
  for (uint32_t lane = 0; lane < rounds.size(); lane++) {
    s.add_span(lane, {0, 0, 0, 0, 0}, rounds[lane]);
    s.sequences_ = std::max(s.sequences_, rounds[lane]);
  }
  return s;
}

void Schedule::add_span(uint32_t lane, Span span, uint32_t rounds_more) {
  if (rounds_more == 0) return;
  span.begin = rounds(lane);
  span.end = span.begin + rounds_more;
  spans_[lane].push_back(span);
}

uint32_t Schedule::rounds(uint32_t lane) const {
  return spans_[lane].empty() ? 0 : spans_[lane].back().end;
}

void Schedule::round(uint32_t rank, uint32_t lane, uint32_t round, std::vector<Step>& out) const {
  out.clear();
  const std::vector<Span>& spans = spans_[lane];
  const auto span = std::upper_bound(spans.begin(), spans.end(), round,
                                     [](uint32_t r, const Span& s) { return r < s.end; });
  if (span == spans.end()) return;
  const Part& part = parts_[span->part];
  const uint32_t ahead = round - span->begin;
  const uint32_t sequence = span->sequence == kBarrier ? kBarrier : span->sequence + ahead;
  const bool paced = sequence < gaps_.size() && !gaps_[sequence].empty();
  part.algorithm->emit(part.parameters, rank, lane, span->first + ahead, out);
  for (Step& step : out) {
    step.lane = lane;
    step.round = round;
    step.sequence = sequence;
    if (step.bytes != 0) {
      step.buffer = part.buffers[step.buffer];
      step.from_buffer = part.buffers[step.from_buffer];
    }
    if (step.action != Action::send) continue;
    step.gap = paced ? gaps_[sequence][hops(part.parameters.shape, part.parameters.wraps, rank, step.peer)]
                     : part.parameters.gap;
  }
}

std::vector<Step> Schedule::steps(uint32_t rank) const {
  std::vector<Step> all, some;
  for (uint32_t lane = 0; lane < lanes(); lane++)
    for (uint32_t r = 0; r < rounds(lane); r++) {
      round(rank, lane, r, some);
      all.insert(all.end(), some.begin(), some.end());
    }
  return all;
}

std::vector<std::vector<Step>> materialise(const Schedule& schedule) {
  std::vector<std::vector<Step>> all;
  for (uint32_t rank = 0; rank < schedule.ranks(); rank++) all.push_back(schedule.steps(rank));
  return all;
}

// Takes over the other's parts and buffers; the number that its first part has here.
uint32_t Schedule::add_parts(const Schedule& other) {
  const uint32_t first = static_cast<uint32_t>(parts_.size());
  std::vector<uint8_t> here;
  for (const Buffer& theirs : other.buffers_) {
    auto ours = std::find_if(buffers_.begin(), buffers_.end(),
                             [&](const Buffer& b) { return b.name == theirs.name; });
    if (ours == buffers_.end()) ours = buffers_.insert(ours, {theirs.name, 0});
    ours->bytes = std::max(ours->bytes, theirs.bytes);
    here.push_back(static_cast<uint8_t>(ours - buffers_.begin()));
  }
  for (Part part : other.parts_) {
    for (uint8_t& b : part.buffers) b = here[b];
    parts_.push_back(std::move(part));
  }
  return first;
}

Result<Schedule> concatenate(std::span<const Schedule> schedules) {
  if (schedules.empty()) return Status::error(EINVAL, "concatenate: no schedule");
  Schedule all;
  all.ranks_ = schedules[0].ranks_;
  all.spans_.resize(schedules[0].lanes());
  for (const Schedule& s : schedules) {
    if (s.ranks_ != all.ranks_ || s.lanes() != all.lanes())
      return Status::error(EINVAL, "concatenate: " + s.algorithm_ + " has " + std::to_string(s.ranks_) +
                                       " ranks in " + std::to_string(s.lanes()) + " lanes, the first one " +
                                       std::to_string(all.ranks_) + " in " + std::to_string(all.lanes()));
    const uint32_t first = all.add_parts(s);
    for (uint32_t lane = 0; lane < s.lanes(); lane++)
      for (Schedule::Span span : s.spans_[lane]) {
        span.part += first;
        if (span.sequence != kBarrier) span.sequence += all.sequences_;
        all.add_span(lane, span, span.end - span.begin);
      }
    all.gaps_.resize(all.sequences_);
    all.gaps_.insert(all.gaps_.end(), s.gaps_.begin(), s.gaps_.end());
    all.sequences_ += s.sequences_;
    all.algorithm_ += (all.algorithm_.empty() ? "" : "+") + s.algorithm_;
    all.operation_ = all.operation_.empty() || all.operation_ == s.operation_ ? s.operation_ : "several";
  }
  return all;
}

Result<Schedule> with_barriers(const Schedule& schedule) {
  if (schedule.lanes() != 1)
    return Status::error(EINVAL, schedule.algorithm_ + ": has " + std::to_string(schedule.lanes()) +
                                     " lanes that know nothing of each other; barriers need one");
  Result<Schedule> barrier = make(kDissemination, {.ranks = schedule.ranks_});
  if (!barrier.ok()) return barrier.status();
  Schedule s = schedule;
  s.algorithm_ += "+barriers";
  const uint32_t part = s.add_parts(barrier.value());
  s.spans_[0].clear();
  for (const Schedule::Span& span : schedule.spans_[0])
    for (uint32_t r = span.begin; r < span.end; r++) {
      if (r != 0) s.add_span(0, {part, 0, 0, 0, kBarrier}, barrier.value().rounds());
      const uint32_t ahead = r - span.begin;
      s.add_span(
          0,
          {span.part, 0, 0, span.first + ahead, span.sequence == kBarrier ? kBarrier : span.sequence + ahead},
          1);
    }
  return s;
}

Status set_gaps(Schedule& schedule, const std::function<uint32_t(uint32_t, uint32_t)>& gap) {
  uint32_t most = 0;
  for (const Schedule::Part& part : schedule.parts_) {
    if (part.algorithm == &kDissemination) continue;
    if (part.parameters.shape.empty())
      return Status::error(
          EINVAL, std::string(part.algorithm->name) + ": gaps by hops need the shape of a torus or mesh");
    most = std::max(most, diameter(part.parameters.shape, part.parameters.wraps));
  }
  schedule.gaps_.assign(schedule.sequences_, std::vector<uint32_t>(most + 1));
  for (uint32_t sequence = 0; sequence < schedule.sequences_; sequence++)
    for (uint32_t h = 0; h <= most; h++) schedule.gaps_[sequence][h] = gap(sequence, h);
  return Status();
}

uint32_t hops(const std::vector<uint32_t>& shape, bool wraps, uint32_t from, uint32_t to) {
  uint32_t sum = 0;
  for (const uint32_t extent : shape) {
    sum += hops_along(extent, wraps, from % extent, to % extent);
    from /= extent;
    to /= extent;
  }
  return sum;
}

uint32_t diameter(const std::vector<uint32_t>& shape, bool wraps) {
  uint32_t sum = 0;
  for (const uint32_t extent : shape) sum += wraps ? extent / 2 : extent - 1;
  return sum;
}

}  // namespace tasuki::schedule
