// What waits to be sent on a stream (protocol.h): heads with the data behind them, which stay where they are
// until they have gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

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
    add_piece(head, {}, data, bytes);
  }
  template <typename Head>
  void add(const Head& head, std::vector<std::byte> own) {
    const size_t bytes = own.size();
    add_piece(head, std::move(own), nullptr, bytes);
  }

  // As much as the stream takes at once. The error, as of os::send_now(); 0: none.
  int send(int socket);

 private:
  static constexpr size_t kHead = sizeof(Request);
  static_assert(sizeof(Answer) == kHead);
  struct Piece {
    std::array<std::byte, kHead> head;
    std::vector<std::byte> own;  // data of its own
    const std::byte* data;
    size_t bytes, sent;  // of the data; of all
  };
  template <typename Head>
  void add_piece(const Head& head, std::vector<std::byte> own, const std::byte* data, size_t bytes) {
    Piece& piece = pieces_.emplace_back(Piece{{}, std::move(own), data, bytes, 0});
    memcpy(piece.head.data(), &head, kHead);
  }
  void sent(size_t bytes);

  std::deque<Piece> pieces_;
};

}  // namespace tasuki::cluster::lend
