// procedures: what the transformational procedures (XcalableMP 1.4, section 7.9) have in common: their arguments are descriptors of
// distributed arrays, and all nodes that execute the call take part.
#pragma once

#include "coarray/global/exchange/elements.h"
#include "coarray/global/records/arrays.h"

namespace tasuki::coarray {

// One call. What does not fit ends the job with a message.
class Procedure {
 public:
  explicit Procedure(const char* name);

  const tasuki_xmp_array& array(xmp_desc_t d, const char* role) const;
  const tasuki_xmp_array& array(xmp_desc_t d, const char* role, int dimensions) const;
  ElementMap elements(const tasuki_xmp_array& a) const;
  void same_type(const tasuki_xmp_array& a, const tasuki_xmp_array& b) const;
  // `extent`: of which dimensions, from 0.
  void same_extent(const tasuki_xmp_array& a, int extent, const tasuki_xmp_array& b, int of) const;
  // Element by element on the same nodes.
  void same_mapping(const tasuki_xmp_array& a, const tasuki_xmp_array& b) const;

  const char* name() const { return name_; }
  Where where() const { return where_; }

 private:
  const char* name_;
  Where where_;
};

}  // namespace tasuki::coarray
