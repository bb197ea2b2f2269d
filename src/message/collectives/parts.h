// Messages that together are one operation: a piece for each of some tasks, and one from each. Whichever side
// of a message comes second copies it, straight from one typed buffer to the other, so nothing has to be done
// for the operation between its start and its end, and no task waits for another one in between.
#pragma once

#include "message/collectives/tell.h"

namespace tasuki::message {

// A copy by the caller; idle tasks take parts of a large one.
void copy_piece(Engine& engine, const layout::Region& into, const layout::Region& piece, uint64_t bytes);

// Carries pieces to and from members that are not tasks of this space: their slots are kElsewhere. As
// Parts::give and Parts::get; what is under way there is not part of Parts::rest().
class Outside {
 public:
  virtual bool give(int to, const layout::Region& piece) = 0;
  virtual bool get(int from, const layout::Region& into) = 0;

 protected:
  ~Outside() = default;
};
inline constexpr int kElsewhere = -1;

// One task's side of one operation. Used by one thread.
class Parts {
 public:
  // Whether what this task gives may be kept for its receivers, or ends with what it gets from them anyway:
  // then large pieces are copied once, whoever is late.
  enum class Ends : bool { alone, with_others };
  // `context` is that of the operation's kind (engine.h), derived from that of the communicator; `tag` tells
  // it from others that are under way.
  // `outside`: needed if some members are elsewhere.
  Parts(Engine& engine, const Member& me, uint32_t context, int32_t tag, Ends ends = Ends::alone,
        Outside* outside = nullptr)
      : engine_(engine), me_(me), context_(context), tag_(tag), ends_(ends), outside_(outside) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const Member& me() const { return me_; }

  // Begins to send or to receive one piece. False: no memory.
  bool give(int to, const layout::Region& piece);
  bool get(int from, const layout::Region& into);
  // This task's piece for itself, at once.
  void keep(const layout::Region& piece, const layout::Region& into);

  // What is not done yet, as one request, the caller's; nullptr: nothing. It is truncated if a piece was
  // longer than its place. False: no memory.
  bool rest(Request** request);
  // Waits for what is not done yet.
  bool wait(bool* truncated);
  // As rest(), as a request that is there: a group that has no messages.
  void rest_in(Request* group);

 private:
  Request* begin(const layout::Region& region, int other);
  void add(Request* part);

  Engine& engine_;
  const Member me_;
  const uint32_t context_;
  const int32_t tag_;
  const Ends ends_;
  Outside* const outside_;
  Request* unfinished_ = nullptr;  // by `next`
  bool truncated_ = false;
};

}  // namespace tasuki::message
