// Several threads of each rank receive on one communicator (11.6: MPI_THREAD_MULTIPLE), while the first thread sends.
//
// No thread may be left waiting, whatever the order of arrival. So a thread first enters its pattern in a list, and only if then, for
// every pattern in the list, at least as many messages are still to be received that it accepts as patterns in the list could take one of
// these. If a receive were left over when all messages are there, all those messages would have gone to the other patterns, which are too
// few.
#include <sched.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include "history.h"
#include "layout.h"
#include "rank.h"

namespace mixed {

void use_slot(int slot);

namespace {

class Shared {
 public:
  Shared(uint64_t seed, MPI_Comm handle) : random_(seed), handle_(handle), me_(job.rank) {
    Comm c;
    c.name = "shared";
    c.handle = handle;
    for (int r = 0; r < job.ranks; r++) {
      c.number.push_back(r);
      c.side.push_back(0);
    }
    plan_.fill = random_.next();
    plan_.comms.push_back(c);
    plan_.basic.push_back(0);
    blocking_ = random_.chance(50);
    threads_ = draw(random_, 2, 4);
    const int n = draw(random_, 20, kMostMessages), tags = draw(random_, 1, 4),
              longest = random_.chance(30) ? 100000 : 3000;
    const int funnel = random_.chance(50) ? draw(random_, 0, job.ranks - 1) : -1;
    for (int k = 0; k < n; k++) {
      Message m;
      m.number = k;
      m.from = draw(random_, 0, job.ranks - 1);
      m.to = funnel >= 0 && random_.chance(70) ? funnel : draw(random_, 0, job.ranks - 1);
      m.tag = draw(random_, 0, tags - 1);
      m.count = random_.chance(80) ? draw(random_, 1, 60) : draw(random_, 1, longest);
      m.mode = random_.chance(30) ? Mode::issend : Mode::isend;
      if (blocking_ && random_.chance(70)) m.mode = random_.chance(30) ? Mode::ssend : Mode::send;
      plan_.messages.push_back(m);
    }
    done_.assign(plan_.messages.size(), 0);
  }

  void carry_out() {
    std::vector<std::thread> threads;
    for (int t = 1; t <= threads_; t++) {
      const uint64_t seed = random_.next() * 64 + static_cast<uint64_t>(me_ * 8 + t);
      threads.emplace_back([this, t, seed] {
        use_slot(t);
        receive_all(t, Random(seed));
        step("thread %d has received all", t);
      });
    }
    send_all();
    for (std::thread& t : threads) t.join();
    step("the barrier at the end of the round");
    MUST(MPI_Barrier(handle_));
    int there = 0;
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, handle_, &there, MPI_STATUS_IGNORE));
    CHECK_THAT(!there, "a message that nobody sent, or that was received before");
    MUST(MPI_Barrier(handle_));
    const std::string wrong = judge(plan_, events_);
    if (!wrong.empty()) fail(__FILE__, __LINE__, wrong);
  }

 private:
  Random random_;
  MPI_Comm handle_;
  int me_, threads_ = 2;
  bool blocking_ = false;
  Plan plan_;
  std::mutex mutex_;
  std::vector<char> done_;
  std::vector<Pattern> entered_;
  std::vector<Event> events_;
  long tick_ = 0;

  struct Receive {
    Pattern pattern;
    Event event;
    std::unique_ptr<Layout> layout;
    std::unique_ptr<Buffer> buffer;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  long tick() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ++tick_;
  }

  void send_all() {
    std::vector<std::vector<unsigned char>> contents;
    std::vector<MPI_Request> requests;
    for (const Message& m : plan_.messages) {
      if (m.from != me_) continue;
      contents.push_back(content_of(plan_, m));
      void* memory = contents.back().data();
      count(kMessages);
      step("sending message %d to %d", m.number, m.to);
      MPI_Request r = MPI_REQUEST_NULL;
      switch (m.mode) {
        case Mode::send:
          MUST(MPI_Send(memory, m.count, MPI_BYTE, m.to, m.tag, handle_));
          break;
        case Mode::ssend:
          MUST(MPI_Ssend(memory, m.count, MPI_BYTE, m.to, m.tag, handle_));
          break;
        case Mode::issend:
          MUST(MPI_Issend(memory, m.count, MPI_BYTE, m.to, m.tag, handle_, &r));
          break;
        default:
          MUST(MPI_Isend(memory, m.count, MPI_BYTE, m.to, m.tag, handle_, &r));
      }
      requests.push_back(r);
    }
    step("waiting for sends");
    MUST(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }

  bool open(const Message& m) const { return m.to == me_ && !done_[static_cast<size_t>(m.number)]; }

  bool may_enter(const Pattern& p) const {
    std::vector<Pattern> all = entered_;
    all.push_back(p);
    for (const Pattern& r : all) {
      int messages = 0, rivals = 0;
      for (const Message& m : plan_.messages) messages += open(m) && r.matches(m);
      for (const Pattern& o : all)
        rivals += std::any_of(plan_.messages.begin(), plan_.messages.end(),
                              [&](const Message& m) { return open(m) && r.matches(m) && o.matches(m); });
      if (messages < rivals || messages == 0) return false;
    }
    return true;
  }

  // False: nothing can be entered now.
  bool enter(Random& random, Pattern* p) {
    std::vector<const Message*> candidates;
    for (const Message& m : plan_.messages)
      if (open(m)) candidates.push_back(&m);
    if (candidates.empty()) return false;
    for (int attempt = 0; attempt < 4; attempt++) {
      const Message& m = *random.pick(candidates);
      *p = Pattern();
      // While a sender blocks with one message, only a receive that accepts all is sure to let it go on.
      if (!blocking_ && attempt < 3) {
        p->source = random.chance(40) ? m.from : kAny;
        p->tag = random.chance(40) ? m.tag : kAny;
      }
      if (!may_enter(*p)) continue;
      entered_.push_back(*p);
      return true;
    }
    return false;
  }

  void leave(const Pattern& p) {
    for (size_t i = 0; i < entered_.size(); i++)
      if (entered_[i].source == p.source && entered_[i].tag == p.tag) {
        entered_.erase(entered_.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
    CHECK(!"entered");
  }

  Receive prepare(const Pattern& p, int thread, Event::Kind kind) {
    Receive r;
    r.pattern = p;
    int longest = 0;
    for (const Message& m : plan_.messages)
      if (m.to == me_ && p.matches(m)) longest = std::max(longest, m.count);
    r.layout = std::make_unique<Layout>(0, longest, basic_of(0), 0);
    r.buffer = std::make_unique<Buffer>(*r.layout);
    r.event.kind = kind;
    r.event.pattern = p;
    r.event.thread = thread;
    r.event.begun = tick();
    count(p.wild() ? kWildcards : kNamed);
    return r;
  }

  void take(Receive& r, const MPI_Status& s) {
    const std::lock_guard<std::mutex> lock(mutex_);
    int size;
    MPI_Get_count(&s, MPI_BYTE, &size);
    const int k = r.layout->first_byte(r.buffer->data());
    CHECK_THAT(size > 0 && k < static_cast<int>(plan_.messages.size()), "no message of this round");
    const Message& m = plan_.messages[static_cast<size_t>(k)];
    const std::string got = "status: source " + std::to_string(s.MPI_SOURCE) + ", tag " +
                            std::to_string(s.MPI_TAG) + ", " + std::to_string(size) + " bytes (" +
                            describe(plan_, r.pattern) + "); bytes of " + describe(plan_, m);
    CHECK_THAT(m.to == me_ && m.from == s.MPI_SOURCE && m.tag == s.MPI_TAG && m.count == size &&
                   r.pattern.matches(m),
               got);
    CHECK_THAT(open(m), "received twice: " + got);
    const std::string difference = r.buffer->difference(*r.layout, content_of(plan_, m));
    CHECK_THAT(difference.empty(), difference + ": " + got + others_there(r, m));
    done_[static_cast<size_t>(k)] = 1;
    leave(r.pattern);
    r.event.message = k;
    if (r.event.ended == LONG_MAX) r.event.ended = ++tick_;
    events_.push_back(r.event);
  }

  // Which other messages' bytes lie behind the message in a buffer.
  std::string others_there(Receive& r, const Message& m) const {
    std::string text;
    for (const Message& o : plan_.messages) {
      if (o.to != me_ || o.count <= m.count || o.count > r.layout->elements()) continue;
      const std::vector<unsigned char> content = content_of(plan_, o);
      if (std::equal(content.begin() + m.count, content.end(), r.buffer->data() + m.count))
        text +=
            "; behind it lie bytes of " + describe(plan_, o) + (open(o) ? ", which nobody has received" : "");
    }
    return text;
  }

  void receive_all(int thread, Random random) {
    for (;;) {
      Pattern p, second;
      bool two = false;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (std::none_of(plan_.messages.begin(), plan_.messages.end(),
                         [&](const Message& m) { return open(m); }))
          return;
        p.comm = enter(random, &p) ? 0 : -1;
        if (p.comm == 0 && random.chance(25)) two = enter(random, &second);
      }
      if (p.comm < 0) {
        sched_yield();
      } else if (two) {
        receive_two(thread, random, p, second);
      } else {
        receive_one(thread, random, p);
      }
    }
  }

  Receive post(int thread, const Pattern& p) {
    Receive r = prepare(p, thread, Event::receive);
    MUST(MPI_Irecv(r.buffer->at(), r.layout->count(), MPI_BYTE, p.source == kAny ? MPI_ANY_SOURCE : p.source,
                   p.tag == kAny ? MPI_ANY_TAG : p.tag, handle_, &r.request));
    r.event.posted = tick();
    return r;
  }

  void receive_two(int thread, Random& random, const Pattern& p, const Pattern& second) {
    step("thread %d: two receives", thread);
    Receive r[2] = {post(thread, p), post(thread, second)};
    MPI_Request requests[2] = {r[0].request, r[1].request};
    MPI_Status s[2] = {poisoned(), poisoned()};
    if (random.chance(50)) {
      MUST(MPI_Waitall(2, requests, s));
      take(r[0], s[0]);
      take(r[1], s[1]);
      return;
    }
    for (int i = 0; i < 2; i++) {
      int index = -1;
      MUST(MPI_Waitany(2, requests, &index, s));
      CHECK(index == 0 || index == 1);
      take(r[index], s[0]);
    }
  }

  void receive_one(int thread, Random& random, const Pattern& p) {
    const int source = p.source == kAny ? MPI_ANY_SOURCE : p.source,
              tag = p.tag == kAny ? MPI_ANY_TAG : p.tag;
    MPI_Status s = poisoned();
    int flag = 0;
    int how = draw(random, 0, 5);
    if ((how == 3 && !job.cancels) || (how > 3 && !job.probes)) how = draw(random, 0, 2);
    switch (how) {
      case 0: {
        step("thread %d: MPI_Recv from %d, tag %d", thread, p.source, p.tag);
        Receive r = prepare(p, thread, Event::receive);
        MUST(MPI_Recv(r.buffer->at(), r.layout->count(), MPI_BYTE, source, tag, handle_, &s));
        take(r, s);
        break;
      }
      case 1: {
        step("thread %d: MPI_Irecv and MPI_Wait", thread);
        Receive r = post(thread, p);
        MUST(MPI_Wait(&r.request, &s));
        take(r, s);
        break;
      }
      case 2: {
        step("thread %d: MPI_Irecv and MPI_Test", thread);
        Receive r = post(thread, p);
        while (MUST(MPI_Test(&r.request, &flag, &s)), !flag) sched_yield();
        take(r, s);
        break;
      }
      case 3: {
        step("thread %d: MPI_Irecv and MPI_Cancel", thread);
        Receive r = post(thread, p);
        if (random.chance(50)) sched_yield();
        r.event.cancel = tick();
        MUST(MPI_Cancel(&r.request));
        MUST(MPI_Wait(&r.request, &s));
        int cancelled = -1;
        MPI_Test_cancelled(&s, &cancelled);
        count(cancelled ? kCancelled : kNotCancelled);
        if (!cancelled) {
          r.event.cancel = LONG_MAX;
          take(r, s);
        } else {
          const std::lock_guard<std::mutex> lock(mutex_);
          leave(p);
          r.event.kind = Event::cancelled;
          r.event.ended = ++tick_;
          events_.push_back(r.event);
        }
        break;
      }
      default: {
        const bool waiting = random.chance(50);
        step("thread %d: MPI_%sprobe", thread, waiting ? "M" : "Im");
        Receive r = prepare(p, thread, Event::matched_probe);
        MPI_Message m = MPI_MESSAGE_NULL;
        if (waiting) MUST(MPI_Mprobe(source, tag, handle_, &m, &s));
        while (!waiting && !flag) {
          MUST(MPI_Improbe(source, tag, handle_, &flag, &m, &s));
          if (!flag) sched_yield();
        }
        count(kMatched);
        r.event.ended = tick();
        step("thread %d: MPI_Mrecv", thread);
        MUST(MPI_Mrecv(r.buffer->at(), r.layout->count(), MPI_BYTE, &m, &s));
        take(r, s);
      }
    }
  }
};

}  // namespace

void share_one(uint64_t seed, MPI_Comm comm) {
  Shared(seed, comm).carry_out();
}

}  // namespace mixed
