// A model checker for page_state.h: every interleaving of faults, transfers, eviction, reclaiming, freeing
// and the program's own accesses, for a few pages, threads and buffers, against a model of memory.
//
// The model keeps no versions, only whether a place has what the program wrote last: a write makes the local
// bytes right and the store's wrong, a transfer copies that property. Each thread is idle, posted (it
// faulted, nobody has looked), taken (the machine knows, it sleeps until it is woken) or retry (woken, will
// access again). The rules of the engine are in `Explorer`; what is checked is that the table of states with
// these rules
//   makes no event happen in a state that does not allow it; reads only what was written last; never gives up
//   the only copy; never leaves a page with or without memory by mistake; serves everyone: from every
//   reachable state, a thread that waits can be served by what the engine must do anyway.
// Then the same with tables that are wrong in one place each, to see that the checker sees.
#include "pager/pages/page_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace tasuki::pager {
namespace {

enum class Kind {
  move,     // every mapped page is writable; one that left is absent (userfault_mapper.cpp)
  copy,     // read-only mappings; one that is leaving or in limbo can still be read (copy_mapper.cpp)
  protect,  // read-only mappings; one that left is absent (signal_mapper.cpp)
};

struct Options {
  Kind kind = Kind::move;
  int pages = 2, threads = 2, buffers = 1;
  bool exclusive = false;  // slots are given up when the page arrives
  bool steal = false;      // and whenever a page is resident
};

enum Transfer : uint8_t { kNone, kZero, kFetch, kSend };
enum Doing : uint8_t { kIdle, kPosted, kTaken, kRetry };

template <class Table>
struct PageModel {
  Table table;
  bool mapped = false, map_writable = false;  // what the program can do
  bool buffer = false;
  Transfer transfer = kNone;
  bool written = false;   // else the program expects zeros
  bool local_ok = false;  // the buffer has what was written last
  bool store_ok = false;  // the slots have
};

struct ThreadModel {
  Doing doing = kIdle;
  uint8_t page = 0;
  bool write = false;
};

template <class Table>
struct World {
  std::array<PageModel<Table>, 3> pages;
  std::array<ThreadModel, 3> threads;
};

template <class Table>
uint64_t pack(const World<Table>& w, const Options& o) {
  uint64_t bits = 0;
  const auto put = [&](unsigned value, int width) { bits = bits << width | value; };
  for (int p = 0; p < o.pages; p++) {
    const PageModel<Table>& m = w.pages[p];
    put(static_cast<unsigned>(m.table.state()), 3);
    for (const bool b :
         {m.table.writable(), m.table.dirty(), m.table.stored(), m.table.wanted(), m.table.wanted_write(),
          m.mapped, m.map_writable, m.buffer, m.written, m.local_ok, m.store_ok})
      put(b, 1);
    put(m.transfer, 2);
  }
  for (int t = 0; t < o.threads; t++) {
    put(w.threads[t].doing, 2);
    put(w.threads[t].page, 2);
    put(w.threads[t].write, 1);
  }
  return bits;
}

template <class Table>
class Explorer {
 public:
  explicit Explorer(const Options& options) : o_(options) {}

  // Empty, or what is wrong, with the shortest way there.
  std::string run() {
    visit(World<Table>(), UINT32_MAX, "start");
    for (uint32_t i = 0; i < worlds_.size() && error_.empty(); i++) {
      from_ = i;
      expand(worlds_[i]);
    }
    if (error_.empty()) check_served();
    return error_;
  }
  size_t states() const { return worlds_.size(); }

 private:
  using W = World<Table>;
  using P = PageModel<Table>;
  struct Edge {
    uint32_t from, to;
  };

  std::string trace(uint32_t at) const {
    std::string text;
    for (; at != UINT32_MAX; at = parent_[at]) text = how_[at] + (text.empty() ? "" : "; ") + text;
    return text;
  }
  void wrong(const char* what, const std::string& step) {
    if (error_.empty()) error_ = std::string(what) + " after: " + trace(from_) + "; " + step;
  }

  uint32_t visit(const W& w, uint32_t parent, const std::string& step) {
    const auto [at, fresh] = known_.emplace(pack(w, o_), static_cast<uint32_t>(worlds_.size()));
    if (fresh) {
      worlds_.push_back(w);
      parent_.push_back(parent);
      how_.push_back(step);
    }
    return at->second;
  }

  // `must`: the engine or a woken thread does it without anybody's further asking. served: the thread that
  // this step serves.
  void step(const W& w, const std::string& name, bool must, int served = -1) {
    for (int p = 0; p < o_.pages; p++) {
      const P& m = w.pages[p];
      const bool holds = m.table.state() != State::untouched && m.table.state() != State::remote;
      if (holds != m.buffer) return wrong("a page has local memory that it should not have, or none", name);
    }
    const uint32_t to = visit(w, from_, name);
    if (served >= 0) serves_[served].push_back(from_);
    if (must && to != from_) edges_.push_back({from_, to});
  }

  static std::string name(const char* what, int page, int thread = -1) {
    return std::string(what) + " " + std::to_string(page) +
           (thread < 0 ? "" : " by thread " + std::to_string(thread));
  }

  int used(const W& w) const {
    int n = 0;
    for (int p = 0; p < o_.pages; p++) n += w.pages[p].buffer;
    return n;
  }

  // Wrong tables are to show what comes of their mistake.
  void check(const P& m, Event event) {
    if (std::is_same_v<Table, PageState> && !m.table.allows(event))
      wrong("an event happens that the page's state does not allow", std::to_string(static_cast<int>(event)));
  }

  void wake(W* w, int page) const {
    for (int t = 0; t < o_.threads; t++)
      if (w->threads[t].page == page && w->threads[t].doing == kTaken) w->threads[t].doing = kRetry;
  }

  // What the engine does for an action.
  void act(W* w, int page, Action action) {
    P& m = w->pages[page];
    switch (action) {
      case Action::none:
      case Action::keep:
      case Action::drop:
        break;
      case Action::zero:
        m.transfer = kZero;
        break;
      case Action::fetch:
        m.transfer = kFetch;
        break;
      case Action::send:
        m.transfer = kSend;
        break;
      case Action::map:
        if (o_.kind == Kind::move) {
          check(m, Event::map_writable);
          m.table.map_writable();
        }
        m.mapped = true;
        m.map_writable = m.table.writable();
        wake(w, page);
        break;
      case Action::unprotect:
        m.map_writable = true;
        wake(w, page);
        break;
      case Action::wake:
        wake(w, page);
        break;
    }
  }

  // A thread's access: it succeeds, or it becomes a fault.
  void access(W w, int t, int page, bool write, const char* what) {
    P& m = w.pages[page];
    const bool retried = w.threads[t].doing == kRetry;
    const std::string text = name((std::string(what) + (write ? " write" : " read")).c_str(), page, t);
    if (!m.mapped || (write && !m.map_writable)) {
      w.threads[t] = {kPosted, static_cast<uint8_t>(page), write};
      return step(w, text + " faults", retried);
    }
    if (!m.local_ok) return wrong("a thread reads bytes that are not the last ones written", text);
    if (write) {
      m.written = true;
      m.store_ok = false;
    }
    w.threads[t] = ThreadModel();
    step(w, text, retried, retried ? t : -1);
  }

  void expand(const W w) {
    for (int t = 0; t < o_.threads; t++) {
      const ThreadModel& thread = w.threads[t];
      switch (thread.doing) {
        case kIdle:
          for (int p = 0; p < o_.pages; p++)
            for (const bool write : {false, true}) access(w, t, p, write, "access:");
          break;
        case kRetry:
          access(w, t, thread.page, thread.write, "again:");
          break;
        case kPosted:
          fault(w, t);
          break;
        case kTaken:
          break;
      }
    }
    const bool full = used(w) == o_.buffers;
    for (int p = 0; p < o_.pages; p++) page_events(w, p, full);
  }

  void fault(W w, int t) {
    const int page = w.threads[t].page;
    P& m = w.pages[page];
    const State before = m.table.state();
    if (before == State::untouched || before == State::remote) {
      if (used(w) == o_.buffers) return;  // must wait for memory
      begin(&m);
    }
    w.threads[t].doing = kTaken;
    act(&w, page, m.table.fault(w.threads[t].write));
    step(w, name("fault of", page, t), true);
  }

  // As the engine does: the state of a page that has no memory is only whether the store has it.
  static void begin(P* m) {
    const bool stored = m->table.state() == State::remote;
    m->table = Table();
    m->table.begin(stored);
    m->buffer = true;
    m->local_ok = false;
  }

  void page_events(const W& now, int page, bool full) {
    const State state = now.pages[page].table.state();
    if (now.pages[page].transfer != kNone) {
      W w = now;
      P& m = w.pages[page];
      const Transfer transfer = m.transfer;
      m.transfer = kNone;
      if (transfer == kSend) {
        m.store_ok = m.local_ok;
        check(m, Event::sent);
        act(&w, page, m.table.sent());
        return step(w, name("sent", page), true);
      }
      m.local_ok = transfer == kZero ? !m.written : m.store_ok;
      if (transfer == kFetch && o_.exclusive) {
        m.store_ok = false;
        check(m, Event::forget_stored);
        m.table.forget_stored();
      }
      check(m, Event::arrived);
      act(&w, page, m.table.arrived());
      return step(w, name("arrived", page), true);
    }
    if ((state == State::untouched || state == State::remote) && !full) {
      W w = now;
      begin(&w.pages[page]);
      check(w.pages[page], Event::prefetch);
      act(&w, page, w.pages[page].table.prefetch());
      step(w, name("prefetch", page), false);
    }
    if (state == State::resident) {
      // Eviction and reclaiming are the engine's duty where memory is missing, else its choice.
      for (const bool same : {false, true}) {
        W w = now;
        P& m = w.pages[page];
        if (same && !(m.local_ok && m.store_ok)) continue;
        m.map_writable = false;
        if (o_.kind != Kind::copy) m.mapped = false;
        check(m, Event::victim);
        act(&w, page, m.table.victim(same));
        step(w, name(same ? "evict, found equal," : "evict", page), full);
      }
      if (o_.steal) {
        W w = now;
        w.pages[page].store_ok = false;
        check(w.pages[page], Event::forget_stored);
        w.pages[page].table.forget_stored();
        step(w, name("take the slots of", page), false);
      }
      if (o_.kind == Kind::move) discard(now, page);
    }
    if (state == State::limbo) {
      W w = now;
      P& m = w.pages[page];
      check(m, Event::reclaim);
      act(&w, page, m.table.reclaim());
      if (m.table.state() == State::remote ? !m.store_ok : m.written)
        return wrong("the only copy of what was written is given up", name("reclaim", page));
      m.mapped = m.map_writable = m.buffer = m.local_ok = false;
      step(w, name("reclaim", page), full);
    }
    free(now, page);
  }

  // madvise(MADV_DONTNEED) by the program: zeros from now on. The engine hears of it at the next fault, or
  // when it moves the page and finds nothing.
  void discard(W w, int page) {
    P& m = w.pages[page];
    if (!m.mapped) return;
    m.written = m.store_ok = false;
    step(w, name("the program discards", page), false);
  }

  // And allocated again at once: its slots are forgotten, nobody has touched it.
  void free(W w, int page) {
    if (w.pages[page].transfer != kNone) return;
    for (int t = 0; t < o_.threads; t++)
      if (w.threads[t].doing != kIdle && w.threads[t].page == page) return;
    w.pages[page] = P();
    step(w, name("free", page), false);
  }

  // Backwards from the steps that serve a thread, over what must happen: whoever is not found waits for ever.
  void check_served() {
    std::vector<uint32_t> first(worlds_.size() + 1, 0), sources(edges_.size());
    for (const Edge& e : edges_) first[e.to + 1]++;
    for (size_t i = 1; i < first.size(); i++) first[i] += first[i - 1];
    std::vector<uint32_t> fill(first.begin(), first.end() - 1);
    for (const Edge& e : edges_) sources[fill[e.to]++] = e.from;
    for (int t = 0; t < o_.threads; t++) {
      std::vector<bool> served(worlds_.size());
      std::vector<uint32_t> next = serves_[t];
      for (const uint32_t i : next) served[i] = true;
      while (!next.empty()) {
        const uint32_t at = next.back();
        next.pop_back();
        for (uint32_t k = first[at]; k < first[at + 1]; k++) {
          if (served[sources[k]]) continue;
          served[sources[k]] = true;
          next.push_back(sources[k]);
        }
      }
      for (uint32_t i = 0; i < worlds_.size(); i++)
        if (worlds_[i].threads[t].doing != kIdle && !served[i]) {
          error_ = "thread " + std::to_string(t) + " waits for ever after: " + trace(i);
          return;
        }
    }
  }

  Options o_;
  std::unordered_map<uint64_t, uint32_t> known_;
  std::vector<W> worlds_;
  std::vector<uint32_t> parent_;
  std::vector<std::string> how_;
  std::vector<Edge> edges_;
  std::array<std::vector<uint32_t>, 3> serves_;
  uint32_t from_ = UINT32_MAX;
  std::string error_;
};

const char* name_of(Kind kind) {
  return kind == Kind::move ? "move" : kind == Kind::copy ? "copy" : "protect";
}

class PageStates : public ::testing::TestWithParam<Options> {};

TEST_P(PageStates, EveryInterleavingIsRight) {
  Explorer<PageState> explorer(GetParam());
  EXPECT_EQ(explorer.run(), "");
  RecordProperty("states", std::to_string(explorer.states()));
  EXPECT_GT(explorer.states(), 100u);
}

std::vector<Options> all_options() {
  std::vector<Options> all;
  for (const Kind kind : {Kind::move, Kind::copy, Kind::protect})
    for (const auto& [exclusive, steal] : {std::pair(false, false), {true, false}, {false, true}}) {
      all.push_back({kind, 2, 2, 1, exclusive, steal});
      all.push_back({kind, 2, 2, 2, exclusive, steal});
      all.push_back({kind, 1, 3, 1, exclusive, steal});
      all.push_back({kind, 2, 3, 1, exclusive, steal});
      all.push_back({kind, 3, 2, 1, exclusive, steal});
      if (!exclusive && !steal) all.push_back({kind, 2, 3, 2, exclusive, steal});
    }
  return all;
}

std::string text_of(const Options& o) {
  return std::string(name_of(o.kind)) + "_" + std::to_string(o.pages) + "pages_" + std::to_string(o.threads) +
         "threads_" + std::to_string(o.buffers) + "buffers" + (o.exclusive ? "_exclusive" : "") +
         (o.steal ? "_steal" : "");
}
std::string test_name(const ::testing::TestParamInfo<Options>& test) {
  return text_of(test.param);
}
INSTANTIATE_TEST_SUITE_P(All, PageStates, ::testing::ValuesIn(all_options()), test_name);

// Tables that are wrong in one place. Each must be refused with at least one kind of mapper, for the right
// reason.

// Events in states that do not allow them do what they would do without the assertion: what comes of that is
// to be seen.
struct Unchecked : PageState {
  Action arrived() {
    state_ = State::arriving;
    return PageState::arrived();
  }
  Action sent() {
    state_ = State::leaving;
    return PageState::sent();
  }
};

struct DropsDirtyPages : Unchecked {
  Action victim(bool) {
    writable_ = false;
    state_ = State::limbo;
    return Action::keep;
  }
};
struct MapsBeforeArrival : Unchecked {
  Action fault(bool write) {
    if (state_ != State::arriving) return Unchecked::fault(write);
    return Unchecked::arrived();
  }
};
struct SentForgetsWhoWaits : Unchecked {
  Action sent() {
    stored_ = true;
    dirty_ = false;
    state_ = State::limbo;
    return Action::keep;
  }
};
struct LimboForgetsWhoWaits : Unchecked {
  Action fault(bool write) {
    if (state_ != State::limbo) return Unchecked::fault(write);
    wanted_ = true;
    return Action::none;
  }
};
struct ResidentForgetsWhoWaits : Unchecked {
  Action fault(bool write) {
    const Action action = Unchecked::fault(write);
    return action == Action::wake ? Action::none : action;
  }
};
struct WritesStayClean : Unchecked {
  Action fault(bool write) {
    const bool before = dirty_;
    const Action action = Unchecked::fault(write);
    if (action == Action::unprotect) dirty_ = before;
    return action;
  }
};
struct RescuedPagesStayClean : Unchecked {
  Action sent() {
    const Action action = Unchecked::sent();
    dirty_ = false;
    return action;
  }
};
struct UntouchedPagesAreFetched : Unchecked {
  Action reclaim() {
    state_ = State::remote;
    return Action::drop;
  }
};
struct StoredPagesAreZeroed : Unchecked {
  Action reclaim() {
    state_ = State::untouched;
    return Action::drop;
  }
};
struct ForgottenPagesStayClean : Unchecked {
  void forget_stored() { stored_ = false; }
};
struct LeavingPagesAreReclaimed : Unchecked {
  Action fault(bool write) {  // a rescue that does not wait for the transfer
    if (state_ != State::leaving) return Unchecked::fault(write);
    want(write);
    return Unchecked::arrived();
  }
};

// What is wrong with the table, for all kinds of mappers and sizes.
template <class Table>
std::string verdict(const char* with) {
  std::string all;
  for (const Options& options : all_options()) {
    if (options.pages * options.threads > 4) continue;  // small ones suffice
    const std::string error = Explorer<Table>(options).run();
    if (error.find(with) != std::string::npos) return "";
    all += text_of(options) + ": " + error + "\n";
  }
  return all;
}

constexpr const char kStale[] = "not the last ones written", kLost[] = "only copy",
                     kStuck[] = "waits for ever";

TEST(Checker, RefusesTablesThatLoseWrites) {
  EXPECT_EQ(verdict<DropsDirtyPages>(kLost), "");
  EXPECT_EQ(verdict<WritesStayClean>(kLost), "");
  EXPECT_EQ(verdict<RescuedPagesStayClean>(kLost), "");
  EXPECT_EQ(verdict<StoredPagesAreZeroed>(kLost), "");
  EXPECT_EQ(verdict<ForgottenPagesStayClean>(kLost), "");
  EXPECT_EQ(verdict<LeavingPagesAreReclaimed>(kLost), "");
}

TEST(Checker, RefusesTablesThatShowStaleBytes) {
  EXPECT_EQ(verdict<MapsBeforeArrival>(kStale), "");
}

TEST(Checker, RefusesTablesThatFetchWhatWasNeverStored) {
  EXPECT_EQ(verdict<UntouchedPagesAreFetched>(kLost), "");
}

TEST(Checker, RefusesTablesThatForgetWhoWaits) {
  EXPECT_EQ(verdict<SentForgetsWhoWaits>(kStuck), "");
  EXPECT_EQ(verdict<LimboForgetsWhoWaits>(kStuck), "");
  EXPECT_EQ(verdict<ResidentForgetsWhoWaits>(kStuck), "");
}

// The machine alone: which events each state allows, and what an event does that is refused.

// A page in each state, by the events that lead there.
PageState page_in(State state) {
  PageState page;
  if (state == State::untouched) return page;
  if (state == State::remote || state == State::arriving) {
    page.begin(true);
    if (state == State::arriving) page.fault(false);
    return page;
  }
  page.found();
  if (state == State::resident) return page;
  page.victim(false);
  if (state == State::limbo) page.sent();
  return page;
}
constexpr State kStates[] = {State::untouched, State::remote,  State::arriving,
                             State::resident,  State::leaving, State::limbo};

TEST(PageState, EveryStateIsReachedByItsEvents) {
  for (const State state : kStates) EXPECT_EQ(page_in(state).state(), state);
}

TEST(PageState, AnEventIsAllowedInItsStatesOnly) {
  struct Row {
    Event event;
    std::vector<State> states;
  };
  const std::vector<Row> rows = {
      {Event::begin, {State::untouched, State::remote}},
      {Event::found, {State::untouched}},
      {Event::fault, {std::begin(kStates), std::end(kStates)}},
      {Event::prefetch, {State::untouched, State::remote}},
      {Event::arrived, {State::arriving}},
      {Event::map_writable, {State::resident}},
      {Event::victim, {State::resident}},
      {Event::sent, {State::leaving}},
      {Event::reclaim, {State::limbo}},
      {Event::forget_stored, {State::arriving, State::resident}},
      {Event::join, {State::resident}},
  };
  for (const Row& row : rows)
    for (const State state : kStates)
      EXPECT_EQ(page_in(state).allows(row.event),
                std::count(row.states.begin(), row.states.end(), state) == 1)
          << "event " << static_cast<int>(row.event) << " in state " << static_cast<int>(state);
}

#ifdef NDEBUG
TEST(PageState, APageThatIsThereIsNotFetchedAgain) {
  for (const State state : {State::arriving, State::resident, State::leaving, State::limbo}) {
    PageState page = page_in(state);
    EXPECT_EQ(page.prefetch(), Action::none);
    EXPECT_EQ(page.state(), state);
  }
}
#else
void happens(PageState page, Event event) {
  switch (event) {
    case Event::begin:
      return page.begin(true);
    case Event::found:
      return page.found();
    case Event::fault:
      return static_cast<void>(page.fault(true));
    case Event::prefetch:
      return static_cast<void>(page.prefetch());
    case Event::arrived:
      return static_cast<void>(page.arrived());
    case Event::map_writable:
      return page.map_writable();
    case Event::victim:
      return static_cast<void>(page.victim(false));
    case Event::sent:
      return static_cast<void>(page.sent());
    case Event::reclaim:
      return static_cast<void>(page.reclaim());
    case Event::forget_stored:
      return page.forget_stored();
    case Event::join:
      return page.join(page_in(State::resident));
  }
}

TEST(PageStateDeathTest, AnEventThatIsNotAllowedIsRefused) {
  for (const State state : kStates)
    for (int event = 0; event <= static_cast<int>(Event::join); event++) {
      SCOPED_TRACE("event " + std::to_string(event) + " in state " + std::to_string(static_cast<int>(state)));
      const PageState page = page_in(state);
      if (page.allows(static_cast<Event>(event)))
        happens(page, static_cast<Event>(event));
      else
        EXPECT_DEATH(happens(page, static_cast<Event>(event)), "allows");
    }
}
#endif

TEST(PageState, AJoinedPageIsAsDirtyAsItsParts) {
  PageState clean = page_in(State::leaving);
  clean.sent();
  clean.fault(false);
  ASSERT_TRUE(clean.resident() && clean.stored());
  // Its mapping was not writable when it left, so what came back is clean.
  EXPECT_FALSE(clean.dirty());
  clean.join(clean);
  EXPECT_TRUE(!clean.dirty() && clean.stored());
  clean.join(page_in(State::resident));
  EXPECT_TRUE(clean.dirty() && !clean.stored());
}

}  // namespace
}  // namespace tasuki::pager
