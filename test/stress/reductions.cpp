// Reductions of all kinds, with the operations of MPI and with one of the user's that does not commute.
#include <algorithm>
#include <cstring>
#include <memory>

#include "completion.h"

namespace stress {
namespace {

// An element as the oracle sees it: a value, and an index or a second value where the type has one.
struct Element {
  int64_t a = 0, b = 0;
};

enum class Kind { int32, uint64, real, pair, affine };
constexpr int kKinds = 5;

int64_t bytes_of(Kind kind) {
  return kind == Kind::int32 ? 4 : 8;
}

void write(Kind kind, Element e, unsigned char* to) {
  if (kind == Kind::int32) {
    const int32_t v = static_cast<int32_t>(e.a);
    memcpy(to, &v, 4);
  } else if (kind == Kind::uint64) {
    memcpy(to, &e.a, 8);
  } else if (kind == Kind::real) {
    const double v = static_cast<double>(e.a);
    memcpy(to, &v, 8);
  } else {
    const int32_t v[2] = {static_cast<int32_t>(e.a), static_cast<int32_t>(e.b)};
    memcpy(to, v, 8);
  }
}

// The map x -> a x + b over 32 bits; one after the other is associative and does not commute.
Element after(Element first, Element second) {
  const uint32_t a = static_cast<uint32_t>(first.a), b = static_cast<uint32_t>(first.b),
                 c = static_cast<uint32_t>(second.a), d = static_cast<uint32_t>(second.b);
  return {static_cast<int32_t>(a * c), static_cast<int32_t>(c * b + d)};
}

void affine(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; i++) {
    int32_t v[2], w[2];
    memcpy(v, static_cast<char*>(in) + 8 * i, 8);
    memcpy(w, static_cast<char*>(inout) + 8 * i, 8);
    write(Kind::affine, after({v[0], v[1]}, {w[0], w[1]}), static_cast<unsigned char*>(inout) + 8 * i);
  }
}

struct Operation {
  Kind kind;
  MPI_Op op;
  int number;
  MPI_Datatype type;
};

Element combine(const Operation& o, Element x, Element y) {
  const int64_t a = x.a, b = y.a;
  if (o.kind == Kind::affine) return after(x, y);
  if (o.kind == Kind::pair) {
    const bool second = o.number == 0 ? b > a : b < a;
    if (a == b) return {a, std::min(x.b, y.b)};
    return second ? y : x;
  }
  int64_t v = 0;
  switch (o.number) {
    case 0:
      v = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      break;
    case 1:
      v = o.kind == Kind::uint64 ? (static_cast<uint64_t>(a) > static_cast<uint64_t>(b) ? a : b)
                                 : std::max(a, b);
      break;
    case 2:
      v = o.kind == Kind::uint64 ? (static_cast<uint64_t>(a) < static_cast<uint64_t>(b) ? a : b)
                                 : std::min(a, b);
      break;
    case 3:
      v = static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      break;
    case 4:
      v = a & b;
      break;
    case 5:
      v = a | b;
      break;
    case 6:
      v = a ^ b;
      break;
    case 7:
      v = a && b;
      break;
    case 8:
      v = a || b;
      break;
    default:
      v = !a != !b;
  }
  return {o.kind == Kind::int32 ? static_cast<int32_t>(v) : v, 0};
}

class Reduction {
 public:
  Reduction(Random& random, MPI_Comm comm, MPI_Op user, MPI_Datatype user_type)
      : comm_(comm), me_(rank_in(comm)), ranks_(size_of(comm)) {
    static const MPI_Op ops[] = {MPI_SUM, MPI_MAX,  MPI_MIN,  MPI_PROD, MPI_BAND,
                                 MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR,  MPI_LXOR};
    o_.kind = static_cast<Kind>(random.between(0, kKinds - 1));
    // Sums of doubles stay exact: small whole numbers.
    o_.number = draw(random, 0, o_.kind == Kind::pair ? 1 : o_.kind == Kind::real ? 2 : 9);
    o_.op = o_.kind == Kind::affine ? user
            : o_.kind == Kind::pair ? (o_.number == 0 ? MPI_MAXLOC : MPI_MINLOC)
                                    : ops[o_.number];
    o_.type = o_.kind == Kind::int32    ? MPI_INT
              : o_.kind == Kind::uint64 ? MPI_UINT64_T
              : o_.kind == Kind::real   ? MPI_DOUBLE
              : o_.kind == Kind::pair   ? MPI_2INT
                                        : user_type;
    seed_ = random.next();
    what_ = draw(random, 0, 6);
    in_place_ = random.chance(25);
    root_ = draw(random, 0, ranks_ - 1);
    // MPICH 4.0 copies from the address MPI_IN_PLACE when the root is not the first and the numbers are many.
    if (!kOpenMpi && what_ == 0 && root_ != 0) in_place_ = false;
    count_ =
        static_cast<int>(draw_size(random, random.chance(90) ? 3000 : 40000) / (what_ == 5 ? ranks_ : 1));
    for (int r = 0; r < ranks_; r++) parts_.push_back(draw(random, 0, std::min(count_, 500)));
  }

  // A blocking call, or the start of the other kind.
  MPI_Request start(bool now) {
    static const char* const names[] = {"MPI_Reduce",      "MPI_Allreduce",      "MPI_Scan",
                                        "MPI_Exscan",      "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
                                        "MPI_Reduce_local"};
    name_ = names[what_];
    step(name_);
    figures.collectives++;
    int whole = count_, mine = count_, offset = 0;
    if (what_ == 4) {
      whole = 0;
      for (int r = 0; r < ranks_; r++) {
        if (r == me_) offset = whole;
        whole += parts_[static_cast<size_t>(r)];
      }
      mine = parts_[static_cast<size_t>(me_)];
    }
    if (what_ == 5) {
      whole = count_ * ranks_;
      offset = count_ * me_;
    }
    const size_t size = static_cast<size_t>(bytes_of(o_.kind));
    in_.assign(size * static_cast<size_t>(whole) + 8, 0x5a);
    out_.assign(size * static_cast<size_t>(whole) + 8, 0x5a);
    for (int i = 0; i < whole; i++) write(o_.kind, element(me_, i), &in_[size * static_cast<size_t>(i)]);
    const bool root_only = what_ == 0;
    receives_ = !root_only || me_ == root_;
    const bool replaced = in_place_ && receives_;
    if (replaced) out_ = in_;
    wanted_ = out_;
    void *in = replaced ? MPI_IN_PLACE : in_.data(), *out = out_.data();
    const int last = what_ == 2 || what_ == 3 ? me_ : ranks_ - 1;
    if (what_ == 6) {  // of two ranks' values, by this one alone
      const int other = (me_ + 1) % ranks_;
      for (int i = 0; i < whole; i++) {
        write(o_.kind, element(other, i), &out_[size * static_cast<size_t>(i)]);
        write(o_.kind, combine(o_, element(me_, i), element(other, i)),
              &wanted_[size * static_cast<size_t>(i)]);
      }
      std::fill(out_.end() - 8, out_.end(), static_cast<unsigned char>(0x5a));
      std::fill(wanted_.end() - 8, wanted_.end(), static_cast<unsigned char>(0x5a));
      MPI_Reduce_local(in_.data(), out, whole, o_.type, o_.op);
      return MPI_REQUEST_NULL;
    }
    if (receives_)
      for (int i = 0; i < mine; i++) {
        const int e = what_ == 4 || what_ == 5 ? offset + i : i;
        Element value = element(0, e);
        const int end = what_ == 3 ? last - 1 : last;
        for (int r = 1; r <= end; r++) value = combine(o_, value, element(r, e));
        // The first rank's result of MPI_Exscan is undefined.
        if (!(what_ == 3 && me_ == 0)) write(o_.kind, value, &wanted_[size * static_cast<size_t>(i)]);
      }
    judged_ = size * static_cast<size_t>(mine);
    MPI_Request r = MPI_REQUEST_NULL;
    switch (what_) {
      case 0:
        now ? MPI_Reduce(in, out, whole, o_.type, o_.op, root_, comm_)
            : MPI_Ireduce(in, out, whole, o_.type, o_.op, root_, comm_, &r);
        break;
      case 1:
        now ? MPI_Allreduce(in, out, whole, o_.type, o_.op, comm_)
            : MPI_Iallreduce(in, out, whole, o_.type, o_.op, comm_, &r);
        break;
      case 2:
        now ? MPI_Scan(in, out, whole, o_.type, o_.op, comm_)
            : MPI_Iscan(in, out, whole, o_.type, o_.op, comm_, &r);
        break;
      case 3:
        now ? MPI_Exscan(in, out, whole, o_.type, o_.op, comm_)
            : MPI_Iexscan(in, out, whole, o_.type, o_.op, comm_, &r);
        break;
      case 4:
        now ? MPI_Reduce_scatter(in, out, parts_.data(), o_.type, o_.op, comm_)
            : MPI_Ireduce_scatter(in, out, parts_.data(), o_.type, o_.op, comm_, &r);
        break;
      default:
        now ? MPI_Reduce_scatter_block(in, out, count_, o_.type, o_.op, comm_)
            : MPI_Ireduce_scatter_block(in, out, count_, o_.type, o_.op, comm_, &r);
    }
    return r;
  }

  void judge() const {
    if (!receives_ || (what_ == 3 && me_ == 0)) return;
    // What lies behind the result in place is the library's to use.
    const size_t end = what_ == 6 || (!in_place_ && what_ != 4 && what_ != 5) ? wanted_.size() : judged_;
    for (size_t i = 0; i < end; i++)
      if (out_[i] != wanted_[i])
        fail(__FILE__, __LINE__,
             std::string(name_) + (in_place_ ? " in place" : "") + ", type " +
                 std::to_string(static_cast<int>(o_.kind)) + " operation " + std::to_string(o_.number) +
                 " count " + std::to_string(count_) + ": byte " + std::to_string(i) + " is " +
                 std::to_string(out_[i]) + ", expected " + std::to_string(wanted_[i]));
    for (size_t i = out_.size() - 8; i < out_.size(); i++) CHECK_EQ(out_[i], 0x5a);
  }

 private:
  MPI_Comm comm_;
  int me_, ranks_;
  Operation o_;
  uint64_t seed_;
  int what_, root_, count_;
  bool in_place_, receives_ = true;
  std::vector<int> parts_;
  std::vector<unsigned char> in_, out_, wanted_;
  size_t judged_ = 0;
  const char* name_ = "";

  Element element(int rank, int i) const {
    const uint64_t w = word_of(seed_ + static_cast<uint64_t>(rank), static_cast<uint64_t>(i));
    if (o_.kind == Kind::real) return {static_cast<int64_t>(w % 100000), 0};
    if (o_.kind == Kind::pair) return {static_cast<int64_t>(w % 10), rank};
    if (o_.kind == Kind::affine) return {static_cast<int32_t>(w), static_cast<int32_t>(w >> 32)};
    // Sums of few bits, so that no signed one overflows.
    if (o_.kind == Kind::int32 && o_.number == 0) return {static_cast<int64_t>(w % 1000000), 0};
    if (o_.kind == Kind::int32 && o_.number == 3) return {static_cast<int64_t>(w % 5), 0};
    // MPICH 4.0 compares unsigned numbers as if they had a sign.
    if (o_.kind == Kind::uint64 && (o_.number == 1 || o_.number == 2))
      return {static_cast<int64_t>(w >> 1), 0};
    if (o_.number >= 7) return {static_cast<int64_t>(w % 2), 0};
    return {o_.kind == Kind::int32 ? static_cast<int32_t>(w) : static_cast<int64_t>(w), 0};
  }
};

}  // namespace

void reductions(Random& random, MPI_Comm comm) {
  MPI_Op op;
  MPI_Datatype type;
  MPI_Op_create(affine, 0, &op);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  Random mine = own(random, comm);
  std::vector<std::unique_ptr<Reduction>> list;
  std::vector<MPI_Request> requests;
  const bool now = random.chance(50);
  for (int n = draw(random, 1, 5); n > 0; n--) {
    list.push_back(std::make_unique<Reduction>(random, comm, op, type));
    const MPI_Request r = list.back()->start(now);
    if (r != MPI_REQUEST_NULL) requests.push_back(r);
  }
  step("reductions: completing");
  complete_all(mine, requests, [](size_t, const MPI_Status&) {});
  for (auto& r : list) r->judge();
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

}  // namespace stress
