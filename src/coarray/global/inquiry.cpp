// Mapping inquiry functions (XcalableMP 1.4, section 7.6) for templates, distributed arrays and their nodes. Dimensions count from 1;
// those of templates and node arrays in the order in which the first varies fastest, those of arrays as C declares them.
#include "coarray/global/arrays.h"
#include "coarray/runtime.h"
#include "tasuki/xmp.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace {

template <typename Record>
const Record* record_of(xmp_desc_t d, int kind) {
  return d != nullptr && *static_cast<const int*>(d) == kind ? static_cast<const Record*>(d) : nullptr;
}
const tasuki_xmp_template* template_of(xmp_desc_t d) {
  return record_of<tasuki_xmp_template>(d, TASUKI_XMP_KIND_TEMPLATE);
}
const tasuki_xmp_array* array_of(xmp_desc_t d) {
  return record_of<tasuki_xmp_array>(d, TASUKI_XMP_KIND_ARRAY);
}
const tasuki_xmp_descriptor* coarray_of(xmp_desc_t d) {
  return record_of<tasuki_xmp_descriptor>(d, TASUKI_XMP_KIND_COARRAY);
}

// The dimension of a record if there is such a one, else nullptr.
const tasuki_xmp_template_dimension* dimension_of(xmp_desc_t d, int dim) {
  const tasuki_xmp_template* t = template_of(d);
  return t != nullptr && dim >= 1 && dim <= t->dimensions ? &t->dimension[dim - 1] : nullptr;
}
const Distribution* distribution_of(xmp_desc_t d, int dim) {
  if (dimension_of(d, dim) == nullptr || template_of(d)->fixed == 0) return nullptr;
  const tasuki_xmp_template* t = template_of(d);
  return &templates().of(t, {t->file, t->line}).dimension[static_cast<size_t>(dim) - 1];
}
bool has_dimension(const tasuki_xmp_array* a, int dim) {
  return a != nullptr && dim >= 1 && dim <= a->dimensions;
}

int give(int* result, long long value) {
  *result = static_cast<int>(value);
  return 0;
}

}  // namespace

EXPORT int xmp_nodes_equiv(xmp_desc_t d, xmp_desc_t* dn, int* lb, int* ub, int* st) {
  const auto* nodes = record_of<tasuki_xmp_nodes>(d, TASUKI_XMP_KIND_NODES);
  if (nodes == nullptr || nodes->origin != XMP_EQUIVALENCE_NODES) return -1;
  *dn = nodes->whole;
  const NodeSet& whole = runtime().teams.nodes(*nodes->whole);
  for (int i = 0; i < nodes->whole->dimensions; i++) {
    const tasuki_xmp_range all = {0, TASUKI_XMP_REST, 1};
    const tasuki_xmp_range& range = nodes->ranges != nullptr ? nodes->ranges[i] : all;
    st[i] = range.step;
    if (range.step == TASUKI_XMP_OWN) continue;
    const int size = whole.sizes[static_cast<size_t>(i)];
    const int last = range.step > 0 ? size - 1 : 0;
    lb[i] = range.begin + 1;
    ub[i] = (range.count == TASUKI_XMP_REST ? last : range.begin + (range.count - 1) * range.step) + 1;
  }
  return 0;
}

EXPORT int xmp_template_fixed(xmp_desc_t d, int* fixed) {
  return template_of(d) == nullptr ? -1 : give(fixed, template_of(d)->fixed);
}

EXPORT int xmp_template_ndims(xmp_desc_t d, int* ndims) {
  return template_of(d) == nullptr ? -1 : give(ndims, template_of(d)->dimensions);
}

EXPORT int xmp_template_lbound(xmp_desc_t d, int dim, int* lbound) {
  const Distribution* known = distribution_of(d, dim);
  return known == nullptr ? -1 : give(lbound, known->lower());
}

EXPORT int xmp_template_ubound(xmp_desc_t d, int dim, int* ubound) {
  const Distribution* known = distribution_of(d, dim);
  return known == nullptr ? -1 : give(ubound, known->upper());
}

EXPORT int xmp_dist_format(xmp_desc_t d, int dim, int* format) {
  static constexpr int formats[] = {XMP_NOT_DISTRIBUTED, XMP_BLOCK, XMP_CYCLIC, XMP_GBLOCK};
  const tasuki_xmp_template_dimension* known = dimension_of(d, dim);
  return known == nullptr ? -1 : give(format, formats[known->format]);
}

EXPORT int xmp_dist_blocksize(xmp_desc_t d, int dim, int* blocksize) {
  const Distribution* known = distribution_of(d, dim);
  if (known == nullptr) return -1;
  const bool blocks =
      known->kind() == Distribution::Kind::block || known->kind() == Distribution::Kind::cyclic;
  return blocks ? give(blocksize, known->width()) : -1;
}

EXPORT int xmp_dist_gblockmap(xmp_desc_t d, int dim, int* map) {
  const Distribution* known = distribution_of(d, dim);
  if (known == nullptr || known->kind() != Distribution::Kind::gblock) return -1;
  for (int c = 0; c < known->nodes(); c++) map[c] = static_cast<int>(known->size_of(c));
  return 0;
}

EXPORT int xmp_dist_nodes(xmp_desc_t d, xmp_desc_t* dn) {
  if (template_of(d) == nullptr || template_of(d)->onto == nullptr) return -1;
  *dn = template_of(d)->onto;
  return 0;
}

EXPORT int xmp_dist_axis(xmp_desc_t d, int dim, int* axis) {
  const tasuki_xmp_template_dimension* known = dimension_of(d, dim);
  const bool distributed = known != nullptr && known->format != TASUKI_XMP_DUPLICATED && known->nodes >= 0;
  return distributed ? give(axis, known->nodes + 1) : -1;
}

EXPORT int xmp_align_axis(xmp_desc_t d, int dim, int* axis) {
  const tasuki_xmp_array* a = array_of(d);
  return has_dimension(a, dim) && a->with[dim - 1] >= 0 ? give(axis, a->with[dim - 1] + 1) : -1;
}

EXPORT int xmp_align_offset(xmp_desc_t d, int dim, int* offset) {
  const tasuki_xmp_array* a = array_of(d);
  return has_dimension(a, dim) && a->with[dim - 1] >= 0 ? give(offset, a->offset[dim - 1]) : -1;
}

EXPORT int xmp_align_replicated(xmp_desc_t d, int dim, int* replicated) {
  const tasuki_xmp_array* a = array_of(d);
  if (a == nullptr || dim < 1 || dim > a->template_->dimensions) return -1;
  bool aligned = a->at_one[dim - 1] != 0;
  for (int i = 0; i < a->dimensions; i++) aligned = aligned || a->with[i] == dim - 1;
  return give(replicated, aligned ? 0 : 1);
}

EXPORT int xmp_align_template(xmp_desc_t d, xmp_desc_t* dt) {
  if (array_of(d) == nullptr) return -1;
  *dt = array_of(d)->template_;
  return 0;
}

EXPORT int xmp_array_ndims(xmp_desc_t d, int* ndims) {
  if (array_of(d) != nullptr) return give(ndims, array_of(d)->dimensions);
  return coarray_of(d) != nullptr ? give(ndims, coarray_of(d)->dimensions) : -1;
}

namespace {

int shadow(xmp_desc_t d, int dim, int side, int* width) {
  const tasuki_xmp_array* a = array_of(d);
  if (!has_dimension(a, dim)) return -1;
  const int declared = a->shadow[dim - 1][side];
  if (declared >= 0) return give(width, declared);
  // Full shadow: all that this node does not own.
  const long long lower = a->lower[dim - 1], upper = a->upper[dim - 1];
  return give(width, upper < lower ? (side == 0 ? 0 : a->extent[dim - 1])
                     : side == 0   ? lower
                                   : a->extent[dim - 1] - 1 - upper);
}

}  // namespace

EXPORT int xmp_array_lshadow(xmp_desc_t d, int dim, int* lshadow) {
  return shadow(d, dim, 0, lshadow);
}

EXPORT int xmp_array_ushadow(xmp_desc_t d, int dim, int* ushadow) {
  return shadow(d, dim, 1, ushadow);
}

EXPORT int xmp_array_lbound(xmp_desc_t d, int dim, int* bound) {
  const tasuki_xmp_descriptor* coarray = coarray_of(d);
  const bool known =
      has_dimension(array_of(d), dim) || (coarray != nullptr && dim >= 1 && dim <= coarray->dimensions);
  return known ? give(bound, 0) : -1;
}

EXPORT int xmp_array_ubound(xmp_desc_t d, int dim, int* bound) {
  const tasuki_xmp_array* a = array_of(d);
  if (has_dimension(a, dim)) return a->extent[dim - 1] > 0 ? give(bound, a->extent[dim - 1] - 1) : -1;
  const tasuki_xmp_descriptor* coarray = coarray_of(d);
  if (coarray == nullptr || dim < 1 || dim > coarray->dimensions || coarray->size[dim - 1] == 0) return -1;
  return give(bound, static_cast<long long>(coarray->size[dim - 1]) - 1);
}
