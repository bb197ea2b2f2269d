#include "coarray/transfer.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "coarray/outstanding.h"

namespace tasuki::coarray {
namespace {

// Sources up to kStaged bytes are copied, so that a put need not wait for them to be read; what is cheaper than a flush of the
// window.
constexpr uint64_t kStaged = 8192, kStage = 1 << 20;
constexpr uint64_t kLargestCount = 1 << 30;

// Any number of bytes as one element.
MPI_Datatype bytes_type(uint64_t bytes) {
  MPI_Datatype type;
  if (bytes <= kLargestCount) {
    PMPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
  } else {
    MPI_Datatype parts[2];
    PMPI_Type_contiguous(static_cast<int>(kLargestCount), MPI_BYTE, &parts[0]);
    PMPI_Type_contiguous(static_cast<int>(bytes % kLargestCount), MPI_BYTE, &parts[1]);
    const int lengths[2] = {static_cast<int>(bytes / kLargestCount), 1};
    const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / kLargestCount * kLargestCount)};
    PMPI_Type_create_struct(2, lengths, places, parts, &type);
    PMPI_Type_free(&parts[0]);
    PMPI_Type_free(&parts[1]);
  }
  return type;
}

bool overlap(const Operand& a, const Operand& b) {
  const char *a_begin = a.place.direct - a.extent.first + a.extent.low,
             *b_begin = b.place.direct - b.extent.first + b.extent.low;
  return a_begin < b_begin + (b.extent.high - b.extent.low) &&
         b_begin < a_begin + (a.extent.high - a.extent.low);
}

uint64_t begin_of(const Operand& o) {
  return o.place.offset - static_cast<uint64_t>(o.extent.first - o.extent.low);
}
uint64_t end_of(const Operand& o) {
  return o.place.offset + static_cast<uint64_t>(o.extent.high - o.extent.first);
}

bool descends(const Shape& shape) {
  return std::any_of(shape.levels, shape.levels + shape.depth,
                     [](const auto& level) { return level.stride < 0; });
}

// The same bytes with all levels ascending, and how dense bytes in one order are found in the other.
struct Ascending {
  explicit Ascending(const Operand& operand) : ascending(operand) {
    Shape& shape = ascending.extent.shape;
    dense = shape;
    auto step = static_cast<int64_t>(shape.block);
    for (int i = shape.depth; i-- > 0;) {
      Shape::Level& level = shape.levels[i];
      const int64_t whole = (level.count - 1) * step;
      dense.levels[i].stride = level.stride < 0 ? -step : step;
      if (level.stride < 0) {
        ascending.place.offset -= static_cast<uint64_t>(-(level.count - 1) * level.stride);
        ascending.extent.first += (level.count - 1) * level.stride;
        level.stride = -level.stride;
        first += whole;
      }
      step *= level.count;
    }
  }
  Operand ascending;
  Shape dense;  // of dense bytes in the operand's order, in ascending order; its first element is at `first`
  int64_t first = 0;
};

Operand dense_operand(char* memory, uint64_t bytes) {
  Operand operand;
  operand.place.direct = memory;
  operand.extent.shape.block = bytes;
  operand.extent.high = static_cast<int64_t>(bytes);
  return operand;
}

}  // namespace

const layout::Layout* Transfers::LayoutMaker::make(const Shape& shape) {
  const layout::Layout* all = layout::make_dense(shape.block);
  for (int i = shape.depth; i-- > 0 && all != nullptr;) {
    const layout::Layout* inner = all;
    all =
        layout::make_hvector(static_cast<uint64_t>(shape.levels[i].count), 1, shape.levels[i].stride, inner);
    layout::release(inner);
  }
  if (all == nullptr) fail({nullptr, 0}, "no memory for the description of an array section");
  return all;
}

MPI_Datatype Transfers::TypeMaker::make(const Shape& shape) {
  MPI_Datatype all = bytes_type(shape.block);
  for (int i = shape.depth; i-- > 0;) {
    MPI_Datatype inner = all;
    const Shape::Level& level = shape.levels[i];
    if (level.count > INT_MAX)
      fail({nullptr, 0},
           "a section has a dimension of %lld elements that are not adjacent; MPI takes 2147483647 at most",
           static_cast<long long>(level.count));
    PMPI_Type_create_hvector(static_cast<int>(level.count), 1, level.stride, inner, &all);
    PMPI_Type_free(&inner);
  }
  PMPI_Type_commit(&all);
  return all;
}

layout::Region Transfers::region(char* first, const Shape& shape) {
  if (shape.dense()) return {first, shape.block, layout::byte_layout()};
  return {first, 1, layouts_.get(shape)};
}

char* Transfers::stage(uint64_t bytes) {
  if (bytes > kStaged) return nullptr;
  if (stage_ == nullptr) stage_ = std::make_unique<char[]>(kStage);
  if (staged_ + bytes > kStage) complete_local();
  char* room = stage_.get() + staged_;
  staged_ += (bytes + 15) & ~uint64_t{15};
  return room;
}

void Transfers::put_by_window(const Place& to, const void* from, uint64_t bytes, bool may_defer,
                              bool temporary) {
  if (bytes == 0) return;
  Operand operand = dense_operand(nullptr, bytes);
  operand.place = to;
  put_shape(operand, static_cast<const char*>(from), operand.extent.shape, may_defer, temporary);
}

void Transfers::get_by_window(void* to, const Place& from, uint64_t bytes, bool may_defer) {
  if (bytes == 0) return;
  Operand operand = dense_operand(nullptr, bytes);
  operand.place = from;
  get_shape(static_cast<char*>(to), operand.extent.shape, operand, may_defer);
}

void Transfers::put_shape(const Operand& to, const char* from, const Shape& shape, bool may_defer,
                          bool temporary) {
  const uint64_t bytes = shape.bytes();
  // Open MPI 4.1 moves wrong bytes with types that have negative strides (seen with its default and with osc/rdma switched off).
  if (descends(to.extent.shape)) {
    const Ascending turned(to);
    const auto copies = std::make_unique<char[]>(2 * bytes);
    char* ascending = copies.get() + bytes;
    layout::pack(copies.get(), region(const_cast<char*>(from), shape), 0, bytes);
    layout::pack(ascending, region(copies.get() + turned.first, turned.dense), 0, bytes);
    return put_shape(turned.ascending, ascending, dense_operand(ascending, bytes).extent.shape, may_defer,
                     true);
  }
  if (descends(shape)) {
    const auto copy = std::make_unique<char[]>(bytes);
    layout::pack(copy.get(), region(const_cast<char*>(from), shape), 0, bytes);
    return put_shape(to, copy.get(), dense_operand(copy.get(), bytes).extent.shape, may_defer, true);
  }
  Outstanding& window = *to.place.segment->outstanding;
  const Shape& there = to.extent.shape;
  const auto start = [&](const void* source, const Shape& of) {
    const auto buffer = [&](const Shape& s) {
      return s.dense() && s.block <= kLargestCount ? Outstanding::Buffer{static_cast<int>(s.block), MPI_BYTE}
                                                   : Outstanding::Buffer{1, types_.get(s)};
    };
    window.put(to.place.target, begin_of(to), end_of(to), source, buffer(of), to.place.offset, buffer(there));
  };
  char* room = may_defer && !temporary ? nullptr : stage(bytes);
  if (room != nullptr) {
    layout::pack(room, region(const_cast<char*>(from), shape), 0, bytes);
    Shape dense;
    dense.block = bytes;
    return start(room, dense);
  }
  start(from, shape);
  if (!may_defer || temporary) window.local(to.place.target);
}

void Transfers::get_shape(char* to, const Shape& shape, const Operand& from, bool may_defer) {
  const uint64_t bytes = shape.bytes();
  if (descends(from.extent.shape)) {
    const Ascending turned(from);
    const auto copies = std::make_unique<char[]>(2 * bytes);
    char* ascending = copies.get() + bytes;
    get_shape(ascending, dense_operand(ascending, bytes).extent.shape, turned.ascending, false);
    layout::unpack(region(copies.get() + turned.first, turned.dense), 0, bytes, ascending);
    layout::unpack(region(to, shape), 0, bytes, copies.get());
    return;
  }
  if (descends(shape)) {
    const auto copy = std::make_unique<char[]>(bytes);
    get_shape(copy.get(), dense_operand(copy.get(), bytes).extent.shape, from, false);
    layout::unpack(region(to, shape), 0, bytes, copy.get());
    return;
  }
  Outstanding& window = *from.place.segment->outstanding;
  const auto buffer = [&](const Shape& s) {
    return s.dense() && s.block <= kLargestCount ? Outstanding::Buffer{static_cast<int>(s.block), MPI_BYTE}
                                                 : Outstanding::Buffer{1, types_.get(s)};
  };
  window.get(from.place.target, begin_of(from), end_of(from), to, buffer(shape), from.place.offset,
             buffer(from.extent.shape));
  if (!may_defer) window.local(from.place.target);
}

void Transfers::copy_here(const Operand& to, const Operand& from) {
  const uint64_t bytes = to.extent.shape.bytes();
  const Shape &a = to.extent.shape, &b = from.extent.shape;
  if (overlap(to, from)) {
    if (a.dense() && b.dense()) {
      move_run(to.place.direct, from.place.direct, bytes);
      return;
    }
    const auto copy = std::make_unique<char[]>(bytes);
    layout::pack(copy.get(), region(from.place.direct, b), 0, bytes);
    layout::unpack(region(to.place.direct, a), 0, bytes, copy.get());
    return;
  }
  if (b.dense())
    layout::unpack(region(to.place.direct, a), 0, bytes, from.place.direct);
  else if (a.dense())
    layout::pack(to.place.direct, region(from.place.direct, b), 0, bytes);
  else
    layout::copy(region(to.place.direct, a), region(from.place.direct, b), 0, bytes);
}

void Transfers::copy(const Operand& to, const Operand& from, bool may_defer, bool temporary) {
  const uint64_t bytes = to.extent.shape.bytes();
  if (bytes == 0) return;
  if (to.place.direct != nullptr && from.place.direct != nullptr) return copy_here(to, from);
  if (from.place.direct != nullptr)
    return put_shape(to, from.place.direct, from.extent.shape, may_defer, temporary);
  if (to.place.direct != nullptr) return get_shape(to.place.direct, to.extent.shape, from, may_defer);
  const auto between = std::make_unique<char[]>(bytes);
  const Operand dense = dense_operand(between.get(), bytes);
  get_shape(between.get(), dense.extent.shape, from, false);
  put_shape(to, between.get(), dense.extent.shape, may_defer, true);
}

void Transfers::fill(const Operand& to, const char* value, uint64_t element) {
  const uint64_t bytes = to.extent.shape.bytes();
  if (bytes == 0) return;
  // A piece of the pattern serves for all of a section that is here; the whole is sent where it is not.
  const uint64_t piece = to.place.direct == nullptr
                             ? bytes
                             : std::min(bytes, std::max<uint64_t>(element, 16384 / element * element));
  const auto pattern = std::make_unique<char[]>(piece);
  memcpy(pattern.get(), value, element);
  for (uint64_t done = element; done < piece; done *= 2)
    memcpy(pattern.get() + done, pattern.get(), std::min(done, piece - done));
  if (to.place.direct == nullptr) {
    const Operand dense = dense_operand(pattern.get(), bytes);
    return put_shape(to, pattern.get(), dense.extent.shape, false, true);
  }
  const layout::Region target = region(to.place.direct, to.extent.shape);
  for (uint64_t done = 0; done < bytes; done += piece)
    layout::unpack(target, done, std::min(piece, bytes - done), pattern.get());
}

void Transfers::for_each_run(const Operand& here, void* context, bool (*visit)(void*, char*, uint64_t)) {
  const uint64_t bytes = here.extent.shape.bytes();
  layout::for_each_run(region(here.place.direct, here.extent.shape), 0, bytes, visit, context);
}

void Transfers::complete_local() {
  for (const auto& segment : memory_.segments())
    if (segment->outstanding != nullptr) segment->outstanding->local_all();
  staged_ = 0;
}

void Transfers::complete_windows() {
  for (const auto& segment : memory_.segments()) {
    if (segment->outstanding == nullptr) continue;
    segment->outstanding->flush_all();
    PMPI_Win_sync(segment->window);
  }
  staged_ = 0;
  // Also ends the stores of this image that went past the caches.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void Transfers::stop() {
  layouts_.clear();
  types_.clear();
  stage_.reset();
}

}  // namespace tasuki::coarray
