// Writes messages of Protocol Buffers: the few field types that a trace needs.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tasuki::simmpi {

class Protobuf {
 public:
  Protobuf& number(uint32_t field, uint64_t value) {
    varint(field << 3 | 0);
    varint(value);
    return *this;
  }
  Protobuf& fixed(uint32_t field, uint64_t value) {
    varint(field << 3 | 1);
    for (int i = 0; i < 8; i++) bytes_ += static_cast<char>(value >> 8 * i & 0xff);
    return *this;
  }
  Protobuf& real(uint32_t field, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return fixed(field, bits);
  }
  Protobuf& text(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Protobuf& message(uint32_t field, const Protobuf& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace tasuki::simmpi
