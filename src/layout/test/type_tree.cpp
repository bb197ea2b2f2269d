#include "layout/test/type_tree.h"

#include <algorithm>
#include <utility>

namespace tasuki::layout::testing {

uint64_t Choices::below(uint64_t n) {
  if (n <= 1) return 0;
  if (!data_) return random_() % n;
  uint64_t value = 0;
  for (uint64_t reach = 1; reach < n && left_ > 0; reach <<= 8) {
    value = value << 8 | *data_++;
    left_--;
  }
  return value % n;
}

int64_t Model::lower_bound() const {
  if (!lower.empty()) return *std::min_element(lower.begin(), lower.end());
  return true_lower();
}

int64_t Model::upper_bound() const {
  if (!upper.empty()) return *std::max_element(upper.begin(), upper.end());
  return true_upper();
}

int64_t Model::true_lower() const {
  return bytes.empty() ? 0 : *std::min_element(bytes.begin(), bytes.end());
}

int64_t Model::true_upper() const {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()) + 1;
}

void Model::place(const Model& child, int64_t displacement) {
  for (const int64_t b : child.bytes) bytes.push_back(b + displacement);
  for (const int64_t b : child.lower) lower.push_back(b + displacement);
  for (const int64_t b : child.upper) upper.push_back(b + displacement);
}

namespace {

std::string join(const std::vector<int64_t>& v) {
  std::string s;
  for (const int64_t i : v) s += (s.empty() ? "" : ",") + std::to_string(i);
  return "[" + s + "]";
}
std::string join(const std::vector<uint64_t>& v) {
  return join(std::vector<int64_t>(v.begin(), v.end()));
}

class Generator {
 public:
  Generator(Choices& choices, uint64_t limit) : c_(choices), limit_(limit) {}

  TypeTree make(int depth) {
    if (depth == 0 || c_.exhausted()) return basic();
    switch (c_.below(8)) {
      case 0:
        return contiguous(make(depth - 1));
      case 1:
        return hvector(make(depth - 1));
      case 2:
        return hindexed_block(make(depth - 1));
      case 3:
        return hindexed(make(depth - 1));
      case 4:
        return structure(depth);
      case 5:
        return resized(make(depth - 1));
      case 6:
        return subarray(make(depth - 1));
      default:
        return hvector(make(depth - 1));
    }
  }

 private:
  TypeTree basic() {
    static constexpr uint64_t kSizes[] = {1, 2, 4, 8, 12, 16, 24, 3, 5, 40, 100, 300};
    const uint64_t n = kSizes[c_.below(std::size(kSizes))];
    TypeTree t{LayoutPtr(make_dense(n)), {}, std::to_string(n)};
    for (uint64_t i = 0; i < n; i++) t.model.bytes.push_back(static_cast<int64_t>(i));
    return t;
  }

  // A number of children that keeps the whole below the limit.
  uint64_t count(const Model& child) {
    const uint64_t wish = c_.below(8) == 0 ? c_.below(60) : c_.below(5);
    return std::min(wish, limit_ / std::max<uint64_t>(1, child.bytes.size()));
  }

  // A distance: often a multiple of the extent, so that pieces touch, overlap or leave regular gaps.
  int64_t distance(const Model& child) {
    const int64_t e = child.extent() ? child.extent() : 4;
    switch (c_.below(6)) {
      case 0:
        return e;
      case 1:
        return -e;
      case 2:
        return 2 * e;
      case 3:
        return c_.between(-3, 6) * e;
      case 4:
        return c_.between(0, 4) * 8;
      default:
        return c_.between(-64, 256);
    }
  }

  // n displacements: regular, ascending with gaps, or anything.
  std::vector<int64_t> displacements(const Model& child, uint64_t n) {
    std::vector<int64_t> d(n);
    const uint64_t how = c_.below(3);
    const int64_t step = distance(child);
    int64_t here = c_.between(-20, 20);
    for (uint64_t i = 0; i < n; i++) {
      d[i] = here;
      here += how == 0   ? step
              : how == 1 ? std::max<int64_t>(child.extent(), 1) * c_.between(1, 3)
                         : distance(child);
    }
    return d;
  }

  TypeTree contiguous(TypeTree child) {
    const uint64_t n = count(child.model);
    TypeTree t{LayoutPtr(make_contiguous(n, child.layout.get())),
               {},
               "contiguous(" + std::to_string(n) + ", " + child.text + ")"};
    block(t.model, child.model, n, 0);
    return t;
  }

  TypeTree hvector(TypeTree child) {
    const uint64_t n = count(child.model), length = limited(child.model, n);
    const int64_t stride = c_.below(3) == 0
                               ? child.model.extent() * static_cast<int64_t>(length + c_.below(3))
                               : distance(child.model);
    TypeTree t{LayoutPtr(make_hvector(n, length, stride, child.layout.get())),
               {},
               "hvector(" + std::to_string(n) + ", " + std::to_string(length) + ", " +
                   std::to_string(stride) + ", " + child.text + ")"};
    for (uint64_t i = 0; i < n; i++) block(t.model, child.model, length, static_cast<int64_t>(i) * stride);
    return t;
  }

  TypeTree hindexed_block(TypeTree child) {
    const uint64_t n = count(child.model), length = limited(child.model, n);
    const auto d = displacements(child.model, n);
    TypeTree t{LayoutPtr(make_hindexed_block(n, length, d.data(), child.layout.get())),
               {},
               "hindexed_block(" + std::to_string(length) + ", " + join(d) + ", " + child.text + ")"};
    for (uint64_t i = 0; i < n; i++) block(t.model, child.model, length, d[i]);
    return t;
  }

  TypeTree hindexed(TypeTree child) {
    const uint64_t n = count(child.model);
    const auto d = displacements(child.model, n);
    std::vector<uint64_t> lengths(n);
    for (uint64_t& l : lengths) l = limited(child.model, n);
    TypeTree t{LayoutPtr(make_hindexed(n, lengths.data(), d.data(), child.layout.get())),
               {},
               "hindexed(" + join(lengths) + ", " + join(d) + ", " + child.text + ")"};
    for (uint64_t i = 0; i < n; i++) block(t.model, child.model, lengths[i], d[i]);
    return t;
  }

  TypeTree structure(int depth) {
    const uint64_t n = c_.below(5);
    std::vector<TypeTree> made;
    std::vector<uint64_t> which(n), lengths(n);
    std::vector<int64_t> d(n);
    std::vector<const Layout*> children(n);
    const uint64_t limit = std::exchange(limit_, limit_ / std::max<uint64_t>(1, n));
    for (uint64_t i = 0; i < n; i++) {
      which[i] = !made.empty() && c_.below(3) == 0 ? c_.below(made.size()) : made.size();
      if (which[i] == made.size())
        made.push_back(make(static_cast<int>(c_.below(static_cast<uint64_t>(depth)))));
      const Model& m = made[which[i]].model;
      lengths[i] = std::min<uint64_t>(c_.below(4), limit_ / std::max<uint64_t>(1, m.bytes.size()));
      d[i] = (i ? d[i - 1] : 0) + distance(m);
    }
    limit_ = limit;
    std::string text;
    TypeTree t;
    for (uint64_t i = 0; i < n; i++) {
      children[i] = made[which[i]].layout.get();
      block(t.model, made[which[i]].model, lengths[i], d[i]);
      text += (i ? "; " : "") + std::to_string(lengths[i]) + " at " + std::to_string(d[i]) + " of " +
              made[which[i]].text;
    }
    t.layout.reset(make_struct(n, lengths.data(), d.data(), children.data()));
    t.text = "struct(" + text + ")";
    return t;
  }

  TypeTree resized(TypeTree child) {
    const int64_t lower = c_.between(-16, 16);
    const int64_t extent = c_.below(2) ? child.model.extent() + c_.between(-4, 24) : c_.between(-8, 64);
    TypeTree t{LayoutPtr(make_resized(lower, extent, child.layout.get())),
               {},
               "resized(" + std::to_string(lower) + ", " + std::to_string(extent) + ", " + child.text + ")"};
    t.model.bytes = child.model.bytes;
    t.model.lower = {lower};
    t.model.upper = {lower + extent};
    return t;
  }

  TypeTree subarray(TypeTree child) {
    const int n = static_cast<int>(c_.between(1, 4));
    std::vector<int64_t> sizes(n), sub(n), starts(n);
    uint64_t total = child.model.bytes.size();
    for (int i = 0; i < n; i++) {
      sizes[i] = c_.between(1, 5);
      sub[i] = c_.between(1, sizes[i]);
      if (total * static_cast<uint64_t>(sub[i]) > limit_) sub[i] = 1;
      total *= static_cast<uint64_t>(sub[i]);
      starts[i] = c_.between(0, sizes[i] - sub[i]);
    }
    const char order = c_.below(2) ? 'C' : 'F';
    TypeTree t{
        LayoutPtr(make_subarray(n, sizes.data(), sub.data(), starts.data(), order, child.layout.get())),
        {},
        std::string("subarray") + order + "(" + join(sizes) + ", " + join(sub) + ", " + join(starts) + ", " +
            child.text + ")"};
    // All index tuples, the first dimension slowest for C and fastest for Fortran.
    std::vector<int64_t> index(n, 0);
    const int64_t extent = child.model.extent();
    int64_t whole = 1;
    for (const int64_t s : sizes) whole *= s;
    for (bool more = true; more;) {
      int64_t position = 0;
      for (int i = 0; i < n; i++) {
        const int d = order == 'C' ? i : n - 1 - i;
        position = position * sizes[d] + starts[d] + index[d];
      }
      for (const int64_t b : child.model.bytes) t.model.bytes.push_back(b + position * extent);
      more = false;
      for (int i = 0; i < n && !more; i++) {
        const int d = order == 'C' ? n - 1 - i : i;
        if (++index[d] < sub[d])
          more = true;
        else
          index[d] = 0;
      }
    }
    t.model.lower = {0};
    t.model.upper = {whole * extent};
    return t;
  }

  uint64_t limited(const Model& child, uint64_t n) {
    return std::min<uint64_t>(c_.below(4), limit_ / std::max<uint64_t>(1, n * child.bytes.size()));
  }

  static void block(Model& m, const Model& child, uint64_t length, int64_t displacement) {
    const int64_t extent = child.extent();
    for (uint64_t i = 0; i < length; i++) m.place(child, displacement + static_cast<int64_t>(i) * extent);
  }

  Choices& c_;
  uint64_t limit_;
};

}  // namespace

TypeTree random_tree(Choices& choices, int depth, uint64_t limit) {
  return Generator(choices, limit).make(depth);
}

TypeTree random_pattern(Choices& c) {
  static constexpr uint64_t kBlocks[] = {1,  2, 4, 8,  12, 16, 20,  24,  32,  40, 48,
                                         64, 3, 7, 13, 17, 36, 100, 256, 300, 700};
  const auto block_size = [&] { return kBlocks[c.below(std::size(kBlocks))]; };
  const auto dense = [](uint64_t n) {
    TypeTree t{LayoutPtr(make_dense(n)), {}, std::to_string(n)};
    for (uint64_t i = 0; i < n; i++) t.model.bytes.push_back(static_cast<int64_t>(i));
    return t;
  };
  // n copies, ascending with gaps of `least` to `most` bytes when listed, `least` when regular.
  const auto spread = [&](const TypeTree& child, uint64_t n, bool listed, uint64_t least, uint64_t most) {
    const int64_t reach = child.model.true_upper() - child.model.true_lower();
    std::vector<int64_t> d(n);
    for (uint64_t i = 1; i < n; i++)
      d[i] = d[i - 1] + reach + static_cast<int64_t>(least + (listed ? c.below(most - least + 1) : 0));
    TypeTree t;
    t.text = (listed ? "list " : "vector ") + std::to_string(n) + " gap " + std::to_string(least) + " of (" +
             child.text + ")";
    if (listed)
      t.layout.reset(make_hindexed_block(n, 1, d.data(), child.layout.get()));
    else
      t.layout.reset(make_hvector(n, 1, n > 1 ? d[1] : 0, child.layout.get()));
    for (const int64_t at : d) t.model.place(child.model, at);
    return t;
  };
  const uint64_t b = block_size(), n = 2 + c.below(std::min<uint64_t>(300, 20000 / b));
  const uint64_t gap = c.below(2) ? c.below(40) : c.below(300);
  switch (c.below(6)) {
    case 0:
      return spread(dense(b), n, false, gap + 1, 0);
    case 1:
      return spread(dense(b), n, true, c.below(2) * gap, gap + b * c.below(4));
    case 2: {  // a grid
      const uint64_t rows = 2 + c.below(std::min<uint64_t>(60, 40000 / (b * n)));
      return spread(spread(dense(b), n, c.below(4) == 0, gap + 1, gap + 9), rows, c.below(4) == 0, gap + 2,
                    gap + 99);
    }
    case 3: {  // a transpose: rows of the grid lie in each other's gaps
      const uint64_t rows = 2 + c.below(std::min<uint64_t>(60, 40000 / (b * n)));
      const auto row = static_cast<int64_t>(b + c.below(2) * c.below(9));
      const int64_t step = row * static_cast<int64_t>(rows + c.below(4));
      const TypeTree block = dense(b);
      const LayoutPtr column(make_hvector(n, 1, step, block.layout.get()));
      TypeTree t{LayoutPtr(make_hvector(rows, 1, row, column.get())), {}, "transpose of " + block.text};
      for (int64_t r = 0; r < static_cast<int64_t>(rows); r++)
        for (int64_t i = 0; i < static_cast<int64_t>(n); i++) t.model.place(block.model, r * row + i * step);
      return t;
    }
    default: {  // a struct of lists or blocks, once or as an array
      const bool record = c.below(2);
      TypeTree t;
      std::vector<TypeTree> parts;
      std::vector<int64_t> d;
      std::vector<uint64_t> lengths;
      std::vector<const Layout*> children;
      int64_t here = 0;
      for (uint64_t i = 2 + c.below(4); i > 0; i--) {
        const uint64_t size = std::min<uint64_t>(block_size(), 100);
        parts.push_back(record ? dense(size)
                               : spread(dense(size), 2 + c.below(80), c.below(4) != 0, gap, gap + 20));
        d.push_back(here);
        lengths.push_back(1);
        children.push_back(parts.back().layout.get());
        t.model.place(parts.back().model, here);
        t.text += " " + parts.back().text;
        here += parts.back().model.true_upper() + static_cast<int64_t>(c.below(9));
      }
      t.layout.reset(make_struct(d.size(), lengths.data(), d.data(), children.data()));
      t.text = "struct" + t.text;
      return record ? spread(t, 2 + c.below(60), c.below(3) == 0, gap, gap + 20) : std::move(t);
    }
  }
}

Buffer::Buffer(const TypeTree& tree, uint64_t count) : count_(count), layout_(tree.layout.get()) {
  std::vector<int64_t> offsets;
  const int64_t extent = tree.model.extent();
  for (uint64_t i = 0; i < count; i++)
    for (const int64_t b : tree.model.bytes) offsets.push_back(b + static_cast<int64_t>(i) * extent);
  int64_t low = 0, high = 0;
  if (!offsets.empty()) {
    low = *std::min_element(offsets.begin(), offsets.end());
    high = *std::max_element(offsets.begin(), offsets.end()) + 1;
  }
  memory_.resize(static_cast<size_t>(high - low));
  const auto start = reinterpret_cast<uintptr_t>(memory_.data()) - static_cast<uint64_t>(low);
  base_ = reinterpret_cast<char*>(start);
  for (const int64_t o : offsets) addresses_.push_back(memory_.data() + (o - low));
}

void Buffer::fill(Choices& choices) {
  uint64_t x = choices.below(1u << 30);
  for (char& b : memory_) b = static_cast<char>((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
}

}  // namespace tasuki::layout::testing
