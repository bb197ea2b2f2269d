#include "coarray/local/host_transfers.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "coarray/local/fail.h"
#include "coarray/local/outstanding.h"

namespace tasuki::coarray {
namespace {

// Sources up to kStaged bytes are copied, so that a put need not wait for them to be read; what is cheaper
// than a flush of the window. Inside a host the MPI library copies them at once, and a flush costs next to
// nothing.
constexpr uint64_t kStaged = 8192, kStagedNear = 512, kStage = 1 << 20;
constexpr uint64_t kLargestCount = 1 << 30;
// Inside a host few blocks, or blocks from this size on, are transfers of their own: MPICH 4.0.2 needs up to
// twenty times as long for a datatype of them (254 blocks of 2 KiB: 2 ms; 16 of 128 bytes: 5 us), and Open
// MPI as long. Between hosts each transfer is a message (16 blocks of 128 bytes by TCP: 230 us with MPICH, 36
// by datatype; 1024 of 8 bytes: 147 and 48 with Open MPI, 19756 and 140 with MPICH).
constexpr uint64_t kLargeBlock = 1024, kFewBlocks = 16;

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

uint64_t begin_of(const Operand& o) {
  return o.place.offset - static_cast<uint64_t>(o.extent.first - o.extent.low);
}
uint64_t end_of(const Operand& o) {
  return o.place.offset + static_cast<uint64_t>(o.extent.high - o.extent.first);
}

// An operand in another image with all levels ascending.
struct Ascending : Turned {
  explicit Ascending(const Operand& operand) : Turned(operand.extent.shape), turned(operand) {
    turned.place.offset -= static_cast<uint64_t>(shift);
    turned.extent.first -= shift;
    turned.extent.shape = ascending;
  }
  Operand turned;
};

// The pieces that are blocks of both shapes, or parts of them, in the order of the elements.
class Blocks {
 public:
  Blocks(const Shape& first, const Shape& second) : first_(first), second_(second), left_(first.bytes()) {}
  bool done() const { return left_ == 0; }
  uint64_t bytes() const { return std::min(first_.left, second_.left); }
  int64_t first() const { return first_.at; }
  int64_t second() const { return second_.at; }
  void advance() {
    const uint64_t moved = bytes();
    left_ -= moved;
    first_.advance(moved);
    second_.advance(moved);
  }

 private:
  struct Side {
    explicit Side(const Shape& of) : shape(of), left(of.block) {}
    void advance(uint64_t moved) {
      at += static_cast<int64_t>(moved);
      left -= moved;
      if (left > 0) return;
      left = shape.block;
      at -= static_cast<int64_t>(shape.block);
      for (int i = shape.depth; i-- > 0;) {
        at += shape.levels[i].stride;
        if (++index[i] < shape.levels[i].count) return;
        at -= shape.levels[i].stride * shape.levels[i].count;
        index[i] = 0;
      }
    }
    const Shape& shape;
    uint64_t left;  // of this block
    int64_t at = 0;
    int64_t index[kMostDimensions] = {};
  };
  Side first_, second_;
  uint64_t left_;
};

bool is_near(const Place& place) {
  return place.segment->near[static_cast<size_t>(place.target)] != 0;
}

// Whether each of the pieces is a transfer of its own.
bool in_blocks(const Place& there, const Shape& a, const Shape& b) {
  if (!is_near(there)) return false;
  const uint64_t block = std::min(a.block, b.block), largest = std::max(a.block, b.block);
  return (block >= kLargeBlock || a.bytes() <= kFewBlocks * block) && largest <= kLargestCount;
}

}  // namespace

const layout::Layout* HostTransfers::LayoutMaker::make(const Shape& shape) {
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

MPI_Datatype HostTransfers::TypeMaker::make(const Shape& shape) {
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

layout::Region HostTransfers::region(char* first, const Shape& shape) {
  if (shape.dense()) return {first, shape.block, layout::byte_layout()};
  return {first, 1, layouts_.get(shape)};
}

char* HostTransfers::stage(const Place& to, uint64_t bytes) {
  if (bytes > (is_near(to) ? kStagedNear : kStaged)) return nullptr;
  if (stage_ == nullptr) stage_ = std::make_unique<char[]>(kStage);
  if (staged_ + bytes > kStage) complete_local();
  char* room = stage_.get() + staged_;
  staged_ += (bytes + 15) & ~uint64_t{15};
  return room;
}

Outstanding::Buffer HostTransfers::buffer(const Shape& shape) {
  if (shape.dense() && shape.block <= kLargestCount) return {static_cast<int>(shape.block), MPI_BYTE};
  return {1, types_.get(shape)};
}

// Waits until the source of the last put may be changed. Inside a host it may go on to the end as well.
void HostTransfers::release_source(const Place& to) {
  Outstanding& window = *to.segment->outstanding;
  if (is_near(to))
    window.flush(to.target);
  else
    window.local(to.target);
}

void HostTransfers::put_by_window(const Place& to, const void* from, uint64_t bytes, Through through) {
  if (bytes == 0) return;
  if (bytes > kLargestCount) {
    Operand operand = dense_operand(nullptr, bytes);
    operand.place = to;
    return put_shape(operand, static_cast<const char*>(from), operand.extent.shape, through);
  }
  Outstanding& window = *to.segment->outstanding;
  const Outstanding::Buffer buffer{static_cast<int>(bytes), MPI_BYTE};
  const bool keep = through == Through::at_complete;
  window.announce(to.target, to.offset, to.offset + bytes, Direction::put);
  if (char* room = keep ? nullptr : stage(to, bytes)) {
    memcpy(room, from, bytes);
    return window.put(to.target, room, buffer, to.offset, buffer);
  }
  window.put(to.target, from, buffer, to.offset, buffer);
  if (!keep) release_source(to);
}

void HostTransfers::get_by_window(void* to, const Place& from, uint64_t bytes, Through through) {
  if (bytes == 0) return;
  if (bytes > kLargestCount) {
    Operand operand = dense_operand(nullptr, bytes);
    operand.place = from;
    return get_shape(static_cast<char*>(to), operand.extent.shape, operand, through);
  }
  Outstanding& window = *from.segment->outstanding;
  const Outstanding::Buffer buffer{static_cast<int>(bytes), MPI_BYTE};
  window.announce(from.target, from.offset, from.offset + bytes, Direction::get);
  window.get(from.target, to, buffer, from.offset, buffer);
  if (through == Through::at_return) window.local(from.target);
}

void HostTransfers::put_shape(const Operand& to, const char* from, const Shape& shape, Through through) {
  const uint64_t bytes = shape.bytes();
  // Open MPI 4.1 moves wrong bytes with types that have negative strides (seen with its default and with
  // osc/rdma switched off).
  if (descends(to.extent.shape)) {
    const Ascending there(to);
    const auto copies = std::make_unique<char[]>(2 * bytes);
    char* ascending = copies.get() + bytes;
    layout::pack(copies.get(), region(const_cast<char*>(from), shape), 0, bytes);
    layout::pack(ascending, region(copies.get() + there.first, there.dense), 0, bytes);
    return put_shape(there.turned, ascending, dense_operand(ascending, bytes).extent.shape,
                     Through::at_return);
  }
  if (descends(shape)) {
    const auto copy = std::make_unique<char[]>(bytes);
    layout::pack(copy.get(), region(const_cast<char*>(from), shape), 0, bytes);
    return put_shape(to, copy.get(), dense_operand(copy.get(), bytes).extent.shape, Through::at_return);
  }
  Outstanding& window = *to.place.segment->outstanding;
  const int target = to.place.target;
  const bool keep = through == Through::at_complete;
  const Shape& there = to.extent.shape;
  window.announce(target, begin_of(to), end_of(to), Direction::put);
  char* room = keep ? nullptr : stage(to.place, bytes);
  const Shape dense = dense_shape(bytes);
  if (room != nullptr) layout::pack(room, region(const_cast<char*>(from), shape), 0, bytes);
  const char* source = room != nullptr ? room : from;
  const Shape& here = room != nullptr ? dense : shape;
  if (in_blocks(to.place, here, there)) {
    for (Blocks b(here, there); !b.done(); b.advance()) {
      const Outstanding::Buffer block{static_cast<int>(b.bytes()), MPI_BYTE};
      window.put(target, source + b.first(), block, to.place.offset + static_cast<uint64_t>(b.second()),
                 block);
    }
  } else {
    window.put(target, source, buffer(here), to.place.offset, buffer(there));
  }
  if (!keep && room == nullptr) release_source(to.place);
}

void HostTransfers::get_shape(char* to, const Shape& shape, const Operand& from, Through through) {
  const uint64_t bytes = shape.bytes();
  if (descends(from.extent.shape)) {
    const Ascending there(from);
    const auto copies = std::make_unique<char[]>(2 * bytes);
    char* ascending = copies.get() + bytes;
    get_shape(ascending, dense_operand(ascending, bytes).extent.shape, there.turned, Through::at_return);
    layout::unpack(region(copies.get() + there.first, there.dense), 0, bytes, ascending);
    layout::unpack(region(to, shape), 0, bytes, copies.get());
    return;
  }
  if (descends(shape)) {
    const auto copy = std::make_unique<char[]>(bytes);
    get_shape(copy.get(), dense_operand(copy.get(), bytes).extent.shape, from, Through::at_return);
    layout::unpack(region(to, shape), 0, bytes, copy.get());
    return;
  }
  Outstanding& window = *from.place.segment->outstanding;
  const int target = from.place.target;
  const Shape& there = from.extent.shape;
  window.announce(target, begin_of(from), end_of(from), Direction::get);
  if (in_blocks(from.place, shape, there)) {
    for (Blocks b(shape, there); !b.done(); b.advance()) {
      const Outstanding::Buffer block{static_cast<int>(b.bytes()), MPI_BYTE};
      window.get(target, to + b.first(), block, from.place.offset + static_cast<uint64_t>(b.second()), block);
    }
  } else {
    window.get(target, to, buffer(shape), from.place.offset, buffer(there));
  }
  if (through == Through::at_return) window.local(target);
}

void HostTransfers::copy_here(const Operand& to, const Operand& from) {
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

void HostTransfers::copy(const Operand& to, const Operand& from, Through through) {
  const uint64_t bytes = to.extent.shape.bytes();
  if (bytes == 0) return;
  if (to.place.direct != nullptr && from.place.direct != nullptr) return copy_here(to, from);
  if (from.place.direct != nullptr) return put_shape(to, from.place.direct, from.extent.shape, through);
  if (to.place.direct != nullptr) return get_shape(to.place.direct, to.extent.shape, from, through);
  const auto between = std::make_unique<char[]>(bytes);
  const Operand dense = dense_operand(between.get(), bytes);
  get_shape(between.get(), dense.extent.shape, from, Through::at_return);
  put_shape(to, between.get(), dense.extent.shape, Through::at_return);
}

void HostTransfers::fill(const Operand& to, const char* value, uint64_t element) {
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
    return put_shape(to, pattern.get(), dense.extent.shape, Through::at_return);
  }
  const layout::Region target = region(to.place.direct, to.extent.shape);
  for (uint64_t done = 0; done < bytes; done += piece)
    layout::unpack(target, done, std::min(piece, bytes - done), pattern.get());
}

void HostTransfers::for_each_run(const Operand& here, void* context, bool (*visit)(void*, char*, uint64_t)) {
  const uint64_t bytes = here.extent.shape.bytes();
  layout::for_each_run(region(here.place.direct, here.extent.shape), 0, bytes, visit, context);
}

void HostTransfers::complete_local() {
  for (const auto& segment : memory_.segments())
    if (segment->outstanding != nullptr) segment->outstanding->local_all();
  staged_ = 0;
}

void HostTransfers::complete_windows() {
  for (const auto& segment : memory_.segments()) {
    if (segment->outstanding == nullptr) continue;
    segment->outstanding->flush_all();
    if (segment->needs_sync) PMPI_Win_sync(segment->window);
  }
  staged_ = 0;
}

void HostTransfers::stop() {
  layouts_.clear();
  types_.clear();
  stage_.reset();
}

}  // namespace tasuki::coarray
