#include "cluster/lend/outbox.h"

#include <algorithm>

#include "os/net/sockets.h"

namespace tasuki::cluster::lend {

int Outbox::send(int socket, size_t* turn) {
  constexpr int kMost = 64;
  while (!pieces_.empty() && *turn > 0) {
    iovec parts[kMost];
    int count = 0;
    size_t room = *turn;
    const auto add_part = [&](const std::byte* at, size_t bytes) {
      parts[count] = {const_cast<std::byte*>(at), std::min(bytes, room)};
      room -= parts[count++].iov_len;
    };
    for (size_t i = 0; i < pieces_.size() && count < kMost - 1 && room > 0; i++) {
      const Piece& p = pieces_[i];
      const size_t head = std::min(p.sent, kHead), body = p.sent - head;
      if (head < kHead) add_part(p.head.data() + head, kHead - head);
      if (body < p.bytes && room > 0) add_part(p.data + body, p.bytes - body);
    }
    int failed = 0;
    const size_t n = os::send_now(socket, parts, count, &failed);
    if (failed != 0 || n == 0) return failed;
    *turn -= n;
    sent(n);
  }
  return 0;
}

void Outbox::sent(size_t bytes) {
  while (bytes > 0) {
    Piece& p = pieces_.front();
    const size_t here = std::min(bytes, kHead + p.bytes - p.sent);
    p.sent += here;
    bytes -= here;
    if (p.sent == kHead + p.bytes) pieces_.pop_front();
  }
}

}  // namespace tasuki::cluster::lend
