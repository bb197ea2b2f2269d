// reductions: reduction and bcast (XcalableMP 1.4, sections 4.6.5 and 4.6.6; the reduction clause of `loop`,
// 4.5.3): collective operations of MPI among the nodes that take part.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "coarray/access/coarrays.h"
#include "coarray/device/device.h"
#include "coarray/global/compute/operations.h"
#include "coarray/global/exchange/async.h"
#include "coarray/global/records/arrays.h"
#include "coarray/global/records/templates.h"
#include "coarray/local/phase.h"
#include "coarray/sync/allgather.h"
#include "coarray/sync/collectives.h"
#include "coarray/sync/sync.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

// What they are made of.
struct ReductionParts {
  const Phase& phase;
  const Memory& memory;
  Teams& teams;
  Sync& sync;
  Allgather& allgather;
  Collectives& collectives;
  Device& device;
  Coarrays& coarrays;
  Templates& templates;
  Arrays& arrays;
  Asynchronous& asynchronous;
  Operations& operations;
};

// What is reduced: the variable, and for FIRST_MAX and the like the variables that go with the value.
struct Reduced {
  int operation;
  const tasuki_xmp_variable& variable;
  int locations;
  const tasuki_xmp_variable* location;
};

class Reductions {
 public:
  explicit Reductions(const ReductionParts& parts) : parts_(parts) {}

  // `on`: nullptr: the executing nodes. With TASUKI_XMP_ASYNC in `flags` it goes on until wait_async(async).
  void reduce(const Reduced& reduced, const tasuki_xmp_on* on, unsigned flags, int async, Where where);
  // Of a loop over these dimensions (bits) of a template. `position`: of the values in the loop, number by
  // number.
  void reduce_loop(const Reduced& reduced, const std::vector<long long>& position, const void* of,
                   unsigned dimensions, unsigned flags, Where where);
  void broadcast(int variables, const tasuki_xmp_variable* variable, const tasuki_xmp_on* from,
                 const tasuki_xmp_on* on, unsigned flags, int async, Where where);

 private:
  class Elements;
  class Requests;

  const Team* team_on(const tasuki_xmp_on* on, const char* directive, Where where);
  const Team* team_of_loop(const Template& t, unsigned dimensions);
  void reduce_data(void* data, size_t count, size_t element, MPI_Datatype type, MPI_Op op, const Team& team,
                   Where where);
  void reduce_elements(const Elements& e, MPI_Datatype type, MPI_Op op, const Team& team, Where where);
  void reduce_with_locations(const Reduced& reduced, const std::vector<long long>& position, const Team& team,
                             unsigned flags, Where where);

  const ReductionParts parts_;
  std::map<std::tuple<const Template*, unsigned, const Team*>, const Team*> teams_of_loops_;
};

}  // namespace tasuki::coarray
