// All ways to complete, over lists that mix receives, sends and collective operations.
#include <sched.h>

#include <algorithm>

#include "rank.h"

namespace mixed {
namespace {

enum Form { kWaitall, kWaitany, kWaitsome, kTestall, kTestany, kTestsome, kForms };

}  // namespace

std::vector<Operation*> Rank::active() const {
  std::vector<Operation*> list;
  for (const auto& o : operations_)
    if (o->active) list.push_back(o.get());
  return list;
}

// Will complete whatever this rank does or does not do next.
bool Rank::certain(const Operation& o) const {
  if (o.kind == Operation::collective) return true;
  if (o.kind == Operation::receive) {
    const auto& r = static_cast<const Receiving&>(o);
    return r.matched || r.cancelling || guaranteed(r);
  }
  const Message& m = at(static_cast<const Sending&>(o).message);
  if (m.to == me_) return done_[static_cast<size_t>(m.number)] || deferred_[static_cast<size_t>(m.number)];
  if (m.exchanged) return m.step < now_;
  return !m.late || now_ == kEnding;
}

void Rank::completed(Operation& o, const MPI_Status& s, long ended) {
  CHECK(o.active);
  o.active = false;
  // 3.7.3, 3.9: a persistent request stays, any other becomes null.
  CHECK((o.request != MPI_REQUEST_NULL) == o.persistent);
  if (o.kind == Operation::collective) {
    const auto& c = static_cast<Collecting&>(o);
    CHECK_THAT(c.out == c.expected,
               "MPI_Iallreduce gave " + std::to_string(c.out) + ", not " + std::to_string(c.expected));
    return;
  }
  int cancelled = -1;
  MPI_Test_cancelled(&s, &cancelled);
  if (o.kind == Operation::send) {
    const auto& send = static_cast<Sending&>(o);
    const Message& m = at(send.message);
    CHECK(!cancelled);
    if (synchronous(m.mode)) synchronised_at_[static_cast<size_t>(m.number)] = now();
    return;
  }
  auto& r = static_cast<Receiving&>(o);
  pending_.erase(std::find(pending_.begin(), pending_.end(), &r));
  if (r.cancelling) count(cancelled ? kCancelled : kNotCancelled);
  if (!cancelled) {
    take(r, s, ended);
    return;
  }
  CHECK_THAT(r.cancelling, "nobody cancelled the receive " + describe(plan_, r.pattern));
  events_[r.event].kind = Event::cancelled;
  events_[r.event].ended = ended;
  const std::string written = r.buffer->difference(*r.layout, {});
  CHECK_THAT(written.empty(), "a cancelled receive was written: " + written);
}

// One call. Returns how many it completed.
int Rank::wait_list(const std::vector<Operation*>& list, int form) {
  std::vector<MPI_Request> requests;
  std::vector<Operation*> of;
  for (Operation* o : list) {
    if (mine_.chance(5)) {  // null requests do not count (3.7.5)
      requests.push_back(MPI_REQUEST_NULL);
      of.push_back(nullptr);
    }
    if (mine_.chance(5))  // nor do persistent requests that are not active
      for (const auto& idle : operations_)
        if (idle->persistent && !idle->active) {
          requests.push_back(idle->request);
          of.push_back(nullptr);
          break;
        }
    requests.push_back(o->request);
    of.push_back(o);
  }
  const int n = static_cast<int>(requests.size());
  std::vector<MPI_Status> statuses(requests.size() + 1, poisoned());
  std::vector<int> indices(requests.size() + 1, -4711);
  int done = 0;
  const std::vector<MPI_Request> before = requests;
  static const char* const names[] = {"Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome"};
  step("step %d: MPI_%s of %d", now_, names[form], n);
  switch (form) {
    case kWaitall:
      MUST(MPI_Waitall(n, requests.data(), statuses.data()));
      done = n;
      break;
    case kTestall:
      MUST(MPI_Testall(n, requests.data(), &done, statuses.data()));
      if (done) done = n;
      break;
    case kWaitany:
      MUST(MPI_Waitany(n, requests.data(), &indices[0], &statuses[0]));
      done = indices[0] != MPI_UNDEFINED;
      break;
    case kTestany: {
      int flag = 0;
      MUST(MPI_Testany(n, requests.data(), &indices[0], &flag, &statuses[0]));
      done = flag && indices[0] != MPI_UNDEFINED;
      break;
    }
    case kWaitsome:
      MUST(MPI_Waitsome(n, requests.data(), &done, indices.data(), statuses.data()));
      if (done == MPI_UNDEFINED) done = 0;
      break;
    default:
      MUST(MPI_Testsome(n, requests.data(), &done, indices.data(), statuses.data()));
      if (done == MPI_UNDEFINED) done = 0;
  }
  const long ended = ++tick_;
  // Which ones are complete. What is not is unchanged (3.7.5).
  const bool all = form == kWaitall || form == kTestall;
  std::vector<int> status_of(requests.size(), -1);
  for (int i = 0; i < done; i++) {
    const int index = all ? i : indices[static_cast<size_t>(i)];
    CHECK_THAT(index >= 0 && index < n,
               std::string("MPI_") + names[form] + " gives index " + std::to_string(index));
    CHECK_THAT(status_of[static_cast<size_t>(index)] < 0,
               std::string("MPI_") + names[form] + " gives an index twice");
    CHECK_THAT(all || of[static_cast<size_t>(index)] != nullptr,
               std::string("MPI_") + names[form] + " completes a null request");
    status_of[static_cast<size_t>(index)] = i;
  }
  int real = 0;
  for (size_t i = 0; i < requests.size(); i++) {
    if (of[i] == nullptr) {
      CHECK(requests[i] == before[i]);
      continue;
    }
    if (status_of[i] < 0) {
      CHECK_THAT(requests[i] == before[i],
                 std::string("MPI_") + names[form] + " changed a request that is not complete");
      continue;
    }
    of[i]->request = requests[i];
    completed(*of[i], statuses[static_cast<size_t>(status_of[i])], ended);
    real++;
  }
  return real;
}

// In random order, with some others that are pending.
std::vector<Operation*> Rank::with_others(std::vector<Operation*> list, bool certain_only) {
  const int share = draw(mine_, 0, 100);
  for (Operation* o : active())
    if (std::find(list.begin(), list.end(), o) == list.end() && mine_.chance(share) &&
        (!certain_only || certain(*o)))
      list.push_back(o);
  mine_.shuffle(list);
  return list;
}

// `o` is certain to complete.
void Rank::wait_for(Operation& o) {
  if (!o.active) return;
  MPI_Status s = poisoned();
  int flag = 0;
  switch (draw(mine_, 0, 5)) {
    case 0:
      step("step %d: MPI_Wait", now_);
      MUST(MPI_Wait(&o.request, &s));
      break;
    case 1:
      step("step %d: MPI_Test", now_);
      while (MUST(MPI_Test(&o.request, &flag, &s)), !flag) sched_yield();
      break;
    case 2:
      step("step %d: MPI_Request_get_status", now_);
      while (MUST(MPI_Request_get_status(o.request, &flag, &s)), !flag) sched_yield();
      s = poisoned();
      MUST(MPI_Test(&o.request, &flag, &s));
      CHECK_THAT(flag, "MPI_Request_get_status said that it is complete, MPI_Test does not");
      break;
    case 3:
      wait_list(with_others({&o}, true), kWaitall);
      break;
    case 4: {
      const std::vector<Operation*> list = with_others({&o}, true);
      while (wait_list(list, kTestall) == 0) sched_yield();
      break;
    }
    default: {
      const int forms[] = {kWaitany, kWaitsome, kTestany, kTestsome};
      const int form = forms[mine_.between(0, 3)];
      while (o.active)
        if (wait_list(with_others({&o}, false), form) == 0) sched_yield();
    }
  }
  if (o.active) completed(o, s, ++tick_);
}

// One of these will get a message, but not every one may.
void Rank::wait_for_one(const std::vector<Receiving*>& some) {
  // The message goes to the one that was posted first, if that has not yet another one (3.5).
  if (mine_.chance(40)) {
    wait_for(*some.front());
    return;
  }
  const int forms[] = {kWaitany, kWaitsome, kTestany, kTestsome};
  const int form = forms[mine_.between(0, 3)];
  const std::vector<Operation*> list = with_others({some.begin(), some.end()}, false);
  while (wait_list(list, form) == 0) sched_yield();
}

void Rank::wait_for_all(std::vector<Operation*> list) {
  while (!list.empty()) {
    mine_.shuffle(list);
    if (mine_.chance(30)) {
      wait_for(*list.back());
    } else {
      const int form = draw(mine_, 0, kForms - 1);
      if (wait_list(list, form) == 0) sched_yield();
    }
    list.erase(std::remove_if(list.begin(), list.end(), [](const Operation* o) { return !o->active; }),
               list.end());
  }
}

void Rank::test_some() {
  const std::vector<Operation*> list = with_others({}, false);
  if (list.empty()) return;
  const int form = draw(mine_, kTestall, kTestsome + 1);
  if (form <= kTestsome) {
    wait_list(list, form);
    return;
  }
  for (Operation* o : list) {
    int flag = 0;
    MPI_Status s = poisoned();
    MPI_Request before = o->request;
    step("step %d: MPI_Test", now_);
    MUST(MPI_Test(&o->request, &flag, &s));
    CHECK(flag || o->request == before);
    if (flag) completed(*o, s, ++tick_);
  }
}

}  // namespace mixed
