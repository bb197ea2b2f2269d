// A cursor walks over a node in packed order, piece by piece. It lives on the stack; its depth is bounded by
// the normal form.
#pragma once

#include "layout/kernels.h"
#include "layout/layout_impl.h"

namespace tasuki::layout {

// A piece of a node: `count` blocks of one size.
struct Piece {
  Positions at;
  uint64_t block;
  uint64_t count;
};

class Cursor {
 public:
  // The caller never asks for more bytes than the node has.
  Cursor(const Node& root, char* memory, uint64_t from) { descend(root, memory, from); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  Piece piece;        // from the current block on; count > 0 unless at the end
  uint64_t skip = 0;  // bytes of the current block that lie behind us

  uint64_t available() const { return piece.block - skip; }  // in the current block
  char* address() const { return piece.at(0) + skip; }

  // Moves on by whole blocks, `skip` being 0.
  void advance_blocks(uint64_t n) {
    piece.count -= n;
    if (piece.count == 0)
      next();
    else
      piece.at = piece.at.from(n);
  }
  // Moves on within the current block.
  void advance_bytes(uint64_t n) {
    skip += n;
    if (skip == piece.block) {
      skip = 0;
      advance_blocks(1);
    }
  }

 private:
  struct Frame {
    const Node* node;
    char* memory;
    uint64_t index;  // of the child we are in
  };

  void descend(const Node& root, char* memory, uint64_t from);
  void next();

  uint32_t depth_ = 0;
  Frame frames_[kMaxDepth];
};

}  // namespace tasuki::layout
