// Building the normal form; used by the constructors only.
#pragma once

#include <cstddef>
#include <vector>

#include "layout/layout_impl.h"

namespace tasuki::layout {

// A node and where its first packed byte lies.
struct Form {
  int64_t origin = 0;
  Node node;

  bool empty() const { return node.kind == Kind::empty; }
};

// Memory for nodes and lists, handed over to the finished layout. Throws std::bad_alloc.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  const Node* keep(const Node& node);
  template <typename T>
  T* array(uint64_t n) {
    return static_cast<T*>(allocate(n, sizeof(T)));
  }
  Chunk* take();

 private:
  void* allocate(uint64_t n, size_t each);
  Chunk* chunks_ = nullptr;
};

void free_chunks(Chunk* chunks);

Form block_form(int64_t origin, uint64_t length);
Form strided_form(Arena& arena, uint64_t count, int64_t stride, const Form& child);
// Equal children at `origins` (of their first packed bytes); finds strides and grids in the list.
Form indexed_form(Arena& arena, std::vector<int64_t> origins, const Node& child);

// Different children one after the other, in packed order.
class Sequence {
 public:
  explicit Sequence(Arena& arena) : arena_(arena) {}
  void append(const Form& form);
  Form finish();

 private:
  struct Item {
    int64_t origin;
    uint64_t length;   // of a block
    const Node* node;  // null: a block
    uint64_t size() const { return node ? node->size : length; }
  };
  static bool equal(const Item& a, const Item& b);
  Node node_of(const Item& item) const;
  void push(const Form& form);
  void flush();
  Form finish(std::vector<Item> items);
  Form block_list(const Item* items, uint64_t n);
  Form seq(const std::vector<Item>& items);

  Arena& arena_;
  Form last_;  // not yet in items_: it may still grow
  std::vector<Item> items_;
};

}  // namespace tasuki::layout
