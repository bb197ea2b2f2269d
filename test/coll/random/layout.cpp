#include "layout.h"

#include <algorithm>
#include <cstring>

namespace collectives {

int draw_divisor(Random& random, int n) {
  std::vector<int> divisors;
  for (int d = 1; d <= n; d++)
    if (n % d == 0) divisors.push_back(d);
  return random.pick(divisors);
}

namespace {

constexpr ptrdiff_t kGuard = 64;

// Lengths of blocks that have n items together.
std::vector<int> draw_lengths(Random& random, int n, bool equal) {
  std::vector<int> lengths;
  if (equal) {
    const int length = draw_divisor(random, n);
    lengths.assign(static_cast<size_t>(n / length), length);
    return lengths;
  }
  const int longest = draw(random, 1 + n / 50, n);
  for (int left = n; left > 0; left -= lengths.back())
    lengths.push_back(std::min(left, draw(random, (longest + 1) / 2, longest)));
  return lengths;
}

// Where the blocks begin, in steps, if one item has `item` steps: with gaps, in any order, also below 0.
std::vector<int> draw_places(Random& random, const std::vector<int>& lengths, int item) {
  std::vector<size_t> order(lengths.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  if (random.chance(40)) random.shuffle(order);
  std::vector<int> places(lengths.size());
  int at = random.chance(30) ? -draw(random, 1, 5) : draw(random, 0, 2);
  for (size_t i : order) {
    places[i] = at;
    at += lengths[i] * item + (random.chance(60) ? draw(random, 0, 3) : 0);
  }
  return places;
}

}  // namespace

const std::vector<Basic>& basics() {
  static const std::vector<Basic> list = {
      {MPI_CHAR, "char", 1, 1},
      {MPI_SHORT, "short", 2, 2},
      {MPI_INT, "int", 4, 4},
      {MPI_INT64_T, "int64", 8, 8},
      {MPI_FLOAT, "float", 4, 4},
      {MPI_DOUBLE, "double", 8, 8},
      {MPI_LONG_DOUBLE, "long double", static_cast<int>(sizeof(long double)), kValueBytes<long double>}};
  return list;
}

size_t bytes_of(const Signature& unit) {
  size_t n = 0;
  for (const Basic* b : unit) n += static_cast<size_t>(b->bytes);
  return n;
}

Type::Type(Random& random, const Signature& unit, int units, int slots, size_t bytes) {
  start(random, unit);
  const bool plain = random.chance(20);  // as most programs do it
  if (!plain && random.chance(25)) {
    const ptrdiff_t low = low_ - align_ * draw(random, 0, 3);
    resize(low, high_ + align_ * draw(random, 0, 3));
  }
  const bool column = slots > 0 && units > 1 && random.chance(15);
  if (column) {
    interleave(units, slots);
  } else if (units > 1 && random.chance(30)) {
    const int inner = draw_divisor(random, units);
    repeat(random, inner);
    repeat(random, units / inner);
  } else if (units > 1 || (!plain && random.chance(30))) {
    repeat(random, units);
  }
  if (!plain && !column && random.chance(15))
    resize(low_ - align_ * draw(random, 0, 5), high_ + align_ * draw(random, 0, 5));
  // Open MPI 4.1.4 copies blocks with gaps between them wrongly within a rank, if 64 KiB end in a block.
  const ptrdiff_t block = last_ - first_;
  ptrdiff_t named = 0;
  for (const Piece& p : pieces_) named += static_cast<ptrdiff_t>(p.n) * p.basic->bytes;
  if (kOpenMpi && bytes > 60000 && named == block && extent() != block && 65536 % block != 0)
    resize(first_, last_);
  if (own_) MUST(MPI_Type_commit(&handle_));
  MPI_Aint low, size;
  MUST(MPI_Type_get_extent(handle_, &low, &size));
  if (low != low_ || size != extent())
    fail("type " + text_ + " has lower bound " + std::to_string(low) + " and extent " + std::to_string(size) +
         ", not " + std::to_string(low_) + " and " + std::to_string(extent()));
}

Type& Type::operator=(Type&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(own_, other.own_);
  std::swap(pieces_, other.pieces_);
  std::swap(text_, other.text_);
  low_ = other.low_, high_ = other.high_, first_ = other.first_, last_ = other.last_, align_ = other.align_;
  return *this;
}

void Type::free() {
  if (own_) MUST(MPI_Type_free(&handle_));
  own_ = false;
}

void Type::replace(MPI_Datatype by) {
  free();
  handle_ = by;
  own_ = true;
}

void Type::find_bounds() {
  first_ = PTRDIFF_MAX, last_ = PTRDIFF_MIN;
  for (const Piece& p : pieces_) {
    first_ = std::min(first_, p.at);
    last_ = std::max(last_, p.at + static_cast<ptrdiff_t>(p.n) * p.basic->bytes);
  }
}

// One unit: the basic type, or a structure.
void Type::start(Random& random, const Signature& unit) {
  const int n = static_cast<int>(unit.size());
  std::vector<size_t> order;
  for (size_t i = 0; i < unit.size(); i++) {
    order.push_back(i);
    align_ = std::max<ptrdiff_t>(align_, unit[i]->bytes);
  }
  if (random.chance(40)) random.shuffle(order);
  std::vector<MPI_Aint> places(unit.size());
  MPI_Aint at = 0;
  for (size_t i : order) {
    places[i] = round_up(at, unit[i]->bytes);
    at = places[i] + unit[i]->bytes + (n > 1 && random.chance(20) ? draw(random, 1, 9) : 0);
  }
  std::vector<MPI_Datatype> types;
  for (size_t i = 0; i < unit.size(); i++) {
    types.push_back(unit[i]->type);
    pieces_.push_back({places[i], 1, unit[i]});
  }
  high_ = round_up(at, align_);
  find_bounds();
  handle_ = types[0];
  for (size_t i = 0; i < unit.size(); i++)
    text_ +=
        (i > 0 ? " + " : "") + std::string(unit[i]->name) + (n > 1 ? " at " + std::to_string(places[i]) : "");
  if (n == 1) return;
  const std::vector<int> lengths(unit.size(), 1);
  MPI_Datatype made;
  MUST(MPI_Type_create_struct(n, lengths.data(), places.data(), types.data(), &made));
  replace(made);
  resize(0, high_);  // the padding at the end of a structure is the library's choice otherwise (5.1.6)
}

void Type::resize(ptrdiff_t low, ptrdiff_t high) {
  MPI_Datatype made;
  text_ += ", resized to " + std::to_string(low) + ".." + std::to_string(high);
  MUST(MPI_Type_create_resized(handle_, low, high - low, &made));
  replace(made);
  low_ = low, high_ = high;
}

// The type now is blocks of what it was.
void Type::copies_at(const std::vector<int>& lengths, const std::vector<ptrdiff_t>& places) {
  std::vector<Piece> old;
  old.swap(pieces_);
  const ptrdiff_t low = low_, high = high_, step = extent();
  low_ = PTRDIFF_MAX, high_ = PTRDIFF_MIN;
  for (size_t b = 0; b < places.size(); b++) {
    low_ = std::min(low_, places[b] + low);
    high_ = std::max(high_, places[b] + (lengths[b] - 1) * step + high);
    for (int i = 0; i < lengths[b]; i++)
      for (const Piece& o : old) {
        const Piece p = {places[b] + i * step + o.at, o.n, o.basic};
        Piece* before = pieces_.empty() ? nullptr : &pieces_.back();
        if (before && before->basic == p.basic && before->at + before->n * p.basic->bytes == p.at)
          before->n += p.n;
        else
          pieces_.push_back(p);
      }
  }
  find_bounds();
}

void Type::repeat(Random& random, int n) {
  enum { contiguous, vector, indexed_block, hvector, hindexed_block, indexed, hindexed, structure, forms };
  const int form = draw(random, 0, forms - 1);
  const bool by_bytes = form == hvector || form == hindexed_block || form == hindexed || form == structure;
  const ptrdiff_t step = by_bytes ? align_ : extent();
  const int item = static_cast<int>(extent() / step);
  std::vector<int> lengths(1, n), places(1, 0);
  int stride = 0;
  if (form != contiguous) {
    lengths = draw_lengths(random, n, form <= hindexed_block);
    places = draw_places(random, lengths, item);
  }
  if (form == vector || form == hvector) {
    stride = (lengths[0] * item + draw(random, 0, 3)) * (random.chance(20) ? -1 : 1);
    if (kOpenMpi && stride * step == -1) stride--;  // Open MPI 4.1.4 takes a stride of -1 byte for no stride
    for (size_t i = 0; i < places.size(); i++) places[i] = static_cast<int>(i) * stride;
  }
  std::vector<MPI_Aint> wide;
  for (int p : places) wide.push_back(p * step);
  const int blocks = static_cast<int>(lengths.size());
  const std::vector<MPI_Datatype> types(lengths.size(), handle_);
  static const char* const names[] = {"contiguous",     "vector",  "indexed_block", "hvector",
                                      "hindexed_block", "indexed", "hindexed",      "struct"};
  text_ += std::string(", ") + names[form] + ":";
  for (size_t i = 0; i < lengths.size() && i < 8; i++)
    text_ += " " + std::to_string(lengths[i]) + " at " + std::to_string(wide[i]);
  if (blocks > 8) text_ += ", ... " + std::to_string(blocks) + " blocks";
  MPI_Datatype made;
  switch (form) {
    case contiguous:
      MUST(MPI_Type_contiguous(n, handle_, &made));
      break;
    case vector:
      MUST(MPI_Type_vector(blocks, lengths[0], stride, handle_, &made));
      break;
    case hvector:
      MUST(MPI_Type_create_hvector(blocks, lengths[0], stride * step, handle_, &made));
      break;
    case indexed_block:
      MUST(MPI_Type_create_indexed_block(blocks, lengths[0], places.data(), handle_, &made));
      break;
    case hindexed_block:
      MUST(MPI_Type_create_hindexed_block(blocks, lengths[0], wide.data(), handle_, &made));
      break;
    case indexed:
      MUST(MPI_Type_indexed(blocks, lengths.data(), places.data(), handle_, &made));
      break;
    case hindexed:
      MUST(MPI_Type_create_hindexed(blocks, lengths.data(), wide.data(), handle_, &made));
      break;
    default:
      MUST(MPI_Type_create_struct(blocks, lengths.data(), wide.data(), types.data(), &made));
  }
  replace(made);
  copies_at(lengths, wide);
}

// A column of a matrix with `slots` columns: the items of the type lie within each other.
void Type::interleave(int n, int slots) {
  const ptrdiff_t row = extent() * slots, low = low_, high = high_;
  std::vector<ptrdiff_t> places;
  for (int i = 0; i < n; i++) places.push_back(i * row);
  MPI_Datatype made;
  text_ += ", column of " + std::to_string(n) + " with stride " + std::to_string(row);
  MUST(MPI_Type_create_hvector(n, 1, row, handle_, &made));
  replace(made);
  copies_at(std::vector<int>(places.size(), 1), places);
  resize(low, high);
}

void Type::put(int count, const unsigned char* packed, unsigned char* to, const unsigned char* now) const {
  for (int k = 0; k < count; k++)
    for (const Piece& p : pieces_) {
      const ptrdiff_t at = k * extent() + p.at;
      const size_t bytes = static_cast<size_t>(p.n) * static_cast<size_t>(p.basic->bytes);
      const int padding = p.basic->bytes - p.basic->value;
      memcpy(to + at, packed, bytes);
      packed += bytes;
      for (int i = 0; now != nullptr && padding > 0 && i < p.n; i++) {
        const ptrdiff_t behind = at + i * p.basic->bytes + p.basic->value;
        memcpy(to + behind, now + behind, static_cast<size_t>(padding));
      }
    }
}

Image::Image(ptrdiff_t low, ptrdiff_t high, ptrdiff_t align, Random& own) {
  origin = round_up(kGuard - std::min<ptrdiff_t>(low, 0), 16) + align * draw(own, 0, 15 / align);
  bytes = random_bytes(own.next(), 0, static_cast<size_t>(origin + std::max<ptrdiff_t>(high, 0) + kGuard));
}

std::string difference(const Image& is, const Image& should_be) {
  if (is.bytes == should_be.bytes) return "";
  size_t first = 0, wrong = 0;
  for (size_t i = is.bytes.size(); i-- > 0;)
    if (is.bytes[i] != should_be.bytes[i]) {
      first = i;
      wrong++;
    }
  char text[200];
  snprintf(text, sizeof text, "byte %td is 0x%02x, not 0x%02x; of %zu bytes %zu are wrong",
           static_cast<ptrdiff_t>(first) - is.origin, is.bytes[first], should_be.bytes[first],
           is.bytes.size(), wrong);
  return text;
}

}  // namespace collectives
