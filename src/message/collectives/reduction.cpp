#include "message/collectives/reduction.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "message/collectives/nonblocking.h"
#include "message/collectives/parts.h"
#include "os/memory/keys.h"

namespace tasuki::message {
namespace {

// A slice is worth another task's meeting.
constexpr uint64_t kLeastSlice = 2 << 10;
// Vectors up to this travel in posts: each task copies and combines all of them.
constexpr uint64_t kPosted = 15 * kLine + kLine / 2;
static_assert(kPosted <= Post::kRoom);
// Up to so many bytes of all tasks together each task combines all for itself: it need not fetch the results
// of others.
constexpr uint64_t kMostAlone = 16 << 10;

// One element row of each rank: of those who meet, or here.
class Rows {
 public:
  explicit Rows(const Meeting& m) : m_(&m), ranks_(m.count()) {}
  Rows(const char* const* vectors, int ranks) : vectors_(vectors), ranks_(ranks) {}
  int ranks() const { return ranks_; }
  const char* of(int rank, uint64_t offset) const {
    if (m_ == nullptr) return vectors_[rank] + offset;
    const Vectors* v = m_->shown_by<Vectors>(rank);
    return (v != nullptr ? v->send : m_->of(rank).data) + offset;
  }

 private:
  const Meeting* m_ = nullptr;
  const char* const* vectors_ = nullptr;
  int ranks_;
};

// Combines one piece of all ranks.
class Tree {
 public:
  Tree(const Rows& rows, const Combination& c, uint64_t offset, uint64_t elements)
      : rows_(rows), c_(c), offset_(offset), elements_(elements) {
    powers_ = static_cast<int>(std::bit_floor(static_cast<unsigned>(rows.ranks())));
    pairs_ = rows.ranks() - powers_;
  }
  // `into` is none of the ranks' vectors.
  void combine_into(char* into) const { half(0, powers_, into); }

 private:
  // Item i is a rank, or a pair of ranks; the items are 2^k.
  int first_rank(int item) const { return item < pairs_ ? 2 * item : item + pairs_; }
  const char* row(int rank) const { return rows_.of(rank, offset_); }
  uint64_t bytes() const { return elements_ * c_.size; }
  void copy(int rank, char* into) const { memcpy(into, row(rank), bytes()); }
  void combine(const char* left, char* right) const { c_.combine(c_.context, left, right, elements_); }

  void item(int i, char* into) const {
    const int rank = first_rank(i);
    if (i >= pairs_) return copy(rank, into);
    copy(rank + 1, into);
    combine(row(rank), into);
  }

  void half(int begin, int end, char* into) const {
    if (end - begin == 1) return item(begin, into);
    const int middle = (begin + end) / 2;
    half(middle, end, into);
    if (middle - begin == 1 && begin >= pairs_) return combine(row(first_rank(begin)), into);
    alignas(kLine) char left[kReductionPiece];
    half(begin, middle, left);
    combine(left, into);
  }

  const Rows& rows_;
  const Combination& c_;
  uint64_t offset_, elements_;
  int powers_, pairs_;
};

// The result of a range at `to`, whose first element is the range's. `aside`: it may be one of the vectors.
void combine_range(const Rows& rows, const Combination& c, const Range& r, char* to, bool aside) {
  for (uint64_t at = r.begin; at < r.end;) {
    const uint64_t n = std::min(elements_in_piece(c), r.end - at);
    const Tree tree(rows, c, at * c.size, n);
    char* const into = to + (at - r.begin) * c.size;
    if (aside) {
      alignas(kLine) char piece[kReductionPiece];
      tree.combine_into(piece);
      memcpy(into, piece, n * c.size);
    } else {
      tree.combine_into(into);
    }
    at += n;
  }
}

// The part of the vectors that a task combines.
Range slice_of(int index, int slices, uint64_t elements, const Combination& c) {
  uint64_t each = (elements + static_cast<uint64_t>(slices) - 1) / static_cast<uint64_t>(slices);
  if (kLine % c.size == 0) {  // no line is two tasks'
    const uint64_t in_line = kLine / c.size;
    each = (each + in_line - 1) / in_line * in_line;
  }
  const uint64_t begin = std::min(each * static_cast<uint64_t>(index), elements);
  return {begin, std::min(begin + each, elements)};
}

int slices_for(const Meeting& m, uint64_t bytes) {
  return static_cast<int>(std::clamp<uint64_t>(bytes / kLeastSlice, 1, static_cast<uint64_t>(m.count())));
}

// Elements that fit are shown in the post.
bool show(Meeting& m, const Vectors& v, uint64_t bytes) {
  if (bytes > kPosted) {
    m.show(&v);
    return true;
  }
  memcpy(m.fill_in(bytes), v.send, bytes);
  return false;
}

void end(Meeting& m, bool shown) {
  if (shown)
    m.leave();
  else
    m.leave_at_once();
}

// What this task has combined lies here until nobody reads its vector any more.
class Aside {
 public:
  explicit Aside(uint64_t bytes)
      : memory_(bytes <= sizeof inside_ ? inside_ : static_cast<char*>(malloc(bytes))) {}
  ~Aside() {
    if (memory_ != inside_) free(memory_);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  char* memory() { return memory_; }

 private:
  alignas(kLine) char inside_[kReductionPiece];
  char* memory_;
};

}  // namespace

void combine_vectors(const char* const* vectors, int ranks, const Range& range, char* to,
                     const Combination& c, bool aside) {
  combine_range(Rows(vectors, ranks), c, range, to, aside);
}

void fold_vectors(const char* const* vectors, int ranks, const Range& range, char* to, const Combination& c) {
  alignas(kLine) char piece[2][kReductionPiece];
  for (uint64_t at = range.begin; at < range.end;) {
    const uint64_t n = std::min(elements_in_piece(c), range.end - at), bytes = n * c.size;
    char *before = piece[0], *next = piece[1];
    memcpy(before, vectors[0] + at * c.size, bytes);
    for (int i = 1; i < ranks; i++) {
      memcpy(next, vectors[i] + at * c.size, bytes);
      c.combine(c.context, before, next, n);
      std::swap(before, next);
    }
    memcpy(to + (at - range.begin) * c.size, before, bytes);
    at += n;
  }
}

bool reduce_for_all(Meeting& m, const char* send, char* receive, uint64_t elements, const Combination& c) {
  const uint64_t bytes = elements * c.size, ranks = static_cast<uint64_t>(m.count());
  const bool in_place = send == receive, alone = bytes * ranks <= kMostAlone;
  const Vectors mine{send, receive};
  Aside aside(alone && in_place ? bytes : 0);
  if (aside.memory() == nullptr || !m.open()) return false;
  const bool shown = show(m, mine, bytes);
  m.meet();
  if (!shown || alone) {
    char* const to = shown && in_place ? aside.memory() : receive;
    combine_range(Rows(m), c, {0, elements}, to, false);
    end(m, shown);
    if (to != receive) memcpy(receive, to, bytes);
    return true;
  }
  const int slices = slices_for(m, bytes);
  if (m.rank() < slices) {
    const Range r = slice_of(m.rank(), slices, elements, c);
    combine_range(Rows(m), c, r, receive + r.begin * c.size, in_place);
  }
  m.wait_for_all();
  for (int i = 0; i < slices; i++) {
    const int other = (m.rank() + i) % slices;
    const Range r = slice_of(other, slices, elements, c);
    const uint64_t at = r.begin * c.size;
    if (other != m.rank() && r.begin != r.end)
      memcpy(receive + at, m.shown_by<Vectors>(other)->receive + at, (r.end - r.begin) * c.size);
  }
  end(m, shown);
  return true;
}

namespace {

// Up to so many bytes vectors are messages, of which the ring or a parcel holds some: whoever sends one waits
// for nobody.
constexpr uint64_t kPassedOn = kSmallBytes;

// Every vector goes to the root, which combines them. Where ranks outnumber cores: 4 ranks on 2 cores take
// 3.3 us for 8 B and 4.8 for 4 KiB, Open MPI's 4.7 and 12 to 15.
bool gather_and_reduce(const Meeting& m, int root, const char* send, char* receive, uint64_t elements,
                       const Combination& c) {
  const uint64_t bytes = elements * c.size;
  const bool at_root = m.rank() == root;
  m.engine().count_call();
  Aside rows(at_root ? bytes * static_cast<uint64_t>(m.count()) : 0);
  if (rows.memory() == nullptr) return false;
  const char* vectors[kMostByMessages];
  layout::Region places[kMostByMessages];
  for (int i = 0; at_root && i < m.count(); i++) {
    char* const row = rows.memory() + bytes * static_cast<uint64_t>(i);
    vectors[i] = i == root ? send : row;
    places[i] = {row, bytes, layout::byte_layout()};
  }
  const layout::Region mine{const_cast<char*>(send), bytes, layout::byte_layout()};
  Parts parts(m.engine(), m.member(), of_pieces(m.member().context), kBlocking);
  bool too_long = false;
  if (!begin_gather(parts, root, mine, {places, 1}, false) || !parts.wait(&too_long)) return false;
  if (at_root) combine_vectors(vectors, m.count(), {0, elements}, receive, c, send == receive);
  return true;
}

}  // namespace

bool reduce_for_root(Meeting& m, int root, const char* send, char* receive, uint64_t elements,
                     const Combination& c) {
  const uint64_t bytes = elements * c.size;
  if (go_as_messages(m) && bytes <= kPassedOn) return gather_and_reduce(m, root, send, receive, elements, c);
  const Vectors mine{send, receive};
  if (!m.open()) return false;
  const bool shown = show(m, mine, bytes);
  m.meet();
  if (!shown) {
    if (m.rank() == root) combine_range(Rows(m), c, {0, elements}, receive, false);
    end(m, shown);
    return true;
  }
  const int slices = slices_for(m, bytes);
  const int index = (m.rank() - root + m.count()) % m.count();
  if (index < slices) {
    const Range r = slice_of(index, slices, elements, c);
    const Vectors* const at_root = m.shown_by<Vectors>(root);
    const os::WritesAllowed allowed;
    combine_range(Rows(m), c, r, at_root->receive + r.begin * c.size, at_root->send == at_root->receive);
  }
  end(m, shown);
  return true;
}

bool reduce_and_scatter(Meeting& m, const char* send, char* receive, uint64_t elements, uint64_t begin,
                        uint64_t count, const Combination& c) {
  const uint64_t bytes = elements * c.size;
  const bool in_place = send == receive && bytes > kPosted;
  Aside aside(in_place ? count * c.size : 0);
  if (aside.memory() == nullptr || !m.open()) return false;
  const Vectors mine{send, receive};
  const bool shown = show(m, mine, bytes);
  m.meet();
  combine_range(Rows(m), c, {begin, begin + count}, in_place ? aside.memory() : receive, false);
  end(m, shown);
  if (in_place && count != 0) memcpy(receive, aside.memory(), count * c.size);
  return true;
}

namespace {

// One piece of a scan, for all ranks. What the ranks up to one have together lies in its own result already
// when the next one needs it.
template <typename VectorsOf>
void scan_piece(VectorsOf of, int ranks, const Combination& c, uint64_t offset, uint64_t elements) {
  const char* before = nullptr;
  for (int i = 0; i < ranks; i++) {
    const Vectors& v = of(i);
    char* const result = v.receive + offset;
    if (v.send != v.receive) memcpy(result, v.send + offset, elements * c.size);
    if (before != nullptr) c.combine(c.context, before, result, elements);
    before = result;
  }
}

// The same without each rank's own part, which its result may lie over.
template <typename VectorsOf>
void scan_piece_exclusive(VectorsOf of, int ranks, const Combination& c, uint64_t offset, uint64_t elements) {
  alignas(kLine) char piece[2][kReductionPiece];
  char *before = piece[0], *next = piece[1];
  const uint64_t bytes = elements * c.size;
  for (int i = 0; i < ranks; i++) {
    const Vectors& v = of(i);
    memcpy(next, v.send + offset, bytes);
    if (i != 0) {
      memcpy(v.receive + offset, before, bytes);
      c.combine(c.context, before, next, elements);
    }
    std::swap(before, next);
  }
}

template <typename VectorsOf>
void scan_range(VectorsOf of, int ranks, Scan kind, const Range& r, const Combination& c) {
  for (uint64_t at = r.begin; at < r.end;) {
    const uint64_t n = std::min(elements_in_piece(c), r.end - at);
    if (kind == Scan::inclusive)
      scan_piece(of, ranks, c, at * c.size, n);
    else
      scan_piece_exclusive(of, ranks, c, at * c.size, n);
    at += n;
  }
}

}  // namespace

void scan_vectors(const Vectors* vectors, int ranks, Scan kind, const Range& range, const Combination& c) {
  scan_range([=](int rank) { return vectors[rank]; }, ranks, kind, range, c);
}

namespace {

// From rank to rank: a rank waits for nobody behind it.
bool scan_in_turn(const Meeting& m, Scan kind, const Vectors& mine, uint64_t elements, const Combination& c) {
  const Member& me = m.member();
  const uint64_t bytes = elements * c.size;
  const bool first = me.rank == 0, last = me.rank + 1 == me.count, inclusive = kind == Scan::inclusive;
  Aside aside(bytes);
  if (aside.memory() == nullptr) return false;
  // What those before this rank have comes to `before`; together with its own part it is in `all`.
  char* const before = inclusive ? aside.memory() : mine.receive;
  char* const all = inclusive ? mine.receive : aside.memory();
  const bool needed = inclusive || !last;
  if (needed && all != mine.send) memcpy(all, mine.send, bytes);
  if (!first) {
    Told told;
    if (!hear(m.engine(), me, me.rank - 1, {before, bytes, layout::byte_layout()}, &told)) return false;
    // Not what is left of another operation.
    if (told.kind != kPieceData || told.bytes != bytes || told.too_long) return false;
    if (needed) c.combine(c.context, before, all, elements);
  }
  if (last) return true;
  Parts parts(m.engine(), me, collective(me.context), kPieceData);
  bool truncated = false;
  return parts.give(me.rank + 1, {all, bytes, layout::byte_layout()}) && parts.wait(&truncated);
}

}  // namespace

bool scan(Meeting& m, Scan kind, const char* send, char* receive, uint64_t elements, const Combination& c) {
  const uint64_t bytes = elements * c.size;
  const Vectors mine{send, receive};
  if (bytes <= kPassedOn) return scan_in_turn(m, kind, mine, elements, c);
  if (!m.open()) return false;
  m.show(&mine);
  m.meet();
  const int slices = slices_for(m, bytes);
  if (m.rank() < slices) {
    const os::WritesAllowed allowed;
    scan_range([&](int rank) { return *m.shown_by<Vectors>(rank); }, m.count(), kind,
               slice_of(m.rank(), slices, elements, c), c);
  }
  m.leave();
  return true;
}

}  // namespace tasuki::message
