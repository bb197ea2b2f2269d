#include "shim/hosts/span_messages.h"

#include <algorithm>
#include <cmath>

#include "generated/pmpi.h"
#include "shim/entry/stand_in.h"
#include "shim/errors.h"
#include "shim/objects/blocks.h"

namespace tasuki::shim {
namespace {

// Operations have tags in turns, so that what one of them leaves over, by a mistake of the program's, does
// not meet the next one.
int next_tag(Span* s) {
  constexpr int kFirst = 1024, kMost = 16384;  // every library has tags up to 32767
  return kFirst + static_cast<int>(s->exchanges++ % kMost);
}

// MPICH raises the errors of MPI_Testsome on default_comm(), whatever communicators the requests are of:
// while this exists they are only returned. Another thread's would be, too; so not where there are several.
class Quiet {
 public:
  Quiet() {
#if !defined(OPEN_MPI)
    int level = MPI_THREAD_SINGLE;
    pmpi().Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE) return;
    comm_ = default_comm();
    pmpi().Comm_get_errhandler(comm_, &handler_);
    pmpi().Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    changed_ = true;
#endif
  }
  ~Quiet() {
    if (!changed_) return;
    pmpi().Comm_set_errhandler(comm_, handler_);
    pmpi().Errhandler_free(&handler_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  bool changed_ = false;
  MPI_Comm comm_ = MPI_COMM_WORLD;
  MPI_Errhandler handler_{};
};

}  // namespace

// Two hosts, two ranks each, plain divided by this layer: MPI_Alltoall of 4 KiB Open MPI 1.05 to 1.12, MPICH,
// whose ranks spin, 63; MPI_Gather of 4 KiB Open MPI 0.91 to 0.98, of 16 KiB 1.01 to 1.13. With a busy loop
// on each core, too, Open MPI's own MPI_Alltoall takes 0.1 ms up to 16 KiB, where whoever yields once more
// takes 2 to 4; from 64 KiB on both take 4.
bool pieces_pay(uint64_t bytes, bool rooted) {
#if defined(OPEN_MPI)
  constexpr uint64_t kLeast = 64 << 10, kLeastRooted = 64 << 10;
#else
  constexpr uint64_t kLeast = 4 << 10, kLeastRooted = 16 << 10;
#endif
  return bytes >= (rooted ? kLeastRooted : kLeast);
}

// One rank on each host: MPI_Alltoall of 64 KiB 0.92, MPI_Alltoallw of typed pieces 1.14, MPICH 4.1.
bool pieces_pay(const Span& s, bool typed) {
  return typed || s.shares();
}

SpanMessages::SpanMessages(message::Engine& engine, Span* s, const SpanChoices& choices, bool later)
    : engine_(engine),
      s_(*s),
      tag_(next_tag(s)),
      most_(choices.segment),
      pace_(later ? 0 : choices.pace),
      sends_at_once_(later ? SIZE_MAX : kSendsAtOnce) {}

// Cut into messages, the last one is shorter than the others, so that a receiver hears of it if there is more
// than it has room for.
template <typename Add>
void SpanMessages::cut(int peer, const layout::Region& region, bool receives, Add add) const {
  const uint64_t all = layout::bytes(region);
  if (all == 0) return;
  uint64_t begin = 0, bytes = 0;
  do {
    bytes = most_ == 0 ? all : std::min(all - begin, most_);
    add(Piece{region, begin, bytes, peer, receives, nullptr});
    begin += bytes;
  } while (bytes == most_);
}

bool SpanMessages::give(int to, const layout::Region& piece) {
  cut(to, piece, false, [&](const Piece& p) { sends_.push_back(p); });
  return begin_sends();
}

bool SpanMessages::get(int from, const layout::Region& into) {
  bool good = true;
  cut(from, into, true, [&](const Piece& p) { good = good && begin(p); });
  return good;
}

void SpanMessages::note(int rc) {
  if (error_ == MPI_SUCCESS) error_ = rc;
}

// As many as there is room and time for. False: no memory.
bool SpanMessages::begin_sends() {
  while (sends_under_way_ < sends_at_once_ && next_send_ != sends_.size()) {
    const Piece& p = sends_[next_send_];
    if (pace_ != 0) {
      const auto now = std::chrono::steady_clock::now();
      if (now < next_time_) return true;
      const double takes = static_cast<double>(p.bytes) / static_cast<double>(pace_);
      next_time_ = std::max(now, next_time_) + std::chrono::nanoseconds(std::llround(takes * 1e9));
    }
    next_send_++;
    sends_under_way_++;
    if (!begin(p)) return false;
  }
  return true;
}

bool SpanMessages::begin(Piece p) {
  char* data = nullptr;
  if (layout::is_dense(p.region, &data)) {
    data += p.begin;
  } else {
    data = p.packed = take_needed_block(p.bytes);
    if (data == nullptr) return false;
    if (!p.receives && p.bytes == layout::bytes(p.region))
      copy_piece(engine_, dense(data, p.bytes), p.region, p.bytes);
    else if (!p.receives && p.bytes != 0)
      layout::pack(data, p.region, p.begin, p.bytes);
  }
  const stand_in::Sized what(static_cast<MPI_Count>(p.bytes), MPI_BYTE);
  MPI_Request r = MPI_REQUEST_NULL;
  const int rc = p.receives ? pmpi().Irecv(data, what.count(), what.type(), p.peer, tag_, s_.comm, &r)
                            : pmpi().Isend(data, what.count(), what.type(), p.peer, tag_, s_.comm, &r);
  note(rc);
  if (rc != MPI_SUCCESS) return true;
  requests_.push_back(r);
  pieces_.push_back(p);
  return true;
}

void SpanMessages::end(const Piece& p, const MPI_Status& status) {
  if (!p.receives) sends_under_way_--;
  if (p.packed == nullptr) return;
  MPI_Count bytes = 0;
  if (p.receives) note(pmpi().Get_elements_x(&status, MPI_BYTE, &bytes));
  const uint64_t n = std::min(static_cast<uint64_t>(bytes), p.bytes);
  if (n != 0 && n == layout::bytes(p.region))
    copy_piece(engine_, p.region, dense(p.packed, n), n);
  else if (n != 0)
    layout::unpack(p.region, p.begin, n, p.packed);
  give_block(p.packed);
}

// One look. A piece with an error, such as one that is too long, does not hold up the others.
bool SpanMessages::move_on() {
  if (is_done()) return true;
  // Of more the rest has to wait for a later look.
  constexpr int kMost = 64;
  int count = 0;
  int which[kMost];
  MPI_Status status[kMost];
  const int n = static_cast<int>(std::min<size_t>(requests_.size(), kMost));
  const int rc = pmpi().Testsome(n, requests_.data(), &count, which, status);
  if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) {
    note(rc);
    return true;
  }
  for (int i = 0; i < count; i++) {
    note(rc == MPI_ERR_IN_STATUS ? status[i].MPI_ERROR : MPI_SUCCESS);
    end(pieces_[static_cast<size_t>(which[i])], status[i]);
  }
  size_t left = 0;
  for (size_t i = 0; count > 0 && i < requests_.size(); i++) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[left] = requests_[i];
    pieces_[left++] = pieces_[i];
  }
  if (count > 0) {
    requests_.resize(left);
    pieces_.resize(left);
  }
  // The next look is at others.
  if (requests_.size() > kMost) {
    std::rotate(requests_.begin(), requests_.begin() + kMost, requests_.end());
    std::rotate(pieces_.begin(), pieces_.begin() + kMost, pieces_.end());
  }
  if (!begin_sends()) abort_without_memory("a collective operation", s_.count);
  return is_done();
}

bool SpanMessages::move_on_with(Request* inside) {
  const bool outside = move_on();
  return (inside == nullptr || engine_.poll(inside, true)) && outside;
}

bool SpanMessages::look(Request* inside) {
  const Quiet quiet;
  return move_on_with(inside);
}

int SpanMessages::wait(Request* inside) {
  const Quiet quiet;
  engine_.wait_for_both([&] { return move_on_with(inside); });
  return finish(inside);
}

int SpanMessages::finish(Request* inside) {
  sends_.clear();
  next_send_ = 0;
  if (inside == nullptr) return error_;
  if (inside->truncated != 0) note(MPI_ERR_TRUNCATE);
  engine_.give_request(inside);
  return error_;
}

}  // namespace tasuki::shim
