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

// Below, the library is as fast (two hosts, contiguous, Open MPI: 32 KiB 45 us and 54); above, leaders would
// need as much memory again for typed data.
constexpr uint64_t kLeast = 64 << 10;
constexpr uint64_t kMost = 1 << 30;
constexpr int kTag = 1;

// The paper's best segments (Shimada et al. 2016) were of 64 to 128 KiB.
uint64_t segment_for(uint64_t bytes) {
  constexpr uint64_t kSmallest = 64 << 10, kLargest = 128 << 10, kWanted = 8;
  return std::clamp(bytes / kWanted / kLine * kLine, kSmallest, kLargest);
}

const schedule::Algorithm& algorithm_for(uint64_t segments, uint64_t nodes) {
  if (nodes <= 3 || segments >= 2 * nodes) return schedule::kChain;
  return segments >= 4 ? schedule::kBinaryTree : schedule::kBinomial;
}

// nullptr: no memory.
const schedule::Schedule* schedule_for(Span* s, int root_node, uint64_t bytes) {
  const uint64_t segment = segment_for(bytes);
  schedule::Parameters p;
  p.ranks = static_cast<uint32_t>(s->nodes);
  p.root = static_cast<uint32_t>(root_node);
  p.bytes = bytes;
  p.segment = segment;
  if (s->schedule != nullptr && s->parameters.root == p.root && s->parameters.bytes == bytes)
    return s->schedule;
  Result<schedule::Schedule> made = schedule::make(algorithm_for((bytes - 1) / segment + 1, p.ranks), p);
  if (!made.ok()) return nullptr;
  delete s->schedule;
  s->schedule = new schedule::Schedule(std::move(made.value()));
  s->parameters = p;
  return s->schedule;
}

// One rank's side. What moves is a dense stream of the message's bytes: the user's buffer, if that is dense,
// or a block.
class SpanBroadcast {
 public:
  SpanBroadcast(Broadcaster& broadcaster, Span* s, int root, void* buffer, MPI_Count count,
                MPI_Datatype handle, const TypeInfo* type, void (*nothing_found)())
      : broadcaster_(broadcaster),
        nothing_found_(nothing_found),
        s_(*s),
        root_(root),
        buffer_(buffer),
        count_(count),
        handle_(handle),
        opaque_(type->opaque),
        bytes_(static_cast<uint64_t>(count) * type->size) {
    if (!opaque_) region_ = region_of(buffer, count, type);
    schedule_ = schedule_for(s, s->node_of[root], bytes_);
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
  layout::Region stream() const { return {stream_, bytes_, layout::byte_layout()}; }

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
    if (is_root && (opaque_ || block_ == nullptr)) packed_ = bytes_;
    ready_ = is_root ? bytes_ : 0;
    if (s_.local.count > 1) {
      local_ = broadcaster_.open(s_.local, is_root && !opaque_ ? region_ : stream(), ready_);
      if (local_ == nullptr) return MPI_ERR_NO_MEM;
    }
    int rc =
        schedule_ == nullptr ? MPI_ERR_NO_MEM : exchange(schedule_->steps(static_cast<uint32_t>(s_.node)));
    if (local_ != nullptr) {
      // Those who wait for the rest must not wait for ever.
      if (rc != MPI_SUCCESS && !is_root) broadcaster_.advance(s_.local, local_, kBroken);
      broadcaster_.close(local_);
    }
    if (rc != MPI_SUCCESS) block_ = nullptr;  // messages may still be under way in it
    if (rc == MPI_SUCCESS && !is_root && opaque_) rc = unpack_by_library();
    return rc;
  }

  // Bytes up to `end` have come.
  void arrived(uint64_t end) {
    if (local_ != nullptr) broadcaster_.advance(s_.local, local_, end);
    if (block_ != nullptr && !opaque_) layout::unpack(region_, ready_, end - ready_, stream_ + ready_);
    ready_ = end;
  }

  // Bytes up to `end` are about to be sent.
  void prepare(uint64_t end) {
    if (end <= packed_ || s_.rank != root_) return;
    layout::pack(stream_ + packed_, region_, packed_, end - packed_);
    packed_ = end;
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

  // A step is started as soon as the bytes that it sends are there, up to a few ahead of the rounds: data of
  // a stream arrive in order, so that nothing else is to be waited for.
  int exchange(const std::vector<schedule::Step>& steps) {
    using schedule::Action;
    Window<4> receives;
    Window<8> sends;
    size_t next_receive = 0, next_send = 0;
    const auto skip = [&](size_t* at, Action action) {
      while (*at < steps.size() && steps[*at].action != action) ++*at;
      return *at < steps.size();
    };
    for (;;) {
      const bool to_receive = skip(&next_receive, Action::receive), to_send = skip(&next_send, Action::send);
      if (!to_receive && !to_send && receives.empty() && sends.empty()) return MPI_SUCCESS;
      bool moved = false;
      int rc = MPI_SUCCESS;
      uint64_t end = 0;
      if (to_receive && !receives.full()) {
        const schedule::Step& p = steps[next_receive++];
        rc = pmpi().Irecv(stream_ + p.offset, static_cast<int>(p.bytes), MPI_BYTE,
                          leader(static_cast<int>(p.peer)), kTag, s_.comm, receives.add(p.offset + p.bytes));
        moved = true;
      }
      if (rc == MPI_SUCCESS && to_send && !sends.full() &&
          steps[next_send].offset + steps[next_send].bytes <= ready_) {
        const schedule::Step& p = steps[next_send++];
        prepare(p.offset + p.bytes);
        rc = pmpi().Isend(stream_ + p.offset, static_cast<int>(p.bytes), MPI_BYTE,
                          leader(static_cast<int>(p.peer)), kTag, s_.comm, sends.add(0));
        moved = true;
      }
      if (rc == MPI_SUCCESS && !sends.empty()) moved = sends.take(&end, &rc) || moved;
      if (rc == MPI_SUCCESS && !receives.empty() && receives.take(&end, &rc)) {
        if (rc == MPI_SUCCESS) arrived(end);
        moved = true;
      }
      if (rc != MPI_SUCCESS) return rc;
      if (!moved) nothing_found_();
    }
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
  uint64_t ready_ = 0;     // bytes of the stream that may be sent
  uint64_t packed_ = 0;    // of the root: bytes that are in the stream
  Broadcast* local_ = nullptr;
};

}  // namespace

bool spans_pay(uint64_t bytes) {
  return bytes >= kLeast && bytes <= kMost;
}

int broadcast_spanning(Broadcaster& broadcaster, Span* s, int root, const UserBuffer& b,
                       void (*nothing_found)()) {
  TypeTable::retain(b.type);
  const int rc =
      SpanBroadcast(broadcaster, s, root, b.buffer, b.count, b.handle, b.type, nothing_found).run();
  TypeTable::release(b.type);
  return rc;
}

}  // namespace tasuki::shim
