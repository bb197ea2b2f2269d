// Typed buffers whose right contents are known: a signature, its two sides, and a naive interpreter that says what must arrive.
#pragma once

#include "../types/type_tree.h"
#include "stress.h"

namespace stress {

// How one side describes a message.
struct Side {
  types::TreePtr tree;
  int count = 0;
};

struct Message {
  Side send, receive;
  int64_t elements = 0;       // basic ones in the message
  int64_t receive_count = 0;  // of receive elements that arrive, -1: MPI_UNDEFINED
  uint64_t send_fill = 0, receive_fill = 0;
  int64_t bytes() const { return send.tree->bytes() * send.count; }
};

// A random message: types that differ on the two sides and mean the same bytes. `simple`: contiguous bytes of a size where
// protocols change. `exact`: the receive buffer holds no more than what is sent.
Message random_message(Random& random, bool simple, bool exact = false);

// Memory for `count` elements with margins, every byte of it known.
struct Memory {
  std::vector<unsigned char> bytes;
  int64_t origin = 0;
  Memory() = default;
  Memory(const Side& side, uint64_t fill);
  unsigned char* at() { return bytes.data() + origin; }
};

// A committed datatype for a side.
class Type {
 public:
  explicit Type(const Side& side);
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  ~Type() { release(); }
  operator MPI_Datatype() const { return type_; }
  void release();

 private:
  const types::TreePtr tree_;
  MPI_Datatype type_;
};

// What the receiver's memory must be when the message has arrived in it.
Memory expected(const Message& message);

// Packed bytes <-> memory, by the interpreter.
std::vector<unsigned char> gather(const Side& side, const Memory& memory);
void scatter(const Side& side, const std::vector<unsigned char>& packed, Memory* memory);

// Fails when `memory` is not `wanted`; `what` names the message.
void compare(const Side& side, Memory& memory, Memory& wanted, int64_t elements, const std::string& what);

std::string describe(const Message& message);

}  // namespace stress
