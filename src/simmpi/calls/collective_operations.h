// Collective operations, as code that runs on a task and blocks it. Each takes the tag that all members have
// counted alike, so that several can be under way on one communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simmpi/run/handles.h"

namespace tasuki::simmpi {

struct Datatype;

// A communicator and a tag for one operation on it.
struct Collective {
  Comm* comm;
  int tag;
  bool control = false;  // its messages have their content even without payload
};
Collective next_collective(Comm* comm);

// `count` elements of a type at an address.
struct Typed {
  void* address;
  uint64_t count;
  Datatype* type;
  uint64_t bytes() const;
  layout::Region region() const;
  Typed at(int64_t element) const;  // from that element on
};
Buffer whole(const Typed& t);
void copy(const Typed& to, const Typed& from);

// Typed blocks by rank: as MPI_Alltoallw has them, or any simpler one.
using Blocks = std::function<Typed(int rank)>;

void barrier(const Collective& c);
void broadcast(const Collective& c, const Typed& data, int root);
void gather(const Collective& c, const Typed& send, const Blocks& receive, int root);
void scatter(const Collective& c, const Blocks& send, const Typed& receive, int root);
// Equal blocks, packed: gathered along a binomial tree.
void gather_equal(const Collective& c, const Typed& send, const Typed& receive, int root);
void scatter_equal(const Collective& c, const Typed& send, const Typed& receive, int root);
void allgather(const Collective& c, const Blocks& receive);  // each rank's own block is there already
void alltoall(const Collective& c, const Typed& send, const Typed& receive, uint64_t send_count,
              uint64_t receive_count);
void alltoall_blocks(const Collective& c, const Blocks& send, const Blocks& receive);
// `data`: the rank's contribution before, the result after (of reduce: at the root; elsewhere anything).
void reduce(const Collective& c, const Typed& data, MPI_Op op, int root);
void allreduce(const Collective& c, const Typed& data, MPI_Op op);
void scan(const Collective& c, const Typed& data, MPI_Op op, bool exclusive, void* result);

// For code that is in no hurry and needs MPI's own data.
void barrier(Comm* comm);
void allgather_bytes(Comm* comm, void* all, uint64_t each);  // the rank's own part is in its place

void delete_attributes(Comm* comm);  // calls the user's functions

// Memory for a typed buffer that is not the user's, released with it.
class Scratch {
 public:
  Scratch(uint64_t count, Datatype* type);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const Typed& typed() const { return typed_; }

 private:
  char* memory_;
  Typed typed_;
};

}  // namespace tasuki::simmpi
