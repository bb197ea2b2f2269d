// The records of dlm arrays (tasuki/compiler/dlm_arrays.h), on ordinary memory.
#include "tasuki/compiler/dlm_arrays.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tasuki/dlm.h"

namespace {

bool started = false;

}  // namespace

extern "C" {
extern const int tasuki_dlm_main_waits;
const int tasuki_dlm_main_waits = 1;

int dlm_startup(int*, char***) {
  started = true;
  return 0;
}
void* dlm_aligned_alloc(size_t alignment, size_t bytes) {
  void* memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return memset(memory, 0, bytes);
}
void* dlm_alloc(size_t bytes) {
  return dlm_aligned_alloc(64, bytes);
}
int dlm_stats(dlm_counters*, size_t) {
  return started ? 0 : -1;
}
}

namespace tasuki::cluster {
namespace {

// What a later tasukicc may write.
struct Newer {
  tasuki_dlm_array known;
  uint64_t appended[3];
};

using Array = int[3];
const Array kValues = {7, 8, 9};

tasuki_dlm_array record_of(Array** pointer, size_t struct_size) {
  return {.struct_size = struct_size,
          .pointer = pointer,
          .bytes = sizeof(Array),
          .alignment = alignof(int),
          .image = kValues,
          .image_bytes = sizeof kValues,
          .compute = nullptr,
          .name = "a",
          .file = "prog.c",
          .line = 1,
          .state = {}};
}

void register_one(tasuki_dlm_array* record) {
  tasuki_dlm_array* const records[] = {nullptr, record};
  tasuki_dlm_register(records, records + 2);
}

TEST(DlmRecords, OfThisVersionGetMemory) {
  Array* a = nullptr;
  tasuki_dlm_array record = record_of(&a, sizeof record);
  register_one(&record);
  ASSERT_EQ(tasuki_dlm_main_begin(nullptr, nullptr), 0);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ((*a)[2], 9);
}

TEST(DlmRecords, OfLaterVersionsGetMemoryAndKeepWhatIsNew) {
  Array *a = nullptr, *b = nullptr;
  Newer one = {record_of(&a, sizeof one), {1, 2, 3}}, other = {record_of(&b, sizeof other), {4, 5, 6}};
  const Newer before = one;
  tasuki_dlm_array* const records[] = {&one.known, &other.known};
  tasuki_dlm_register(records, records + 2);
  ASSERT_EQ(tasuki_dlm_main_begin(nullptr, nullptr), 0);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ((*b)[0], 7);
  EXPECT_EQ(memcmp(one.appended, before.appended, sizeof one.appended), 0);
  EXPECT_EQ(other.appended[2], 6U);
}

TEST(DlmRecordsDeathTest, SmallerOnesAreRefused) {
  Array* a = nullptr;
  tasuki_dlm_array record = record_of(&a, 96 - 8);
  EXPECT_EXIT(
      register_one(&record), testing::ExitedWithCode(1),
      "the record of a dlm array gives 88 as its size in bytes, and this library needs 96 or more.*compile");
}

TEST(DlmRecordsDeathTest, NonsenseIsRefused) {
  // A static record: the message names the program.
  static Array* a = nullptr;
  static tasuki_dlm_array record = record_of(&a, 0);
  for (size_t size : {size_t{0}, sizeof record + 1, sizeof record + 4, reinterpret_cast<size_t>(&a)}) {
    record.struct_size = size;
    EXPECT_EXIT(
        register_one(&record), testing::ExitedWithCode(1),
        "the record of a dlm array in .*cluster_test gives [0-9]+ as its size in bytes, which no version")
        << size;
  }
}

}  // namespace
}  // namespace tasuki::cluster
