#include "pager/pages/victims.h"

namespace tasuki::pager {
namespace {

// So long a page stays that a thread was woken for: with more threads than pages each would find its page
// gone again. Matters where all of the local memory is exchanged in this time.
constexpr double kGrace = 300e-6;

// So long a page is left alone whose physical memory somebody outside used when it was to leave, and so many
// of them are tried again for each page that leaves: they may be much of the memory, and each attempt costs a
// microsecond.
constexpr double kBusy = 2e-3;
constexpr int kBusyAgain = 4;

uint64_t address(const Page& page) {
  return reinterpret_cast<uintptr_t>(page.at());
}

}  // namespace

Victims::Victims(const Pages* pages, ReplacementPolicy policy) : pages_(*pages) {
  if (policy == ReplacementPolicy::address)
    policy_ = std::make_unique<AddressOrder>();
  else
    policy_ = std::make_unique<Fifo>();
}

void Victims::begin(PageId id) {
  if (standing_.size() <= id) standing_.resize(id + id / 2 + 64);
  standing_[id] = Standing();
}

void Victims::appear(PageId id, double woke) {
  standing_[id].born = appeared_++;
  standing_[id].woke = woke;
  list(id);
}

void Victims::end(PageId id) {
  if (held(id)) hold(id, false, -static_cast<int>(standing_[id].pins));
  clear_busy(id);
  unlist(id);
}

void Victims::split(PageId id, PageId rest) {
  begin(rest);
  const Standing whole = standing_[id];
  Standing& s = standing_[rest];
  s.born = whole.born;
  s.woke = whole.woke;
  s.kept = whole.kept;
  s.pins = whole.pins;
  if (busy(id))
    make_busy(rest, whole.busy);
  else
    list(rest);
}

// Pages that are kept are not with the policy; pinned ones are, as they are few and soon let go.
void Victims::list(PageId id) {
  Standing& s = standing_[id];
  if (s.listed || s.kept || s.busy != 0) return;
  policy_->add(id, address(pages_[id]));
  s.listed = true;
}

void Victims::unlist(PageId id) {
  if (standing_[id].listed) policy_->remove(id);
  standing_[id].listed = false;
}

bool Victims::may_leave(PageId id, double now) const {
  return !held(id) && !busy(id) && standing_[id].woke < now - kGrace;
}

void Victims::skip(PageId id) {
  policy_->remove(id);
  policy_->add(id, address(pages_[id]));
}

void Victims::set_busy(PageId id, double now) {
  if (busy(id)) return;
  unlist(id);
  make_busy(id, now);
  busy_units_ += pages_[id].units;
}

void Victims::make_busy(PageId id, double since) {
  standing_[id].busy = since;
  busy_.push_back(id);
}

void Victims::clear_busy(PageId id) {
  if (!busy(id)) return;
  standing_[id].busy = 0;
  busy_.remove(id);
  busy_units_ -= pages_[id].units;
  if (pages_[id].state.resident()) list(id);
}

void Victims::retry_busy(double now) {
  for (int i = 0; i < kBusyAgain && busy_.size() > 0; i++) {
    const PageId oldest = busy_.front();
    if (standing_[oldest].busy >= now - kBusy) return;
    clear_busy(oldest);
  }
}

void Victims::hold(PageId id, bool keep, int pins) {
  Standing& s = standing_[id];
  const uint64_t units = pages_[id].units;
  const bool before = held(id);
  if (keep != s.kept) kept_units_ += keep ? units : -units;
  s.kept = keep;
  s.pins += static_cast<uint32_t>(pins);
  const bool after = held(id);
  if (after != before) held_units_ += after ? units : -units;
  if (keep)
    unlist(id);
  else if (pages_[id].state.resident())
    list(id);
}

uint64_t Victims::apart(PageId a, PageId b) const {
  const uint64_t born_a = standing_[a].born, born_b = standing_[b].born;
  return born_a > born_b ? born_a - born_b : born_b - born_a;
}

}  // namespace tasuki::pager
