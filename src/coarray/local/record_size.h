// record_size: the records of a program are as large as its tasukicc knew them
// (tasuki/compiler/local_view.h). They are looked at where they enter the library, before anything else of
// them is read.
#pragma once

#include "base/struct_size.h"
#include "coarray/local/fail.h"
#include "tasuki/compiler/global_view.h"

namespace tasuki::coarray {

// What each record has at least. These numbers stay: what is appended to a record later is not in all of
// them, and is read where `struct_size` says that it is there.
template <typename Record>
struct FirstVersion;
template <>
struct FirstVersion<tasuki_xmp_coarray> {
  static constexpr const char* what = "a coarray";
  static constexpr size_t bytes = 104;
};
template <>
struct FirstVersion<tasuki_xmp_nodes> {
  static constexpr const char* what = "a node array";
  static constexpr size_t bytes = 104;
};
template <>
struct FirstVersion<tasuki_xmp_descriptor> {
  static constexpr const char* what = "the descriptor of a coarray";
  static constexpr size_t bytes = 104;
};
template <>
struct FirstVersion<tasuki_xmp_template> {
  static constexpr const char* what = "a template";
  static constexpr size_t bytes = 344;
};
template <>
struct FirstVersion<tasuki_xmp_array> {
  static constexpr const char* what = "a distributed array";
  static constexpr size_t bytes = 768;
};

template <typename Record>
bool has_known_size(const Record& record) {
  return is_struct_size(record.struct_size, FirstVersion<Record>::bytes, alignof(Record));
}

// Fails with a message if the record is not one that this library can take.
template <typename Record>
void check_size(const Record& record, Where where = {nullptr, 0}) {
  using First = FirstVersion<Record>;
  if (has_known_size(record)) [[likely]]
    return;
  fail(where, "%s",
       struct_size_error(First::what, &record, record.struct_size, First::bytes, alignof(Record)).c_str());
}

}  // namespace tasuki::coarray
