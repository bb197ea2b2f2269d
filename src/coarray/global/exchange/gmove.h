// gmove (XcalableMP 1.4, section 4.6.2; XcalableACC 2.2.1): assignments between sections of distributed
// arrays, and of memory that each node has for itself.
//
// Budget: a gmove of the same sections as one of the last few computes nothing and allocates nothing, unless
// both sides overlap.
#pragma once

#include <array>
#include <memory>

#include "coarray/access/coarrays.h"
#include "coarray/access/transfers.h"
#include "coarray/device/device.h"
#include "coarray/global/exchange/gmove_plan.h"
#include "coarray/sync/sync.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

class Gmoves {
 public:
  Gmoves(const Teams* teams, Sync* sync, Device* device, Transfers* transfers, Coarrays* coarrays,
         Arrays* arrays);
  ~Gmoves();

  // With TASUKI_XMP_IN, TASUKI_XMP_OUT, TASUKI_XMP_TRANSPOSED and TASUKI_XMP_DEVICE in `flags`. Collective
  // over the executing set.
  void move(const tasuki_xmp_global_section& to, const tasuki_xmp_global_section& from, unsigned flags,
            Where where);

 private:
  class Key;
  struct Known;
  struct Ground;
  class Move;

  void add(Key* key, const tasuki_xmp_global_section& section, Where where);
  Ground ground_of(const tasuki_xmp_global_section& section, unsigned flags, Where where);
  // With TASUKI_XMP_TRANSPOSED in `flags`.
  const Plan& plan_for(const tasuki_xmp_global_section& to, const tasuki_xmp_global_section& from,
                       unsigned flags, Way way, bool same_memory, Where where);
  void together(Where where);

  const Teams& teams_;
  Sync& sync_;
  Device& device_;
  Transfers& transfers_;
  Coarrays& coarrays_;
  Arrays& arrays_;
  std::array<std::unique_ptr<Known>, 64> known_;
};

}  // namespace tasuki::coarray
