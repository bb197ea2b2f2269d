// What one rank does in one round.
//
// Which receive takes which message is not known beforehand when patterns overlap, so a rank chooses its receives as it goes, by what
// MPI guarantees about those that are pending:
//
// - guaranteed(R): more messages that R accepts were (or, of this step, are being) sent than receives that were posted before R could
//   take. R will complete whatever the order of arrival: a message goes to the receive posted first among those that accept it (3.5).
// - absorbed(k): more receives that accept message k are pending than other messages could take. Message k will find one of them.
//
// A rank may go on without having received k as soon as k is absorbed, also into MPI_Barrier, MPI_Send or another receive: a send and a
// receive that match are carried out by the library's progress (3.5). It may wait for R alone if R is guaranteed.
#pragma once

#include <deque>
#include <memory>

#include "history.h"
#include "layout.h"

namespace mixed {

struct Operation {
  enum Kind { receive, send, collective };
  explicit Operation(Kind k) : kind(k) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;
  Kind kind;
  MPI_Request request = MPI_REQUEST_NULL;
  bool persistent = false, active = false;
};

struct Receiving final : Operation {
  Receiving() : Operation(receive) {}
  Pattern pattern;
  std::unique_ptr<Layout> layout;
  std::unique_ptr<Buffer> buffer;
  size_t event = 0;
  bool matched = false;     // of a message that MPI_Mprobe gave
  bool cancelling = false;  // MPI_Cancel was called
};

struct Sending final : Operation {
  Sending() : Operation(send) {}
  int message = -1;
  std::unique_ptr<Layout> layout;
  std::unique_ptr<Buffer> buffer;
};

struct Collecting final : Operation {
  Collecting() : Operation(collective) {}
  int comm = 0, in = 0, out = 0, expected = 0;
};

class Rank {
 public:
  Rank(uint64_t seed, std::vector<Comm>& comms, MPI_Comm control);
  void carry_out();
  // For the answer to SIGALRM; looks at what another thread may be changing.
  void tell(int file) const;

 private:
  Random common_, mine_;
  MPI_Comm control_;
  Plan plan_;
  int me_;
  // The step; behind the last one kReceiving, until everything is received, then kEnding.
  static constexpr int kReceiving = INT_MAX - 1, kEnding = INT_MAX;
  int now_ = -1;
  std::vector<char> done_, deferred_, sent_;
  std::vector<int> freed_late_;
  std::deque<std::unique_ptr<Operation>> operations_;  // all of the round
  std::vector<Receiving*> pending_;  // active receives in the order in which they were posted
  std::vector<Sending*> series_;
  std::vector<Event> events_;
  long tick_ = 0;
  std::vector<double> posted_at_, sent_at_, synchronised_at_;
  std::vector<char> bsend_memory_;
  // This rank's habits in this round, in percent.
  int any_source_ = 50, any_tag_ = 50, probing_ = 20, defer_ = 50, ahead_ = 0, speculate_ = 30, typed_ = 30;

  // rank.cpp: the steps
  void act(const Step& s);
  void message(int k);
  void ring(const Step& s);
  void collect(const Step& s);
  void make(const Step& s);
  void free_comm(int comm);
  void settle(int comm);
  void finish_round();
  void check_synchronous();
  Comm& comm(int c) { return plan_.comms[static_cast<size_t>(c)]; }
  const Message& at(int k) const { return plan_.messages[static_cast<size_t>(k)]; }
  bool usable(int c) { return comm(c).handle != MPI_COMM_NULL && !comm(c).freed; }
  void pause(int percent);

  // sends.cpp
  void start(int k, bool may_block);
  bool exchange(int out, int in);
  void attach();
  void detach();
  void check_unchanged(const Sending& s);

  // receives.cpp
  bool open(int k) const { return !done_[static_cast<size_t>(k)] && at(k).to == me_; }
  // It was sent, or will be whatever this rank does next.
  bool available(int k) const {
    return open(k) && at(k).step <= now_ && (at(k).from != me_ || sent_[static_cast<size_t>(k)]);
  }
  bool absorbed(int k, const Receiving* without = nullptr) const;
  bool ensure_absorbed(int k, bool always);
  bool guaranteed(const Receiving& r) const;
  bool exact(const Pattern& p, int k) const;
  std::vector<Receiving*> takers(int k) const;
  Pattern pattern_for(int k, bool named = false);
  std::unique_ptr<Receiving> prepare(const Pattern& p, bool whole_round = false, int elements = -1);
  Event& begin_event(Event::Kind kind, const Pattern& p);
  int source_of(const Pattern& p);
  int tag_of(const Pattern& p) { return p.tag == kAny ? MPI_ANY_TAG : p.tag; }
  void obtain(int k);
  void receive_one(int k);
  bool truncated(int k);
  Receiving& post(const Pattern& p, bool persistent);
  void post_ahead();
  int receive(const Pattern& p);
  void receive_found(const Pattern& p, const MPI_Status& s, size_t probe);
  void receive_matched(MPI_Message* m, const Pattern& p, const MPI_Status& s, size_t event);
  void speculate();
  void look();
  void cancel_one();
  void cancel(Receiving& r);
  int take(Receiving& r, const MPI_Status& s, long ended);
  int identify(const Pattern& p, const MPI_Status& s, const Layout& layout, const unsigned char* data);
  void check_status(const Pattern& p, const MPI_Status& s);

  // completion.cpp
  bool certain(const Operation& o) const;
  void completed(Operation& o, const MPI_Status& s, long ended);
  void wait_for(Operation& o);
  void wait_for_one(const std::vector<Receiving*>& some);
  void wait_for_all(std::vector<Operation*> list);
  void test_some();
  std::vector<Operation*> active() const;
  std::vector<Operation*> with_others(std::vector<Operation*> list, bool certain_only);
  int wait_list(const std::vector<Operation*>& list, int form);
};

// A status that no library writes by itself.
MPI_Status poisoned();

}  // namespace mixed
