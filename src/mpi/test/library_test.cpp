// Finding an MPI library. (That calls reach it, on every kind of job, is what the tests of the pager and of the
// coarrays show.)
#include "mpi/library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tasuki::mpi {
namespace {

namespace fs = std::filesystem;

class Prefix : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "mpi_prefix_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    prefix_ = pattern;
  }
  void TearDown() override { fs::remove_all(prefix_); }

  std::string add(const std::string& file) {
    const fs::path path = prefix_ + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "";
    return path;
  }
  std::string prefix_;
};

TEST_F(Prefix, LibrariesBelow) {
  EXPECT_TRUE(libraries_below(prefix_, MpiAbi::openmpi).empty());
  const std::string release = add("/lib/release/libmpi.so.12");
  const std::string other = add("/lib/libmpi.so.40");
  EXPECT_EQ(libraries_below(prefix_, MpiAbi::mpich), std::vector<std::string>{release});
  EXPECT_EQ(libraries_below(prefix_, MpiAbi::openmpi), std::vector<std::string>{other});
  const std::string own = add("/lib/libmpich.so.12");
  EXPECT_EQ(libraries_below(prefix_, MpiAbi::mpich), (std::vector<std::string>{own, release}));
  EXPECT_TRUE(libraries_below(prefix_, MpiAbi::standard).empty());
  const std::string standard = add("/lib/libmpi_abi.so.1");
  EXPECT_EQ(libraries_below(prefix_, MpiAbi::standard), std::vector<std::string>{standard});
  EXPECT_EQ(libraries_below(prefix_, MpiAbi::openmpi), std::vector<std::string>{other});
}

int g_program_handlers = 0;

TEST(End, OnlyThatLibrarysHandlers) {
  atexit([] { g_program_handlers++; });
  Library library;
  library.handle = dlopen(TASUKI_MPI_HANDLERS, RTLD_NOW);
  ASSERT_NE(library.handle, nullptr) << dlerror();
  const int* const handlers = static_cast<int*>(dlsym(library.handle, "handlers_run"));
  const int* const destructors = static_cast<int*>(dlsym(library.handle, "destructors_run"));
  ASSERT_EQ(*handlers, 0);
  run_destructors(library);
  EXPECT_EQ(*handlers, 1);
  EXPECT_EQ(*destructors, 1);
  EXPECT_EQ(g_program_handlers, 0);
}

TEST(End, NothingOfTheProgram) {
  Library program;
  program.handle = dlopen(nullptr, RTLD_NOW);
  run_destructors(program);
  EXPECT_EQ(g_program_handlers, 0);
}

TEST(Launcher, Names) {
  for (const char* name : {"orterun", "prterun", "hydra_pmi_proxy", "mpiexec.hydra", "mpirun"})
    EXPECT_TRUE(is_launcher(name)) << name;
  // Their folders hold libraries of MPI, too.
  for (const char* name : {"bash", "python3.11", "slurmstepd", "mpicc", ""})
    EXPECT_FALSE(is_launcher(name)) << name;
}

TEST(Load, NotThere) {
  const Result<Library> library = load_library("libtasuki_no_such_mpi.so.40");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().err(), ENOENT);
}

TEST(Load, NoMpi) {
  const Result<Library> library = load_library("libm.so.6");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().err(), EINVAL);
  EXPECT_EQ(library.status().message(), "libm.so.6 is no MPI library");
}

// This process has none.
TEST(Loaded, None) {
  EXPECT_TRUE(loaded_libraries().empty());
}

TEST(FindOrLoad, SettingIsWrong) {
  setenv("TASUKI_MPI_LIBRARY", "/nowhere/libmpi.so.40", 1);
  const Result<Library> library = find_or_load(MpiAbi::openmpi);
  unsetenv("TASUKI_MPI_LIBRARY");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.status().message().find("TASUKI_MPI_LIBRARY: /nowhere/libmpi.so.40"), std::string::npos)
      << library.status().message();
}

}  // namespace
}  // namespace tasuki::mpi
