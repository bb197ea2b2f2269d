// Groups, communicators and what hangs on them. All of it belongs to one rank, but for the lists of members:
// those are immutable and may be shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simmpi/mpi.h"
#include "simmpi/objects/request.h"

namespace tasuki::simmpi {

// Ranks of the world. A regular list (first, first + step...) takes no memory: with thousands of ranks most
// lists are.
class Members {
 public:
  Members() = default;
  [[gnu::noinline]] explicit Members(std::vector<uint32_t> list);
  static std::shared_ptr<const Members> range(uint32_t size);

  int size() const { return static_cast<int>(size_); }
  uint32_t world(int i) const {
    return list_.empty() ? static_cast<uint32_t>(first_ + step_ * i) : list_[static_cast<size_t>(i)];
  }
  int find(uint32_t world) const;  // MPI_UNDEFINED: not there

 private:
  uint32_t size_ = 0;
  int64_t first_ = 0, step_ = 1;
  std::vector<uint32_t> list_;
  std::vector<std::pair<uint32_t, uint32_t>> sorted_;  // by world rank
};
using MembersPtr = std::shared_ptr<const Members>;

struct Group {
  static constexpr uint32_t kMagic = 0x47524f55;
  uint32_t magic = kMagic;
  MembersPtr members;
};

using Attributes = std::map<int, void*>;

struct CartTopology {
  std::vector<int> dims, periods;
};
struct GraphTopology {
  std::vector<int> index, edges;
};
struct NeighborTopology {  // MPI_DIST_GRAPH
  std::vector<int> sources, destinations, source_weights, destination_weights;
  bool weighted = false;
};

struct Comm {
  static constexpr uint32_t kMagic = 0x434f4d4d;
  uint32_t magic = kMagic;
  uint32_t references = 1;
  bool predefined = false;
  Rank* rank = nullptr;
  uint64_t context = 0;
  MembersPtr local, remote;  // remote: of an intercommunicator, else null
  int self = 0;
  // Counted alike by all members: what they derive contexts and tags from.
  uint32_t operations = 0, children = 0;
  std::string name;
  MPI_Errhandler errhandler = MPI_ERRORS_ARE_FATAL;
  Attributes attributes;
  std::unique_ptr<CartTopology> cart;
  std::unique_ptr<GraphTopology> graph;
  std::unique_ptr<NeighborTopology> neighbors;
  std::map<std::string, std::string> info;

  bool inter() const { return remote != nullptr; }
  int size() const { return local->size(); }
  const Members& peers() const { return inter() ? *remote : *local; }
  uint64_t collective_context() const { return context ^ 0xc011ec71; }
  uint64_t child_context(uint64_t salt = 0);
};

// The object behind a handle; nullptr: one of the ABI's own constants, which are smaller, or no such object
// (any more).
template <typename T, typename Handle>
T* object(Handle handle) {
  constexpr uintptr_t kFirstPointer = 0x1000;
  if (reinterpret_cast<uintptr_t>(handle) < kFirstPointer) return nullptr;
  T* p = reinterpret_cast<T*>(handle);
  return p->magic == T::kMagic ? p : nullptr;
}

void retain(Comm* comm);
void release(Comm* comm);
Group* group_of(MPI_Group group);
MPI_Group new_group(MembersPtr members);

Request* request_of(MPI_Request request);  // null: not a request
inline MPI_Request handle(Request* r) {
  return reinterpret_cast<MPI_Request>(r);
}
void free_request(Request* r);

}  // namespace tasuki::simmpi
