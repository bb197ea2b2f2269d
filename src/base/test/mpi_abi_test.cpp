#include "base/mpi_abi.h"

#include <gtest/gtest.h>

namespace tasuki {
namespace {

TEST(MpiAbi, NamesOfEach) {
  for (const MpiAbi abi : {MpiAbi::openmpi, MpiAbi::mpich, MpiAbi::standard}) {
    ASSERT_NE(names_of(abi), nullptr);
    EXPECT_EQ(names_of(abi)->abi, abi);
    // What is looked for by its soname is also recognised by it.
    for (const char* const* soname = names_of(abi)->sonames; *soname != nullptr; soname++)
      EXPECT_TRUE(is_library_of(*names_of(abi), *soname)) << *soname;
  }
  EXPECT_EQ(names_of(MpiAbi::none), nullptr);
  EXPECT_EQ(names_of(MpiAbi::unknown), nullptr);
}

TEST(MpiAbi, FileNames) {
  const auto is = [](MpiAbi abi, const char* name) { return is_library_of(*names_of(abi), name); };
  EXPECT_TRUE(is(MpiAbi::standard, "libmpi_abi.so.1"));
  EXPECT_TRUE(is(MpiAbi::mpich, "libmpich.so.12.2.1"));
  for (const char* name :
       {"libmpi_cxx.so.40", "libmpi_mpifh.so.40", "libmpifort_abi.so.1", "libmpi.so", "libm.so.6"})
    for (const MpiAbiNames& abi : kMpiAbis) EXPECT_FALSE(is_library_of(abi, name)) << name;
  EXPECT_FALSE(is(MpiAbi::openmpi, "libmpi_abi.so.1"));
  EXPECT_FALSE(is(MpiAbi::standard, "libmpi.so.40"));
}

}  // namespace
}  // namespace tasuki
