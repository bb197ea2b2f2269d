// What waits to be sent on a stream (protocol.h): heads with the data behind them, which stay where they are
// until they have gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>

#include "cluster/lend/protocol.h"

namespace tasuki::cluster::lend {

class Outbox {
 public:
  bool empty() const { return pieces_.empty(); }
  size_t size() const { return pieces_.size(); }
  void clear() { pieces_.clear(); }

  // `head`: a Request or an Answer.
  template <typename Head>
  void add(const Head& head, const std::byte* data, size_t bytes) {
    static_assert(sizeof head == kHead);
    Piece& piece = pieces_.emplace_back(Piece{{}, data, bytes, 0});
    memcpy(piece.head.data(), &head, kHead);
  }

  // As much as the stream takes at once, and *turn bytes at most, which become fewer. The error, as of
  // os::send_now(); 0: none.
  int send(int socket, size_t* turn);

 private:
  static constexpr size_t kHead = sizeof(Request);
  struct Piece {
    std::array<std::byte, kHead> head;
    const std::byte* data;
    size_t bytes, sent;  // of the data; of all
  };
  void sent(size_t bytes);

  std::deque<Piece> pieces_;
};

}  // namespace tasuki::cluster::lend
