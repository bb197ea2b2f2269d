#include "coarray/global/records/templates.h"

#include <algorithm>

namespace tasuki::coarray {
namespace {

int kind_of(const void* record) {
  return *static_cast<const int*>(record);  // the first member of both
}

int64_t size_of(const tasuki_xmp_template_dimension& d) {
  return d.upper - d.lower + 1;
}

// The distribution of one dimension over `nodes` nodes; the restrictions of section 4.4.3.
Distribution distribution_of(const tasuki_xmp_template& t, int i, int format, int nodes, Where where) {
  const tasuki_xmp_template_dimension& d = t.dimension[i];
  if (size_of(d) < 0)
    fail(where, "dimension %d of the template '%s' goes from %lld to %lld", i + 1, t.name, d.lower, d.upper);
  switch (format) {
    case TASUKI_XMP_BLOCK:
      if (d.width < 0 || (d.width > 0 && ceil_div(size_of(d), d.width) > nodes))
        fail(where,
             "dimension %d of the template '%s' has %lld elements; %d nodes with blocks of %lld cannot hold "
             "them: "
             "at least block(%lld) is wanted",
             i + 1, t.name, static_cast<long long>(size_of(d)), nodes, d.width,
             static_cast<long long>(ceil_div(size_of(d), nodes)));
      return Distribution::block(d.lower, d.upper, nodes, d.width);
    case TASUKI_XMP_CYCLIC:
      if (d.width < 1)
        fail(where, "dimension %d of the template '%s' is cyclic(%lld); blocks have one element at least",
             i + 1, t.name, d.width);
      return Distribution::cyclic(d.lower, d.upper, nodes, d.width);
    case TASUKI_XMP_GBLOCK: {
      if (d.mapping == nullptr) fail(where, "the template '%s' has gblock(*) and no mapping yet", t.name);
      std::vector<int64_t> sizes;
      int64_t sum = 0;
      for (int c = 0; c < nodes; c++) {
        if (d.mapping[c] < 0)
          fail(where, "gblock of the template '%s': node %d is to have %d elements", t.name, c + 1,
               d.mapping[c]);
        sizes.push_back(d.mapping[c]);
        sum += d.mapping[c];
      }
      if (sum != size_of(d))
        fail(where, "gblock of the template '%s': the mapping has %lld elements, the dimension %lld", t.name,
             static_cast<long long>(sum), static_cast<long long>(size_of(d)));
      return Distribution::gblock(d.lower, sizes);
    }
    default:
      return Distribution::all(d.lower, d.upper);
  }
}

void settle(Template* t, int own_rank) {
  t->template_dimension.assign(t->sizes.size(), -1);
  for (size_t i = 0; i < t->dimension.size(); i++)
    if (t->node_dimension[i] >= 0)
      t->template_dimension[static_cast<size_t>(t->node_dimension[i])] = static_cast<int>(i);
  const auto found = std::find(t->ranks.begin(), t->ranks.end(), own_rank);
  t->member = t->everywhere || found != t->ranks.end();
  t->own.assign(t->sizes.size(), 0);
  if (!t->member) return;
  auto position = static_cast<int>(found - t->ranks.begin());
  for (size_t i = 0; i < t->sizes.size(); i++) {
    t->own[i] = position % t->sizes[i];
    position /= t->sizes[i];
  }
}

}  // namespace

const char* name_of_space(const void* record) {
  return kind_of(record) == TASUKI_XMP_KIND_NODES ? static_cast<const tasuki_xmp_nodes*>(record)->name
                                                  : static_cast<const tasuki_xmp_template*>(record)->name;
}

int Template::rank_of(const std::vector<int>& coordinates) const {
  int position = 0, factor = 1;
  for (size_t i = 0; i < sizes.size(); i++) {
    position += coordinates[i] * factor;
    factor *= sizes[i];
  }
  return ranks[static_cast<size_t>(position)];
}

std::vector<int> Template::ranks_of(const std::vector<std::vector<int>>& coordinates) const {
  std::vector<int> result, now(sizes.size());
  std::vector<size_t> at(sizes.size(), 0);
  for (const std::vector<int>& some : coordinates)
    if (some.empty()) return result;
  for (;;) {
    for (size_t i = 0; i < at.size(); i++) now[i] = coordinates[i][at[i]];
    result.push_back(rank_of(now));
    size_t i = 0;
    while (i < at.size() && ++at[i] == coordinates[i].size()) at[i++] = 0;
    if (i == at.size()) return result;
  }
}

const Template& Templates::of_nodes(const tasuki_xmp_nodes& record) {
  const NodeSet& set = teams_.nodes(record);
  std::unique_ptr<Template>& made = node_arrays_[&set];
  if (made == nullptr) {
    made = std::make_unique<Template>();
    for (size_t i = 0; i < set.sizes.size(); i++) {
      made->dimension.push_back(Distribution::block(0, set.sizes[i] - 1, set.sizes[i], 1));
      made->node_dimension.push_back(static_cast<int>(i));
    }
    made->sizes = set.sizes;
    made->ranks = set.ranks;
    settle(made.get(), teams_.world().own_rank());
  }
  return *made;
}

const Template& Templates::make(const tasuki_xmp_template& record, Where where) {
  Template t;
  t.everywhere = record.onto == nullptr;
  if (!t.everywhere) {
    const NodeSet& set = teams_.nodes(*record.onto);
    t.sizes = set.sizes;
    t.ranks = set.ranks;
  }
  std::vector<int64_t> key = {record.dimensions, record.onto == nullptr};
  size_t distributed = 0;
  for (int i = 0; i < record.dimensions; i++) {
    const tasuki_xmp_template_dimension& of_record = record.dimension[i];
    const int n = t.everywhere || of_record.format == TASUKI_XMP_DUPLICATED ? -1 : of_record.nodes;
    if (n >= static_cast<int>(t.sizes.size()))
      fail(where, "the template '%s' is distributed in more dimensions than the node array '%s' has",
           record.name, record.onto->name);
    t.node_dimension.push_back(n);
    if (n >= 0) distributed++;
    t.dimension.push_back(
        n < 0 ? distribution_of(record, i, TASUKI_XMP_DUPLICATED, 1, where)
              : distribution_of(record, i, of_record.format, t.sizes[static_cast<size_t>(n)], where));
    const Distribution& d = t.dimension.back();
    for (int64_t part :
         {static_cast<int64_t>(n), static_cast<int64_t>(d.kind()), d.lower(), d.upper(), d.width()})
      key.push_back(part);
    for (int c = 0; d.kind() == Distribution::Kind::gblock && c < d.nodes(); c++) key.push_back(d.size_of(c));
  }
  if (distributed != t.sizes.size())
    fail(where, "%zu dimensions of the template '%s' are distributed, but the node array '%s' has %zu",
         distributed, record.name, record.onto->name, t.sizes.size());
  key.insert(key.end(), t.sizes.begin(), t.sizes.end());
  key.insert(key.end(), t.ranks.begin(), t.ranks.end());
  std::unique_ptr<Template>& made = known_[key];
  if (made == nullptr) {
    settle(&t, teams_.world().own_rank());
    made = std::make_unique<Template>(std::move(t));
  }
  return *made;
}

const Template& Templates::of(const void* record, Where where) {
  if (kind_of(record) == TASUKI_XMP_KIND_NODES)
    return of_nodes(*static_cast<const tasuki_xmp_nodes*>(record));
  const auto* t = static_cast<const tasuki_xmp_template*>(record);
  if (t->state[0] == nullptr) {
    phase_.require_start("a template");
    if (t->fixed == 0)
      fail(where, "the template '%s' has no shape yet; template_fix comes before its use", t->name);
    const_cast<tasuki_xmp_template*>(t)->state[0] = const_cast<Template*>(&make(*t, {t->file, t->line}));
  }
  return *static_cast<const Template*>(t->state[0]);
}

void Templates::start() {
  for (tasuki_xmp_template* t : records_) define(t, {t->file, t->line});
}

void Templates::define(tasuki_xmp_template* record, Where where) {
  record->state[0] = nullptr;
  if (record->fixed != 0) of(record, where);
}

void Templates::fix(tasuki_xmp_template* record, const tasuki_xmp_template_dimension* shape, Where where) {
  if (record->fixed != 0)
    fail(where, "template_fix: the template '%s' is fixed already; it can be fixed once", record->name);
  for (int i = 0; i < record->dimensions; i++) {
    tasuki_xmp_template_dimension& d = record->dimension[i];
    d.lower = shape[i].lower;
    d.upper = shape[i].upper;
    if (d.format == TASUKI_XMP_GBLOCK && shape[i].mapping != nullptr) d.mapping = shape[i].mapping;
    if (d.format == TASUKI_XMP_BLOCK || d.format == TASUKI_XMP_CYCLIC) d.width = shape[i].width;
  }
  record->fixed = 1;
  record->state[0] = const_cast<Template*>(&make(*record, where));
  // The user's array may go; the sizes stand in the distribution.
  for (int i = 0; i < record->dimensions; i++) record->dimension[i].mapping = nullptr;
}

namespace {

// The coordinates that have some of dimension i's subscripts.
std::vector<int> owners(const Distribution& d, const Run& run) {
  if (run.count == 1) return {d.owner(run.begin)};
  std::vector<int> result;
  for (int c = 0; c < d.nodes(); c++)
    if (d.has(c, run)) result.push_back(c);
  return result;
}

Run resolve(const tasuki_xmp_on& on, size_t i, const Distribution& d, const tasuki_xmp_triplet& t,
            Where where) {
  Run run = {t.begin, t.count, t.step};
  if (run.begin == TASUKI_XMP_OPEN) run.begin = t.step > 0 ? d.lower() : d.upper();
  if (run.count == TASUKI_XMP_OPEN)
    run.count = t.step > 0 ? floor_div(d.upper() - run.begin, t.step) + 1
                           : floor_div(run.begin - d.lower(), -t.step) + 1;
  if (run.count < 1 || run.least() < d.lower() || run.most() > d.upper()) {
    // Users number nodes from 1.
    const int64_t more = *static_cast<const int*>(on.of) == TASUKI_XMP_KIND_NODES ? 1 : 0;
    fail(where, "dimension %zu of '%s' goes from %lld to %lld; %lld to %lld was named", i + 1,
         name_of_space(on.of), static_cast<long long>(d.lower() + more),
         static_cast<long long>(d.upper() + more), static_cast<long long>(run.begin + more),
         static_cast<long long>(run.last() + more));
  }
  return run;
}

}  // namespace

std::vector<int> Templates::nodes_on(const tasuki_xmp_on& on, Where where) {
  const Template& t = of(on.of, where);
  if (t.everywhere) return teams_.current().ranks;
  if (on.subscript == nullptr) return t.ranks;
  std::vector<std::vector<int>> coordinates(t.sizes.size());
  for (size_t i = 0; i < t.dimension.size(); i++) {
    const tasuki_xmp_triplet& s = on.subscript[i];
    const int n = t.node_dimension[i];
    if (s.step == 0) {
      if (!t.member) return {};
      if (n >= 0) coordinates[static_cast<size_t>(n)] = {t.own[static_cast<size_t>(n)]};
      continue;
    }
    const Run run = resolve(on, i, t.dimension[i], s, where);
    if (n >= 0) coordinates[static_cast<size_t>(n)] = owners(t.dimension[i], run);
  }
  return t.ranks_of(coordinates);
}

bool Templates::executes(const tasuki_xmp_on& on, Where where) {
  const Template& t = of(on.of, where);
  if (t.everywhere || on.subscript == nullptr) return t.everywhere || t.member;
  bool all = t.member;
  for (size_t i = 0; i < t.dimension.size(); i++) {
    const tasuki_xmp_triplet& s = on.subscript[i];
    if (s.step == 0) continue;
    const Run run = resolve(on, i, t.dimension[i], s, where);  // on the other nodes, too: it may fail
    all = all && (t.node_dimension[i] < 0 || t.dimension[i].has(t.own_coordinate(i), run));
  }
  return all;
}

}  // namespace tasuki::coarray
