#include "coarray/sync/teams.h"

#include <algorithm>

#include "coarray/sync/sync.h"

namespace tasuki::coarray {
namespace {

Where of(const tasuki_xmp_nodes& record) {
  return {record.file, record.line};
}

}  // namespace

Team* Teams::make(MPI_Comm comm) {
  auto* team = new Team;
  team->comm = comm;
  MPI_Group all, members;
  int count = 0, everyone = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &everyone);
  PMPI_Comm_size(comm, &count);
  PMPI_Comm_rank(comm, &team->me);
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Comm_group(comm, &members);
  std::vector<int> own(static_cast<size_t>(count));
  for (int i = 0; i < count; i++) own[static_cast<size_t>(i)] = i;
  team->ranks.resize(own.size());
  PMPI_Group_translate_ranks(members, count, own.data(), all, team->ranks.data());
  PMPI_Group_free(&all);
  PMPI_Group_free(&members);
  team->index.assign(static_cast<size_t>(everyone), -1);
  for (int i = 0; i < count; i++) team->index[static_cast<size_t>(team->ranks[static_cast<size_t>(i)])] = i;
  // The first image's rank, and which of the teams that it made this is.
  team->id = (static_cast<uint64_t>(team->ranks[0]) << 32) + made_.size() + 1;
  PMPI_Bcast(&team->id, 1, MPI_UINT64_T, 0, comm);
  return team;
}

void Teams::start(MPI_Comm comm) {
  MPI_Comm own;
  PMPI_Comm_dup(comm, &own);
  world_.reset(make(own));
  current_ = world_.get();
}

void Teams::stop() {
  const auto end = [](Team* team) {
    if (team->users != MPI_COMM_NULL) PMPI_Comm_free(&team->users);
    PMPI_Comm_free(&team->comm);
  };
  for (auto& [ranks, team] : made_) end(team.get());
  made_.clear();
  end(world_.get());
}

bool Teams::enter(const std::vector<int>& ranks, Where where) {
  const int me = world_->ranks[static_cast<size_t>(world_->me)];
  const auto own = std::find(ranks.begin(), ranks.end(), me);
  if (own == ranks.end()) return false;
  std::unique_ptr<Team>& team = made_[ranks];
  if (team == nullptr) {
    // The MPI library would wait for ever for one that has ended.
    Team members;
    members.ranks = ranks;
    members.me = static_cast<int>(own - ranks.begin());
    if (sync_.barrier(members) != 0)
      fail(where, "one of the %d images that are to execute this together has ended", members.size());
    MPI_Group all, group;
    MPI_Comm comm;
    std::vector<int> indices;
    for (int rank : ranks) indices.push_back(world_->index[static_cast<size_t>(rank)]);
    PMPI_Comm_group(world_->comm, &all);
    PMPI_Group_incl(all, static_cast<int>(indices.size()), indices.data(), &group);
    PMPI_Comm_create_group(world_->comm, group, 0, &comm);
    PMPI_Group_free(&all);
    PMPI_Group_free(&group);
    team.reset(make(comm));
  }
  stack_.push_back(current_);
  current_ = team.get();
  return true;
}

void Teams::leave() {
  if (stack_.empty()) return;
  current_ = stack_.back();
  stack_.pop_back();
}

const Team* Teams::find(uint64_t id) const {
  if (world_->id == id) return world_.get();
  for (const auto& [ranks, team] : made_)
    if (team->id == id) return team.get();
  return nullptr;
}

const Team* Teams::team_of(const std::vector<int>& ranks, Where where) {
  for (const Team* known : {current_, world_.get()})
    if (ranks == known->ranks) return known;
  if (!enter(ranks, where)) return nullptr;
  const Team* team = current_;
  leave();
  return team;
}

const NodeSet& Teams::resolve(const tasuki_xmp_nodes& record) {
  auto set = std::make_unique<NodeSet>();
  if (record.origin == XMP_EQUIVALENCE_NODES)
    set->ranks = part(*record.whole, record.ranges, of(record)).ranks;
  else
    set->ranks = record.origin == XMP_EXECUTING_NODES ? current_->ranks : world_->ranks;
  int known = 1;
  for (int i = 0; i < record.dimensions; i++)
    if (record.size[i] != TASUKI_XMP_REST) known *= record.size[i];
  const int all = static_cast<int>(set->ranks.size());
  for (int i = 0; i < record.dimensions; i++)
    set->sizes.push_back(record.size[i] != TASUKI_XMP_REST ? record.size[i] : known > 0 ? all / known : 0);
  int product = 1;
  for (int size : set->sizes) product *= size;
  if (product != all)
    fail(of(record),
         "the node array '%s' has %d nodes, but there are %d images for it; start the program with mpirun "
         "-n %d, or write * for the last size",
         record.name, product == 0 ? known : product, all, product == 0 ? known : product);
  set->all_in_order = true;
  for (size_t i = 0; i < set->ranks.size(); i++)
    set->all_in_order = set->all_in_order && set->ranks[i] == static_cast<int>(i);
  // One for all that are alike: node arrays of functions are made again and again.
  const auto alike = std::find_if(sets_.begin(), sets_.end(), [&](const auto& other) {
    return other->sizes == set->sizes && other->ranks == set->ranks;
  });
  const NodeSet* result = alike != sets_.end() ? alike->get() : sets_.emplace_back(std::move(set)).get();
  const_cast<tasuki_xmp_nodes&>(record).state[0] = const_cast<NodeSet*>(result);
  return *result;
}

NodeSet Teams::part(const tasuki_xmp_nodes& record, const tasuki_xmp_range* ranges, Where where) {
  const NodeSet& set = nodes(record);
  if (ranges == nullptr) return set;
  const int me = world_->ranks[static_cast<size_t>(world_->me)];
  const auto found = std::find(set.ranks.begin(), set.ranks.end(), me);
  auto own = static_cast<int>(found - set.ranks.begin());
  std::vector<tasuki_xmp_range> chosen(ranges, ranges + record.dimensions);
  NodeSet result;
  for (size_t i = 0; i < chosen.size(); i++) {
    tasuki_xmp_range& range = chosen[i];
    const int size = set.sizes[i];
    if (range.step == TASUKI_XMP_OWN) {
      if (found == set.ranks.end()) return {};
      range = {own % size, 1, 1};
    }
    own /= size;
    if (range.count == TASUKI_XMP_REST)
      range.count =
          range.step > 0 ? (size - range.begin + range.step - 1) / range.step : range.begin / -range.step + 1;
    const int last = range.begin + (range.count - 1) * range.step;
    if (range.count < 1 || range.begin < 0 || range.begin >= size || last < 0 || last >= size)
      fail(where, "dimension %zu of the node array '%s' has nodes 1 to %d; %d to %d were named", i + 1,
           record.name, size, range.begin + 1, last + 1);
    result.sizes.push_back(range.count);
  }
  std::vector<int> at(chosen.size(), 0);
  for (;;) {
    size_t position = 0, factor = 1;
    for (size_t i = 0; i < chosen.size(); i++) {
      position += static_cast<size_t>(chosen[i].begin + at[i] * chosen[i].step) * factor;
      factor *= static_cast<size_t>(set.sizes[i]);
    }
    result.ranks.push_back(set.ranks[position]);
    size_t i = 0;
    while (i < chosen.size() && ++at[i] == chosen[i].count) at[i++] = 0;
    if (i == chosen.size()) return result;
  }
}

void Teams::set_first_image(int first, const char* file) {
  if (first_image_file_ != nullptr && first != first_image_)
    fail({nullptr, 0}, "%s counts images from %d, %s from %d; compile all files of a program in the same way",
         first_image_file_, first_image_, file, first);
  first_image_ = first;
  first_image_file_ = file;
}

int Teams::rank_elsewhere(int image, const char* what, Where where) const {
  if (is_elsewhere(image)) return image - kElsewhere;
  const int count = current_->size();
  fail(where, "%s names image %d, but there are images %d to %d%s", what, image, first_image_,
       first_image_ + count - 1,
       nesting() > 0 ? " in this task"
       : image >= first_image_ + count
           ? "; start the program with more of them (mpirun -n), or correct the number"
           : "");
}

int Teams::number_of(int world_index) const {
  const int rank = world_->ranks[static_cast<size_t>(world_index)];
  const int index = current_->index[static_cast<size_t>(rank)];
  return (index >= 0 ? index : world_index) + first_image_;
}

}  // namespace tasuki::coarray
