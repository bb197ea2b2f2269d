#include "message/collectives/exchange.h"

#include <algorithm>
#include <cstring>

#include "message/collectives/nonblocking.h"
#include "message/collectives/parts.h"
#include "message/collectives/tell.h"

namespace tasuki::message {
namespace {

// How much of `n` bytes has room.
uint64_t fitting(uint64_t n, const layout::Region& to, Moved* moved) {
  const uint64_t room = layout::bytes(to);
  moved->too_long = moved->too_long || n > room;
  moved->bytes += std::min(n, room);
  return std::min(n, room);
}

void copy(Engine& engine, const layout::Region& to, const layout::Region& from, Moved* moved) {
  if (const uint64_t n = fitting(layout::bytes(from), to, moved); n != 0) copy_piece(engine, to, from, n);
}

void unpack(const layout::Region& to, const char* from, uint64_t bytes, Moved* moved) {
  if (const uint64_t n = fitting(bytes, to, moved); n != 0) layout::unpack(to, 0, n, from);
}

constexpr int kNone = -1;

// Packed bytes of the pieces for all tasks `but` one; what is more than `enough` may be left out.
uint64_t bytes_of(const Pieces& p, int count, int but, uint64_t enough = UINT64_MAX) {
  uint64_t sum = 0;
  for (int i = 0; i < count && sum <= enough; i++)
    if (i != but) sum += layout::bytes(p.of(i));
  return sum;
}

// A post with the pieces themselves: where each task's begins, if there are several, and their bytes. One of
// several may be left out.
struct Inside {
  static uint64_t room_for(const Pieces& p, int count, int but) {
    if (p.step == 0) return layout::bytes(*p.first);
    return (static_cast<uint64_t>(count) + 1) * sizeof(uint16_t) + bytes_of(p, count, but, Post::kRoom);
  }
  static void fill_in(Meeting& m, const Pieces& p, int n, uint64_t bytes, int but) {
    char* at = m.fill_in(bytes);
    if (p.step == 0) {
      layout::pack(at, *p.first, 0, bytes);
      return;
    }
    uint64_t next = (static_cast<uint64_t>(n) + 1) * sizeof(uint16_t);
    for (int i = 0; i <= n; i++) {
      const uint16_t begin = static_cast<uint16_t>(next);
      memcpy(at + static_cast<size_t>(i) * sizeof begin, &begin, sizeof begin);
      if (i == n) break;
      const uint64_t piece = i == but ? 0 : layout::bytes(p.of(i));
      if (piece != 0) layout::pack(at + next, p.of(i), 0, piece);
      next += piece;
    }
  }
  static void take(const Post& post, int index, bool several, const layout::Region& to, Moved* moved) {
    if (!several) return unpack(to, post.data, post.bytes, moved);
    uint16_t place[2];
    memcpy(place, post.data + static_cast<size_t>(index) * sizeof place[0], sizeof place);
    unpack(to, post.data + place[0], place[1] - place[0], moved);
  }
};

// So many pieces; nobody asks for `but`.
void offer(Meeting& m, const Pieces& send, int count, int but = kNone) {
  const uint64_t inside = Inside::room_for(send, count, but);
  if (inside <= Post::kRoom)
    Inside::fill_in(m, send, count, inside, but);
  else
    m.show(&send);
}

// A piece of those that `from` has.
void get(const Meeting& m, int from, int index, bool several, const layout::Region& to, Moved* moved) {
  if (const Pieces* shown = m.shown_by<Pieces>(from))
    copy(m.engine(), to, shown->of(index), moved);
  else
    Inside::take(m.of(from), index, several, to, moved);
}

// begin(Parts&) begins the messages.
template <typename Begin>
bool by_messages(const Meeting& m, Parts::Ends ends, Moved* moved, Begin begin) {
  Parts parts(m.engine(), m.member(), of_pieces(m.member().context), kBlocking, ends);
  m.engine().count_call();
  return begin(parts) && parts.wait(&moved->too_long);
}

}  // namespace

bool exchange(Meeting& m, const Pieces& send, const Pieces& receive, bool own, Moved* moved) {
  if (go_as_messages(m)) {
    moved->bytes += bytes_of(receive, m.count(), own ? kNone : m.rank());
    return by_messages(m, Parts::Ends::with_others, moved,
                       [&](Parts& parts) { return begin_exchange(parts, send, receive, own); });
  }
  if (!m.open()) return false;
  const bool several = send.step != 0;
  offer(m, send, m.count(), m.rank());
  m.meet();
  if (own) copy(m.engine(), receive.of(m.rank()), send.of(m.rank()), moved);
  for (int i = 1; i < m.count(); i++) {
    const int from = (m.rank() + i) % m.count();
    get(m, from, m.rank(), several, receive.of(from), moved);
  }
  m.leave();
  return true;
}

namespace {

bool meet_and_scatter(Meeting& m, int root, const Pieces& send, const layout::Region& receive, Moved* moved) {
  if (!m.open()) return false;
  if (m.rank() == root)
    offer(m, send, m.count());
  else
    m.fill_in(0);
  m.meet();
  if (m.rank() != root) get(m, root, m.rank(), true, receive, moved);
  m.leave();
  return true;
}

// Messages to the others. Up to so many bytes, in slots or a parcel of the ring, they need not wait for them.
constexpr uint64_t kMessageBytes = kParcelBytes;

bool fit_into_messages(const Member& me, const Pieces& p) {
  return for_others(me, [&](int to) { return layout::bytes(p.of(to)) <= kMessageBytes; });
}

}  // namespace

bool scatter(Meeting& m, int root, const Pieces& send, const layout::Region& receive, bool own,
             Moved* moved) {
  const Member& me = m.member();
  if (m.rank() != root) {
    Told told;
    if (!hear(m.engine(), me, root, receive, &told)) return false;
    moved->bytes += told.bytes;
    moved->too_long = moved->too_long || told.too_long;
    if (told.kind == kPieceMeeting) return meet_and_scatter(m, root, send, receive, moved);
    return told.kind == kPieceData;  // not what is left of another operation
  }
  bool good;
  if (go_as_messages(m) || fit_into_messages(me, send)) {
    Parts parts(m.engine(), me, collective(me.context), kPieceData);
    good =
        for_others(me, [&](int to) { return parts.give(to, send.of(to)); }) && parts.wait(&moved->too_long);
  } else {
    tell_others(m.engine(), me, kPieceMeeting, nullptr, 0);
    good = meet_and_scatter(m, root, send, receive, moved);
  }
  if (own) copy(m.engine(), receive, send.of(root), moved);
  return good;
}

bool gather(Meeting& m, int root, const layout::Region& send, const Pieces& receive, bool own, Moved* moved) {
  if (m.rank() == root) moved->bytes += bytes_of(receive, m.count(), own ? kNone : root);
  return by_messages(m, Parts::Ends::alone, moved,
                     [&](Parts& parts) { return begin_gather(parts, root, send, receive, own); });
}

bool find_places(Meeting& m, const Neighbours& n, int* place, bool* repeated) {
  if (!m.open()) return false;
  m.show(&n);
  m.meet();
  *repeated = false;
  for (int i = 0; i < m.count(); i++) *repeated = *repeated || m.shown_by<Neighbours>(i)->repeated;
  for (int i = 0; i < n.sources; i++) {
    place[i] = kNoNeighbour;
    if (n.source[i] == kNoNeighbour) continue;
    // So many of its pieces for this task belong to places before this one.
    auto before = std::count(n.source, n.source + i, n.source[i]);
    const Neighbours& there = *m.shown_by<Neighbours>(n.source[i]);
    for (int k = 0; k < there.destinations && place[i] == kNoNeighbour; k++)
      if (there.destination[k] == m.rank() && before-- == 0) place[i] = k;
  }
  m.leave();
  return true;
}

bool exchange_among(Meeting& m, const Neighbours& n, const int* place, const Pieces& send,
                    const Pieces& receive, Moved* moved) {
  if (go_as_messages(m)) {
    moved->bytes += bytes_of(receive, n.sources, kNone);
    return by_messages(m, Parts::Ends::with_others, moved,
                       [&](Parts& parts) { return begin_exchange_among(parts, n, send, receive); });
  }
  if (!m.open()) return false;
  const bool several = send.step != 0;
  offer(m, send, n.destinations);
  m.meet();
  for (int i = 0; i < n.sources; i++)
    if (place[i] != kNoNeighbour) get(m, n.source[i], place[i], several, receive.of(i), moved);
  m.leave();
  return true;
}

}  // namespace tasuki::message
