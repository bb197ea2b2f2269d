#include "shim/hosts/presence.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/settings.h"
#include "generated/pmpi.h"
#include "shim/errors.h"
#include "shim/hosts/agreements.h"
#include "shim/hosts/look_until.h"
#include "shim/hosts/promise.h"

namespace tasuki::shim {
namespace {

// The choices of TASUKI_EVERYWHERE, in the table's order.
enum class Everywhere { found_out, promised, off };

// What the ranks of a job must have in common: the order of the shim's messages and collective operations
// between hosts.
constexpr int kVersion = 1;

Everywhere chosen() {
  return static_cast<Everywhere>(setting_choice("TASUKI_EVERYWHERE"));
}

// The others of a space wait for the one that reads the keys, at least so long.
int64_t limit_ms() {
  return 12'000 * std::max<int64_t>(static_cast<int64_t>(setting_count("TASUKI_JOIN_TIMEOUT")), 1);
}

[[noreturn]] void refuse(int rank, int missing) {
  fprintf(stderr,
          "tasuki: rank %d: TASUKI_EVERYWHERE is on, but rank %d does not take part. Start all ranks with "
          "tasuki run, and set "
          "TASUKI_EVERYWHERE=on for all of them or for none.\n",
          rank, missing);
  end_job();
}

}  // namespace

void Presence::announce() {
  announced_ = setting_flag("TASUKI") && chosen() != Everywhere::off && keys_.leave(std::to_string(kVersion));
}

// The smallest rank that has left no key, or the size of the job.
int Presence::first_missing(int size) {
  std::string text;
  int r = 0;
  while (r < size && keys_.find(r, &text)) r++;
  return r;
}

// Reads the keys, once in each space: their number is that of all ranks.
bool Presence::everyone_is_here(message::Board* board, int rank, int size) {
  const auto look = [&] {
    const int missing = first_missing(size);
    if (missing < size && chosen() == Everywhere::promised) refuse(rank, missing);
    return missing == size;
  };
  if (board == nullptr) return look();
  using message::Decision;
  Decision open = Decision::open;
  if (agreements(board).presence.compare_exchange_strong(open, Decision::deciding)) {
    const bool here = look();
    agreements(board).presence.store(here ? Decision::accelerated : Decision::off, std::memory_order_release);
    return here;
  }
  if (!look_until(limit_ms(), [&] {
        return agreements(board).presence.load(std::memory_order_acquire) != Decision::deciding;
      })) {
    fprintf(stderr,
            "tasuki: rank %d: no answer from the rank of this host that asks the launcher which ranks run "
            "Tasuki.\n",
            rank);
    end_job();
  }
  return agreements(board).presence.load(std::memory_order_acquire) == Decision::accelerated;
}

bool Presence::everyone_takes_part(bool mine, message::Board* board, const int* slot_of_world_rank) {
  int rank = 0, size = 0;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  pmpi().Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm parent = MPI_COMM_NULL;
  pmpi().Comm_get_parent(&parent);
  // Ranks that were spawned can have the name of their parents' job. One space: every rank knows it.
  const bool one_space = board != nullptr && std::all_of(slot_of_world_rank, slot_of_world_rank + size,
                                                         [](int slot) { return slot >= 0; });
  bool all = false;
  if (!setting_flag("TASUKI") || chosen() == Everywhere::off || parent != MPI_COMM_NULL || one_space) {
  } else if (announced_ && keys_.exchanged()) {
    if (everyone_is_here(board, rank, size)) {
      int agreed[3] = {mine ? 1 : 0, kVersion, -kVersion};
      pmpi().Allreduce(MPI_IN_PLACE, agreed, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      all = agreed[0] == 1 && agreed[1] == -agreed[2];
    }
  } else if (chosen() == Everywhere::promised) {
    all = everyone_confirms(mine, board, slot_of_world_rank);
  }
  keys_.close();
  return all;
}

}  // namespace tasuki::shim
