// The collective operations that combine data.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "operations.h"

namespace collectives {
namespace {

bool scatters(Kind k) {
  return k == kReduceScatter || k == kReduceScatterBlock;
}

// What all ranks know.
struct Plan {
  Plan(Kind kind, Random& plan, const Comm& comm);

  Kind kind;
  int me, size, root;
  const Element* element;
  Op op;
  std::vector<int> counts;  // of the results of each rank; if all have the same results, one
  std::vector<bool> in_place;
  uint64_t fill;

  size_t all() const { return static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), 0)); }
  size_t mine() const { return static_cast<size_t>(counts[scatters(kind) ? static_cast<size_t>(me) : 0]); }
  // The number of elements before the ones of this rank.
  size_t before() const {
    return static_cast<size_t>(
        std::accumulate(counts.begin(), counts.begin() + (scatters(kind) ? me : 0), 0));
  }
  Bytes input(int rank, size_t from, size_t n) const;
  Bytes fold(int last, size_t from, size_t n) const;

 private:
  void draw_in_place(Random& plan);
};

Plan::Plan(Kind k, Random& plan, const Comm& comm) : kind(k), me(comm.rank), size(comm.size) {
  root = draw(plan, 0, size - 1);
  const size_t users = 3;
  element =
      plan.chance(30) ? &elements()[elements().size() - users + plan.next() % users] : &plan.pick(elements());
  // MPICH 4.0.2 makes a buffer for that without room for the gaps between the elements.
  if (!kOpenMpi && scatters(kind) && element == &elements().back()) element--;
  std::vector<Op> ops;
  for (int o = 0; o < kOps; o++)
    if (element->ops >> o & 1) ops.push_back(static_cast<Op>(o));
  op = plan.pick(ops);
  const size_t bytes = scatters(kind) ? draw_bytes(plan, size) : draw_bytes(plan, 1);
  int most = static_cast<int>(bytes / element->bytes);
  if (most == 0 && bytes > 0) most = 1;
  counts.assign(scatters(kind) ? static_cast<size_t>(size) : 1, most);
  if (kind == kReduceScatter)
    for (int& n : counts) n = plan.chance(25) ? 0 : draw(plan, 0, std::min(2 * most, most + 5000));
  draw_in_place(plan);
  fill = plan.next();
}

void Plan::draw_in_place(Random& plan) {
  const size_t bytes = all() * element->bytes;
  in_place.assign(static_cast<size_t>(size), false);
  // MPICH 4.0.2 crashes in MPI_Reduce in place at a root other than 0 with more than 2 KiB, and stops in
  // MPI_Reduce_scatter where the result of much data would lie over a part of the input.
  if (!kOpenMpi && ((kind == kReduce && bytes > 2000) || (kind == kReduceScatter && bytes > 400000))) return;
  if (kind == kReduce) {  // only the root may (6.9.1)
    in_place[static_cast<size_t>(root)] = plan.chance(30);
    return;
  }
  in_place.assign(static_cast<size_t>(size), plan.chance(30));
  // Here it need not be all ranks (6.10.2, 6.11).
  if ((kind == kReduceScatter || kind == kScan || kind == kExscan) && plan.chance(30))
    for (int r = 0; r < size; r++) in_place[static_cast<size_t>(r)] = plan.chance(50);
}

Bytes Plan::input(int rank, size_t from, size_t n) const {
  Bytes bytes(n * element->bytes);
  const uint64_t seed = word_of(fill, static_cast<uint64_t>(rank));
  for (size_t k = 0; k < n; k++)
    element->make(op, word_of(seed, from + k), rank, size, bytes.data() + k * element->bytes);
  return bytes;
}

// x0 op x1 op ... op x_last
Bytes Plan::fold(int last, size_t from, size_t n) const {
  Bytes all = input(0, from, n);
  for (int r = 1; r <= last; r++) {
    Bytes next = input(r, from, n);
    element->combine(op, all.data(), next.data(), n);
    all.swap(next);
  }
  return all;
}

void call(const Plan& p, const void* in, void* out, MPI_Datatype type, MPI_Op op, MPI_Comm comm, Way& way) {
  const int n = p.counts[0];
  switch (p.kind) {
    case kReduce:
      MUST_EITHER(way, MPI_Reduce, MPI_Ireduce, in, out, n, type, op, p.root, comm);
      break;
    case kAllreduce:
      MUST_EITHER(way, MPI_Allreduce, MPI_Iallreduce, in, out, n, type, op, comm);
      break;
    case kReduceScatter:
      MUST_EITHER(way, MPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, p.counts.data(), type, op, comm);
      break;
    case kReduceScatterBlock:
      MUST_EITHER(way, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, n, type, op, comm);
      break;
    case kScan:
      MUST_EITHER(way, MPI_Scan, MPI_Iscan, in, out, n, type, op, comm);
      break;
    default:
      MUST_EITHER(way, MPI_Exscan, MPI_Iexscan, in, out, n, type, op, comm);
  }
}

void tell_plan(const Plan& p, const Comm& comm) {
  std::string counts;
  for (int n : p.counts) counts += " " + std::to_string(n);
  tell("MPI_%s on %s (rank %d of %d), root %d%s, %s of %s, counts%.120s", kind_names[p.kind], comm.name, p.me,
       p.size, p.root, p.in_place[static_cast<size_t>(p.me)] ? ", in place" : "", op_names[p.op],
       p.element->name, counts.c_str());
}

// What the buffer of the result must have, given what it had before.
Image expected_of(const Plan& p, const Image& before, const Image& is) {
  Image expected = before;
  const auto put = [&](const Bytes& b, size_t n) { p.element->put(b, n, expected.at(0), is.at(0)); };
  const size_t n = p.mine(), size = p.element->bytes;
  if (p.kind == kReduce && p.me != p.root) return expected;
  if (p.kind != kExscan) {
    put(p.fold(p.kind == kScan ? p.me : p.size - 1, p.before(), n), n);
  } else if (p.me > 0) {
    put(p.fold(p.me - 1, 0, n), n);
  } else if (p.in_place[0]) {  // the result is undefined (6.11.2), its gaps are not
    put(Bytes(is.at(0), is.at(0) + n * size), n);
  }
  // Where all of the input lay, the library may have worked: Open MPI does.
  if (scatters(p.kind) && p.in_place[static_cast<size_t>(p.me)])
    std::copy(is.at(static_cast<ptrdiff_t>(n * size)), is.at(static_cast<ptrdiff_t>(p.all() * size)),
              expected.at(static_cast<ptrdiff_t>(n * size)));
  return expected;
}

void check_same(const Image& is, const Image& should_be, const char* what) {
  const std::string wrong = difference(is, should_be);
  if (!wrong.empty()) fail(std::string(what) + ": " + wrong);
}

}  // namespace

void reduce(Kind kind, Random& plan, Random& own, const Comm& comm) {
  const Plan p(kind, plan, comm);
  tell_plan(p, comm);
  const Element& e = *p.element;
  const bool in_place = p.in_place[static_cast<size_t>(p.me)];
  const ptrdiff_t length = static_cast<ptrdiff_t>(e.bytes * p.all());
  const ptrdiff_t result = in_place ? length : static_cast<ptrdiff_t>(e.bytes * p.mine());
  const ptrdiff_t align = e.fields.size() > 1 || e.bytes > 8 ? 16 : static_cast<ptrdiff_t>(e.bytes);
  Image in(0, in_place ? 0 : length, align, own), out(0, result, align, own);
  e.put(p.input(p.me, 0, p.all()), p.all(), (in_place ? out : in).at(0), nullptr);
  const Image in_before = in, out_before = out;
  const bool out_counts = in_place || (kind == kReduce ? p.me == p.root : kind != kExscan || p.me > 0);
  // MPICH 4.0.2 refuses a null pointer on rank 0 of MPI_Exscan, where it is not significant (6.11.2).
  const bool may_be_null = kOpenMpi || kind != kExscan || result == 0;
  const bool no_out = may_be_null && (!out_counts || result == 0) && own.chance(50),
             no_in = length == 0 && own.chance(50);

  const Handle op = make_op(p.op);
  MPI_Datatype type = e.make_type();
  MPI_Op handle = op.op;
  const void* from = no_in ? nullptr : in.at(0);
  if (in_place) from = MPI_IN_PLACE;
  Way way;
  // The library's, or may be: MPICH 4.0.2 counts uses of types with several members wrongly, and Open MPI 5
  // refuses null pointers to nothing.
  if (type != e.type || e.fields.size() > 1 || length == 0) way.persistent = false;
  if (way.persistent) way.starts = draw(plan, 1, 3);
  call(p, from, no_out ? nullptr : out.at(0), type, handle, comm.handle, way);
  complete(own, way, [&] { out = out_before; });
  if (op.own) MUST(MPI_Op_free(&handle));
  if (type != e.type) MUST(MPI_Type_free(&type));

  check_same(in, in_before, "the send buffer");
  check_same(out, expected_of(p, out_before, out), "the receive buffer");
}

namespace {

// Numbers whose sum depends on the order.
struct Doubles {
  Doubles(Random& plan, const Comm& c)
      : comm(c), n(draw_bytes(plan, 1) / sizeof(double)), fill(plan.next()), in_place(plan.chance(50)) {}
  double value(int rank, size_t k) const {
    const uint64_t word = word_of(word_of(fill, static_cast<uint64_t>(rank)), k);
    return std::ldexp(static_cast<double>(static_cast<int64_t>(word)), static_cast<int>(word % 40) - 80);
  }
  std::vector<double> mine() const {
    std::vector<double> in(n);
    for (size_t k = 0; k < n; k++) in[k] = value(comm.rank, k);
    return in;
  }
  // Are they combined in the same way where that does not block? Some are the library's there.
  bool alike() const {
    const size_t bytes = n * sizeof(double), ranks = static_cast<size_t>(comm.size);
    return job.later && !job.apart && !job.large && (bytes * ranks <= 16 << 10 || bytes >= ranks << 10);
  }
  // One of the sums of the first `ranks`.
  void check(const std::vector<double>& sums, int ranks, Random& own) const {
    if (n == 0) return;
    const size_t k = own.next() % n;
    double sum = 0, size = 0;
    for (int r = 0; r < ranks; r++) {
      sum += value(r, k);
      size += std::abs(value(r, k));
    }
    if (std::abs(sum - sums[k]) > 1e-12 * size)
      fail("sum " + std::to_string(k) + " is " + std::to_string(sums[k]) + ", not " + std::to_string(sum));
  }

  const Comm& comm;
  size_t n;
  uint64_t fill;
  bool in_place;
};

Image image(const std::vector<double>& of) {
  Image made;
  made.bytes.resize(of.size() * sizeof(double));
  if (!of.empty()) memcpy(made.bytes.data(), of.data(), made.bytes.size());
  return made;
}

}  // namespace

// All ranks have the same sums, and have them again.
void reduce_twice(Random& plan, Random& own, const Comm& comm) {
  const Doubles d(plan, comm);
  tell("MPI_Allreduce of %zu random doubles on %s (rank %d of %d)", d.n, comm.name, comm.rank, comm.size);
  const std::vector<double> in = d.mine();
  std::vector<double> sums[3];
  for (int i = 0; i < 2; i++) {
    Way way;
    way.later = i == 1 && d.alike();
    sums[i] = in;
    MUST_EITHER(way, MPI_Allreduce, MPI_Iallreduce, d.in_place ? MPI_IN_PLACE : in.data(), sums[i].data(),
                static_cast<int>(d.n), MPI_DOUBLE, MPI_SUM, comm.handle);
    complete(own, way, [] {});
  }
  sums[2] = sums[0];
  const int root = draw(plan, 0, comm.size - 1);
  MUST(MPI_Bcast(sums[2].data(), static_cast<int>(d.n), MPI_DOUBLE, root, comm.handle));
  check_same(image(sums[1]), image(sums[0]), "the second sum of the same numbers");
  check_same(image(sums[0]), image(sums[2]), "the sum on this rank and on another one");
  d.check(sums[0], comm.size, own);
}

void scan_twice(Random& plan, Random& own, const Comm& comm) {
  const Doubles d(plan, comm);
  tell("MPI_Scan of %zu random doubles on %s (rank %d of %d)", d.n, comm.name, comm.rank, comm.size);
  const std::vector<double> in = d.mine();
  std::vector<double> sums[2];
  for (int i = 0; i < 2; i++) {
    Way way;
    way.later = i == 1 && d.alike();
    sums[i] = in;
    MUST_EITHER(way, MPI_Scan, MPI_Iscan, d.in_place ? MPI_IN_PLACE : in.data(), sums[i].data(),
                static_cast<int>(d.n), MPI_DOUBLE, MPI_SUM, comm.handle);
    complete(own, way, [] {});
  }
  check_same(image(sums[1]), image(sums[0]), "the second scan of the same numbers");
  d.check(sums[0], comm.rank + 1, own);
}

void check_negative_count(const Comm& comm) {
  tell("-1 elements on %s", comm.name);
  int one = 1, sum = 0, error_class = MPI_SUCCESS;
  // MPICH 4.0.2 does not check the count of MPI_Allreduce, and crashes.
  const int code = kOpenMpi ? MPI_Allreduce(&one, &sum, -1, MPI_INT, MPI_SUM, comm.handle)
                            : MPI_Bcast(&one, -1, MPI_INT, 0, comm.handle);
  MPI_Error_class(code, &error_class);
  if (error_class != MPI_ERR_COUNT)
    fail("its error class is " + std::to_string(error_class) + ", not MPI_ERR_COUNT");
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm.handle));
  if (sum != comm.size) fail("the sum behind it is " + std::to_string(sum));
}

}  // namespace collectives
