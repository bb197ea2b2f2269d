// Pieces of a collective operation to and from members on other hosts: messages of the MPI library, on the
// span's own communicator. Each side packs what is not dense by itself, as remote.h does.
#pragma once

#include <chrono>
#include <vector>

#include "message/collectives/parts.h"
#include "shim/hosts/span.h"

namespace tasuki::shim {

// Are pieces that all have the same number of bytes better off so? In the libraries smaller ones travel
// together. `rooted`: those from or to one rank.
bool pieces_pay(uint64_t bytes, bool rooted);
// And those whose sizes not all ranks know? The libraries, too, send each by itself. `typed`: each has a type
// of its own.
bool pieces_pay(const Span& s, bool typed);

// One rank's side of one operation, which all members of the span begin in the same order. Nothing travels
// where there is nothing to say: both sides of a piece know that, since MPI has them name the same bytes.
//
// All receives are posted at once, and a few sends at a time are under way: so whoever is late finds a place
// for everything, in whatever order others send. (Receives that waited for each other, too, came to a
// deadlock with 34 ranks.)
class SpanMessages final : public message::Outside {
 public:
  // `later`: of a non-blocking operation. All its sends begin at once, without a pace, so that others need
  // not wait until this rank looks again.
  SpanMessages(message::Engine& engine, Span* s, const SpanChoices& choices, bool later = false);
  // After an error messages may be under way; their memory stays.
  ~SpanMessages() = default;
  SpanMessages(const SpanMessages&) = delete;
  SpanMessages& operator=(const SpanMessages&) = delete;

  bool give(int to, const layout::Region& piece) override;
  bool get(int from, const layout::Region& into) override;

  // Until all of what has been begun is done, and `inside`, the rest of what passes inside the host, which
  // may be nullptr and is given back. Returns an error code, not raised.
  int wait(Request* inside);
  // The same in steps: one look, whether all is done, and the result once it is.
  bool look(Request* inside);
  int finish(Request* inside);

 private:
  static constexpr size_t kSendsAtOnce = 16;
  // One message: packed bytes [begin, begin + bytes) of a region.
  struct Piece {
    layout::Region region;
    uint64_t begin, bytes;
    int peer;
    bool receives;
    char* packed;  // nullptr: the region is dense
  };
  template <typename Add>
  void cut(int peer, const layout::Region& region, bool receives, Add add) const;
  bool begin(Piece p);
  bool begin_sends();
  void end(const Piece& p, const MPI_Status& status);
  bool is_done() const { return requests_.empty() && next_send_ == sends_.size(); }
  bool move_on();
  bool move_on_with(Request* inside);
  void note(int rc);

  message::Engine& engine_;
  const Span& s_;
  const int tag_;
  const uint64_t most_;  // bytes of a message; 0: no limit
  const uint64_t pace_;
  const size_t sends_at_once_;
  std::chrono::steady_clock::time_point next_time_;  // to send, with a pace
  std::vector<Piece> sends_;                         // in the order of the calls
  size_t next_send_ = 0;
  size_t sends_under_way_ = 0;
  // Under way: side by side.
  std::vector<MPI_Request> requests_;
  std::vector<Piece> pieces_;
  int error_ = MPI_SUCCESS;  // the first
};

}  // namespace tasuki::shim
