// Numbers that tell messages apart by what they are like, not by where they are, as good as certainly: what
// has been learned of one is found again for the next.
#pragma once

#include "message/shared/shared.h"

namespace tasuki::message {

class Key {
 public:
  Key() = default;
  explicit Key(uint64_t value) : value_(value) {}
  Key& add(uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
    return *this;
  }
  Key& add(const layout::Region& r) {
    return add(layout::bytes(r))
        .add(r.count << 32 ^ layout::run_count(r.layout))
        .add(static_cast<uint64_t>(layout::extent(r.layout)));
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

// What its sender knows of a message before it is matched.
inline Key key_of_send(const Request* send) {
  return Key()
      .add(uint64_t{send->context} << 32 | static_cast<uint32_t>(send->tag))
      .add(static_cast<uint32_t>(send->peer))
      .add(send->region);
}

// The same with the sender, and with the receive that it goes to.
inline Key key_of_message(Key of_send, const Endpoint* sender, const layout::Region& destination) {
  return of_send.add(static_cast<uint32_t>(sender->slot)).add(destination);
}

}  // namespace tasuki::message
