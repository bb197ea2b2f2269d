// reflect and reduce_shadow (XcalableMP 1.4, sections 4.6.1 and 4.6.10; XcalableACC 2.2.1).
//
// Budget: a reflect that was done before with the same widths allocates nothing; each piece is copied once,
// from the owner's memory into the shadow, by the node that has the shadow; scattered elements twice.
#pragma once

#include <map>
#include <vector>

#include "coarray/access/transfers.h"
#include "coarray/global/exchange/async.h"
#include "coarray/global/exchange/shadows.h"
#include "coarray/sync/sync.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

class Reflections {
 public:
  Reflections(const Teams* teams, Sync* sync, Transfers* transfers, Arrays* arrays,
              Asynchronous* asynchronous)
      : teams_(*teams),
        sync_(*sync),
        transfers_(*transfers),
        arrays_(*arrays),
        asynchronous_(*asynchronous),
        exchanges_(teams) {}

  // `width` is nullptr for all of the shadow. With TASUKI_XMP_ASYNC in `flags` it goes on until
  // wait_async(async).
  void reflect(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags, int async,
               Where where);
  // The same in two steps: what is to be done, and again and again that it is done.
  void prepare(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags, Where where);
  void reflect_prepared(const tasuki_xmp_array& a, unsigned flags, int async, Where where);
  // The other way: what is in shadows is added to the elements of the owners. `type`: of the elements.
  void reduce_shadow(const tasuki_xmp_array& a, int type, const tasuki_xmp_width* width, unsigned flags,
                     int async, Where where);

 private:
  using Add = void (*)(char* to, const char* from, uint64_t bytes);
  class Later;

  void arrive(const Exchange& e, std::vector<uint64_t>* meetings);
  void come(const Exchange& e, const std::vector<uint64_t>& meetings, Where where);
  void copy_shadows(const Held& held, const Exchange& e, Where where);
  void write_scattered(const Held& held, const Exchange& e, Where where);
  void add_shadows(const Held& held, const Exchange& e, Add function, Where where);
  void finish_exchange(const Held& held, const Exchange& e, Add function, std::vector<uint64_t>* meetings,
                       Where where);
  void exchange(const Held& held, const Exchange& e, unsigned flags, int async, Add function, Where where);
  void exchange(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags, int async,
                Add function, const char* directive, Where where);

  const Teams& teams_;
  Sync& sync_;
  Transfers& transfers_;
  Arrays& arrays_;
  Asynchronous& asynchronous_;
  Exchanges exchanges_;
  std::map<const tasuki_xmp_array*, const Exchange*> prepared_;
  std::vector<uint64_t> meetings_;  // of the exchange that is being done
};

}  // namespace tasuki::coarray
