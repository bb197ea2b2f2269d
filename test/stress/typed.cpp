#include "typed.h"

#include <algorithm>
#include <cstring>

#include "../types/realise.h"

namespace stress {

using types::Entry;
using types::Signature;
using types::Tree;

namespace {

int64_t divisor(Random& random, int64_t n) {
  std::vector<int64_t> list{1};
  for (int64_t d = 2; d <= n; d++)
    if (n % d == 0) list.push_back(d);
  return random.pick(list);
}

types::TreePtr leaf(uint8_t basic) {
  static std::vector<types::TreePtr> leaves = [] {
    std::vector<types::TreePtr> list;
    for (size_t i = 0; i < types::basics().size(); i++) {
      auto tree = std::make_shared<Tree>();
      tree->count = static_cast<int64_t>(i);
      tree->map = {{0, static_cast<uint32_t>(types::basics()[i].size), types::basics()[i].alignment == 16}};
      tree->upper = types::basics()[i].size;
      tree->alignment = types::basics()[i].alignment;
      list.push_back(tree);
    }
    return list;
  }();
  return leaves[basic];
}

constexpr uint8_t kByte = 3, kInt = 6, kDouble = 13;

// A strided type of whole numbers, for messages that are too long for the mixed ones.
types::TreePtr strided(Random& random, uint8_t basic, int64_t elements) {
  auto tree = std::make_shared<Tree>();
  tree->kind = types::Kind::vector;
  tree->block = divisor(random, elements);
  tree->count = elements / tree->block;
  tree->stride = tree->block + random.between(0, 3);
  tree->depth = 1;
  tree->children = {leaf(basic)};
  int64_t size = types::basics()[basic].size;
  for (int64_t i = 0; i < tree->count; i++)
    for (int64_t k = 0; k < tree->block; k++)
      tree->map.push_back({(i * tree->stride + k) * size, static_cast<uint32_t>(size), false});
  tree->upper = ((tree->count - 1) * tree->stride + tree->block) * size;
  tree->alignment = size;
  return tree;
}

}  // namespace

Message random_message(Random& random, bool simple, bool exact) {
  Message m;
  m.send_fill = random.next();
  m.receive_fill = random.next();
  int64_t more = exact || random.chance(70) ? 0 : random.between(1, 3);
  if (simple) {
    m.elements = draw_size(random, random.chance(5) ? 1 << 20 : 70000);
    m.send = {leaf(kByte), static_cast<int>(m.elements)};
    m.receive = {leaf(kByte), static_cast<int>(m.elements + more)};
    m.receive_count = m.elements;
    return m;
  }
  if (random.chance(10)) {  // longer, of one basic type
    uint8_t basic = random.chance(50) ? kInt : kDouble;
    int64_t unit = random.between(1, random.chance(20) ? 20000 : 2000), count = random.between(1, 4);
    m.elements = unit * count;
    m.send = {strided(random, basic, unit), static_cast<int>(count)};
    if (random.chance(50)) {
      m.receive = {leaf(basic), static_cast<int>(m.elements + more)};
      m.receive_count = m.elements;
    } else {
      m.receive = {strided(random, basic, m.elements), 1};
      m.receive_count = 1;
    }
    return m;
  }
  Signature period = types::random_signature(random, static_cast<size_t>(random.between(1, 60)));
  int64_t n = static_cast<int64_t>(period.size()), size = 0;
  for (uint8_t basic : period) size += types::basics()[basic].size;
  int64_t repeats = n == 0 || random.chance(2)
                        ? 0
                        : random.between(1, std::max<int64_t>(1, std::min<int64_t>(40, most_mixed() / size)));
  auto times = [&](int64_t k) {
    Signature s;
    for (int64_t i = 0; i < k; i++) s.insert(s.end(), period.begin(), period.end());
    return s;
  };
  m.send.count = repeats == 0 ? 0 : static_cast<int>(divisor(random, repeats));
  int64_t send_unit = m.send.count == 0 ? 1 : repeats / m.send.count;
  int64_t receive_unit = repeats == 0                 ? 1
                         : exact || random.chance(75) ? repeats / divisor(random, repeats)
                                                      : random.between(1, repeats);
  m.receive.count = static_cast<int>((repeats + receive_unit - 1) / receive_unit + more);
  m.send.tree = types::random_tree(random, times(send_unit), draw(random, 0, 4), m.send.count, false);
  m.receive.tree = types::random_tree(random, times(receive_unit), draw(random, 0, 4), m.receive.count, true);
  m.elements = repeats * n;
  m.receive_count = n == 0 ? 0 : repeats % receive_unit == 0 ? repeats / receive_unit : -1;
  return m;
}

Memory::Memory(const Side& side, uint64_t fill) {
  constexpr int64_t kMargin = 64;
  const Tree& tree = *side.tree;
  int64_t low = 0, high = 0;
  if (side.count > 0 && !tree.map.empty()) {
    int64_t last = (side.count - 1) * tree.extent();
    low = tree.true_lower() + std::min<int64_t>(0, last);
    high = tree.true_upper() + std::max<int64_t>(0, last);
  }
  origin = (kMargin - low + 63) / 64 * 64;
  bytes.resize(static_cast<size_t>((std::max<int64_t>(origin + high, 0) + kMargin + 63) / 64 * 64));
  for (size_t i = 0; i < bytes.size(); i += 8) {
    const uint64_t word = word_of(fill, i);
    memcpy(&bytes[i], &word, 8);
  }
}

Type::Type(const Side& side) : tree_(side.tree), type_(types::realise(*side.tree)) {
  if (tree_->kind != types::Kind::basic && tree_->kind != types::Kind::pair) MPI_Type_commit(&type_);
}

void Type::release() {
  if (type_ == MPI_DATATYPE_NULL) return;
  types::free_type(type_, *tree_);
  type_ = MPI_DATATYPE_NULL;
}

namespace {

// The byte at which basic element `i` of the side begins.
int64_t place(const Side& side, const Memory& memory, size_t i) {
  const std::vector<Entry>& map = side.tree->map;
  return memory.origin + map[i % map.size()].offset +
         static_cast<int64_t>(i / map.size()) * side.tree->extent();
}

// The padding of long doubles is no part of their value.
void forget_padding(const Side& side, Memory* memory, int64_t elements) {
  const std::vector<Entry>& map = side.tree->map;
  for (size_t i = 0; i < static_cast<size_t>(elements); i++) {
    const Entry& e = map[i % map.size()];
    if (!e.x87) continue;
    for (int64_t part = 0; part < e.size; part += 16)
      memset(&memory->bytes[static_cast<size_t>(place(side, *memory, i) + part + 10)], 0, 6);
  }
}

}  // namespace

std::vector<unsigned char> gather(const Side& side, const Memory& memory) {
  std::vector<unsigned char> packed;
  const std::vector<Entry>& map = side.tree->map;
  for (size_t i = 0; i < map.size() * static_cast<size_t>(side.count); i++) {
    auto from = memory.bytes.begin() + place(side, memory, i);
    packed.insert(packed.end(), from, from + map[i % map.size()].size);
  }
  return packed;
}

void scatter(const Side& side, const std::vector<unsigned char>& packed, Memory* memory) {
  const std::vector<Entry>& map = side.tree->map;
  size_t at = 0;
  for (size_t i = 0; at < packed.size(); i++) {
    memcpy(&memory->bytes[static_cast<size_t>(place(side, *memory, i))], &packed[at],
           map[i % map.size()].size);
    at += map[i % map.size()].size;
  }
}

Memory expected(const Message& message) {
  Memory memory(message.receive, message.receive_fill);
  scatter(message.receive, gather(message.send, Memory(message.send, message.send_fill)), &memory);
  return memory;
}

void compare(const Side& side, Memory& memory, Memory& wanted, int64_t elements, const std::string& what) {
  forget_padding(side, &memory, elements);
  forget_padding(side, &wanted, elements);
  if (memory.bytes == wanted.bytes) return;
  size_t i = 0, wrong = 0;
  while (memory.bytes[i] == wanted.bytes[i]) i++;
  for (size_t k = i; k < wanted.bytes.size(); k++) wrong += memory.bytes[k] != wanted.bytes[k];
  fail(__FILE__, __LINE__,
       what + ": byte " + std::to_string(static_cast<int64_t>(i) - memory.origin) + " is " +
           std::to_string(memory.bytes[i]) + ", expected " + std::to_string(wanted.bytes[i]) + "; " +
           std::to_string(wrong) + " of " + std::to_string(wanted.bytes.size()) + " are wrong");
}

std::string describe(const Message& message) {
  return std::to_string(message.send.count) + " x " + types::describe(*message.send.tree).substr(0, 500) +
         "  ->  " + std::to_string(message.receive.count) + " x " +
         types::describe(*message.receive.tree).substr(0, 500);
}

}  // namespace stress
