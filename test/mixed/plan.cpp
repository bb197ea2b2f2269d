// The schedule of one round. Its steps have one order for all ranks, and each rank carries out its part of them in that order. A rank
// waits in a step only for what belongs to that step or to earlier ones; so no correct MPI library can come to a standstill: of all
// ranks that wait, the one in the earliest step waits for somebody who gets there. Sends that block, in standard and synchronous mode,
// are therefore legal in every step (3.5: progress).
#include <algorithm>

#include "layout.h"

namespace mixed {
namespace {

class Planner {
 public:
  Planner(Random& random, const std::vector<Comm>& comms) : random_(random) {
    plan_.fill = random.next();
    plan_.comms = comms;
    for (size_t i = 0; i < comms.size(); i++) plan_.basic.push_back(pick_basic());
    choose_style();
  }

  Plan make() {
    for (int i = 0; i < steps_ && room(); i++) {
      const int what = draw(random_, 1, 100);
      if (what <= collectives_) {
        collective();
      } else if (what <= collectives_ + 3) {
        make_or_free();
      } else if (what <= collectives_ + 3 + rings_) {
        ring();
      } else if (what <= collectives_ + 5 + rings_) {
        Step s;
        s.act = Act::pause;
        s.rank = draw(random_, 0, job.ranks - 1);
        plan_.steps.push_back(s);
      } else {
        message();
      }
    }
    while (!made_.empty()) free_one(0);
    return std::move(plan_);
  }

 private:
  Random& random_;
  Plan plan_;
  int steps_ = 0, tags_ = 1, late_ = 0, collectives_ = 0, rings_ = 0, funnel_ = -1, sizes_ = 0;
  int64_t budget_ = 6'000'000;  // bytes of all messages
  std::vector<int> active_, made_;
  std::vector<Mode> modes_;

  bool room() const { return static_cast<int>(plan_.messages.size()) + job.ranks <= kMostMessages; }

  int pick_basic() { return random_.chance(50) ? 0 : draw(random_, 0, 2); }

  // Rounds differ in kind: much of one thing at once finds more than a little of everything.
  void choose_style() {
    steps_ = random_.chance(20) ? draw(random_, 60, 200) : draw(random_, 4, 60);
    steps_ = std::min(steps_, job.steps);
    tags_ = random_.chance(30) ? 1 : draw(random_, 2, 4);
    const int lates[] = {0, 20, 50, 90};
    late_ = lates[random_.between(0, 3)];
    collectives_ = random_.chance(60) ? draw(random_, 1, 12) : 0;
    rings_ = random_.chance(50) ? draw(random_, 1, 15) : 0;
    if (random_.chance(40)) funnel_ = draw(random_, 0, job.ranks - 1);
    sizes_ = draw(random_, 0, 3);
    const int n = random_.chance(50) ? 1 : draw(random_, 2, 4);
    for (int i = 0; i < n; i++) active_.push_back(draw(random_, 0, static_cast<int>(plan_.comms.size()) - 1));
    switch (draw(random_, 0, 4)) {
      case 0:
        modes_ = {Mode::send};
        break;
      case 1:
        modes_ = {Mode::ssend, Mode::issend, Mode::ssend_init};
        break;
      case 2:
        modes_ = {Mode::isend, Mode::ibsend, Mode::issend, Mode::freed, Mode::init};
        break;
      default:
        for (int m = 0; m < kModes; m++) modes_.push_back(static_cast<Mode>(m));
    }
  }

  int size() {
    const auto small = [&] { return draw(random_, 0, 40); };
    const int64_t edges[] = {0,    1,     8,     64,    256,   1024,  2048,   4095,   4096,  8192,
                             9216, 16384, 32768, 65535, 65536, 65537, 131072, 262144, 300000};
    int64_t size = small();
    switch (sizes_) {
      case 0:
        if (random_.chance(20)) size = draw(random_, 0, 600);
        break;
      case 1:
        if (random_.chance(30)) size = draw(random_, 0, 9000);
        break;
      case 2:
        if (random_.chance(50)) size = edges[random_.between(0, 18)] + draw(random_, -1, 1);
        break;
      default:
        if (random_.chance(20)) size = draw(random_, 0, 300000);
    }
    size = std::clamp<int64_t>(size, 0, 300000);
    if (size > budget_) size = small();
    budget_ -= size;
    return static_cast<int>(size);
  }

  // A message of nothing carries no number, so tag and sender must say which it is.
  bool known_by_envelope(const Message& m) const {
    return std::none_of(plan_.messages.begin(), plan_.messages.end(), [&](const Message& o) {
      return o.count == 0 && o.comm == m.comm && o.from == m.from && o.to == m.to && o.tag == m.tag;
    });
  }

  Message draft(int comm, int from, int to) {
    Message m;
    m.comm = comm;
    m.from = from;
    m.to = to;
    m.tag = draw(random_, 0, tags_ - 1);
    if (random_.chance(2)) m.tag = 32767;  // 9.1.2: at least that is a tag
    m.count = size() / plan_.basic_type(comm).bytes;
    if (m.count == 0 && !known_by_envelope(m)) m.count = 1;
    m.shape = random_.chance(60) ? 0 : draw(random_, 0, kShapes - 1);
    return m;
  }

  void add(Message m) {
    m.number = static_cast<int>(plan_.messages.size());
    m.step = static_cast<int>(plan_.steps.size());
    plan_.messages.push_back(m);
  }

  int pick_comm() { return random_.pick(active_); }

  void message() {
    const int comm = pick_comm();
    const Comm& c = plan_.comms[static_cast<size_t>(comm)];
    for (int attempt = 0; attempt < 30; attempt++) {
      const int from = draw(random_, 0, job.ranks - 1);
      const int to = funnel_ >= 0 && random_.chance(70) ? funnel_ : draw(random_, 0, job.ranks - 1);
      if (!c.joins(from, to) || (from == to && random_.chance(80))) continue;
      Message m = draft(comm, from, to);
      m.mode = random_.pick(modes_);
      // The buffer of buffered sends belongs to the process, and plain Open MPI 4.1 hangs when threads use it. Plain MPICH 4.0.2 cuts
      // a byte off one MPI_Ibsend in some hundred thousand, of 5 or 2049 bytes (mpirun -n 6 mixed --seed 77 --rounds 400).
      if ((job.threads || !job.buffered) && buffered(m.mode)) m.mode = Mode::isend;
      // Plain MPICH 4.0 and Open MPI 4.1 lose a message to oneself whose request is freed before its receive is there.
      if (m.mode == Mode::freed && from == to) m.mode = Mode::isend;
      if (persistent(m.mode)) {
        continue_series(&m);
      } else {
        m.late = !blocks(m.mode) && random_.chance(late_);
      }
      Step s;
      s.first = static_cast<int>(plan_.messages.size());
      s.n = 1;
      add(m);
      plan_.steps.push_back(s);
      return;
    }
  }

  // Plain Open MPI 4.1: a long buffered send that is started again sends what it sent the first time.
  bool sends_old_bytes(const Message& m) const {
    return kOpenMpi && m.mode == Mode::bsend_init && m.count * plan_.basic_type(m.comm).bytes > 1000;
  }

  // Half of the persistent sends start a request of an earlier one again.
  void continue_series(Message* m) {
    std::vector<const Message*> all;
    for (const Message& o : plan_.messages)
      if (o.series >= 0 && o.comm == m->comm && o.count > 0 && !sends_old_bytes(o)) all.push_back(&o);
    if (!all.empty() && random_.chance(60)) {
      const Message& o = *random_.pick(all);
      budget_ -= o.count * plan_.basic_type(o.comm).bytes;
      *m = o;
    } else {
      m->series = static_cast<int>(plan_.messages.size());
    }
  }

  // Some ranks in a ring: each sends to the next one by MPI_Sendrecv.
  void ring() {
    const int comm = pick_comm();
    const Comm& c = plan_.comms[static_cast<size_t>(comm)];
    std::vector<int> members;
    for (int r = 0; r < job.ranks; r++)
      if (c.member(r)) members.push_back(r);
    random_.shuffle(members);
    members.resize(static_cast<size_t>(draw(random_, 1, static_cast<int64_t>(members.size()))));
    Step s;
    s.act = Act::ring;
    s.first = static_cast<int>(plan_.messages.size());
    for (size_t i = 0; i < members.size(); i++)
      if (!c.joins(members[i], members[(i + 1) % members.size()])) return;
    for (size_t i = 0; i < members.size(); i++) {
      Message m = draft(comm, members[i], members[(i + 1) % members.size()]);
      m.mode = Mode::isend;
      m.exchanged = true;
      add(m);
    }
    s.n = static_cast<int>(members.size());
    plan_.steps.push_back(s);
  }

  void collective() {
    const Act acts[] = {Act::barrier, Act::allreduce, Act::bcast, Act::ibarrier, Act::iallreduce};
    Step s;
    s.act = acts[random_.between(0, 4)];
    s.comm =
        random_.chance(70) ? pick_comm() : draw(random_, 0, static_cast<int64_t>(plan_.comms.size()) - 1);
    if (plan_.comms[static_cast<size_t>(s.comm)].freed) s.comm = 0;
    if (plan_.comms[static_cast<size_t>(s.comm)].inter && s.act == Act::bcast) s.act = Act::barrier;
    plan_.steps.push_back(s);
  }

  void make_or_free() {
    if (!made_.empty() && random_.chance(50)) {
      free_one(static_cast<size_t>(draw(random_, 0, static_cast<int64_t>(made_.size()) - 1)));
      return;
    }
    // Open MPI 4.1 hangs now and then when several threads make communicators at the same time.
    if (made_.size() >= 3 || (job.threads && kOpenMpi)) return;
    Step s;
    s.comm = pick_comm();
    s.made = static_cast<int>(plan_.comms.size());
    Comm c = plan_.comms[static_cast<size_t>(s.comm)];
    c.handle = MPI_COMM_NULL;
    s.act = !c.inter && random_.chance(50) ? Act::split : Act::dup;
    c.name += s.act == Act::dup ? "'" : "/";
    if (s.act == Act::split) {
      std::vector<int> side = c.side;
      for (int r = 0; r < job.ranks; r++)
        if (c.member(r))
          side[static_cast<size_t>(r)] = 2 * c.side_of(r) + split_colour(plan_.fill, s.made, r);
      c.side = side;
      std::vector<int> number(c.number.size(), -1);
      for (int r = 0; r < job.ranks; r++) {
        if (!c.member(r)) continue;
        int n = 0;
        for (int o = 0; o < job.ranks; o++)
          n += c.member(o) && side[static_cast<size_t>(o)] == side[static_cast<size_t>(r)] &&
               split_key(plan_.fill, s.made, o) < split_key(plan_.fill, s.made, r);
        number[static_cast<size_t>(r)] = n;
      }
      c.number = number;
    }
    plan_.comms.push_back(c);
    plan_.basic.push_back(pick_basic());
    plan_.steps.push_back(s);
    made_.push_back(s.made);
    active_.push_back(s.made);
    active_.push_back(s.made);
  }

  void free_one(size_t i) {
    Step s;
    s.act = Act::free_comm;
    s.comm = made_[i];
    plan_.comms[static_cast<size_t>(s.comm)].freed = true;
    plan_.steps.push_back(s);
    made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(i));
    active_.erase(std::remove(active_.begin(), active_.end(), s.comm), active_.end());
    if (active_.empty()) active_.push_back(0);
  }
};

}  // namespace

Plan make_plan(Random& random, const std::vector<Comm>& comms) {
  Plan plan = Planner(random, comms).make();
  for (Comm& c : plan.comms) c.freed = false;  // from now on: whether this rank has freed it
  return plan;
}

// Keys that differ, so that the numbers of all are known.
int split_key(uint64_t fill, int made, int rank) {
  return static_cast<int>(word_of(fill, static_cast<uint64_t>(made * 1000 + rank)) % 100000) * 64 + rank;
}
int split_colour(uint64_t fill, int made, int rank) {
  const int parts = 1 + static_cast<int>(word_of(fill, static_cast<uint64_t>(made)) % 2);
  return static_cast<int>(word_of(fill, static_cast<uint64_t>(made * 1000 + 500 + rank)) % 97) % parts;
}

std::vector<unsigned char> content_of(const Plan& plan, const Message& m) {
  const size_t bytes = static_cast<size_t>(m.count) * static_cast<size_t>(plan.basic_type(m.comm).bytes);
  std::vector<unsigned char> content(bytes);
  const uint64_t seed = plan.fill ^ (static_cast<uint64_t>(m.number + 1) << 20) ^
                        static_cast<uint64_t>((m.comm * 64 + m.from) * 64 + m.to);
  for (size_t i = 0; i < bytes; i += 8) {
    const uint64_t word = word_of(seed, i);
    for (size_t j = 0; j < 8 && i + j < bytes; j++)
      content[i + j] = static_cast<unsigned char>(word >> (8 * j));
  }
  if (bytes > 0) content[0] = static_cast<unsigned char>(m.number);
  return content;
}

std::string describe(const Plan& plan, const Message& m) {
  static const char* const modes[kModes] = {
      "Send",   "Ssend",        "Bsend",     "Rsend",      "Isend",      "Issend",    "Ibsend",
      "Irsend", "Isend, freed", "Send_init", "Ssend_init", "Bsend_init", "Rsend_init"};
  return "message " + std::to_string(m.number) + " (step " + std::to_string(m.step) + ", " +
         std::to_string(m.from) + " -> " + std::to_string(m.to) + ", tag " + std::to_string(m.tag) + ", " +
         std::to_string(m.count * plan.basic_type(m.comm).bytes) + " bytes, " +
         plan.comms[static_cast<size_t>(m.comm)].name + ", " +
         (m.exchanged ? "Sendrecv" : modes[static_cast<int>(m.mode)]) + (m.late ? ", late" : "") + ")";
}

std::string describe(const Plan& plan, const Pattern& p) {
  return plan.comms[static_cast<size_t>(p.comm)].name + ", source " +
         (p.source == kAny ? "any" : std::to_string(p.source)) + ", tag " +
         (p.tag == kAny ? "any" : std::to_string(p.tag));
}

}  // namespace mixed
