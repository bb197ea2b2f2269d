// Engine: one task's side of the message layer. It owns the task's endpoint and pools and carries out sends,
// receives and probes between slots of the space. It knows nothing of MPI: communicators are contexts, ranks
// are slots, datatypes are layouts; so it is tested by threads that play tasks (test/engine_test.cpp).
//
// Thread-safe when Options::threads is set. A request is waited for, tested or cancelled by one thread at a
// time.
//
// Credit: what a receiver has not received yet waits in memory of its senders (cells), at most kCredit bytes
// of it for each pair. A sender without credit leaves the message where it is and waits for the receive, as a
// large message does. But the MPI library takes small messages from their sender, however many, whenever the
// receiver is in any call of MPI, and programs count on that without knowing it. So up to
// library_eager_bytes a message exceeds the credit as soon as the receiver is seen in a call: it waits in one
// of this layer's, has made one since, or, as it may be in a call of the library that this layer does not
// see, runs all the time for kUnseenCall. Measured with plain Open MPI 4.1.4 and MPICH 4.0.2 and 20,000
// messages: to a receiver that sleeps, 0 to 63 are sent; to one that waits for something else, all of up to
// 4,032 and 8,200 bytes. Pieces of collective operations do not: nobody counts on that.
//
// Performance budget: an inline send is one cache line written in the receiver's ring, no lock, no
// allocation, no system call; its receive takes the receiver's own uncontended lock. A rendezvous takes the
// receiver's lock once on each side.
#pragma once

#include "base/send_mode.h"
#include "message/shared/pool.h"
#include "message/shared/shared.h"
#include "message/shared/wait.h"
#include "message/transfers/relay.h"
#include "message/transfers/transfer.h"

namespace tasuki::message {

// The context of what a communicator's members say to each other in collective calls, which no receive or
// probe of the user ever sees, from the communicator's own; and what they say: the tag.
constexpr uint32_t collective(uint32_t context) {
  return context | 1u << 31;
}
inline constexpr int32_t kBroadcastData = 0;
inline constexpr int32_t kBroadcastAddress = 1;
inline constexpr int32_t kPart = 2;          // windows/window.h
inline constexpr int32_t kPieceData = 3;     // collectives/exchange.h
inline constexpr int32_t kPieceMeeting = 4;  //   "

// The context of partitioned communication, which meets only itself.
constexpr uint32_t partitioned(uint32_t context) {
  return context | 1u << 30;
}
// That of collective operations that are messages, one for each piece (collectives/parts.h). The tag is the
// number of a non-blocking one; the blocking ones of a communicator, of which one is under way at a time,
// share theirs. A persistent one has the tag of its own number, at each start: of several starts the first
// meets the first, since messages do not overtake each other, and two operations never meet, in whatever
// order each task starts them (MPI-4.0, 6.13).
constexpr uint32_t of_pieces(uint32_t context) {
  return context | 3u << 30;
}
inline constexpr int32_t kBlocking = -2;
constexpr int32_t of_persistent(uint32_t number) {
  return kBlocking - 1 - static_cast<int32_t>(number & (INT32_MAX >> 1));
}
// Of collective operations, of either kind.
constexpr bool is_collective(uint32_t context) {
  return context >> 31 != 0;
}

struct Stats {
  uint64_t sent, sent_bytes;               // messages issued through the layer
  uint64_t received, received_bytes;       // receives completed; counted by the caller
  uint64_t inlined, buffered, rendezvous;  // how they were sent
  uint64_t found_receive;                  // sends that found their receive posted
  uint64_t ring_full;
  uint64_t without_credit;  // sends that waited because the receiver had too much to receive already
  uint64_t broadcasts, broadcast_bytes;  // taken part in, as root or receiver
  uint64_t spanning;                     // broadcasts between hosts
  uint64_t barriers;
  uint64_t collectives, collective_bytes;  // the others, and what this task has got or reduced in them
  uint64_t one_sided, one_sided_bytes;     // puts, gets and updates by this task
  TransferStats transfer;
};

class Engine {
 public:
  static constexpr uint64_t kCredit = 2 << 20;  // a multiple of what is under way when both sides keep up

  struct Options {
    uint64_t eager_bytes;  // standard sends up to this size complete without their receive, within the credit
    uint64_t library_eager_bytes;  // and up to this size beyond it: see above
    TransferPolicy transfer;
    WaitPolicy wait;
    bool threads;        // several threads of this task call at once
    bool apart = false;  // the tasks share a segment only: shared.h
  };

  // What a probe finds.
  struct Found {
    int32_t source_rank, tag;
    uint64_t bytes;
  };

  // Makes this task's endpoint; nullptr when memory is exhausted. The caller publishes it in the board.
  Endpoint* make_endpoint(Board* board, int32_t slot);
  // Tasks that are apart send packed bytes, whatever the protocol: eager, or as pipelined.
  void set_options(const Options& options);
  // From now on each peer has the constants of its distance, by the places of its endpoint and of this one,
  // which all members have set. After set_options(). False when memory is exhausted.
  bool set_costs(const CostTable& table);
  const Options& options() const { return options_; }
  Endpoint* self() const { return self_; }
  Endpoint* endpoint(int32_t slot) const {
    return board_->member(slot).endpoint.load(std::memory_order_acquire);
  }
  Stats& stats() { return stats_; }
  // Adds to one of the statistics, exactly whatever other threads count.
  void count(uint64_t& counter, uint64_t n = 1) const {
    if (options_.threads)
      __atomic_fetch_add(&counter, n, __ATOMIC_RELAXED);
    else
      counter += n;
  }

  // A request with every field but `handle` zero, owned by this task; nullptr when memory is exhausted.
  Request* take_request();
  void give_request(Request* r);
  // Of a message of a group that is done: it is gone.
  bool end_part(Request* part);
  // Memory of this task for whoever uses it last, who calls return_cell(); nullptr when memory is exhausted.
  Cell* take_cell(uint64_t bytes) { return take_cell(bytes, nullptr); }

  // Starts a send: region, context, tag, peer and envelope.source_rank are set. It may be done on return.
  // Returns false, with nothing sent, only if a buffer was needed and there is no memory.
  bool start_send(Request* r, SendMode mode);
  // Sends up to kInlineBytes dense bytes, without a request: at once, or when there is credit.
  void send_inline(int32_t slot, uint32_t context, int32_t tag, int32_t source_rank, const char* data,
                   uint32_t bytes);
  // The same of up to kSmallBytes, if they can be sent at once; false, with nothing done, if there is no
  // credit, or no room.
  bool try_send_small(int32_t slot, uint32_t context, int32_t tag, int32_t source_rank, const char* data,
                      uint32_t bytes);

  // Starts a receive: region, context, tag and peer are set. It may be done on return.
  void start_receive(Request* r);
  // ---- Receives that may be satisfied elsewhere, too (by a message that comes another way than through this
  // layer). They are posted, and so have their place in the order of receives, but they are reserved: a
  // message for which one of them is the first to match waits unexpected, the receive is wanted, and its
  // sender wakes the owner. Only the owner decides who satisfies it, by one of two calls.

  // As start_receive; true: posted, and reserved; false: a message was there.
  bool start_reserved_receive(Request* r);
  // It will not be satisfied elsewhere: it gets the message that waits for it, if there is one, and is a
  // posted receive like others if not.
  void unreserve(Request* r);
  // It has been satisfied elsewhere: it is the caller's alone, pending, and messages that waited for it go to
  // the next that match. False, with nothing done: it is not posted.
  bool withdraw(Request* r);
  // Some reserved receive may be wanted.
  bool contested() const { return self_->contested.load(std::memory_order_relaxed) != 0; }

  // As start_receive and wait, but looks for the message a while before it posts the receive.
  void receive(Request* r);
  // Receives what take_message() returned.
  void receive_message(Request* r, Envelope* message);

  // One look at the request: progress, help with its transfer, packing ahead of its receive (`stay`),
  // buffering of an eager send that waits too long.
  bool poll(Request* r, bool stay);
  void wait(Request* r);
  template <typename Done>
  void wait_for(Done done) {
    wait_for(done, options_.wait);
  }
  // The same for what other tasks do without a message to this one: looks into the rings now and then, so
  // that nobody waits for it meanwhile. `library`: as wait_for_both().
  template <typename Done>
  void wait_for_tasks(Done done, bool library = false) {
    // Polls between two looks; where each comes with a yield, fewer.
    const uint32_t progress_every = options_.wait.oversubscribed ? 4 : 32;
    uint32_t polls = 0;
    const auto look = [&] {
      if (done()) return true;
      if (++polls % progress_every == 0) progress();
      return false;
    };
    library ? wait_for_both(look) : wait_for(look);
  }
  // The same where the MPI library, too, may bring what is waited for, or must be seen to: short sleeps.
  template <typename Done>
  void wait_for_both(Done done) {
    WaitPolicy policy = options_.wait;
    policy.sleep_nanoseconds = 50'000;
    wait_for(done, policy);
  }
  // Copies a part of somebody else's message or pack, if there is one, or what is under way of tasks that are
  // apart; called by tasks that have nothing to do.
  void help_others() {
    if (options_.apart) relays_.serve();
    if (__builtin_expect(board_->jobs.open.load(std::memory_order_relaxed) == 0, 1)) return;
    stats_.transfer.others_bytes +=
        message::help_others(board_->jobs, (self_->slot & 1) != 0 ? End::back : End::front);
  }

  // A large copy of this task's own, shared with idle tasks: packed bytes [part.begin, part.begin + bytes),
  // which may be added to what is there.
  void copy(const layout::Region& destination, const layout::Region& source, uint64_t bytes,
            const Part& part = {});
  // The same for copies that are large from so many bytes on.
  void copy(const layout::Region& destination, const layout::Region& source, uint64_t bytes,
            uint64_t share_from) {
    if (bytes >= share_from) return copy(destination, source, bytes);
    copy_part(destination, source, bytes, {});
  }

  // Of a send, before this task ends: waits until it needs this task no more, without progress of the MPI
  // library. Without a receive it is packed, whatever its size.
  void end_send(Request* r);

  // Looks for an unexpected message. kAnySource and kAnyTag match all.
  bool probe(uint32_t context, int32_t source, int32_t tag, Found* found);
  // Takes it out of the queues (MPI_Mprobe); nullptr if there is none.
  Envelope* take_message(uint32_t context, int32_t source, int32_t tag, Found* found);

  // Takes an unmatched request out of its queue and completes it as cancelled. False: it is matched, or was
  // buffered.
  bool cancel(Request* r);
  // Completes one that is in no queue so.
  static void end_cancelled(Request* r);

  // Moves small messages from the rings to the receives posted for them.
  void progress();

  // Counts a call of this task. Calls that find what they look for at once let the MPI library progress as
  // well, now and then: a rank that exchanges messages in a loop would else hold up one-sided operations on
  // it for ever.
  void count_call() {
    constexpr uint32_t kIdleEvery = 1024;  // a look of 1 us: 1 ns of each call
    if (__builtin_expect(note_call() % kIdleEvery != 0, 1)) return;
    if (options_.wait.idle != nullptr) options_.wait.idle();
    tidy();
  }

  // Wakes another task that may sleep while it waits for what this one has just published.
  void wake_task(int32_t slot) { wake(endpoint(slot)); }
  // The same for `count` tasks but the one at `but`; where nobody sleeps it costs nothing.
  void wake_tasks(const int* slots, int count, int but) {
    if (!options_.wait.oversubscribed) return;  // then nobody sleeps
    for (int i = 0; i < count; i++)
      if (i != but) wake_task(slots[i]);
  }

  // Where tasks are apart: the thread that carries their large messages on while the program is elsewhere.
  // Before the endpoint is published; false: the system gives none.
  bool start_thread() { return relays_.start_thread(); }
  void stop_thread() { relays_.stop_thread(); }

  // Bytes of the user's buffer that buffered sends have released since the last call.
  uint64_t take_released();
  // Bytes of the cells that this task has mapped.
  uint64_t cell_bytes() const { return cells_.mapped(); }
  // The user's buffer is detached; the number of the next one, for Request::attachment.
  uint32_t next_attachment();

 private:
  template <typename Done>
  void wait_for(Done done, const WaitPolicy& policy) {
    const Waiting waiting(*this, true);
    if (__builtin_expect(cells_.mapped() > kCredit, 0)) tidy();
    const auto look = [&] {
      if (options_.apart) relays_.serve();
      return done();
    };
    wait_until(self_, policy, look, [this] { help_others(); });
  }
  // Threads of the same task may lose each other's: the count need not be exact.
  uint32_t note_call() {
    const uint32_t n = self_->calls.load(std::memory_order_relaxed) + 1;
    self_->calls.store(n, std::memory_order_relaxed);
    return n;
  }
  // Counts a thread in Endpoint::waiting while it exists.
  class Waiting {
   public:
    Waiting(Engine& e, bool waits) : word_(waits ? &e.self_->waiting : nullptr), shared_(e.options_.threads) {
      add(1);
    }
    ~Waiting() { add(UINT32_MAX); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    void add(uint32_t n) {
      if (word_ == nullptr) return;
      if (shared_)
        word_->fetch_add(n, std::memory_order_relaxed);
      else
        word_->store(word_->load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::atomic<uint32_t>* word_;
    bool shared_;
  };
  // Where all peers are alike it is one set.
  const TransferPolicy& policy(int32_t peer) const {
    if (__builtin_expect(distances_ == nullptr, 1)) return options_.transfer;
    return policies_[static_cast<size_t>(distances_[peer])];
  }
  Ring* ring_to(Endpoint* destination) const { return &destination->peer(self_->slot).ring; }
  template <typename HasRoom>
  bool makes_room(const Endpoint* receiver, const Ring& ring, std::atomic<uint32_t>& vain,
                  uint32_t least_calls, HasRoom has_room);
  [[gnu::noinline]] bool takes_parcels(Endpoint* receiver);
  [[gnu::noinline]] void clear_ring(Endpoint* receiver, Ring& ring, uint32_t tail, uint32_t slots);
  enum class Beyond : bool { no, yes };  // the credit
  template <typename May, typename Fill>
  bool push(Endpoint* destination, uint32_t slots, May may, Fill fill);
  bool push_inline(Endpoint* destination, uint32_t context, int32_t tag, int32_t source_rank,
                   const char* data, uint32_t bytes, Beyond beyond);
  template <typename Pack>
  bool push_parcel(Endpoint* destination, uint32_t context, int32_t tag, int32_t source_rank, uint32_t bytes,
                   uint32_t room, Pack pack);
  bool push_parcel(const Request* r);
  bool push_staged(const Request* r);
  void empty_staging();
  bool is_better_straight(const Request* r);
  bool follows_another(const Request* r);
  void write_head(Ring& ring, uint32_t at, const Endpoint* destination, uint32_t context, int32_t tag,
                  int32_t source_rank, uint32_t bytes) const;
  void note_seen(Endpoint* e, int32_t sender, const RingHead& head);
  void deliver(Request* r, int32_t sender, Ring& ring, uint32_t at);
  Cell* to_cell(Endpoint* e, int32_t sender, uint32_t at);
  void give_away(Request* r, Cell* cell);
  bool pass_on(Endpoint* e, int32_t sender, Ring& ring, uint32_t at);
  void move(Request* first, Request* second, uint64_t bytes);
  void carry_on(Request* r, bool stay);
  bool has_credit(Ring* ring);
  bool find_parcel(Ring* ring, uint32_t bytes, uint32_t room, uint32_t* begin);
  std::atomic<uint64_t>* kept_of(const Cell* cell) const;
  bool credit_left(Endpoint* destination);
  bool is_late(Request* r) const;
  bool poll_group(Request* group, bool stay);
  bool poll_parts(Request* group, bool stay);
  static void look_for_reserved(Request* r);
  static bool is_expected(const Request* r);
  bool look_ahead(Request* r);
  static Buffering buffering_for_reserved(const Request* r) {
    return r->synchronous != 0 ? Buffering::late : Buffering::soon;
  }
  bool may_exceed(const Endpoint* destination, uint64_t bytes, Held* held) const;
  bool may_exceed(const Request* r, Held* held) const;
  void tidy();
  void send_cell(const Request* r, Cell* cell);
  void announce(Endpoint* destination, Ring* ring);
  Cell* packed_cell(const Request* r);
  Cell* take_cell(uint64_t bytes, Ring* debtor);
  template <typename Done>
  bool wait_for_memory(const Request* r, Done done);
  bool match_or_queue(Request* r, SendMode mode, bool ahead);
  bool start_receive(Request* r, bool reserved);
  void settle();
  bool buffer_at_once(const Request* r) const;
  bool buffer_queued_send(Request* r);
  bool drain(Endpoint* e, int32_t sender, Request* late = nullptr, uint32_t slots = UINT32_MAX);
  uint32_t ring_tail(Endpoint* receiver);
  bool drain_up_to(Endpoint* receiver, uint32_t tail);
  void drain_for(int32_t source);
  bool keep(Endpoint* e, int32_t sender, uint32_t at);
  bool look_for_message(Request* r, Envelope** m);
  bool try_receive(Request* r);
  void consume(Request* r, Envelope* m);
  void look_into_rings(int32_t source);

  Board* board_ = nullptr;
  Endpoint* self_ = nullptr;
  Options options_{};
  Stats stats_{};
  RequestPool requests_;
  CellPool cells_;
  const Distance* distances_ = nullptr;  // of the peers, by slot; nullptr: they do not matter
  TransferPolicy policies_[kDistances]{};
  Relays relays_;
  static constexpr int32_t kNobody = -1;
  std::atomic<int32_t> streams_to_{kNobody};  // the slot of the last longer send, since then no receive
  SpinLock pool_lock_;  // pools and ring tails, when the program has several threads; the innermost lock
};

}  // namespace tasuki::message
