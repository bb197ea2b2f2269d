// descriptors: what the operator xmp_desc_of yields: the address of a record, told apart by its first word.
#pragma once

#include "coarray/local/record_size.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::coarray {

// nullptr: it describes something else.
template <typename Record>
const Record* record_of(xmp_desc_t d, int kind) {
  if (d == nullptr || *static_cast<const int*>(d) != kind) return nullptr;
  const auto* record = static_cast<const Record*>(d);
  check_size(*record);
  return record;
}
inline const tasuki_xmp_nodes* nodes_of(xmp_desc_t d) {
  return record_of<tasuki_xmp_nodes>(d, TASUKI_XMP_KIND_NODES);
}
inline const tasuki_xmp_template* template_of(xmp_desc_t d) {
  return record_of<tasuki_xmp_template>(d, TASUKI_XMP_KIND_TEMPLATE);
}
inline const tasuki_xmp_array* array_of(xmp_desc_t d) {
  return record_of<tasuki_xmp_array>(d, TASUKI_XMP_KIND_ARRAY);
}
inline const tasuki_xmp_descriptor* coarray_of(xmp_desc_t d) {
  return record_of<tasuki_xmp_descriptor>(d, TASUKI_XMP_KIND_COARRAY);
}

}  // namespace tasuki::coarray
