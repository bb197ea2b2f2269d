#include "simmpi/objects/comm.h"

#include <algorithm>

#include "simmpi/objects/datatype.h"

namespace tasuki::simmpi {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  return h ^ h >> 29;
}

}  // namespace

Members::Members(std::vector<uint32_t> list) : size_(static_cast<uint32_t>(list.size())) {
  if (size_ > 0) first_ = list[0];
  if (size_ > 1) step_ = int64_t{list[1]} - list[0];
  bool regular = step_ != 0 || size_ < 2;
  for (uint32_t i = 0; regular && i < size_; i++) regular = list[i] == first_ + step_ * i;
  if (regular) return;
  list_ = std::move(list);
  sorted_.reserve(size_);
  for (uint32_t i = 0; i < size_; i++) sorted_.emplace_back(list_[i], i);
  std::sort(sorted_.begin(), sorted_.end());
}

MembersPtr Members::range(uint32_t size) {
  auto m = std::make_shared<Members>();
  m->size_ = size;
  return m;
}

int Members::find(uint32_t world) const {
  if (!list_.empty()) {
    const auto i = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair<uint32_t, uint32_t>{world, 0});
    return i != sorted_.end() && i->first == world ? static_cast<int>(i->second) : MPI_UNDEFINED;
  }
  const int64_t distance = int64_t{world} - first_;
  if (size_ == 0 || distance % step_ != 0) return MPI_UNDEFINED;
  const int64_t i = distance / step_;
  return i >= 0 && i < size_ ? static_cast<int>(i) : MPI_UNDEFINED;
}

uint64_t Comm::child_context(uint64_t salt) {
  return mix(mix(context, ++children), salt);
}

void retain(Comm* comm) {
  comm->references++;
}

void release(Comm* comm) {
  if (--comm->references != 0 || comm->predefined) return;
  comm->magic = 0;
  delete comm;
}

Group* group_of(MPI_Group group) {
  static Group empty{Group::kMagic, Members::range(0)};
  if (group == MPI_GROUP_EMPTY) return &empty;
  return object<Group>(group);
}

MPI_Group new_group(MembersPtr members) {
  if (members->size() == 0) return MPI_GROUP_EMPTY;
  return reinterpret_cast<MPI_Group>(new Group{Group::kMagic, std::move(members)});
}

Request* request_of(MPI_Request request) {
  return object<Request>(request);
}

void free_request(Request* r) {
  if (r->comm != nullptr) release(r->comm);
  if (r->type != nullptr) release(r->type);
  delete[] r->buffered;
  r->magic = 0;
  delete r;
}

}  // namespace tasuki::simmpi
