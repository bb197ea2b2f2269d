#include "layout.h"

#include <algorithm>
#include <cstring>

namespace mixed {

Basic basic_of(int which) {
  switch (which) {
    case 0:
      return {MPI_BYTE, 1};
    case 1:
      return {MPI_INT, 4};
    default:
      return {MPI_DOUBLE, 8};
  }
}

Layout::Layout(int shape, int count, Basic basic, uint64_t seed)
    : type_(basic.type), count_(count), elements_(count) {
  Random random(seed);
  const size_t unit = static_cast<size_t>(basic.bytes);
  const auto block = [&](size_t at, int n) { blocks_.push_back({at * unit, static_cast<size_t>(n) * unit}); };
  if (count == 0 || (shape == 1 && count > 20000)) shape = 0;
  if (shape == 2 && count > 1) {
    const int choices[] = {1, 2, 3, 7, 64, 500};
    int length = choices[random.between(0, 5)];
    if (count % length != 0 || count / length > 20000) {
      shape = 3;
    } else {
      const int blocks = count / length, stride = length + draw(random, 1, 9);
      MPI_Type_vector(blocks, length, stride, basic.type, &type_);
      for (int i = 0; i < blocks; i++) block(static_cast<size_t>(i) * static_cast<size_t>(stride), length);
      count_ = 1;
    }
  } else if (shape == 2) {
    shape = 3;
  }
  switch (shape) {
    case 0:
      block(0, count);
      break;
    case 1: {
      const int extent = draw(random, 2, 3);
      MPI_Type_create_resized(basic.type, 0, static_cast<MPI_Aint>(unit) * extent, &type_);
      for (int i = 0; i < count; i++) block(static_cast<size_t>(i) * static_cast<size_t>(extent), 1);
      break;
    }
    case 3:    // ascending, with gaps
    case 4:    // the same in another order
    case 5: {  // as a structure
      std::vector<int> lengths, places;
      const int longest = std::max(1, draw(random, count / 40, count / 2 + 1));
      int at = draw(random, 0, 3);
      for (int left = count; left > 0;) {
        const int n = std::min(left, draw(random, (longest + 1) / 2, longest));
        lengths.push_back(n);
        places.push_back(at);
        at += n + draw(random, 0, 5);
        left -= n;
      }
      if (shape == 4) {
        std::vector<size_t> order(lengths.size());
        for (size_t i = 0; i < order.size(); i++) order[i] = i;
        random.shuffle(order);
        std::vector<int> l, p;
        for (size_t i : order) {
          l.push_back(lengths[i]);
          p.push_back(places[i]);
        }
        lengths.swap(l);
        places.swap(p);
      }
      for (size_t i = 0; i < lengths.size(); i++) block(static_cast<size_t>(places[i]), lengths[i]);
      const int n = static_cast<int>(lengths.size());
      if (shape == 5) {
        std::vector<MPI_Aint> where;
        std::vector<MPI_Datatype> types(lengths.size(), basic.type);
        for (int p : places) where.push_back(static_cast<MPI_Aint>(p) * static_cast<MPI_Aint>(unit));
        MPI_Type_create_struct(n, lengths.data(), where.data(), types.data(), &type_);
      } else {
        MPI_Type_indexed(n, lengths.data(), places.data(), basic.type, &type_);
      }
      count_ = 1;
      break;
    }
    case 6:
      MPI_Type_contiguous(count, basic.type, &type_);
      block(0, count);
      count_ = 1;
      break;
    case 7:
      MPI_Type_vector(count, 1, 1, basic.type, &type_);
      block(0, count);
      count_ = 1;
      break;
    default:
      break;
  }
  shape_ = shape;
  own_ = type_ != basic.type;
  if (own_) MPI_Type_commit(&type_);
  for (const Block& b : blocks_) span_ = std::max(span_, b.at + b.bytes);
}

Layout::~Layout() {
  if (own_) MPI_Type_free(&type_);
}

int Layout::elements_of(const MPI_Status& status) const {
  int n = 0;
  if (own_ && count_ == 1) {
    MPI_Get_elements(&status, type_, &n);  // 5.1.11: basic elements, also of a type that was filled in part
    int whole = 0;
    MPI_Get_count(&status, type_, &whole);
    CHECK_THAT(whole == (n == elements_ ? 1
                         : n == 0       ? 0
                                        : MPI_UNDEFINED),
               "MPI_Get_count says " + std::to_string(whole) + " where MPI_Get_elements says " +
                   std::to_string(n) + " of " + std::to_string(elements_));
  } else {
    MPI_Get_count(&status, type_, &n);
  }
  return n;
}

void Layout::scatter(const std::vector<unsigned char>& bytes, unsigned char* to, size_t limit) const {
  size_t done = 0;
  for (const Block& b : blocks_) {
    const size_t n = std::min({b.bytes, bytes.size() - done, limit - done});
    if (n > 0) memcpy(to + b.at, bytes.data() + done, n);
    done += n;
  }
}

std::string Buffer::difference(const Layout& layout, const std::vector<unsigned char>& message) const {
  std::vector<unsigned char> expected(bytes_.size(), kUntouched);
  layout.scatter(message, expected.data() + kGuard);
  if (expected == bytes_) return "";
  size_t i = 0, wrong = 0;
  for (size_t j = bytes_.size(); j-- > 0;)
    if (expected[j] != bytes_[j]) {
      i = j;
      wrong++;
    }
  char text[160];
  snprintf(text, sizeof text, "byte %ld of a span of %zu is 0x%02x, not 0x%02x; %zu bytes are wrong",
           static_cast<long>(i) - static_cast<long>(kGuard), layout.span(), bytes_[i], expected[i], wrong);
  return text;
}

std::string Buffer::written_outside(const Layout& layout) const {
  std::vector<unsigned char> copy = bytes_;
  layout.scatter(std::vector<unsigned char>(layout.span(), kUntouched), copy.data() + kGuard);
  for (size_t i = 0; i < copy.size(); i++)
    if (copy[i] != kUntouched)
      return "byte " + std::to_string(static_cast<long>(i) - static_cast<long>(kGuard)) +
             ", which is none of the type's, was written";
  return "";
}

}  // namespace mixed
