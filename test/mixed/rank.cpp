#include "rank.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace mixed {
namespace {

// For SIGALRM: the rounds that are being carried out.
constexpr int kSlots = 16;
const Rank* slots[kSlots];
std::mutex slots_mutex;

}  // namespace

void tell_all(int file) {
  for (const Rank* r : slots)
    if (r != nullptr) r->tell(file);
}

MPI_Status poisoned() {
  MPI_Status s;
  memset(&s, 0x5a, sizeof s);
  s.MPI_SOURCE = -4711;
  s.MPI_TAG = -4712;
  s.MPI_ERROR = -4713;
  return s;
}

void carry_out(uint64_t seed, std::vector<Comm>& comms, MPI_Comm control) {
  Rank(seed, comms, control).carry_out();
}

Rank::Rank(uint64_t seed, std::vector<Comm>& comms, MPI_Comm control)
    : common_(seed),
      mine_(seed * 31 + 7919 * static_cast<uint64_t>(job.rank + 1)),
      control_(control),
      me_(job.rank) {
  plan_ = make_plan(common_, comms);
  if (job.verbose && job.rank == 0)
    for (const Message& m : plan_.messages) fprintf(stderr, "%s\n", describe(plan_, m).c_str());
  const size_t n = plan_.messages.size();
  done_.assign(n, 0);
  deferred_.assign(n, 0);
  sent_.assign(n, 0);
  posted_at_.assign(n, 0);
  sent_at_.assign(n, 0);
  synchronised_at_.assign(n, 0);
  series_.assign(n, nullptr);
  const int shares[] = {0, 20, 50, 80, 100};
  any_source_ = shares[mine_.between(0, 4)];
  any_tag_ = shares[mine_.between(0, 4)];
  probing_ = shares[mine_.between(0, 3)];
  defer_ = shares[mine_.between(0, 4)];
  speculate_ = shares[mine_.between(0, 3)];
  typed_ = mine_.chance(50) ? 30 : 0;
  if (mine_.chance(60)) ahead_ = draw(mine_, 1, 20);
  const std::lock_guard<std::mutex> lock(slots_mutex);
  *std::find(std::begin(slots), std::end(slots), nullptr) = this;
}

void Rank::carry_out() {
  attach();
  for (int i = 0; i < ahead_; i++) post_ahead();
  for (size_t i = 0; i < plan_.steps.size(); i++) {
    now_ = static_cast<int>(i);
    act(plan_.steps[i]);
    while (mine_.chance(speculate_)) speculate();
    pause(1);
  }
  finish_round();
  const std::lock_guard<std::mutex> lock(slots_mutex);
  *std::find(std::begin(slots), std::end(slots), this) = nullptr;
}

// Lets the others overtake.
void Rank::pause(int percent) {
  if (!mine_.chance(percent)) return;
  if (mine_.chance(50)) {
    sched_yield();
  } else {
    usleep(static_cast<useconds_t>(draw(mine_, 1, 1500)));
  }
}

void Rank::act(const Step& s) {
  switch (s.act) {
    case Act::message:
      message(s.first);
      break;
    case Act::ring:
      ring(s);
      break;
    case Act::dup:
    case Act::split:
      make(s);
      break;
    case Act::free_comm:
      free_comm(s.comm);
      break;
    case Act::pause:
      step("step %d: a pause", now_);
      if (s.rank == me_) pause(100);
      break;
    default:
      collect(s);
  }
}

void Rank::message(int k) {
  const Message& m = at(k);
  const bool to_me = m.to == me_, from_me = m.from == me_;
  if (!to_me && !from_me) return;
  bool absorbed_before = false;
  if (to_me) {
    // 3.4: a send in ready mode may be started only if the matching receive is already posted.
    absorbed_before = (ready(m.mode) || mine_.chance(defer_)) && ensure_absorbed(k, ready(m.mode));
    if (ready(m.mode) && !from_me) {
      step("step %d: telling %d that a receive is posted", now_, m.from);
      MUST(MPI_Send(&k, 1, MPI_INT, m.from, 1, control_));
    }
  }
  if (from_me) {
    if (ready(m.mode) && !to_me) {
      int told = -1;
      step("step %d: waiting for %d to have posted a receive", now_, m.to);
      MUST(MPI_Recv(&told, 1, MPI_INT, m.to, 1, control_, MPI_STATUS_IGNORE));
      CHECK(told == k);
    }
    if (ready(m.mode)) count(kReady);
    start(k, !to_me || absorbed_before);
  }
  if (!to_me) return;
  if (absorbed_before) {
    count(kDeferred);
    deferred_[static_cast<size_t>(k)] = 1;
    if (mine_.chance(60)) return;
  } else if (m.late && mine_.chance(80)) {
    count(kLate);
    return;
  }
  obtain(k);
}

// 3.10: MPI_Sendrecv may be part of a ring in which everybody does the same at once.
void Rank::ring(const Step& s) {
  int out = -1, in = -1;
  for (int k = s.first; k < s.first + s.n; k++) {
    if (at(k).from == me_) out = k;
    if (at(k).to == me_) in = k;
  }
  if (out < 0) return;
  if (exchange(out, in)) return;
  start(out, false);
  obtain(in);
  if (operations_.back()->kind == Operation::send && operations_.back()->active && mine_.chance(50))
    wait_for(*operations_.back());
}

void Rank::collect(const Step& s) {
  Comm& c = comm(s.comm);
  if (!c.member(me_)) return;
  count(kCollectives);
  // Of an intercommunicator, a reduction gives the sum of the other group (6.2.3).
  const auto value = [&](int rank) { return rank * 1000 + now_; };
  int in = value(me_), out = -1, expected = 0;
  for (int r = 0; r < job.ranks; r++)
    if (c.joins(r, me_)) expected += value(r);
  switch (s.act) {
    case Act::barrier:
      step("step %d: MPI_Barrier on %s", now_, c.name.c_str());
      MUST(MPI_Barrier(c.handle));
      break;
    case Act::allreduce:
      step("step %d: MPI_Allreduce on %s", now_, c.name.c_str());
      MUST(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, c.handle));
      CHECK(out == expected);
      break;
    case Act::bcast: {
      step("step %d: MPI_Bcast on %s", now_, c.name.c_str());
      int size;
      MPI_Comm_size(c.handle, &size);
      const int root = now_ % size;
      out = c.number[static_cast<size_t>(me_)] == root ? now_ : -1;
      MUST(MPI_Bcast(&out, 1, MPI_INT, root, c.handle));
      CHECK(out == now_);
      break;
    }
    default: {
      auto op = std::make_unique<Collecting>();
      op->comm = s.comm;
      op->in = in;
      op->active = true;
      step("step %d: starting a collective operation on %s", now_, c.name.c_str());
      if (s.act == Act::ibarrier) {
        MUST(MPI_Ibarrier(c.handle, &op->request));
      } else {
        op->expected = expected;
        MUST(MPI_Iallreduce(&op->in, &op->out, 1, MPI_INT, MPI_SUM, c.handle, &op->request));
      }
      operations_.push_back(std::move(op));
    }
  }
}

// 7.4.2: what is pending on the parent does not matter to the new communicator, and cannot match there.
void Rank::make(const Step& s) {
  Comm &parent = comm(s.comm), &made = comm(s.made);
  if (!parent.member(me_)) return;
  // Plain MPICH 4.0 gives a new communicator the context of one that was freed, although a receive is still pending there, and that takes
  // messages of the new one.
  for (int c = 0; !kOpenMpi && c < static_cast<int>(plan_.comms.size()); c++)
    if (comm(c).freed) settle(c);
  if (s.act == Act::dup) {
    step("step %d: MPI_Comm_dup of %s", now_, parent.name.c_str());
    MUST(MPI_Comm_dup(parent.handle, &made.handle));
  } else {
    step("step %d: MPI_Comm_split of %s", now_, parent.name.c_str());
    MUST(MPI_Comm_split(parent.handle, split_colour(plan_.fill, s.made, me_),
                        split_key(plan_.fill, s.made, me_), &made.handle));
  }
  return_errors(made.handle);
  int number;
  MPI_Comm_rank(made.handle, &number);
  CHECK(number == made.number[static_cast<size_t>(me_)]);
}

// Receives all that was sent on a communicator; nothing is pending there afterwards.
void Rank::settle(int c) {
  for (const Message& m : plan_.messages)
    if (m.comm == c && available(m.number)) obtain(m.number);
  for (Operation* o : active()) {
    if (!o->active || o->kind != Operation::receive) continue;
    auto& r = static_cast<Receiving&>(*o);
    if (r.pattern.comm != c) continue;
    if (!r.cancelling && !r.matched) cancel(r);
    wait_for(r);
  }
}

// 7.4.3: pending operations on a communicator that is freed complete normally. What is still to come must find its receive posted.
void Rank::free_comm(int c) {
  if (!comm(c).member(me_)) return;
  // Plain Open MPI 4.1.4 writes to the freed communicator when what was pending on it completes; rarely that ends
  // the program (seed 4711, round 7442, 6 ranks: valgrind). For runs of an hour: `--without freed`.
  if (!job.frees) {
    freed_late_.push_back(c);
    return;
  }
  // Plain Open MPI 4.1 crashes in MPI_Cancel when a receive is pending on an intercommunicator that was freed. For MPICH see make();
  // with threads another one may make the next communicator.
  if (kOpenMpi ? comm(c).inter : job.threads) settle(c);
  for (size_t i = 0; i < plan_.messages.size(); i++) {
    const int k = static_cast<int>(i);
    if (at(k).comm != c || !open(k) || deferred_[i]) continue;
    if (ensure_absorbed(k, false)) {
      deferred_[i] = 1;
    } else {
      obtain(k);
    }
  }
  // Plain Open MPI 4.1 crashes when a collective operation is pending on what is freed.
  for (Operation* o : active())
    if (kOpenMpi && o->active && o->kind == Operation::collective && static_cast<Collecting*>(o)->comm == c)
      wait_for(*o);
  step("step %d: MPI_Comm_free of %s with receives pending", now_, comm(c).name.c_str());
  for (const Receiving* r : pending_)
    if (r->pattern.comm == c) {
      count(kFreedComms);
      break;
    }
  MUST(MPI_Comm_free(&comm(c).handle));
  comm(c).freed = true;
}

void Rank::finish_round() {
  now_ = kReceiving;
  std::vector<int> left;
  for (size_t k = 0; k < plan_.messages.size(); k++)
    if (open(static_cast<int>(k))) left.push_back(static_cast<int>(k));
  if (mine_.chance(70)) mine_.shuffle(left);
  for (int k : left) {
    obtain(k);
    while (mine_.chance(speculate_ / 2)) speculate();
  }
  now_ = kEnding;
  step("completing what is certain to complete");
  std::vector<Operation*> list;
  for (Operation* o : active())
    if (certain(*o)) list.push_back(o);
  wait_for_all(list);
  // All messages to this rank are here, so a receive that is pending can have none of them.
  step("cancelling receives that no message is left for");
  while (!pending_.empty()) {
    Receiving& r = *pending_[static_cast<size_t>(draw(mine_, 0, static_cast<int64_t>(pending_.size()) - 1))];
    if (!r.cancelling) cancel(r);
    if (r.active) wait_for(r);
  }
  for (auto& o : operations_) {
    CHECK(!o->active);
    if (o->persistent && o->request != MPI_REQUEST_NULL) MUST(MPI_Request_free(&o->request));
    CHECK(o->request == MPI_REQUEST_NULL);
  }
  step("the barrier at the end of the round");
  MUST(MPI_Barrier(control_));
  step("looking for messages that should not be there");
  for (Comm& c : plan_.comms) {
    if (c.handle == MPI_COMM_NULL) continue;
    int there = 0;
    MPI_Status s = poisoned();
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c.handle, &there, &s));
    CHECK_THAT(!there, "a message that nobody sent, or that was received before, on " + c.name + ": source " +
                           std::to_string(s.MPI_SOURCE) + ", tag " + std::to_string(s.MPI_TAG));
  }
  check_synchronous();
  for (const int c : freed_late_) MUST(MPI_Comm_free(&comm(c).handle));
  detach();
  for (auto& o : operations_)
    if (o->kind == Operation::send) check_unchanged(static_cast<Sending&>(*o));
  const std::string wrong = judge(plan_, events_);
  if (!wrong.empty()) fail(__FILE__, __LINE__, wrong);
}

// 3.4: a send in synchronous mode completes only when the matching receive has started. Also ends the round for all.
// One that has waited for `reserved_limit` is left out: with that of docs/manual.md, a known limit of communicators that span nodes.
void Rank::check_synchronous() {
  step("telling each other when receives were posted");
  std::vector<double> all(posted_at_.size() + 1);
  posted_at_.push_back(0);
  MUST(MPI_Allreduce(posted_at_.data(), all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_MAX,
                     control_));
  for (size_t k = 0; k < plan_.messages.size(); k++) {
    CHECK_THAT(all[k] > 0, "nobody received " + describe(plan_, at(static_cast<int>(k))));
    if (!job.one_clock || synchronised_at_[k] == 0 || synchronised_at_[k] - sent_at_[k] >= job.reserved_limit)
      continue;
    CHECK_THAT(synchronised_at_[k] >= all[k],
               "a synchronous send was complete " + std::to_string(1e6 * (all[k] - synchronised_at_[k])) +
                   " us before its receive began: " + describe(plan_, at(static_cast<int>(k))));
  }
}

void Rank::tell(int file) const {
  char text[400];
  int n = snprintf(text, sizeof text, "  rank %d: step %d of %zu; pending receives %zu\n", me_,
                   now_ >= kReceiving ? -1 : now_, plan_.steps.size(), pending_.size());
  if (write(file, text, static_cast<size_t>(n)) < 0) return;
  for (size_t i = 0; i < pending_.size() && i < 12; i++) {
    const Receiving& r = *pending_[i];
    n = snprintf(text, sizeof text, "    rank %d pending: %s, source %d, tag %d%s%s\n", me_,
                 plan_.comms[static_cast<size_t>(r.pattern.comm)].name.c_str(), r.pattern.source,
                 r.pattern.tag, r.matched ? ", matched" : "", r.cancelling ? ", cancelled" : "");
    if (write(file, text, static_cast<size_t>(n)) < 0) return;
  }
  int shown = 0;
  for (size_t k = 0; k < plan_.messages.size() && shown < 12; k++) {
    const Message& m = at(static_cast<int>(k));
    if (!open(static_cast<int>(k)) || m.step > now_) continue;
    shown++;
    n = snprintf(text, sizeof text, "    rank %d not received: %s%s\n", me_, describe(plan_, m).c_str(),
                 deferred_[k] ? ", absorbed" : "");
    if (write(file, text, static_cast<size_t>(std::min(n, static_cast<int>(sizeof text) - 1))) < 0) return;
  }
  for (const auto& o : operations_) {
    if (o->kind != Operation::send || !o->active || shown >= 24) continue;
    shown++;
    n = snprintf(text, sizeof text, "    rank %d sending: %s\n", me_,
                 describe(plan_, at(static_cast<const Sending&>(*o).message)).c_str());
    if (write(file, text, static_cast<size_t>(std::min(n, static_cast<int>(sizeof text) - 1))) < 0) return;
  }
}

}  // namespace mixed
