// MPI_Bcast between hosts: one rank of each host, its leader, takes part in a schedule of src/schedule, which
// the MPI library's messages carry out segment by segment; the other ranks of a host copy from their leader's
// memory what has come so far (broadcast.h). On the root's host the root is the leader.
//
// All ranks must come to the same decision from what is equal on all of them: the communicator, the root and
// the bytes of the type signature.
#include <algorithm>

#include "generated/pmpi.h"
#include "schedule/algorithms.h"
#include "shim/hosts/span.h"
#include "shim/objects/blocks.h"
#include "shim/objects/requests.h"

namespace tasuki::shim {
namespace {

constexpr int kTag = 3;  // and as many more as there are lanes

// The paper's best segments (Shimada et al. 2016) were of 64 to 128 KiB, on a network that moves data by
// itself. Between two hosts that share two cores, over TCP, segments of 512 KiB were best in nearly all of 32
// rows of `tasuki bench bcast --where hosts` (1 MiB, a rank on each host, plain divided by this layer: Open
// MPI 0.83, 1.21 and 2.06 with 64, 128 and 512 KiB, MPICH 0.98, 1.74 and 2.65). More hosts need more
// segments, to be busy all at once.
uint64_t segment_for(uint64_t nodes) {
  return nodes == 2 ? 512 << 10 : 128 << 10;
}

const schedule::Algorithm& algorithm_for(uint64_t segments, uint64_t nodes) {
  if (nodes <= 3 || segments >= 2 * nodes) return schedule::kChain;
  return segments >= 4 ? schedule::kBinaryTree : schedule::kBinomial;
}

// nullptr: no memory.
const schedule::Schedule* schedule_for(Span* s, const SpanChoices& choices, int root_node, uint64_t bytes) {
  const uint64_t segment =
      choices.segment != 0 ? choices.segment : segment_for(static_cast<uint64_t>(s->nodes));
  schedule::Parameters p;
  p.ranks = static_cast<uint32_t>(s->nodes);
  p.root = static_cast<uint32_t>(root_node);
  p.bytes = bytes;
  p.segment = segment;
  if (s->schedule != nullptr && s->parameters.root == p.root && s->parameters.bytes == bytes)
    return s->schedule;
  delete s->schedule;
  s->schedule = nullptr;
  // The user is told once, with the first broadcast.
  const bool tells = s->of_all && s->rank == 0 && s->parameters.bytes == 0;
  if (choices.broadcast != 0)
    s->schedule = chosen_schedule(choices, *kBroadcasts[choices.broadcast], p, tells);
  if (s->schedule == nullptr) {
    Result<schedule::Schedule> made = schedule::make(algorithm_for((bytes - 1) / segment + 1, p.ranks), p);
    if (!made.ok()) return nullptr;
    s->schedule = new schedule::Schedule(std::move(made.value()));
  }
  s->parameters = p;
  return s->schedule;
}

// One rank's side. What moves is a dense stream of the message's bytes: the user's buffer, if that is dense,
// or a block.
class SpanBroadcast {
 public:
  SpanBroadcast(Broadcaster& broadcaster, Span* s, const SpanChoices& choices, int root, const UserBuffer& b,
                void (*nothing_found)())
      : broadcaster_(broadcaster),
        nothing_found_(nothing_found),
        s_(*s),
        root_(root),
        buffer_(b.buffer),
        count_(b.count),
        handle_(b.handle),
        opaque_(b.type->opaque),
        bytes_(static_cast<uint64_t>(b.count) * b.type->size) {
    if (!opaque_) region_ = region_of(b.buffer, b.count, b.type);
    schedule_ = schedule_for(s, choices, s->node_of[root], bytes_);
  }
  ~SpanBroadcast() {
    if (block_ != nullptr) give_block(block_);
  }
  SpanBroadcast(const SpanBroadcast&) = delete;
  SpanBroadcast& operator=(const SpanBroadcast&) = delete;

  int run() {
    const bool leads = s_.rank == leader(s_.node);
    char* start = nullptr;
    if (!opaque_ && layout::is_dense(region_, &start)) {
      stream_ = start;
    } else if (leads || opaque_) {
      stream_ = block_ = take_needed_block(bytes_);
      if (block_ == nullptr) return MPI_ERR_NO_MEM;
    }
    return leads ? lead() : follow();
  }

 private:
  int leader(int node) const { return node == s_.node_of[root_] ? root_ : s_.leader[node]; }
  layout::Region stream() const { return dense(stream_, bytes_); }

  int follow() {
    uint64_t sent = 0;
    const layout::Region to = opaque_ ? stream() : region_;
    if (!broadcaster_.receive(s_.local, s_.local_rank[leader(s_.node)], to, &sent)) return MPI_ERR_OTHER;
    return opaque_ ? unpack_by_library() : MPI_SUCCESS;
  }

  int lead() {
    const bool is_root = s_.rank == root_;
    if (is_root && opaque_) {
      int position = 0;
      const int rc = pmpi().Pack(buffer_, static_cast<int>(count_), handle_, stream_,
                                 static_cast<int>(bytes_), &position, s_.comm);
      if (rc != MPI_SUCCESS) return rc;
    }
    to_pack_ = is_root && !opaque_ && block_ != nullptr;
    if (s_.local.count > 1) {
      local_ = broadcaster_.open(s_.local, is_root && !opaque_ ? region_ : stream(), is_root ? bytes_ : 0);
      if (local_ == nullptr) return MPI_ERR_NO_MEM;
    }
    int rc = schedule_ == nullptr ? MPI_ERR_NO_MEM : exchange();
    if (local_ != nullptr) {
      // Those who wait for the rest must not wait for ever.
      if (rc != MPI_SUCCESS && !is_root) broadcaster_.advance(s_.local, local_, kBroken);
      broadcaster_.close(local_);
    }
    if (rc != MPI_SUCCESS) block_ = nullptr;  // messages may still be under way in it
    if (rc == MPI_SUCCESS && !is_root && opaque_) rc = unpack_by_library();
    return rc;
  }

  // Requests of the library in the order in which they were made.
  template <int kMostRequests>
  class Window {
   public:
    bool full() const { return count_ == kMostRequests; }
    bool empty() const { return count_ == 0; }
    MPI_Request* add(uint64_t end) {
      const int at = (first_ + count_++) % kMostRequests;
      end_[at] = end;
      return &request_[at];
    }
    // Takes the oldest out if it is complete; *end is what add() was given.
    bool take(uint64_t* end, int* rc) {
      int done = 0;
      *rc = pmpi().Test(&request_[first_], &done, MPI_STATUS_IGNORE);
      if (done == 0) return false;
      *end = end_[first_];
      first_ = (first_ + 1) % kMostRequests;
      count_--;
      return true;
    }

   private:
    MPI_Request request_[kMostRequests];
    uint64_t end_[kMostRequests];
    int first_ = 0, count_ = 0;
  };

  // A lane of the schedule: its own part of the stream, whose segments come and go in order.
  struct Lane {
    int tag;
    std::vector<schedule::Step> steps;
    uint64_t ready = 0, end = 0;  // its bytes that may be sent are those before `ready`
    uint64_t packed = 0;          // of the root, where it has to pack
    size_t next_receive = 0, next_send = 0;
    Window<4> receives;
    Window<8> sends;
  };

  std::vector<Lane> lanes() const {
    const bool is_root = s_.rank == root_;
    std::vector<Lane> lanes(schedule_->lanes());
    for (const schedule::Step& step : schedule_->steps(static_cast<uint32_t>(s_.node)))
      lanes[step.lane].steps.push_back(step);
    for (size_t i = 0; i < lanes.size(); i++) {
      Lane& lane = lanes[i];
      lane.tag = kTag + static_cast<int>(i);
      lane.ready = UINT64_MAX;
      for (const schedule::Step& step : lane.steps) {
        lane.ready = std::min(lane.ready, step.offset);
        lane.end = std::max(lane.end, step.offset + step.bytes);
      }
      lane.packed = lane.ready;
      if (is_root) lane.ready = lane.end;
    }
    return lanes;
  }

  // Bytes of the lane up to `end` have come.
  void arrived(std::vector<Lane>& lanes, Lane& lane, uint64_t end) {
    if (block_ != nullptr && !opaque_)
      layout::unpack(region_, lane.ready, end - lane.ready, stream_ + lane.ready);
    lane.ready = end;
    if (local_ == nullptr) return;
    uint64_t all = 0;  // nothing is missing before
    for (const Lane& l : lanes) {
      all = l.ready;
      if (l.ready != l.end) break;
    }
    broadcaster_.advance(s_.local, local_, all);
  }

  // Bytes of the lane up to `end` are about to be sent.
  void prepare(Lane& lane, uint64_t end) {
    if (!to_pack_ || end <= lane.packed) return;
    layout::pack(stream_ + lane.packed, region_, lane.packed, end - lane.packed);
    lane.packed = end;
  }

  int exchange() {
    std::vector<Lane> all = lanes();
    for (;;) {
      bool done = true, moved = false;
      for (Lane& lane : all) {
        bool lane_done = false;
        const int rc = move_on(all, lane, &lane_done, &moved);
        if (rc != MPI_SUCCESS) return rc;
        done = done && lane_done;
      }
      if (done) return MPI_SUCCESS;
      if (!moved) nothing_found_();
    }
  }

  // One look. A step is started as soon as the bytes that it sends are there, up to a few ahead of the
  // rounds: data of a lane arrive in order, so that nothing else is to be waited for.
  int move_on(std::vector<Lane>& lanes, Lane& lane, bool* done, bool* moved) {
    using schedule::Action;
    const std::vector<schedule::Step>& steps = lane.steps;
    const auto skip = [&](size_t* at, Action action) {
      while (*at < steps.size() && steps[*at].action != action) ++*at;
      return *at < steps.size();
    };
    const bool to_receive = skip(&lane.next_receive, Action::receive);
    const bool to_send = skip(&lane.next_send, Action::send);
    *done = !to_receive && !to_send && lane.receives.empty() && lane.sends.empty();
    if (*done) return MPI_SUCCESS;
    int rc = MPI_SUCCESS;
    uint64_t end = 0;
    if (to_receive && !lane.receives.full()) {
      const schedule::Step& p = steps[lane.next_receive++];
      rc = pmpi().Irecv(stream_ + p.offset, static_cast<int>(p.bytes), MPI_BYTE,
                        leader(static_cast<int>(p.peer)), lane.tag, s_.comm,
                        lane.receives.add(p.offset + p.bytes));
      *moved = true;
    }
    if (rc == MPI_SUCCESS && to_send && !lane.sends.full() &&
        steps[lane.next_send].offset + steps[lane.next_send].bytes <= lane.ready) {
      const schedule::Step& p = steps[lane.next_send++];
      prepare(lane, p.offset + p.bytes);
      rc = pmpi().Isend(stream_ + p.offset, static_cast<int>(p.bytes), MPI_BYTE,
                        leader(static_cast<int>(p.peer)), lane.tag, s_.comm, lane.sends.add(0));
      *moved = true;
    }
    if (rc == MPI_SUCCESS && !lane.sends.empty()) *moved = lane.sends.take(&end, &rc) || *moved;
    if (rc == MPI_SUCCESS && !lane.receives.empty() && lane.receives.take(&end, &rc)) {
      if (rc == MPI_SUCCESS) arrived(lanes, lane, end);
      *moved = true;
    }
    return rc;
  }

  int unpack_by_library() {
    int position = 0;
    return pmpi().Unpack(stream_, static_cast<int>(bytes_), &position, buffer_, static_cast<int>(count_),
                         handle_, s_.comm);
  }

  Broadcaster& broadcaster_;
  void (*const nothing_found_)();
  const Span& s_;
  int root_;
  void* buffer_;
  MPI_Count count_;
  MPI_Datatype handle_;
  bool opaque_;
  uint64_t bytes_;
  const schedule::Schedule* schedule_;
  layout::Region region_{};
  char* stream_ = nullptr;
  char* block_ = nullptr;  // what stream_ is, if it is not the user's buffer
  bool to_pack_ = false;   // of the root: the stream is filled as it is sent
  Broadcast* local_ = nullptr;
};

}  // namespace

int broadcast_spanning(Broadcaster& broadcaster, Span* s, const SpanChoices& choices, int root,
                       const UserBuffer& b, void (*nothing_found)()) {
  TypeTable::retain(b.type);
  const int rc = SpanBroadcast(broadcaster, s, choices, root, b, nothing_found).run();
  TypeTable::release(b.type);
  return rc;
}

}  // namespace tasuki::shim
