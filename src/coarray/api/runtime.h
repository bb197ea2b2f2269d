// runtime: all objects of the process, one of each, since main is one. It makes them, each with those below
// it that it needs; only the functions that programs call reach for it.
#pragma once

#include "coarray/access/coarrays.h"
#include "coarray/access/transfers.h"
#include "coarray/device/courier.h"
#include "coarray/device/device.h"
#include "coarray/global/compute/operations.h"
#include "coarray/global/compute/procedures.h"
#include "coarray/global/compute/reductions.h"
#include "coarray/global/exchange/async.h"
#include "coarray/global/exchange/gmove.h"
#include "coarray/global/exchange/reflect.h"
#include "coarray/global/records/arrays.h"
#include "coarray/global/records/templates.h"
#include "coarray/local/host_transfers.h"
#include "coarray/local/memory.h"
#include "coarray/local/phase.h"
#include "coarray/sync/allgather.h"
#include "coarray/sync/collectives.h"
#include "coarray/sync/patience.h"
#include "coarray/sync/stations.h"
#include "coarray/sync/sync.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

class Runtime {
 public:
  Memory memory;
  Phase phase;
  Stations stations{&memory};
  Patience patience{&phase, &stations};
  Sync sync{&memory, &patience};
  Teams teams{&sync};
  Allgather allgather{&memory, &sync, &teams, &patience};
  Collectives collectives{&stations};
  HostTransfers host_transfers{&memory};
  Device device;
  Courier courier{&host_transfers, &device, &patience};
  Transfers transfers{&memory, &host_transfers, &device, &courier};
  Coarrays coarrays{&phase, &memory, &teams, &sync, &device, &transfers};
  Templates templates{&phase, &teams};
  Arrays arrays{&phase, &memory, &teams, &patience, &collectives, &device, &coarrays, &templates};
  Asynchronous asynchronous;
  Reflections reflections{&teams, &sync, &transfers, &arrays, &asynchronous};
  Gmoves gmoves{&teams, &sync, &device, &transfers, &coarrays, &arrays};
  Operations operations;
  Reductions reductions{{.phase = phase,
                         .memory = memory,
                         .teams = teams,
                         .sync = sync,
                         .allgather = allgather,
                         .collectives = collectives,
                         .device = device,
                         .coarrays = coarrays,
                         .templates = templates,
                         .arrays = arrays,
                         .asynchronous = asynchronous,
                         .operations = operations}};
  Procedures procedures{.phase = phase,
                        .teams = teams,
                        .sync = sync,
                        .collectives = collectives,
                        .transfers = transfers,
                        .arrays = arrays,
                        .gmoves = gmoves};

  // Starts MPI if it does not run, gives all registered coarrays memory, and arranges for the end at exit().
  // Collective.
  void start(int* argc, char*** argv, bool ours);
  // Completes everything, waits for all images, ends MPI if this runtime started it. A second call does
  // nothing.
  void end();

  void add(tasuki_xmp_nodes* record);
  void use_device() { uses_device_ = true; }

  // Where the object at `p` of this image is in image `image`. Fails with a message, which alone needs
  // `where`: by reference it takes no registers of a put.
  Place place(const void* p, uint64_t bytes, int image, const Where& where) {
    const int index = teams.current_index(image);
    Segment* segment = memory.find(p, bytes);
    if (segment != nullptr && index >= 0 && segment->team == &teams.current()) [[likely]]
      return place_of(segment, index, p);
    return coarrays.distant_place(p, bytes, image, where);
  }

 private:
  void start_device(const std::vector<Segment*>& mirrored);

  bool finalise_ = false, uses_device_ = false;
  int pid_ = 0;
  std::vector<tasuki_xmp_nodes*> nodes_;
};

// Never destroyed: exit() may run while other threads still use coarrays. Made by the first call, in a
// constructor of the program.
extern Runtime* the_runtime;
Runtime& make_runtime();
inline Runtime& runtime() {
  return the_runtime != nullptr ? *the_runtime : make_runtime();
}

}  // namespace tasuki::coarray
