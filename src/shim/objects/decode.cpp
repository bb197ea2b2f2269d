// Decoding a datatype: MPI_Type_get_envelope and MPI_Type_get_contents give back the constructor's arguments,
// level by level (MPI-4.0, 5.1.13).
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "generated/pmpi.h"
#include "shim/objects/datatype.h"

namespace tasuki::shim {
namespace {

using layout::Layout;

// How many arguments of each kind a type's constructor had. Of a type with large counts the old call fails:
// an error that ends the program.
struct Envelope {
  MPI_Count ints = 0, addresses = 0, counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;

  static bool has_large_calls() {
#if MPI_VERSION >= 4
    return pmpi().Type_get_envelope_c != nullptr && pmpi().Type_get_contents_c != nullptr;
#else
    return false;
#endif
  }
  bool read(MPI_Datatype t) {
#if MPI_VERSION >= 4
    if (has_large_calls())
      return pmpi().Type_get_envelope_c(t, &ints, &addresses, &counts, &types, &combiner) == MPI_SUCCESS;
#endif
    int few_ints = 0, few_addresses = 0, few_types = 0;
    if (pmpi().Type_get_envelope(t, &few_ints, &few_addresses, &few_types, &combiner) != MPI_SUCCESS)
      return false;
    ints = few_ints;
    addresses = few_addresses;
    types = few_types;
    return true;
  }
  // Of the library itself: such a type is not made of others that it tells of, and must not be freed.
  bool is_library_type() const {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }
};

// The arguments of one constructor, whichever count type it was called with.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  bool is_library_type = true;  // Envelope::is_library_type()
  bool large = false;           // made by an MPI-4 function with MPI_Count arguments
  std::vector<int> ints;
  std::vector<MPI_Aint> addresses;
  std::vector<int64_t> counts;  // large only
  std::vector<MPI_Datatype> types;

  ~Contents() {
    for (MPI_Datatype t : types) {
      Envelope e;
      if (e.read(t) && !e.is_library_type()) pmpi().Type_free(&t);
    }
  }
};

bool read_contents(MPI_Datatype type, Contents* c) {
  Envelope e;
  if (!e.read(type)) return false;
  c->combiner = e.combiner;
  c->is_library_type = e.is_library_type();
  if (c->combiner == MPI_COMBINER_NAMED) return true;
  c->large = e.counts > 0;
  c->ints.resize(static_cast<size_t>(e.ints));
  c->addresses.resize(static_cast<size_t>(e.addresses));
  std::vector<MPI_Count> large(static_cast<size_t>(e.counts));
  std::vector<MPI_Datatype> t(static_cast<size_t>(e.types));
  int rc = MPI_SUCCESS;
#if MPI_VERSION >= 4
  if (Envelope::has_large_calls())
    rc = pmpi().Type_get_contents_c(type, e.ints, e.addresses, e.counts, e.types, c->ints.data(),
                                    c->addresses.data(), large.data(), t.data());
  else
#endif
    rc = pmpi().Type_get_contents(type, static_cast<int>(e.ints), static_cast<int>(e.addresses),
                                  static_cast<int>(e.types), c->ints.data(), c->addresses.data(), t.data());
  if (rc != MPI_SUCCESS) return false;
  c->counts.assign(large.begin(), large.end());
  c->types = std::move(t);
  return true;
}

// The integer arguments of a constructor in the order of its C prototype: counts and block lengths from the
// integers or the large counts, byte displacements from the addresses or the large counts.
class Arguments {
 public:
  explicit Arguments(const Contents& c) : c_(c) {}
  int64_t count() { return c_.large ? c_.counts[next_count_++] : c_.ints[next_int_++]; }
  int64_t address() { return c_.large ? c_.counts[next_count_++] : c_.addresses[next_address_++]; }
  int64_t integer() { return c_.ints[next_int_++]; }  // int in both forms of the call
  std::vector<int64_t> counts(int64_t n) {
    std::vector<int64_t> v(static_cast<size_t>(n));
    for (int64_t& x : v) x = count();
    return v;
  }
  std::vector<int64_t> addresses(int64_t n) {
    std::vector<int64_t> v(static_cast<size_t>(n));
    for (int64_t& x : v) x = address();
    return v;
  }

 private:
  const Contents& c_;
  size_t next_int_ = 0, next_address_ = 0, next_count_ = 0;
};

int64_t extent_of(MPI_Datatype type) {
  MPI_Count lb = 0, extent = 0;
  pmpi().Type_get_extent_x(type, &lb, &extent);
  return extent;
}

std::vector<uint64_t> lengths(const std::vector<int64_t>& v) {
  return {v.begin(), v.end()};
}

// Named types. All are dense but MPI_SHORT_INT and its like, a value and an int with a gap between them.
const Layout* named(MPI_Datatype type) {
  MPI_Count size = 0, true_lb = 0, true_extent = 0;
  pmpi().Type_size_x(type, &size);
  pmpi().Type_get_true_extent_x(type, &true_lb, &true_extent);
  if (true_extent == size || size == 0) return layout::make_dense(static_cast<uint64_t>(size));
  const uint64_t blocks[2] = {static_cast<uint64_t>(size) - sizeof(int), sizeof(int)};
  const int64_t displacements[2] = {true_lb, true_lb + true_extent - static_cast<int64_t>(sizeof(int))};
  return layout::make_hindexed(2, blocks, displacements, layout::byte_layout());
}

// MPI_Type_create_darray (MPI-4.0, 5.1.4): dimension by dimension from the fastest, the blocks that this
// process owns.
const Layout* darray(const Contents& c, const Layout* child, int64_t child_extent) {
  if (c.large) return nullptr;
  const int size = c.ints[0], rank = c.ints[1], ndims = c.ints[2];
  const int* const gsizes = &c.ints[3];
  const int* const distribs = gsizes + ndims;
  const int* const dargs = distribs + ndims;
  const int* const psizes = dargs + ndims;
  const int order = psizes[ndims];
  std::vector<int> coordinates(static_cast<size_t>(ndims));
  int processes = size, rest = rank;
  for (int i = 0; i < ndims; i++) {  // the process grid is always row-major
    processes /= psizes[i];
    coordinates[static_cast<size_t>(i)] = rest / processes;
    rest %= processes;
  }
  const Layout* l = layout::retain(child);
  int64_t extent = child_extent;
  for (int step = 0; step < ndims && l != nullptr; step++) {
    const int i = order == MPI_ORDER_FORTRAN ? step : ndims - 1 - step;
    const int64_t global = gsizes[i], p = psizes[i], me = coordinates[static_cast<size_t>(i)];
    int64_t block = global;
    if (distribs[i] == MPI_DISTRIBUTE_BLOCK)
      block = dargs[i] == MPI_DISTRIBUTE_DFLT_DARG ? (global + p - 1) / p : dargs[i];
    else if (distribs[i] == MPI_DISTRIBUTE_CYCLIC)
      block = dargs[i] == MPI_DISTRIBUTE_DFLT_DARG ? 1 : dargs[i];
    std::vector<uint64_t> block_lengths;
    std::vector<int64_t> displacements;
    const bool all = distribs[i] == MPI_DISTRIBUTE_NONE;
    for (int64_t at = all ? 0 : me * block; at < global; at += all ? global : p * block) {
      block_lengths.push_back(static_cast<uint64_t>(std::min(block, global - at)));
      displacements.push_back(at * extent);
    }
    const Layout* row =
        layout::make_hindexed(block_lengths.size(), block_lengths.data(), displacements.data(), l);
    layout::release(l);
    extent *= global;
    l = row == nullptr ? nullptr : layout::make_resized(0, extent, row);
    if (row != nullptr) layout::release(row);
  }
  return l;
}

const Layout* construct(const Contents& c, const std::vector<const Layout*>& children) {
  Arguments a(c);
  const Layout* child = children.empty() ? nullptr : children[0];
  const int64_t extent = c.types.empty() ? 0 : extent_of(c.types[0]);
  switch (c.combiner) {
    case MPI_COMBINER_DUP:
      return layout::retain(child);
    case MPI_COMBINER_CONTIGUOUS:
      return layout::make_contiguous(static_cast<uint64_t>(a.count()), child);
    case MPI_COMBINER_VECTOR: {
      const auto v = a.counts(3);
      return layout::make_hvector(static_cast<uint64_t>(v[0]), static_cast<uint64_t>(v[1]), v[2] * extent,
                                  child);
    }
    case MPI_COMBINER_HVECTOR: {
      const auto v = a.counts(2);
      return layout::make_hvector(static_cast<uint64_t>(v[0]), static_cast<uint64_t>(v[1]), a.address(),
                                  child);
    }
    case MPI_COMBINER_INDEXED: {
      const int64_t n = a.count();
      const auto blocks = lengths(a.counts(n));
      auto displacements = a.counts(n);
      for (int64_t& d : displacements) d *= extent;
      return layout::make_hindexed(static_cast<uint64_t>(n), blocks.data(), displacements.data(), child);
    }
    case MPI_COMBINER_HINDEXED: {
      const int64_t n = a.count();
      const auto blocks = lengths(a.counts(n));
      const auto displacements = a.addresses(n);
      return layout::make_hindexed(static_cast<uint64_t>(n), blocks.data(), displacements.data(), child);
    }
    case MPI_COMBINER_INDEXED_BLOCK: {
      const int64_t n = a.count(), block = a.count();
      auto displacements = a.counts(n);
      for (int64_t& d : displacements) d *= extent;
      return layout::make_hindexed_block(static_cast<uint64_t>(n), static_cast<uint64_t>(block),
                                         displacements.data(), child);
    }
    case MPI_COMBINER_HINDEXED_BLOCK: {
      const int64_t n = a.count(), block = a.count();
      const auto displacements = a.addresses(n);
      return layout::make_hindexed_block(static_cast<uint64_t>(n), static_cast<uint64_t>(block),
                                         displacements.data(), child);
    }
    case MPI_COMBINER_STRUCT: {
      const int64_t n = a.count();
      const auto blocks = lengths(a.counts(n));
      const auto displacements = a.addresses(n);
      return layout::make_struct(static_cast<uint64_t>(n), blocks.data(), displacements.data(),
                                 children.data());
    }
    case MPI_COMBINER_SUBARRAY: {
      const int64_t n = a.integer();
      // With large counts the order follows the number of dimensions among the integers.
      const int64_t order_first = c.large ? a.integer() : 0;
      const auto sizes = a.counts(n), subsizes = a.counts(n), starts = a.counts(n);
      const int64_t order = c.large ? order_first : a.integer();
      return layout::make_subarray(static_cast<int>(n), sizes.data(), subsizes.data(), starts.data(),
                                   order == MPI_ORDER_FORTRAN ? 'F' : 'C', child);
    }
    case MPI_COMBINER_DARRAY:
      return darray(c, child, extent);
    case MPI_COMBINER_RESIZED: {
      const int64_t lb = a.address(), new_extent = a.address();
      return layout::make_resized(lb, new_extent, child);
    }
    default:
      return nullptr;
  }
}

}  // namespace

const Layout* decode(MPI_Datatype type, bool* predefined) {
  Contents c;
  if (!read_contents(type, &c)) return nullptr;
  *predefined = c.is_library_type;
  const Layout* l = nullptr;
  if (*predefined) {
    l = named(type);
  } else {
    std::vector<const Layout*> children;
    bool complete = true, ignored;
    for (MPI_Datatype t : c.types) {
      const Layout* child = decode(t, &ignored);
      complete = complete && child != nullptr;
      children.push_back(child);
    }
    if (complete) l = construct(c, children);
    for (const Layout* child : children)
      if (child != nullptr) layout::release(child);
  }
  if (l == nullptr) return nullptr;
  // The library's bounds are the ones that count: it pads structures to the alignment of their members.
  MPI_Count lb = 0, extent = 0;
  pmpi().Type_get_extent_x(type, &lb, &extent);
  if (layout::lower_bound(l) == lb && layout::extent(l) == extent) return l;
  const Layout* resized = layout::make_resized(lb, extent, l);
  layout::release(l);
  return resized;
}

MPI_Datatype predefined_type_of(MPI_Datatype type) {
  Contents c;
  if (!read_contents(type, &c)) return MPI_DATATYPE_NULL;
  if (c.is_library_type) return type;
  MPI_Datatype found = MPI_DATATYPE_NULL;
  for (MPI_Datatype t : c.types) {
    MPI_Count size = 0;
    pmpi().Type_size_x(t, &size);
    if (size == 0) continue;
    const MPI_Datatype of_part = predefined_type_of(t);
    if (of_part == MPI_DATATYPE_NULL || (found != MPI_DATATYPE_NULL && found != of_part))
      return MPI_DATATYPE_NULL;
    found = of_part;
  }
  return found;
}

bool decode_elements(MPI_Datatype type, uint64_t (*element_size)(MPI_Datatype),
                     layout::ElementsBuilder* out) {
  MPI_Count size = 0;
  pmpi().Type_size_x(type, &size);
  Contents c;
  if (size < 0 || !read_contents(type, &c)) return false;
  if (c.combiner == MPI_COMBINER_NAMED) {
    const uint64_t element = element_size(type);
    if (element != 0) out->append(element, static_cast<uint64_t>(size) / element);
    return element != 0;
  }
  Arguments a(c);
  std::vector<int64_t> copies;
  if (c.combiner == MPI_COMBINER_STRUCT) {
    copies = a.counts(a.count());
  } else if (c.types.empty()) {
    return false;  // a Fortran type by its precision
  } else {
    // All other constructors place copies of one type; how many, the sizes say.
    MPI_Count child = 0;
    pmpi().Type_size_x(c.types[0], &child);
    copies = {child > 0 ? size / child : 0};
  }
  if (copies.size() != c.types.size()) return false;
  for (size_t i = 0; i < copies.size(); i++) {
    layout::ElementsBuilder child;
    if (copies[i] > 0 && !decode_elements(c.types[i], element_size, &child)) return false;
    out->append(child, static_cast<uint64_t>(copies[i]));
  }
  return true;
}

}  // namespace tasuki::shim
