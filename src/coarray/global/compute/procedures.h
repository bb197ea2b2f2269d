// procedures: the transformational procedures (XcalableMP 1.4, section 7.9): xmp_transpose and the others.
// Their arguments are descriptors of distributed arrays, and all nodes that execute the call take part.
#pragma once

#include <vector>

#include "coarray/access/transfers.h"
#include "coarray/global/exchange/elements.h"
#include "coarray/global/exchange/gmove.h"
#include "coarray/global/records/arrays.h"
#include "coarray/local/phase.h"
#include "coarray/sync/collectives.h"
#include "coarray/sync/sync.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

// What they are made of, and where the macros of xmp.h were expanded last. A call takes that place, so that
// one that comes around the macros has none.
struct Procedures {
  const Phase& phase;
  const Teams& teams;
  Sync& sync;
  Collectives& collectives;
  Transfers& transfers;
  Arrays& arrays;
  Gmoves& gmoves;
  Where called_at = {nullptr, 0};

  // As xmp.h has them.
  void transpose(xmp_desc_t x, xmp_desc_t a);
  void matmul(xmp_desc_t x, xmp_desc_t a, xmp_desc_t b);
  void scatter(xmp_desc_t x, xmp_desc_t a, const std::vector<xmp_desc_t>& indices);
  void gather(xmp_desc_t x, xmp_desc_t a, const std::vector<xmp_desc_t>& indices);
  void pack(xmp_desc_t v, xmp_desc_t a, xmp_desc_t mask);
  void unpack(xmp_desc_t a, xmp_desc_t v, xmp_desc_t mask);
  void sort_up(xmp_desc_t v1, xmp_desc_t v2);
  void sort_down(xmp_desc_t v1, xmp_desc_t v2);
};

// One call. What does not fit ends the job with a message.
class Procedure {
 public:
  Procedure(Procedures* parts, const char* name);

  const tasuki_xmp_array& array(xmp_desc_t d, const char* role) const;
  const tasuki_xmp_array& array(xmp_desc_t d, const char* role, int dimensions) const;
  ElementMap elements(const tasuki_xmp_array& a) const;
  void same_type(const tasuki_xmp_array& a, const tasuki_xmp_array& b) const;
  // `extent`: of which dimensions, from 0.
  void same_extent(const tasuki_xmp_array& a, int extent, const tasuki_xmp_array& b, int of) const;
  // Element by element on the same nodes.
  void same_mapping(const tasuki_xmp_array& a, const tasuki_xmp_array& b) const;

  // The nodes that take part.
  const Team& team() const { return parts_.teams.current(); }
  Procedures& parts() const { return parts_; }
  const char* name() const { return name_; }
  Where where() const { return where_; }

 private:
  Procedures& parts_;
  const char* name_;
  Where where_;
};

}  // namespace tasuki::coarray
