// The constructors: bounds by MPI's rules, bytes by the normal form.
//
// Bounds (MPI-4.1, section 5.1.6): a layout that was resized, or is a subarray, carries lb and ub markers,
// and a layout that contains markers has its bounds from them alone. Otherwise the bounds are those of its
// bytes. The padding that MPI_Type_create_struct may add for alignment is unknown here (there are no basic
// types): the MPI side adds it by make_resized.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "layout/normal.h"

namespace tasuki::layout {
namespace {

// Collects the bounds of the children as they are placed.
struct Bounds {
  bool any = false, markers = false;
  int64_t lower = 0, upper = 0;

  void add(int64_t low, int64_t high, bool marker) {
    if (marker && !markers) {
      any = false;  // bytes do not count any more
      markers = true;
    }
    if (marker != markers) return;
    lower = any ? std::min(lower, low) : low;
    upper = any ? std::max(upper, high) : high;
    any = true;
  }

  // `count` copies of `child`, `stride` apart, the first one's origin at `displacement`.
  void add(const Layout* child, int64_t displacement, uint64_t count, int64_t stride) {
    if (count == 0 || (!child->bounded && child->root.kind == Kind::empty)) return;
    const int64_t span = wrapping_mul(count - 1, stride);
    const int64_t low = wrapping_add(displacement, child->lower_bound);
    const int64_t high = wrapping_add(low, child->extent);
    add(wrapping_add(low, std::min<int64_t>(span, 0)), wrapping_add(high, std::max<int64_t>(span, 0)),
        child->bounded);
  }
};

Form form_of(const Layout* l) {
  return Form{l->origin, l->root};
}

bool points_outside(const Node& n) {
  return n.child || n.offsets || n.offsets32 || n.children;
}

const Layout* finish(Arena& arena, const Form& form, const Bounds& bounds, uint64_t child_count,
                     const Layout* const* children) {
  uint64_t owners = 0;
  if (points_outside(form.node))
    for (uint64_t i = 0; i < child_count; i++)
      if (points_outside(children[i]->root) && (i == 0 || children[i] != children[i - 1])) owners++;
  const Layout** list = owners ? arena.array<const Layout*>(owners) : nullptr;
  void* memory = std::malloc(sizeof(Layout));
  if (!memory) throw std::bad_alloc();
  Layout* l = new (memory) Layout;
  l->bounded = bounds.markers;
  l->lower_bound = bounds.any ? bounds.lower : 0;
  l->extent = bounds.any ? wrapping_sub(bounds.upper, bounds.lower) : 0;
  l->origin = form.origin;
  l->root = form.node;
  l->lines = static_cast<float>(touched(l->root, kLineBytes));
  l->pages = static_cast<float>(touched(l->root, kPageBytes));
  l->owners = list;
  if (owners)
    for (uint64_t i = 0; i < child_count; i++)
      if (points_outside(children[i]->root) && (i == 0 || children[i] != children[i - 1]))
        list[l->owner_count++] = retain(children[i]);
  l->chunks = arena.take();
  return l;
}

// Runs a constructor; memory exhausted or a size beyond 63 bits gives nullptr.
template <typename Build>
const Layout* guarded(Build&& build) {
  try {
    Arena arena;
    return build(arena);
  } catch (const std::exception&) {
    return nullptr;
  }
}

// `count` elements of `child` behind each other.
Form elements(Arena& arena, uint64_t count, const Layout* child) {
  return strided_form(arena, count, child->extent, form_of(child));
}

// `form` at each displacement.
Form placed(Arena& arena, uint64_t count, const int64_t* displacements, const Form& form) {
  if (form.empty()) return Form{};
  const int64_t length = form.node.kind == Kind::block ? form.node.end : 0;
  bool touching = false;  // blocks to be merged before the list is looked at
  std::vector<int64_t> origins(count);
  for (uint64_t i = 0; i < count; i++) {
    origins[i] = wrapping_add(displacements[i], form.origin);
    touching |= length && i > 0 && origins[i] == wrapping_add(origins[i - 1], length);
  }
  if (!touching) return indexed_form(arena, std::move(origins), form.node);
  Sequence sequence(arena);
  for (const int64_t origin : origins) sequence.append(Form{origin, form.node});
  return sequence.finish();
}

constinit Layout g_byte(StaticByte{});

}  // namespace

const Layout* byte_layout() {
  return &g_byte;
}

const Layout* make_dense(uint64_t bytes) {
  return make_contiguous(bytes, &g_byte);
}

const Layout* make_contiguous(uint64_t count, const Layout* child) {
  return guarded([&](Arena& arena) {
    Bounds bounds;
    bounds.add(child, 0, count, child->extent);
    return finish(arena, elements(arena, count, child), bounds, 1, &child);
  });
}

const Layout* make_hvector(uint64_t count, uint64_t block_length, int64_t stride, const Layout* child) {
  return guarded([&](Arena& arena) {
    Bounds bounds;
    if (count > 0) {
      const int64_t last = wrapping_mul(count - 1, stride);
      bounds.add(child, 0, block_length, child->extent);
      bounds.add(child, last, block_length, child->extent);
    }
    const Form form = strided_form(arena, count, stride, elements(arena, block_length, child));
    return finish(arena, form, bounds, 1, &child);
  });
}

const Layout* make_hindexed_block(uint64_t count, uint64_t block_length, const int64_t* displacements,
                                  const Layout* child) {
  return guarded([&](Arena& arena) {
    Bounds bounds;
    for (uint64_t i = 0; i < count; i++) bounds.add(child, displacements[i], block_length, child->extent);
    const Form form = placed(arena, count, displacements, elements(arena, block_length, child));
    return finish(arena, form, bounds, 1, &child);
  });
}

const Layout* make_hindexed(uint64_t count, const uint64_t* block_lengths, const int64_t* displacements,
                            const Layout* child) {
  return guarded([&](Arena& arena) {
    Bounds bounds;
    bool uniform = true;
    for (uint64_t i = 0; i < count; i++) {
      bounds.add(child, displacements[i], block_lengths[i], child->extent);
      uniform &= block_lengths[i] == block_lengths[0];
    }
    if (uniform) {
      const Form block = elements(arena, count ? block_lengths[0] : 0, child);
      return finish(arena, placed(arena, count, displacements, block), bounds, 1, &child);
    }
    Sequence sequence(arena);
    Form block;
    for (uint64_t i = 0; i < count; i++) {
      if (i == 0 || block_lengths[i] != block_lengths[i - 1])
        block = elements(arena, block_lengths[i], child);
      sequence.append(Form{wrapping_add(displacements[i], block.origin), block.node});
    }
    return finish(arena, sequence.finish(), bounds, 1, &child);
  });
}

const Layout* make_struct(uint64_t count, const uint64_t* block_lengths, const int64_t* displacements,
                          const Layout* const* children) {
  return guarded([&](Arena& arena) {
    Bounds bounds;
    bool uniform = true;
    for (uint64_t i = 0; i < count; i++) {
      bounds.add(children[i], displacements[i], block_lengths[i], children[i]->extent);
      uniform &= block_lengths[i] == block_lengths[0] && children[i] == children[0];
    }
    if (uniform) {
      const Form block = count ? elements(arena, block_lengths[0], children[0]) : Form{};
      return finish(arena, placed(arena, count, displacements, block), bounds, count, children);
    }
    Sequence sequence(arena);
    for (uint64_t i = 0; i < count; i++) {
      const Form block = elements(arena, block_lengths[i], children[i]);
      sequence.append(Form{wrapping_add(displacements[i], block.origin), block.node});
    }
    return finish(arena, sequence.finish(), bounds, count, children);
  });
}

const Layout* make_resized(int64_t lower_bound, int64_t extent, const Layout* child) {
  return guarded([&](Arena& arena) {
    Bounds bounds;
    bounds.add(lower_bound, wrapping_add(lower_bound, extent), true);
    return finish(arena, form_of(child), bounds, 1, &child);
  });
}

const Layout* make_subarray(int ndims, const int64_t* sizes, const int64_t* subsizes, const int64_t* starts,
                            char order, const Layout* child) {
  return guarded([&](Arena& arena) {
    Form form = form_of(child);
    int64_t stride = child->extent;
    for (int i = 0; i < ndims; i++) {
      const int d = order == 'F' ? i : ndims - 1 - i;  // the dimension that varies fastest first
      form = strided_form(arena, subsizes[d] > 0 ? static_cast<uint64_t>(subsizes[d]) : 0, stride, form);
      form.origin = wrapping_add(form.origin, wrapping_mul(static_cast<uint64_t>(starts[d]), stride));
      stride = wrapping_mul(static_cast<uint64_t>(sizes[d]), stride);
    }
    Bounds bounds;
    bounds.add(0, stride, true);
    return finish(arena, form.empty() ? Form{} : form, bounds, 1, &child);
  });
}

const Layout* retain(const Layout* l) {
  if (!l->is_static) l->references.fetch_add(1, std::memory_order_relaxed);
  return l;
}

void release(const Layout* l) {
  // Layouts can be nested to any depth: the dead are kept in a list, not on the stack.
  const Layout* dead = nullptr;
  const auto drop = [&dead](const Layout* one) {
    if (one && !one->is_static && one->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      one->next_dead = dead;
      dead = one;
    }
  };
  drop(l);
  while (dead) {
    Layout* one = const_cast<Layout*>(dead);
    dead = one->next_dead;
    for (uint64_t i = 0; i < one->owner_count; i++) drop(one->owners[i]);
    free_chunks(one->chunks);
    one->~Layout();
    std::free(one);
  }
}

uint64_t size(const Layout* l) {
  return l->root.size;
}
int64_t lower_bound(const Layout* l) {
  return l->lower_bound;
}
int64_t extent(const Layout* l) {
  return l->extent;
}
int64_t true_lower_bound(const Layout* l) {
  return l->root.kind == Kind::empty ? 0 : wrapping_add(l->origin, l->root.min);
}
int64_t true_extent(const Layout* l) {
  return wrapping_sub(l->root.max, l->root.min);
}
uint64_t run_count(const Layout* l) {
  return l->root.runs;
}
uint64_t typical_run(const Layout* l) {
  return l->root.size ? std::max<uint64_t>(1, l->root.size / l->root.runs) : 0;
}
uint64_t depth(const Layout* l) {
  return l->root.depth;
}

}  // namespace tasuki::layout
