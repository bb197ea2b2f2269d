#include "coarray/global/compute/direct_reduction.h"

#include <algorithm>
#include <cstring>

namespace tasuki::coarray {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kBlock =
    16 << 10;  // bytes: what has been computed is still in the first cache when it is stored

void together(Sync* sync, const Team& team, Where where) {
  if (sync->barrier(team) != 0) fail(where, "reduction: an image that is to take part has left main");
}

}  // namespace

void reduce_directly(Sync* sync, const std::vector<char*>& memory, size_t count, size_t element,
                     MPI_Datatype type, MPI_Op op, const Team& team, Where where) {
  const size_t nodes = memory.size(), me = static_cast<size_t>(team.me);
  // Shares of whole lines, lest two nodes write to one.
  const size_t grain = std::max<size_t>(1, kLine / element), grains = (count + grain - 1) / grain;
  const size_t end = std::min(count, grains * (me + 1) / nodes * grain);
  const size_t most = std::max<size_t>(1, kBlock / element);
  together(sync, team, where);
  for (size_t at = grains * me / nodes * grain; at < end; at += most) {
    const size_t length = std::min(most, end - at), begin = at * element;
    char* mine = memory[me] + begin;
    for (size_t k = 1; k < nodes; k++)
      PMPI_Reduce_local(memory[(me + k) % nodes] + begin, mine, static_cast<int>(length), type, op);
    for (size_t k = 1; k < nodes; k++) memcpy(memory[(me + k) % nodes] + begin, mine, length * element);
  }
  together(sync, team, where);
}

}  // namespace tasuki::coarray
