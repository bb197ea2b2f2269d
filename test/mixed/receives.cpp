// The side of receivers.
#include <sched.h>

#include <algorithm>

#include "rank.h"

namespace mixed {

// What is pending and accepts message k.
std::vector<Receiving*> Rank::takers(int k) const {
  std::vector<Receiving*> found;
  for (Receiving* r : pending_)
    if (r->pattern.matches(at(k))) found.push_back(r);
  return found;
}

bool Rank::absorbed(int k, const Receiving* without) const {
  std::vector<const Receiving*> takers;
  for (const Receiving* r : pending_)
    if (r != without && !r->matched && !r->cancelling && r->pattern.matches(at(k))) takers.push_back(r);
  size_t rivals = 0;
  for (size_t i = 0; i < plan_.messages.size() && rivals < takers.size(); i++) {
    const int j = static_cast<int>(i);
    if (j != k && open(j) && std::any_of(takers.begin(), takers.end(), [&](const Receiving* r) {
          return r->pattern.matches(at(j));
        }))
      rivals++;
  }
  return takers.size() > rivals;
}

bool Rank::ensure_absorbed(int k, bool always) {
  if (!open(k)) return true;
  // More and more exact: receives of any source draw more messages than they take.
  for (int attempt = 0; attempt < 3 || always; attempt++) {
    if (absorbed(k)) return true;
    if (!always && pending_.size() >= job.pending) return false;
    post(pattern_for(k, attempt >= 1 || mine_.chance(50)), mine_.chance(10));
  }
  return absorbed(k);
}

bool Rank::guaranteed(const Receiving& r) const {
  std::vector<int> coming;
  for (size_t i = 0; i < plan_.messages.size(); i++)
    if (r.pattern.matches(plan_.messages[i]) && available(static_cast<int>(i)))
      coming.push_back(static_cast<int>(i));
  size_t rivals = 0;
  for (const Receiving* o : pending_) {
    if (o == &r) break;
    if (std::any_of(coming.begin(), coming.end(), [&](int k) { return o->pattern.matches(at(k)); })) rivals++;
  }
  return coming.size() > rivals;
}

// If nothing pending accepts k, a receive with this pattern that is posted now gets k and nothing else: every other message that it
// accepts comes behind k from the same sender (3.5), or finds a receive that was posted before.
bool Rank::exact(const Pattern& p, int k) const {
  for (size_t i = 0; i < plan_.messages.size(); i++) {
    const int j = static_cast<int>(i);
    if (j == k || !open(j) || !p.matches(at(j)) || deferred_[i]) continue;
    if (at(j).from != at(k).from || at(j).number < k) return false;
  }
  return true;
}

Pattern Rank::pattern_for(int k, bool named) {
  Pattern p;
  p.comm = at(k).comm;
  p.source = !named && mine_.chance(any_source_) ? kAny : at(k).from;
  p.tag = !named && mine_.chance(any_tag_) ? kAny : at(k).tag;
  return p;
}

int Rank::source_of(const Pattern& p) {
  return p.source == kAny ? MPI_ANY_SOURCE : comm(p.comm).number[static_cast<size_t>(p.source)];
}

Event& Rank::begin_event(Event::Kind kind, const Pattern& p) {
  Event e;
  e.kind = kind;
  e.pattern = p;
  e.begun = ++tick_;
  e.at = now();
  events_.push_back(e);
  return events_.back();
}

// Room for the longest message that may come, or for `elements`.
std::unique_ptr<Receiving> Rank::prepare(const Pattern& p, bool whole_round, int elements) {
  if (elements < 0) {
    for (size_t i = 0; i < plan_.messages.size(); i++) {
      const Message& m = plan_.messages[i];
      if (m.to == me_ && p.matches(m) && (whole_round || open(static_cast<int>(i))))
        elements = std::max(elements, m.count);
    }
    elements = std::max(elements, 0);
    if (mine_.chance(50)) elements += draw(mine_, 0, 6);
  }
  auto r = std::make_unique<Receiving>();
  r->pattern = p;
  const int shape = mine_.chance(typed_) ? draw(mine_, 0, kShapes - 1) : 0;
  r->layout = std::make_unique<Layout>(shape, elements, plan_.basic_type(p.comm), mine_.next());
  r->buffer = std::make_unique<Buffer>(*r->layout);
  count(p.wild() ? kWildcards : kNamed);
  return r;
}

// Posts a receive and goes on.
Receiving& Rank::post(const Pattern& p, bool is_persistent) {
  is_persistent = is_persistent && job.persistent;
  Receiving* r = nullptr;
  if (is_persistent)
    for (auto& o : operations_) {
      if (o->kind != Operation::receive || !o->persistent || o->active) continue;
      auto* old = static_cast<Receiving*>(o.get());
      if (old->pattern.comm == p.comm && old->pattern.source == p.source && old->pattern.tag == p.tag)
        r = old;
    }
  MPI_Comm handle = comm(p.comm).handle;
  step("step %d: posting %sreceive %zu on %s from %d, tag %d", now_, is_persistent ? "persistent " : "",
       events_.size(), comm(p.comm).name.c_str(), p.source, p.tag);
  if (r == nullptr) {
    operations_.push_back(prepare(p, is_persistent));
    r = static_cast<Receiving*>(operations_.back().get());
    r->persistent = is_persistent;
    if (is_persistent)
      MUST(MPI_Recv_init(r->buffer->at(), r->layout->count(), r->layout->type(), source_of(p), tag_of(p),
                         handle, &r->request));
  } else {
    count(kRestarted);
    r->buffer->wipe();
  }
  r->cancelling = false;
  begin_event(Event::receive, p);
  r->event = events_.size() - 1;
  if (is_persistent) {
    MUST(MPI_Start(&r->request));
  } else {
    MUST(MPI_Irecv(r->buffer->at(), r->layout->count(), r->layout->type(), source_of(p), tag_of(p), handle,
                   &r->request));
  }
  events_[r->event].posted = ++tick_;
  r->active = true;
  pending_.push_back(r);
  count(kPosted);
  return *r;
}

void Rank::post_ahead() {
  if (pending_.size() >= job.pending) return;
  std::vector<int> candidates;
  for (size_t i = 0; i < plan_.messages.size(); i++)
    if (open(static_cast<int>(i)) && usable(at(static_cast<int>(i)).comm))
      candidates.push_back(static_cast<int>(i));
  Pattern p;
  if (!candidates.empty() && mine_.chance(90)) {
    p = pattern_for(mine_.pick(candidates));
  } else {
    p.comm = draw(mine_, 0, static_cast<int64_t>(plan_.comms.size()) - 1);
    if (!usable(p.comm)) return;
    if (mine_.chance(50)) p.tag = 77;  // no message has this tag
  }
  post(p, mine_.chance(15));
}

// Returns when message k has been received, by whichever receive.
void Rank::obtain(int k) {
  while (open(k)) {
    const std::vector<Receiving*> list = takers(k);
    if (list.empty()) {
      receive_one(k);
    } else {
      wait_for_one(list);
    }
  }
}

// Nothing pending accepts k, so a receive that does finds k, or another message that is there before.
void Rank::receive_one(int k) {
  if (truncated(k)) return;
  const Pattern p = pattern_for(k);
  MPI_Comm handle = comm(p.comm).handle;
  if (!mine_.chance(probing_) || !job.probes) {
    if (mine_.chance(50) || pending_.size() >= job.pending) {
      receive(p);
    } else {
      post(p, mine_.chance(20));
    }
    return;
  }
  MPI_Status s = poisoned();
  const bool matched = mine_.chance(50), waiting = mine_.chance(50);
  begin_event(matched ? Event::matched_probe : Event::probe, p);
  const size_t event = events_.size() - 1;
  MPI_Message m = MPI_MESSAGE_NULL;
  int there = waiting;
  step("step %d: %s%srobe on %s for message %d: source %d, tag %d", now_, waiting ? "" : "I",
       matched ? "mp" : "p", comm(p.comm).name.c_str(), k, p.source, p.tag);
  if (waiting && matched) {
    MUST(MPI_Mprobe(source_of(p), tag_of(p), handle, &m, &s));
  } else if (waiting) {
    MUST(MPI_Probe(source_of(p), tag_of(p), handle, &s));
  }
  // 3.8.1: the loop ends, for a message that matches was sent.
  while (!there) {
    if (matched) {
      MUST(MPI_Improbe(source_of(p), tag_of(p), handle, &there, &m, &s));
    } else {
      MUST(MPI_Iprobe(source_of(p), tag_of(p), handle, &there, &s));
    }
    if (!there) sched_yield();
  }
  events_[event].ended = ++tick_;
  if (matched) {
    receive_matched(&m, p, s, event);
  } else {
    receive_found(p, s, event);
  }
}

// One call that blocks. Returns the message.
int Rank::receive(const Pattern& p) {
  auto r = prepare(p);
  MPI_Status s = poisoned();
  MPI_Comm handle = comm(p.comm).handle;
  step("step %d: MPI_Recv on %s from %d, tag %d", now_, comm(p.comm).name.c_str(), p.source, p.tag);
  begin_event(Event::receive, p);
  r->event = events_.size() - 1;
  if (mine_.chance(80)) {
    MUST(MPI_Recv(r->buffer->at(), r->layout->count(), r->layout->type(), source_of(p), tag_of(p), handle,
                  &s));
  } else {
    MUST(MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, r->buffer->at(), r->layout->count(),
                      r->layout->type(), source_of(p), tag_of(p), handle, &s));
  }
  return take(*r, s, ++tick_);
}

// A probe has found a message. 3.8.1: a receive with its source and tag gets this one; a receive with wildcards gets it too, or one of
// another sender.
void Rank::receive_found(const Pattern& p, const MPI_Status& s, size_t probe) {
  check_status(p, s);
  count(kProbed);
  int size = 0;
  MPI_Get_count(&s, plan_.basic_type(p.comm).type, &size);
  Pattern found = p;
  found.source = comm(p.comm).rank_behind(s.MPI_SOURCE, me_);
  found.tag = s.MPI_TAG;
  Pattern q = found;
  const int how = draw(mine_, 0, 9);
  if (how == 9) return;
  if (how == 8) q = p;
  if (how >= 6) q.source = kAny;
  int k;
  if (mine_.chance(70)) {
    k = receive(q);
  } else {
    Receiving& r = post(q, false);
    const size_t event = r.event;
    wait_for(r);
    k = events_[event].message;
  }
  CHECK(q.source == kAny || at(k).from == found.source);
  if (at(k).from != found.source) return;
  events_[probe].message = k;
  CHECK_THAT(at(k).tag == found.tag && at(k).count == size,
             "a probe (" + describe(plan_, p) + ") found " + std::to_string(size) + " elements with tag " +
                 std::to_string(found.tag) + " from " + std::to_string(found.source) +
                 ", a receive then took " + describe(plan_, at(k)));
}

// 3.8.2: what MPI_Mprobe found is this message, whatever is received in between.
void Rank::receive_matched(MPI_Message* m, const Pattern& p, const MPI_Status& s, size_t event) {
  check_status(p, s);
  count(kMatched);
  CHECK(*m != MPI_MESSAGE_NULL);
  Pattern found = p;
  found.source = comm(p.comm).rank_behind(s.MPI_SOURCE, me_);
  found.tag = s.MPI_TAG;
  int size = 0;
  MPI_Get_count(&s, plan_.basic_type(p.comm).type, &size);
  auto r = prepare(found);
  CHECK_THAT(size <= r->layout->elements(), "MPI_Mprobe says " + std::to_string(size) + " elements");
  r->event = event;
  r->matched = true;
  if (mine_.chance(50)) {
    MPI_Status received = poisoned();
    step("step %d: MPI_Mrecv from %d, tag %d", now_, found.source, found.tag);
    MUST(MPI_Mrecv(r->buffer->at(), r->layout->count(), r->layout->type(), m, &received));
    const int k = take(*r, received, ++tick_);
    CHECK_THAT(at(k).count == size,
               "MPI_Mprobe said " + std::to_string(size) + " elements for " + describe(plan_, at(k)));
  } else {
    MUST(MPI_Imrecv(r->buffer->at(), r->layout->count(), r->layout->type(), m, &r->request));
    r->active = true;
    pending_.push_back(r.get());
    operations_.push_back(std::move(r));
  }
  CHECK(*m == MPI_MESSAGE_NULL);
}

// 3.2.6, 9.4: a message that is longer than its receive is an error of the receive. It counts as received. What lies outside of the receive's
// type was not written.
bool Rank::truncated(int k) {
  // Plain Open MPI 4.1 writes behind the end of the buffer when a long message is truncated.
  if (at(k).count < 2 || (kOpenMpi && at(k).count > 100) || !mine_.chance(3)) return false;
  const Pattern p = pattern_for(k);
  if (!exact(p, k)) return false;
  auto r = prepare(p, false, draw(mine_, 0, at(k).count - 1));
  MPI_Status s = poisoned();
  MPI_Comm handle = comm(p.comm).handle;
  const int how = draw(mine_, 0, job.probes ? 2 : 1), n = r->layout->count();
  step("step %d: receiving message %d truncated", now_, k);
  begin_event(how == 2 ? Event::matched_probe : Event::receive, p);
  const size_t event = events_.size() - 1;
  int code;
  if (how == 0) {
    code = MPI_Recv(r->buffer->at(), n, r->layout->type(), source_of(p), tag_of(p), handle, &s);
  } else if (how == 1) {
    MUST(MPI_Irecv(r->buffer->at(), n, r->layout->type(), source_of(p), tag_of(p), handle, &r->request));
    code = MPI_Wait(&r->request, &s);
  } else {
    MPI_Message m;
    MUST(MPI_Mprobe(source_of(p), tag_of(p), handle, &m, &s));
    code = MPI_Mrecv(r->buffer->at(), n, r->layout->type(), &m, &s);
  }
  events_[event].ended = ++tick_;
  int error = -1;
  MPI_Error_class(code, &error);
  CHECK_THAT(error == MPI_ERR_TRUNCATE, "the error class is " + std::to_string(error) +
                                            ", not MPI_ERR_TRUNCATE, for " +
                                            std::to_string(r->layout->elements()) + " elements (" +
                                            describe(plan_, p) + ") and " + describe(plan_, at(k)));
  const std::string outside = r->buffer->written_outside(*r->layout);
  CHECK_THAT(outside.empty(), "truncated: " + outside + ": " + describe(plan_, at(k)));
  events_[event].message = k;
  posted_at_[static_cast<size_t>(k)] = events_[event].at;
  done_[static_cast<size_t>(k)] = 1;
  count(kTruncated);
  return true;
}

void Rank::check_status(const Pattern& p, const MPI_Status& s) {
  const int from = s.MPI_SOURCE >= 0 ? comm(p.comm).rank_behind(s.MPI_SOURCE, me_) : -1;
  CHECK_THAT(from >= 0 && (p.source == kAny || p.source == from) && (p.tag == kAny || p.tag == s.MPI_TAG),
             "source " + std::to_string(s.MPI_SOURCE) + " (rank " + std::to_string(from) + "), tag " +
                 std::to_string(s.MPI_TAG) + " for " + describe(plan_, p));
}

// Which message lies in the buffer. Each has a number in its first byte; of those with no bytes, one for each envelope is in the plan.
int Rank::identify(const Pattern& p, const MPI_Status& s, const Layout& layout, const unsigned char* data) {
  check_status(p, s);
  const int size = layout.elements_of(s), from = comm(p.comm).rank_behind(s.MPI_SOURCE, me_);
  const std::string got = std::to_string(size) + " elements from " + std::to_string(from) + ", tag " +
                          std::to_string(s.MPI_TAG) + " (" + describe(plan_, p) + ")";
  CHECK_THAT(size >= 0 && size <= layout.elements(), got);
  int k = -1;
  if (size > 0) {
    k = layout.first_byte(data);
    CHECK_THAT(k < static_cast<int>(plan_.messages.size()),
               got + ": number " + std::to_string(k) + " is no message's");
  } else {
    for (const Message& m : plan_.messages)
      if (m.count == 0 && m.to == me_ && m.from == from && m.tag == s.MPI_TAG && m.comm == p.comm)
        k = m.number;
    CHECK_THAT(k >= 0, got + ": nobody sent that");
  }
  const Message& m = at(k);
  int raw = -1;
  MPI_Get_count(&s, MPI_BYTE, &raw);
  CHECK_THAT(m.to == me_ && m.from == from && m.comm == p.comm && m.tag == s.MPI_TAG && m.count == size,
             got + ", " + std::to_string(raw) + " bytes in a " + layout.text() + ", but the bytes are of " +
                 describe(plan_, m));
  CHECK_THAT(open(k), "received twice: " + describe(plan_, m));
  return k;
}

// A receive is complete: 3.2.5, and 3.5 by way of the history.
int Rank::take(Receiving& r, const MPI_Status& s, long ended) {
  const int k = identify(r.pattern, s, *r.layout, r.buffer->data());
  if (job.trace == me_)
    step("received message %d by receive %zu (%s)", k, r.event, describe(plan_, r.pattern).c_str());
  const std::string difference = r.buffer->difference(*r.layout, content_of(plan_, at(k)));
  CHECK_THAT(difference.empty(), difference + ": " + describe(plan_, at(k)));
  int flag = 1;
  MPI_Test_cancelled(&s, &flag);
  CHECK(!flag);
  Event& e = events_[r.event];
  if (e.ended == LONG_MAX) e.ended = ended;
  e.message = k;
  done_[static_cast<size_t>(k)] = 1;
  posted_at_[static_cast<size_t>(k)] = e.at;
  return k;
}

void Rank::cancel(Receiving& r) {
  step("step %d: MPI_Cancel of a receive on %s from %d, tag %d", now_, comm(r.pattern.comm).name.c_str(),
       r.pattern.source, r.pattern.tag);
  events_[r.event].cancel = ++tick_;
  MUST(MPI_Cancel(&r.request));
  r.cancelling = true;
}

// Only a receive that no message relies on.
void Rank::cancel_one() {
  if (pending_.empty() || !job.cancels) return;
  Receiving& r = *mine_.pick(pending_);
  if (r.matched || r.cancelling) return;
  for (size_t i = 0; i < plan_.messages.size(); i++) {
    const int k = static_cast<int>(i);
    if (deferred_[i] && open(k) && r.pattern.matches(at(k)) && !absorbed(k, &r)) return;
  }
  cancel(r);
  // 3.8.4: the wait returns whatever the others do.
  if (mine_.chance(60)) wait_for(r);
}

// MPI_Iprobe or MPI_Improbe, and a receive if there is something.
void Rank::look() {
  std::vector<int> candidates;
  for (size_t i = 0; i < plan_.messages.size(); i++)
    if (open(static_cast<int>(i)) && usable(at(static_cast<int>(i)).comm))
      candidates.push_back(static_cast<int>(i));
  if (candidates.empty() || !job.probes) return;
  const Pattern p = pattern_for(mine_.pick(candidates));
  const bool matched = mine_.chance(50);
  MPI_Status s = poisoned();
  MPI_Message m = MPI_MESSAGE_NULL;
  int there = 0;
  step("step %d: looking on %s for source %d, tag %d", now_, comm(p.comm).name.c_str(), p.source, p.tag);
  begin_event(matched ? Event::matched_probe : Event::probe, p);
  const size_t event = events_.size() - 1;
  if (matched) {
    MUST(MPI_Improbe(source_of(p), tag_of(p), comm(p.comm).handle, &there, &m, &s));
  } else {
    MUST(MPI_Iprobe(source_of(p), tag_of(p), comm(p.comm).handle, &there, &s));
  }
  events_[event].ended = ++tick_;
  if (!there) {
    events_.pop_back();
  } else if (matched) {
    receive_matched(&m, p, s, event);
  } else {
    receive_found(p, s, event);
  }
}

// Something that no step asks for.
void Rank::speculate() {
  switch (draw(mine_, 0, 7)) {
    case 0:
    case 1:
      post_ahead();
      break;
    case 2:
    case 3:
      look();
      break;
    case 4:
      cancel_one();
      break;
    case 5:
    case 6:
      test_some();
      break;
    default:
      pause(20);
  }
}

}  // namespace mixed
