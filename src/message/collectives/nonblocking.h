// Non-blocking collective operations that move data between the tasks of one communicator, as their
// counterparts of exchange.h: each begins one operation, whose rest is Parts::rest(). All tasks of the
// communicator begin its operations in the same order, with the same tags. False: no memory, in which case no
// other task can go on.
#pragma once

#include "message/collectives/exchange.h"
#include "message/collectives/parts.h"

namespace tasuki::message {

// An exchange between more tasks is not for messages: each two have rings of their own (shared/ring.h).
inline constexpr int kMostByMessages = 64;
// Where ranks outnumber cores nobody meets, in blocking operations neither: each task has to run but once. 4
// ranks on 2 cores: MPI_Alltoall of 1 KiB 4.0 us, 5.8 with a meeting; 8 ranks: MPI_Scatter of 16 KiB 4.9 and
// 34.
inline bool go_as_messages(const Meeting& m) {
  return m.engine().options().wait.oversubscribed && m.count() <= kMostByMessages;
}

bool begin_exchange(Parts& parts, const Pieces& send, const Pieces& receive, bool own);
bool begin_scatter(Parts& parts, int root, const Pieces& send, const layout::Region& receive, bool own);
bool begin_gather(Parts& parts, int root, const layout::Region& send, const Pieces& receive, bool own);
bool begin_exchange_among(Parts& parts, const Neighbours& n, const Pieces& send, const Pieces& receive);
// Each gets what those before it give.
bool begin_scan(Parts& parts, const layout::Region& send, const Pieces& receive);
// The root's goes to all others.
bool begin_broadcast(Parts& parts, int root, const layout::Region& buffer);
// Complete when all have begun it.
bool begin_barrier(Parts& parts);

}  // namespace tasuki::message
