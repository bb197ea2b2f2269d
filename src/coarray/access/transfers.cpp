#include "coarray/access/transfers.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "coarray/local/outstanding.h"

namespace tasuki::coarray {
namespace {

Bytes bytes_of(const Operand& operand) {
  return {operand.place.direct, operand.place.device};
}

Operand dense_device(char* memory, uint64_t bytes) {
  Operand operand = dense_operand(memory, bytes);
  operand.place.device = true;
  return operand;
}

// The same bytes from the lowest to the highest.
Operand ascending(const Operand& operand, const Turned& turned) {
  Operand result = operand;
  result.extent.shape = turned.ascending;
  result.extent.first -= turned.shift;
  result.place.offset -= static_cast<uint64_t>(turned.shift);
  if (result.place.direct != nullptr) result.place.direct -= turned.shift;
  return result;
}

// Dense bytes in the order of a shape, as a section in the order of the shape turned round.
Operand reordered(char* memory, const Turned& turned) {
  Operand operand = dense_operand(memory + turned.first, turned.dense.bytes());
  operand.extent.shape = turned.dense;
  operand.extent.low = -turned.first;
  operand.extent.high = static_cast<int64_t>(turned.dense.bytes()) - turned.first;
  return operand;
}

bool same_loops(const Shape& a, const Shape& b) {
  if (a.dense() || b.dense()) return true;
  if (a.depth != b.depth || a.block != b.block) return false;
  for (int i = 0; i < a.depth; i++)
    if (a.levels[i].count != b.levels[i].count) return false;
  return true;
}

// Dense room for one side of a transfer: on the device, or on the host.
struct Between {
  Between(Device* device, bool on_device, uint64_t bytes) {
    if (on_device) {
      operand = dense_device(device->scratch(bytes), bytes);
    } else {
      memory = std::make_unique<char[]>(bytes);
      operand = dense_operand(memory.get(), bytes);
    }
  }
  std::unique_ptr<char[]> memory;
  Operand operand;
};

// The bytes that an ascending operand spans, for comparisons of what is under way.
void set_extent(Operand* operand) {
  const Shape& shape = operand->extent.shape;
  auto span = static_cast<int64_t>(shape.block);
  for (int i = 0; i < shape.depth; i++) span += (shape.levels[i].count - 1) * shape.levels[i].stride;
  operand->extent.first = operand->extent.low = 0;
  operand->extent.high = span;
}

// Calls visit(operand, offset) for parts of up to `most` bytes, in order; `offset` is among the bytes of all.
template <typename Visit>
void each_part(const Operand& operand, uint64_t most, uint64_t offset, Visit visit) {
  const Shape& shape = operand.extent.shape;
  const uint64_t bytes = shape.bytes();
  if (bytes <= most) return visit(operand, offset);
  const auto advance = [](Operand* part, int64_t by) {
    part->place.offset += static_cast<uint64_t>(by);
    if (part->place.direct != nullptr) part->place.direct += by;
  };
  Operand part = operand;
  if (shape.dense()) {
    for (uint64_t done = 0; done < bytes; done += most) {
      part.extent.shape.block = std::min(most, bytes - done);
      set_extent(&part);
      visit(part, offset + done);
      advance(&part, static_cast<int64_t>(most));
    }
    return;
  }
  const Shape::Level outer = shape.levels[0];
  const uint64_t row = bytes / static_cast<uint64_t>(outer.count);
  if (row > most) {
    part.extent.shape.depth--;
    std::copy(shape.levels + 1, shape.levels + shape.depth, part.extent.shape.levels);
    for (int64_t i = 0; i < outer.count; i++) {
      each_part(part, most, offset + static_cast<uint64_t>(i) * row, visit);
      advance(&part, outer.stride);
    }
    return;
  }
  const auto rows = static_cast<int64_t>(most / row);
  for (int64_t i = 0; i < outer.count; i += rows) {
    part.extent.shape.levels[0].count = std::min(rows, outer.count - i);
    set_extent(&part);
    visit(part, offset + static_cast<uint64_t>(i) * row);
    advance(&part, rows * outer.stride);
  }
}

}  // namespace

void Transfers::start_device(bool distant, const Team& world) {
  int lacks = distant ? 1 : 0, any = 0;
  PMPI_Allreduce(&lacks, &any, 1, MPI_INT, MPI_MAX, world.comm);
  if (any != 0) courier_.start(&memory_, world);
  with_device_ = true;
}

void Transfers::complete_all() {
  if (with_device_) [[unlikely]]
    device_.synchronize();
  host_.complete_windows();
}

void Transfers::copy_with_device(const Operand& to, const Operand& from, Through through) {
  const uint64_t bytes = to.extent.shape.bytes();
  if (bytes == 0) return;
  const bool to_here = to.place.direct != nullptr, from_here = from.place.direct != nullptr;
  if (descends(to.extent.shape) || descends(from.extent.shape)) return by_host(to, from);
  if (to_here && from_here) {
    copy_here(to, from);
    if (through == Through::at_return) device_.synchronize();
    return;
  }
  if (to_here || from_here) {
    const Operand &there = to_here ? from : to, &here = to_here ? to : from;
    const Direction direction = from_here ? Direction::put : Direction::get;
    if (here.extent.shape.dense()) return remote(there, here, direction, through);
    const Between between(&device_, here.place.device, bytes);
    if (from_here) {
      copy(between.operand, from, Through::at_return);
      return remote(to, between.operand, direction, Through::at_return);
    }
    remote(from, between.operand, direction, Through::at_return);
    return copy(to, between.operand, Through::at_return);
  }
  const Between between(&device_, false, bytes);
  copy(between.operand, from, Through::at_return);
  copy(to, between.operand, Through::at_return);
}

void Transfers::copy_here(const Operand& to, const Operand& from) {
  const Shape &a = to.extent.shape, &b = from.extent.shape;
  const uint64_t bytes = a.bytes();
  const bool both = to.place.device && from.place.device;
  if ((both && overlap(to, from)) || !same_loops(a, b)) {
    const Between between(&device_, from.place.device, bytes);
    copy(between.operand, from, Through::at_return);
    return copy(to, between.operand, Through::at_return);
  }
  device_.copy(bytes_of(to), a, bytes_of(from), b);
}

// Through dense bytes of the host, in the order of the elements.
void Transfers::by_host(const Operand& to, const Operand& from) {
  const uint64_t bytes = to.extent.shape.bytes();
  const auto memory = std::make_unique<char[]>(2 * bytes);
  const Operand ordered = dense_operand(memory.get(), bytes),
                turned = dense_operand(memory.get() + bytes, bytes);
  if (from.place.device && descends(from.extent.shape)) {
    const Turned t(from.extent.shape);
    copy(turned, ascending(from, t), Through::at_return);
    copy(ordered, reordered(memory.get() + bytes, t), Through::at_return);
  } else {
    copy(ordered, from, Through::at_return);
  }
  if (to.place.device && descends(to.extent.shape)) {
    const Turned t(to.extent.shape);
    copy(turned, reordered(memory.get(), t), Through::at_return);
    copy(ascending(to, t), turned, Through::at_return);
  } else {
    copy(to, ordered, Through::at_return);
  }
}

void Transfers::remote(const Operand& there, const Operand& here, Direction direction, Through through) {
  if (!there.place.device) return by_host_window(there, here, direction);
  const Mirror* mirror = there.place.segment->mirror.get();
  if (mirror != nullptr && mirror->window != nullptr) return by_window(there, here, direction, through);
  by_courier(there, here, direction);
}

void Transfers::by_courier(const Operand& there, const Operand& here, Direction direction) {
  each_part(there, Courier::kPart, 0, [&](const Operand& part, uint64_t offset) {
    courier_.part(part.place, part.extent.shape, {here.place.direct + offset, here.place.device}, direction);
  });
  courier_.end();
}

// The MPI library takes both addresses as they are.
void Transfers::by_window(Operand there, const Operand& here, Direction direction, Through through) {
  device_.synchronize();
  there.place.segment = there.place.segment->mirror->window;
  there.place.device = false;
  Operand plain = here;
  plain.place.device = false;
  // As if deferred, so that nothing is staged by stores of the host.
  if (direction == Direction::put)
    host_.copy(there, plain, Through::at_complete);
  else
    host_.copy(plain, there, Through::at_complete);
  if (through == Through::at_return) there.place.segment->outstanding->local(there.place.target);
}

// Host memory that a window reaches, and device memory here: one part is on its way while the device packs or
// takes the next.
void Transfers::by_host_window(const Operand& there, const Operand& here, Direction direction) {
  constexpr uint64_t kPart = 1 << 20;
  char* staged = device_.pinned(2 * kPart);
  int turn = 0;
  each_part(there, kPart, 0, [&](const Operand& part, uint64_t offset) {
    const uint64_t bytes = part.extent.shape.bytes();
    const Operand stage = dense_operand(staged + static_cast<uint64_t>(turn) * kPart, bytes);
    const Operand device = dense_device(here.place.direct + offset, bytes);
    Outstanding& window = *part.place.segment->outstanding;
    turn ^= 1;
    if (direction == Direction::put) {
      if (turn == 1) window.local(part.place.target);  // the stage is free again
      copy(stage, device, Through::at_return);
      copy(part, stage, Through::at_complete);
    } else {
      copy(stage, part, Through::at_return);
      copy(device, stage, Through::at_return);
    }
  });
  there.place.segment->outstanding->local(there.place.target);
}

void Transfers::fill_device(const Operand& to, const char* value, uint64_t element) {
  if (to.extent.shape.bytes() == 0) return;
  if (descends(to.extent.shape)) return fill_device(ascending(to, Turned(to.extent.shape)), value, element);
  const uint64_t bytes = to.extent.shape.bytes();
  const uint64_t most = std::max<uint64_t>(element, (uint64_t{1} << 20) / element * element);
  const uint64_t piece = std::min(bytes, most);
  const auto pattern = std::make_unique<char[]>(piece);
  memcpy(pattern.get(), value, element);
  for (uint64_t done = element; done < piece; done *= 2)
    memcpy(pattern.get() + done, pattern.get(), std::min(done, piece - done));
  each_part(to, most, 0, [&](const Operand& part, uint64_t) {
    copy(part, dense_operand(pattern.get(), part.extent.shape.bytes()), Through::at_return);
  });
}

}  // namespace tasuki::coarray
