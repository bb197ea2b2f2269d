// What programs that are compiled already rely on: the sizes of records, which may grow, and the layouts of what
// stands in calls, which belong to the versions of the symbols.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "coarray/local/record_size.h"

namespace tasuki::coarray {
namespace {

// Calls check() with a record of each kind, and what is said of its first version.
template <typename Check>
void for_each_record(Check check) {
  check(tasuki_xmp_coarray{}, FirstVersion<tasuki_xmp_coarray>{});
  check(tasuki_xmp_nodes{}, FirstVersion<tasuki_xmp_nodes>{});
  check(tasuki_xmp_descriptor{}, FirstVersion<tasuki_xmp_descriptor>{});
  check(tasuki_xmp_template{}, FirstVersion<tasuki_xmp_template>{});
  check(tasuki_xmp_array{}, FirstVersion<tasuki_xmp_array>{});
}

// The record, as if its program said that it has so many bytes.
template <typename Record>
bool is_taken(Record record, size_t bytes) {
  record.struct_size = static_cast<decltype(record.struct_size)>(bytes);
  return has_known_size(record);
}

TEST(Records, OfThisVersionAreTaken) {
  for_each_record([](auto record, auto first) {
    EXPECT_TRUE(is_taken(record, sizeof record)) << first.what;
    EXPECT_LE(first.bytes, sizeof record) << first.what << ": members of the first version stay";
  });
}

TEST(Records, OfTheFirstVersionAndOfLaterOnesAreTaken) {
  for_each_record([](auto record, auto first) {
    for (size_t bytes : {first.bytes, sizeof record + 8, sizeof record + 800})
      EXPECT_TRUE(is_taken(record, bytes)) << first.what << " of " << bytes;
  });
}

TEST(Records, SmallerOnesAreRefused) {
  for_each_record([](auto record, auto first) {
    for (size_t bytes = 8; bytes < first.bytes; bytes += 8)
      EXPECT_FALSE(is_taken(record, bytes)) << first.what << " of " << bytes;
  });
}

TEST(Records, NonsenseIsRefused) {
  for_each_record([](auto record, auto first) {
    for (size_t bytes : {size_t{0}, size_t{2}, sizeof record + 1, sizeof record + 4, size_t{0x55550000}})
      EXPECT_FALSE(is_taken(record, bytes)) << first.what << " of " << bytes;
  });
}

// The library must find these before it knows how large the record is.
TEST(RecordLayout, BeginsWithKindAndSize) {
  EXPECT_EQ(offsetof(tasuki_xmp_coarray, struct_size), 0U);
  EXPECT_EQ(offsetof(tasuki_xmp_nodes, kind), 0U);
  EXPECT_EQ(offsetof(tasuki_xmp_nodes, struct_size), sizeof(int));
  EXPECT_EQ(offsetof(tasuki_xmp_descriptor, kind), 0U);
  EXPECT_EQ(offsetof(tasuki_xmp_descriptor, struct_size), sizeof(int));
  EXPECT_EQ(offsetof(tasuki_xmp_template, kind), 0U);
  EXPECT_EQ(offsetof(tasuki_xmp_template, struct_size), sizeof(int));
  EXPECT_EQ(offsetof(tasuki_xmp_array, kind), 0U);
  EXPECT_EQ(offsetof(tasuki_xmp_array, struct_size), sizeof(int));
}

// A change here is a new structure, for a function of another name or a symbol of another version.
TEST(OperandLayout, IsThatOfTheFirstSymbolVersion) {
  EXPECT_EQ(sizeof(tasuki_xmp_range), 12U);
  EXPECT_EQ(sizeof(tasuki_xmp_dimension), 40U);
  EXPECT_EQ(sizeof(tasuki_xmp_section), 48U);
  EXPECT_EQ(sizeof(tasuki_xmp_template_dimension), 40U);
  EXPECT_EQ(sizeof(tasuki_xmp_triplet), 24U);
  EXPECT_EQ(sizeof(tasuki_xmp_on), 16U);
  EXPECT_EQ(sizeof(tasuki_xmp_iterations), 96U);
  EXPECT_EQ(sizeof(tasuki_xmp_array_loop), 32U);
  EXPECT_EQ(sizeof(tasuki_xmp_array_access), 56U);
  EXPECT_EQ(sizeof(tasuki_xmp_variable), 40U);
  EXPECT_EQ(sizeof(tasuki_xmp_width), 12U);
  EXPECT_EQ(sizeof(tasuki_xmp_global_section), 40U);
  EXPECT_EQ(sizeof(xmp_lock_t), 64U);
}

}  // namespace
}  // namespace tasuki::coarray
