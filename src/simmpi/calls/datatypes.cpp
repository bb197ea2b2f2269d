// Datatypes: constructors, what they were made of, packing.
#include <algorithm>
#include <cstring>

#include "simmpi/calls/call_scope.h"
#include "simmpi/objects/comm.h"
#include "simmpi/objects/datatype.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi_generated/calls.h"

namespace tasuki::simmpi {
namespace {

// How a type was made, in the order in which MPI_Type_get_contents gives it.
struct Recipe {
  int combiner;
  std::vector<int64_t> counts;      // integers of the classic functions, large counts of the others
  std::vector<int64_t> addresses;   // displacements in bytes
  std::vector<int64_t> integers{};  // that are no counts (order, distributions)
};

int make(const layout::Layout* layout, const std::vector<Datatype*>& from, bool large, Recipe recipe,
         MPI_Datatype* newtype) {
  if (layout == nullptr) return MPI_ERR_TYPE;
  auto* t = new Datatype;
  t->layout = layout;
  t->combiner = recipe.combiner;
  t->large = large;
  if (large) {
    // Large forms give displacements as counts, too.
    t->counts = std::move(recipe.counts);
    t->counts.insert(t->counts.end(), recipe.addresses.begin(), recipe.addresses.end());
    t->integers = std::move(recipe.integers);
  } else {
    t->integers = std::move(recipe.counts);
    t->integers.insert(t->integers.end(), recipe.integers.begin(), recipe.integers.end());
    t->addresses = std::move(recipe.addresses);
  }
  t->element = from.empty() ? 0 : from[0]->element;
  for (Datatype* child : from) {
    if (child->element != t->element) t->element = 0;
    retain(child);
    t->types.push_back(child);
  }
  *newtype = handle(t);
  return MPI_SUCCESS;
}

std::vector<int64_t> list(std::initializer_list<int64_t> first, Counts rest, int64_t n) {
  std::vector<int64_t> v(first);
  for (int64_t i = 0; i < n; i++) v.push_back(rest[static_cast<size_t>(i)]);
  return v;
}

void append(std::vector<int64_t>* v, Counts rest, int64_t n) {
  for (int64_t i = 0; i < n; i++) v->push_back(rest[static_cast<size_t>(i)]);
}

bool negative(Counts c, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (c[static_cast<size_t>(i)] < 0) return true;
  return false;
}

#define TYPE(name, handle)          \
  Datatype* name = type_of(handle); \
  if (name == nullptr) return MPI_ERR_TYPE

int make_indexed(int64_t count, Counts lengths, Counts displacements, int64_t unit, MPI_Datatype oldtype,
                 int combiner, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  if (count < 0 || negative(lengths, count)) return MPI_ERR_COUNT;
  std::vector<uint64_t> n;
  std::vector<int64_t> at;
  for (int64_t i = 0; i < count; i++) {
    n.push_back(static_cast<uint64_t>(lengths[static_cast<size_t>(i)]));
    at.push_back(displacements[static_cast<size_t>(i)] * unit);
  }
  Recipe r{combiner, list({count}, lengths, count), {}};
  append(combiner == MPI_COMBINER_HINDEXED ? &r.addresses : &r.counts, displacements, count);
  return make(layout::make_hindexed(n.size(), n.data(), at.data(), t->layout), {t}, lengths.large(),
              std::move(r), newtype);
}

int make_blocks(int64_t count, int64_t length, Counts displacements, int64_t unit, MPI_Datatype oldtype,
                int combiner, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  if (count < 0 || length < 0) return MPI_ERR_COUNT;
  std::vector<int64_t> at;
  for (int64_t i = 0; i < count; i++) at.push_back(displacements[static_cast<size_t>(i)] * unit);
  Recipe r{combiner, {count, length}, {}};
  append(combiner == MPI_COMBINER_HINDEXED_BLOCK ? &r.addresses : &r.counts, displacements, count);
  return make(layout::make_hindexed_block(at.size(), static_cast<uint64_t>(length), at.data(), t->layout),
              {t}, displacements.large() && combiner == MPI_COMBINER_INDEXED_BLOCK, std::move(r), newtype);
}

void copy_name(const std::string& name, char* to, int* length) {
  const size_t n = std::min<size_t>(name.size(), MPI_MAX_OBJECT_NAME - 1);
  memcpy(to, name.data(), n);
  to[n] = 0;
  *length = static_cast<int>(n);
}

}  // namespace

namespace calls {

int Type_contiguous(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  if (count < 0) return MPI_ERR_COUNT;
  return make(layout::make_contiguous(static_cast<uint64_t>(count), t->layout), {t}, false,
              {MPI_COMBINER_CONTIGUOUS, {count}, {}}, newtype);
}
int Type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  if (count < 0 || blocklength < 0) return MPI_ERR_COUNT;
  return make(layout::make_hvector(static_cast<uint64_t>(count), static_cast<uint64_t>(blocklength),
                                   stride * t->extent(), t->layout),
              {t}, false, {MPI_COMBINER_VECTOR, {count, blocklength, stride}, {}}, newtype);
}
int Type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                        MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  if (count < 0 || blocklength < 0) return MPI_ERR_COUNT;
  return make(layout::make_hvector(static_cast<uint64_t>(count), static_cast<uint64_t>(blocklength), stride,
                                   t->layout),
              {t}, false, {MPI_COMBINER_HVECTOR, {count, blocklength}, {stride}}, newtype);
}
int Type_indexed(MPI_Count count, Counts array_of_blocklengths, Counts array_of_displacements,
                 MPI_Datatype oldtype, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  return make_indexed(count, array_of_blocklengths, array_of_displacements, t->extent(), oldtype,
                      MPI_COMBINER_INDEXED, newtype);
}
int Type_create_hindexed(MPI_Count count, Counts array_of_blocklengths, Counts array_of_displacements,
                         MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return make_indexed(count, array_of_blocklengths, array_of_displacements, 1, oldtype, MPI_COMBINER_HINDEXED,
                      newtype);
}
int Type_create_indexed_block(MPI_Count count, MPI_Count blocklength, Counts array_of_displacements,
                              MPI_Datatype oldtype, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  return make_blocks(count, blocklength, array_of_displacements, t->extent(), oldtype,
                     MPI_COMBINER_INDEXED_BLOCK, newtype);
}
int Type_create_hindexed_block(MPI_Count count, MPI_Count blocklength, Counts array_of_displacements,
                               MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return make_blocks(count, blocklength, array_of_displacements, 1, oldtype, MPI_COMBINER_HINDEXED_BLOCK,
                     newtype);
}
int Type_create_struct(MPI_Count count, Counts array_of_blocklengths, Counts array_of_displacements,
                       const MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
  if (count < 0 || negative(array_of_blocklengths, count)) return MPI_ERR_COUNT;
  std::vector<uint64_t> n;
  std::vector<int64_t> at;
  std::vector<Datatype*> types;
  std::vector<const layout::Layout*> layouts;
  for (int64_t i = 0; i < count; i++) {
    TYPE(t, array_of_types[i]);
    n.push_back(static_cast<uint64_t>(array_of_blocklengths[static_cast<size_t>(i)]));
    at.push_back(array_of_displacements[static_cast<size_t>(i)]);
    types.push_back(t);
    layouts.push_back(t->layout);
  }
  return make(layout::make_struct(n.size(), n.data(), at.data(), layouts.data()), types,
              array_of_blocklengths.large(),
              {MPI_COMBINER_STRUCT, list({count}, array_of_blocklengths, count), at}, newtype);
}
int Type_create_subarray(int ndims, Counts array_of_sizes, Counts array_of_subsizes, Counts array_of_starts,
                         int order, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  if (ndims < 1 || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)) return MPI_ERR_ARG;
  std::vector<int64_t> sizes, subsizes, starts;
  append(&sizes, array_of_sizes, ndims);
  append(&subsizes, array_of_subsizes, ndims);
  append(&starts, array_of_starts, ndims);
  for (size_t i = 0; i < sizes.size(); i++)
    if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || starts[i] + subsizes[i] > sizes[i])
      return MPI_ERR_ARG;
  Recipe r{MPI_COMBINER_SUBARRAY, list({ndims}, array_of_sizes, ndims), {}};
  append(&r.counts, array_of_subsizes, ndims);
  append(&r.counts, array_of_starts, ndims);
  r.integers.push_back(order);
  const bool large = array_of_sizes.large();
  if (large) {
    r.counts.erase(r.counts.begin());
    r.integers.insert(r.integers.begin(), ndims);
  }
  return make(layout::make_subarray(ndims, sizes.data(), subsizes.data(), starts.data(),
                                    order == MPI_ORDER_C ? 'C' : 'F', t->layout),
              {t}, large, std::move(r), newtype);
}
// Distributed arrays, dimension by dimension: each wraps the type of the faster ones into the part that this
// process has.
int Type_create_darray(int size, int rank, int ndims, Counts array_of_gsizes, const int array_of_distribs[],
                       const int array_of_dargs[], const int array_of_psizes[], int order,
                       MPI_Datatype oldtype, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  if (ndims < 1 || rank < 0 || rank >= size || (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN))
    return MPI_ERR_ARG;
  std::vector<int> at(static_cast<size_t>(ndims));
  for (int d = ndims - 1, rest = rank; d >= 0; d--) {
    if (array_of_psizes[d] < 1) return MPI_ERR_ARG;
    at[static_cast<size_t>(d)] = rest % array_of_psizes[d];
    rest /= array_of_psizes[d];
  }
  const layout::Layout* part = layout::retain(t->layout);
  int64_t stride = t->extent();  // of one element of the dimension
  for (int k = 0; k < ndims && part != nullptr; k++) {
    const auto d = static_cast<size_t>(order == MPI_ORDER_C ? ndims - 1 - k : k);
    const int64_t n = array_of_gsizes[d], p = array_of_psizes[d];
    int64_t block = n;
    if (array_of_distribs[d] == MPI_DISTRIBUTE_BLOCK)
      block = array_of_dargs[d] == MPI_DISTRIBUTE_DFLT_DARG ? (n + p - 1) / p : array_of_dargs[d];
    else if (array_of_distribs[d] == MPI_DISTRIBUTE_CYCLIC)
      block = array_of_dargs[d] == MPI_DISTRIBUTE_DFLT_DARG ? 1 : array_of_dargs[d];
    if (block < 1 || n < 1) {
      layout::release(part);
      return MPI_ERR_ARG;
    }
    std::vector<uint64_t> lengths;
    std::vector<int64_t> places;
    for (int64_t begin = at[d] * block; begin < n; begin += block * p) {
      lengths.push_back(static_cast<uint64_t>(std::min(block, n - begin)));
      places.push_back(begin * stride);
    }
    const layout::Layout* child = layout::make_resized(0, stride, part);
    const layout::Layout* next =
        child != nullptr ? layout::make_hindexed(lengths.size(), lengths.data(), places.data(), child)
                         : nullptr;
    layout::release(part);
    if (child != nullptr) layout::release(child);
    part = next;
    stride *= n;
  }
  const layout::Layout* whole = part != nullptr ? layout::make_resized(0, stride, part) : nullptr;
  if (part != nullptr) layout::release(part);
  Recipe r{MPI_COMBINER_DARRAY, {size, rank, ndims}, {}};
  append(&r.counts, array_of_gsizes, ndims);
  for (const int* a : {array_of_distribs, array_of_dargs, array_of_psizes}) append(&r.counts, a, ndims);
  r.counts.push_back(order);
  return make(whole, {t}, false, std::move(r), newtype);
}
int Type_create_resized(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  return make(layout::make_resized(lb, extent, t->layout), {t}, false,
              {MPI_COMBINER_RESIZED, {}, {lb, extent}}, newtype);
}
int Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  TYPE(t, oldtype);
  const int error = make(layout::retain(t->layout), {t}, false, {MPI_COMBINER_DUP, {}, {}}, newtype);
  if (error != MPI_SUCCESS) return error;
  Datatype* n = type_of(*newtype);
  n->basic = t->basic;
  for (const auto& [key, value] : t->attributes) {
    const Keyval& k = mpi_state().keyvals[key];
    if (k.type_copy == MPI_TYPE_NULL_COPY_FN) continue;
    void* copied = value;
    int flag = 1;
    if (k.type_copy != MPI_TYPE_DUP_FN)
      if (const int code = k.type_copy(oldtype, key, k.extra, value, &copied, &flag); code != MPI_SUCCESS)
        return code;
    if (flag != 0) n->attributes[key] = copied;
  }
  return MPI_SUCCESS;
}
int Type_commit(MPI_Datatype* datatype) {
  TYPE(t, *datatype);
  (void)t;
  return MPI_SUCCESS;
}
int Type_free(MPI_Datatype* datatype) {
  TYPE(t, *datatype);
  if (t->predefined != MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  for (const auto& [key, value] : std::map(t->attributes)) {
    const Keyval& k = mpi_state().keyvals[key];
    if (k.type_delete != MPI_TYPE_NULL_DELETE_FN) k.type_delete(*datatype, key, value, k.extra);
  }
  release(t);
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

// ---- what a type is
int Type_size(MPI_Datatype datatype, CountOut size) {
  TYPE(t, datatype);
  size = static_cast<int64_t>(t->size());
  return MPI_SUCCESS;
}
int Type_size_x(MPI_Datatype datatype, MPI_Count* size) {
  return Type_size(datatype, size);
}
int Type_get_extent(MPI_Datatype datatype, CountOut lb, CountOut extent) {
  TYPE(t, datatype);
  lb = layout::lower_bound(t->layout);
  extent = t->extent();
  return MPI_SUCCESS;
}
int Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  return Type_get_extent(datatype, lb, extent);
}
int Type_get_true_extent(MPI_Datatype datatype, CountOut true_lb, CountOut true_extent) {
  TYPE(t, datatype);
  true_lb = layout::true_lower_bound(t->layout);
  true_extent = layout::true_extent(t->layout);
  return MPI_SUCCESS;
}
int Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  return Type_get_true_extent(datatype, true_lb, true_extent);
}
int Type_get_envelope_c(MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                        MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner) {
  TYPE(t, datatype);
  *num_integers = static_cast<MPI_Count>(t->integers.size());
  *num_addresses = static_cast<MPI_Count>(t->addresses.size());
  *num_large_counts = static_cast<MPI_Count>(t->counts.size());
  *num_datatypes = static_cast<MPI_Count>(t->types.size());
  *combiner = t->combiner;
  return MPI_SUCCESS;
}
int Type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                      int* combiner) {
  TYPE(t, datatype);
  if (!t->counts.empty()) return MPI_ERR_TYPE;  // needs the large form
  *num_integers = static_cast<int>(t->integers.size());
  *num_addresses = static_cast<int>(t->addresses.size());
  *num_datatypes = static_cast<int>(t->types.size());
  *combiner = t->combiner;
  return MPI_SUCCESS;
}
int Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                        MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                        MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                        MPI_Datatype array_of_datatypes[]) {
  TYPE(t, datatype);
  const auto size = [](const auto& v) { return static_cast<MPI_Count>(v.size()); };
  if (t->combiner == MPI_COMBINER_NAMED) return MPI_ERR_TYPE;
  if (max_integers < size(t->integers) || max_addresses < size(t->addresses) ||
      max_large_counts < size(t->counts) || max_datatypes < size(t->types))
    return MPI_ERR_COUNT;
  for (size_t i = 0; i < t->integers.size(); i++) array_of_integers[i] = static_cast<int>(t->integers[i]);
  for (size_t i = 0; i < t->addresses.size(); i++) array_of_addresses[i] = t->addresses[i];
  for (size_t i = 0; i < t->counts.size(); i++) array_of_large_counts[i] = t->counts[i];
  for (size_t i = 0; i < t->types.size(); i++) {
    retain(t->types[i]);
    array_of_datatypes[i] = handle(t->types[i]);
  }
  return MPI_SUCCESS;
}
int Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                      int array_of_integers[], MPI_Aint array_of_addresses[],
                      MPI_Datatype array_of_datatypes[]) {
  return Type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes, array_of_integers,
                             array_of_addresses, nullptr, array_of_datatypes);
}
int Type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
  TYPE(t, datatype);
  copy_name(t->name, type_name, resultlen);
  return MPI_SUCCESS;
}
int Type_set_name(MPI_Datatype datatype, const char* type_name) {
  TYPE(t, datatype);
  if (t->predefined != MPI_DATATYPE_NULL) return MPI_ERR_TYPE;  // one for all ranks
  t->name = type_name;
  return MPI_SUCCESS;
}
int Type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  *datatype = MPI_DATATYPE_NULL;
  if (typeclass == MPI_TYPECLASS_INTEGER)
    *datatype = size == 1   ? MPI_INTEGER1
                : size == 2 ? MPI_INTEGER2
                : size == 4 ? MPI_INTEGER4
                : size == 8 ? MPI_INTEGER8
                            : MPI_DATATYPE_NULL;
  if (typeclass == MPI_TYPECLASS_REAL)
    *datatype = size == 4 ? MPI_REAL4 : size == 8 ? MPI_REAL8 : MPI_DATATYPE_NULL;
  if (typeclass == MPI_TYPECLASS_COMPLEX)
    *datatype = size == 8 ? MPI_COMPLEX8 : size == 16 ? MPI_COMPLEX16 : MPI_DATATYPE_NULL;
  return *datatype == MPI_DATATYPE_NULL ? MPI_ERR_ARG : MPI_SUCCESS;
}

// ---- attributes
int Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                       MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                       void* extra_state) {
  MpiState& s = mpi_state();
  *type_keyval = s.next_keyval++;
  s.keyvals[*type_keyval] = {nullptr, nullptr, type_copy_attr_fn, type_delete_attr_fn, extra_state};
  return MPI_SUCCESS;
}
int Type_free_keyval(int* type_keyval) {
  *type_keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}
int Type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val) {
  TYPE(t, datatype);
  if (t->predefined != MPI_DATATYPE_NULL || mpi_state().keyvals.count(type_keyval) == 0)
    return MPI_ERR_KEYVAL;
  t->attributes[type_keyval] = attribute_val;
  return MPI_SUCCESS;
}
int Type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag) {
  TYPE(t, datatype);
  const auto i = t->attributes.find(type_keyval);
  *flag = i != t->attributes.end();
  if (*flag != 0) memcpy(attribute_val, &i->second, sizeof(void*));
  return MPI_SUCCESS;
}
int Type_delete_attr(MPI_Datatype datatype, int type_keyval) {
  TYPE(t, datatype);
  return t->attributes.erase(type_keyval) != 0 ? MPI_SUCCESS : MPI_ERR_KEYVAL;
}

// ---- addresses and packing
int Get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}
MPI_Aint Aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(base) + static_cast<uintptr_t>(disp));
}
MPI_Aint Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(addr1) - static_cast<uintptr_t>(addr2));
}
int Pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm, CountOut size) {
  TYPE(t, datatype);
  if (incount < 0) return MPI_ERR_COUNT;
  size = incount * static_cast<int64_t>(t->size());
  return MPI_SUCCESS;
}
int Pack(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf, MPI_Count outsize,
         CountOut position, MPI_Comm) {
  TYPE(t, datatype);
  if (incount < 0) return MPI_ERR_COUNT;
  const layout::Region r{static_cast<char*>(const_cast<void*>(inbuf)), static_cast<uint64_t>(incount),
                         t->layout};
  const auto n = static_cast<int64_t>(layout::bytes(r));
  if (position.get() < 0 || position.get() + n > outsize) return MPI_ERR_TRUNCATE;
  layout::pack(static_cast<char*>(outbuf) + position.get(), r, 0, static_cast<uint64_t>(n));
  position = position.get() + n;
  return MPI_SUCCESS;
}
int Unpack(const void* inbuf, MPI_Count insize, CountOut position, void* outbuf, MPI_Count outcount,
           MPI_Datatype datatype, MPI_Comm) {
  TYPE(t, datatype);
  if (outcount < 0) return MPI_ERR_COUNT;
  const layout::Region r{static_cast<char*>(outbuf), static_cast<uint64_t>(outcount), t->layout};
  const auto n = static_cast<int64_t>(layout::bytes(r));
  if (position.get() < 0 || position.get() + n > insize) return MPI_ERR_TRUNCATE;
  layout::unpack(r, 0, static_cast<uint64_t>(n), static_cast<const char*>(inbuf) + position.get());
  position = position.get() + n;
  return MPI_SUCCESS;
}
#undef TYPE

}  // namespace calls
}  // namespace tasuki::simmpi
