// Mapping inquiry functions (XcalableMP 1.4, section 7.6, and those for numerical libraries in its appendix)
// for node arrays, templates and distributed arrays, and the translation of image numbers (section 5.5).
// Dimensions count from 1; those of templates and node arrays in the order in which the first varies fastest,
// those of arrays as C declares them.
#include <algorithm>
#include <climits>

#include "coarray/api/runtime.h"
#include "coarray/global/records/descriptors.h"
#include "tasuki/xmp.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace {

// The dimension of a record if there is such a one, else nullptr.
const tasuki_xmp_template_dimension* dimension_of(xmp_desc_t d, int dim) {
  const tasuki_xmp_template* t = template_of(d);
  return t != nullptr && dim >= 1 && dim <= t->dimensions ? &t->dimension[dim - 1] : nullptr;
}
const Distribution* distribution_of(xmp_desc_t d, int dim) {
  if (dimension_of(d, dim) == nullptr || template_of(d)->fixed == 0) return nullptr;
  const tasuki_xmp_template* t = template_of(d);
  return &runtime().templates.of(t, {t->file, t->line}).dimension[static_cast<size_t>(dim) - 1];
}
bool has_dimension(const tasuki_xmp_array* a, int dim) {
  return a != nullptr && dim >= 1 && dim <= a->dimensions;
}

int give(int* result, long long value) {
  if (value < INT_MIN || value > INT_MAX) return -1;
  *result = static_cast<int>(value);
  return 0;
}

// A node array that has such a dimension, else nullptr.
const NodeSet* set_with(xmp_desc_t d, int dim, const char* function) {
  const tasuki_xmp_nodes* nodes = nodes_of(d);
  if (nodes == nullptr || dim < 1 || dim > nodes->dimensions) return nullptr;
  runtime().phase.require_start(function);
  return &runtime().teams.nodes(*nodes);
}

}  // namespace

EXPORT int xmp_nodes_ndims(xmp_desc_t d, int* ndims) {
  return nodes_of(d) == nullptr ? -1 : give(ndims, nodes_of(d)->dimensions);
}

EXPORT int xmpc_nodes_index(xmp_desc_t d, int dim, int* index) {
  const NodeSet* set = set_with(d, dim, "xmpc_nodes_index");
  if (set == nullptr) return -1;
  const Team& world = runtime().teams.world();
  const auto found =
      std::find(set->ranks.begin(), set->ranks.end(), world.ranks[static_cast<size_t>(world.me)]);
  if (found == set->ranks.end()) return give(index, -1);
  auto position = static_cast<int>(found - set->ranks.begin());
  for (int i = 1; i < dim; i++) position /= set->sizes[static_cast<size_t>(i) - 1];
  return give(index, position % set->sizes[static_cast<size_t>(dim) - 1]);
}

EXPORT int xmp_nodes_index(xmp_desc_t d, int dim, int* index) {
  if (xmpc_nodes_index(d, dim, index) != 0) return -1;
  ++*index;
  return 0;
}

EXPORT int xmp_nodes_size(xmp_desc_t d, int dim, int* size) {
  const NodeSet* set = set_with(d, dim, "xmp_nodes_size");
  return set == nullptr ? -1 : give(size, set->sizes[static_cast<size_t>(dim) - 1]);
}

EXPORT int xmp_nodes_attr(xmp_desc_t d, int* attr) {
  return nodes_of(d) == nullptr ? -1 : give(attr, nodes_of(d)->origin);
}

EXPORT int xmp_nodes_equiv(xmp_desc_t d, xmp_desc_t* dn, int* lb, int* ub, int* st) {
  const tasuki_xmp_nodes* nodes = nodes_of(d);
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

// ---- for numerical libraries (appendix, "Extended Mapping Inquiry Functions"): the local array, as the
// appendix's memory layout has it

namespace {

// nullptr: it is no distributed array that has memory.
const Geometry* geometry_of(xmp_desc_t d) {
  const tasuki_xmp_array* a = array_of(d);
  return a != nullptr ? static_cast<const Geometry*>(a->state[0]) : nullptr;
}
bool has_dimension(const Geometry* g, int dim) {
  return g != nullptr && dim >= 1 && static_cast<size_t>(dim) <= g->axis.size();
}
// Cyclic: our memory begins with a round of the template, the local array with what the node owns.
int64_t ahead(const tasuki_xmp_array& a, const Geometry& g, size_t d) {
  const bool gap = g.axis[d].cyclic() && a.lower[d] <= a.upper[d];
  return gap ? g.axis[d].local(g.own(d), a.lower[d]) : 0;
}

}  // namespace

EXPORT int xmp_array_gtol(xmp_desc_t d, int dim, int g_idx, int* l_idx) {
  const Geometry* g = geometry_of(d);
  if (!has_dimension(g, dim)) return -1;
  const size_t at = static_cast<size_t>(dim) - 1;
  if (!g->here(at, g_idx)) return -1;
  return give(l_idx, g->axis[at].local(g->own(at), g_idx) - ahead(*array_of(d), *g, at));
}

EXPORT int xmp_array_lsize(xmp_desc_t d, int dim, int* lsize) {
  const Geometry* g = geometry_of(d);
  if (!has_dimension(g, dim)) return -1;
  if (!g->mine) return give(lsize, 0);
  const size_t at = static_cast<size_t>(dim) - 1;
  const Pieces owned = g->axis[at].owned(g->own(at), {0, g->axis[at].extent, 1});
  int64_t size = 0;
  for (int64_t r = 0; r < owned.runs; r++) size += owned.run(r).count;
  return give(lsize, size);
}

EXPORT int xmp_array_laddr(xmp_desc_t d, void** laddr) {
  const Geometry* g = geometry_of(d);
  if (g == nullptr) return -1;
  int64_t skipped = 0;
  for (size_t at = 0; at < g->axis.size(); at++) skipped += ahead(*array_of(d), *g, at) * g->axis[at].stride;
  *laddr = static_cast<char*>(array_of(d)->memory) + static_cast<uint64_t>(skipped) * g->element;
  return 0;
}

EXPORT int xmp_array_lda(xmp_desc_t d, int* lda) {
  const Geometry* g = geometry_of(d);
  return g != nullptr && g->axis.size() == 2 ? give(lda, g->axis[0].stride) : -1;
}

namespace {

// The ranks of node array `d`, or of the executing nodes.
const std::vector<int>& ranks_of(Runtime& r, xmp_desc_t d, const char* function) {
  if (d == nullptr) return r.teams.current().ranks;
  const tasuki_xmp_nodes* nodes = nodes_of(d);
  if (nodes == nullptr) fail({nullptr, 0}, "%s wants the descriptor of a node array", function);
  return r.teams.nodes(*nodes).ranks;
}

void translate(int count, const int* index, int* result, xmp_desc_t d, bool to_all, const char* function) {
  Runtime& r = runtime();
  r.phase.require_start(function);
  const std::vector<int>& ranks = ranks_of(r, d, function);
  const std::vector<int>& where = (to_all ? r.teams.world() : r.teams.current()).index;
  for (int i = 0; i < count; i++) {
    if (index[i] < 1 || static_cast<size_t>(index[i]) > ranks.size())
      fail({nullptr, 0}, "%s: there is no node %d in a set of %zu", function, index[i], ranks.size());
    result[i] = where[static_cast<size_t>(ranks[static_cast<size_t>(index[i]) - 1])] + 1;
  }
}

}  // namespace

EXPORT void xmp_get_primary_image_index(int count, const int* index, int* primary, xmp_desc_t d) {
  translate(count, index, primary, d, true, "xmp_get_primary_image_index");
}

EXPORT void xmp_get_image_index(int count, const int* index, int* current, xmp_desc_t d) {
  translate(count, index, current, d, false, "xmp_get_image_index");
}
