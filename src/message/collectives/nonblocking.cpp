#include "message/collectives/nonblocking.h"

namespace tasuki::message {
namespace {

bool give_others(Parts& parts, const Pieces& send) {
  return for_others(parts.me(), [&](int to) { return parts.give(to, send.of(to)); });
}
bool get_from_others(Parts& parts, const Pieces& receive) {
  return for_others(parts.me(), [&](int from) { return parts.get(from, receive.of(from)); });
}

}  // namespace

// Receives first: what has come already need not be kept. A piece of nothing is a message, too: the next
// operation must not get what this one had no place for.
bool begin_exchange(Parts& parts, const Pieces& send, const Pieces& receive, bool own) {
  if (!get_from_others(parts, receive) || !give_others(parts, send)) return false;
  if (own) parts.keep(send.of(parts.me().rank), receive.of(parts.me().rank));
  return true;
}

bool begin_scatter(Parts& parts, int root, const Pieces& send, const layout::Region& receive, bool own) {
  if (parts.me().rank != root) return parts.get(root, receive);
  if (!give_others(parts, send)) return false;
  if (own) parts.keep(send.of(root), receive);
  return true;
}

bool begin_gather(Parts& parts, int root, const layout::Region& send, const Pieces& receive, bool own) {
  if (parts.me().rank != root) return parts.give(root, send);
  if (!get_from_others(parts, receive)) return false;
  if (own) parts.keep(send, receive.of(root));
  return true;
}

// Of several pieces from one source the first goes to the first place (MPI-4.0, 8.6): messages keep their
// order.
bool begin_exchange_among(Parts& parts, const Neighbours& n, const Pieces& send, const Pieces& receive) {
  for (int i = 0; i < n.sources; i++)
    if (n.source[i] != kNoNeighbour && !parts.get(n.source[i], receive.of(i))) return false;
  for (int i = 0; i < n.destinations; i++)
    if (n.destination[i] != kNoNeighbour && !parts.give(n.destination[i], send.of(i))) return false;
  return true;
}

bool begin_scan(Parts& parts, const layout::Region& send, const Pieces& receive) {
  for (int from = 0; from < parts.me().rank; from++)
    if (!parts.get(from, receive.of(from))) return false;
  for (int to = parts.me().rank + 1; to < parts.me().count; to++)
    if (!parts.give(to, send)) return false;
  return true;
}

bool begin_broadcast(Parts& parts, int root, const layout::Region& buffer) {
  return parts.me().rank == root ? give_others(parts, {&buffer, 0}) : parts.get(root, buffer);
}

bool begin_barrier(Parts& parts) {
  const layout::Region nothing{nullptr, 0, layout::byte_layout()};
  return give_others(parts, {&nothing, 0}) && get_from_others(parts, {&nothing, 0});
}

}  // namespace tasuki::message
