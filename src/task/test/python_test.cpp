#include "task/examine/python.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "os/files/descriptor.h"

namespace tasuki::task {
namespace {

namespace fs = std::filesystem;

// An open ELF file.
struct File {
  explicit File(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat st = {};
    EXPECT_EQ(fstat(fd.get(), &st), 0) << path;
    bytes = {fd.get(), nullptr, static_cast<uint64_t>(st.st_size)};
    Result<elf::Image> read = elf::read_image(bytes);
    EXPECT_TRUE(read.ok()) << path;
    if (read.ok()) image = read.value();
  }
  os::Fd fd;
  elf::ByteSource bytes;
  elf::Image image;
};

std::string part(const std::string& name) {
  return TASUKI_PYTHON_PARTS "/" + name;
}

std::string version_in(const std::string& path) {
  const File file(path);
  const std::optional<Python> python = python_in(file.bytes, file.image);
  return python ? python->version + python->flavour : "none";
}

TEST(Python, ReadsTheVersion) {
  EXPECT_EQ(version_in(part("program")), "3.11.2");
  EXPECT_EQ(version_in(part("library-candidate")), "3.14.0rc3");
  EXPECT_EQ(version_in(part("library-debug")), "3.11.2d");
  EXPECT_EQ(version_in(part("program-old")), "3.9.2");  // and not SQLite's
  EXPECT_EQ(version_in(part("library-old-candidate")), "3.10.0b4+");
  EXPECT_EQ(version_in("/proc/self/exe"), "none");
}

TEST(Python, NamesTheLibrary) {
  EXPECT_EQ((Python{"3.11.2", ""}.soname()), "libpython3.11.so.1.0");
  EXPECT_EQ((Python{"3.13.0rc1", "td"}.soname()), "libpython3.13td.so.1.0");
}

// A prefix with the command and, maybe, libraries.
class Prefix {
 public:
  explicit Prefix(const std::string& program, const std::string& name = "python3.11") : name_(name) {
    char path[] = "/tmp/tasuki-test-XXXXXX";
    root_ = mkdtemp(path);
    fs::create_directories(root_ / "bin");
    fs::copy_file(part(program), root_ / "bin" / name);
  }
  ~Prefix() { fs::remove_all(root_); }
  std::string add(const std::string& library, const std::string& at) {
    fs::create_directories((root_ / at).parent_path());
    fs::copy_file(part(library), root_ / at, fs::copy_options::overwrite_existing);
    return root_ / at;
  }
  std::optional<PythonLibrary> find() const {
    const std::string path = root_ / "bin" / name_;
    const File file(path);
    EXPECT_EQ(file.image.kind, elf::Image::Kind::fixed_address);
    return find_python_library(path, file.bytes, file.image);
  }

 private:
  fs::path root_;
  std::string name_;
};

TEST(Python, FindsTheLibraryOfItsPrefix) {
  for (const char* folder : {"lib/", "lib64/", "lib/x86_64-linux-gnu/"}) {
    Prefix prefix("program");
    const std::string library = prefix.add("library", folder + std::string("libpython3.11.so.1.0"));
    const std::optional<PythonLibrary> found = prefix.find();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->path, library) << found->why_none;
  }
  Prefix old("program-old", "python3");
  const std::string library = old.add("library-old", "lib/libpython3.9.so.1.0");
  ASSERT_TRUE(old.find());
  EXPECT_EQ(old.find()->path, library) << old.find()->why_none;
}

TEST(Python, TakesTheNextWhereOneDoesNotFit) {
  Prefix prefix("program");
  prefix.add("library-newer", "lib/libpython3.11.so.1.0");
  const std::string library = prefix.add("library", "lib64/libpython3.11.so.1.0");
  EXPECT_EQ(prefix.find()->path, library);
}

TEST(Python, FindsTheLibraryWhereTheLoaderDoes) {
  Prefix prefix("program", "python"), other("program");
  const std::string library = other.add("library", "else/libpython3.11.so.1.0");
  setenv("LD_LIBRARY_PATH", fs::path(library).parent_path().c_str(), 1);
  const std::optional<PythonLibrary> found = prefix.find();
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, library) << found->why_none;
}

TEST(Python, SaysWhyThereIsNone) {
  // Nothing of this machine may be found: an interpreter of a version that there is not.
  Prefix missing("program-of-nobody");
  EXPECT_EQ(missing.find()->path, "");
  EXPECT_EQ(missing.find()->why_none, "its library libpython3.99.so.1.0 is not installed");
  EXPECT_NE(missing.find()->remedy.find("apt-get install libpython3.99;"), std::string::npos);

  for (const auto& [library, says] :
       {std::pair("library-newer", " is of Python 3.11.4, not 3.11.2"),
        std::pair("library-poor", " is built otherwise (it has no PyInit__extra)"),
        std::pair("library-debug", " is built otherwise"),
        std::pair("program", " is no library of this machine"),
        std::pair("no-python", " has no Python in it")}) {
    Prefix prefix("program");
    const std::string path = prefix.add(library, "lib/libpython3.11.so.1.0");
    // The loader finds the same.
    setenv("LD_LIBRARY_PATH", fs::path(path).parent_path().c_str(), 1);
    const std::optional<PythonLibrary> found = prefix.find();
    unsetenv("LD_LIBRARY_PATH");
    EXPECT_EQ(found->path, "") << library;
    EXPECT_EQ(found->why_none, path + says);
    EXPECT_EQ(found->remedy.find("apt-get"), std::string::npos);
  }
}

TEST(Python, LeavesOtherProgramsAlone) {
  // A program with an interpreter built in has all of Python's names, and a main of its own.
  for (const char* name :
       {"blender", "pvpython", "python-config", "pythonw", "python3.11-mpi", "python3.x", "ipython"}) {
    Prefix prefix("program", name);
    prefix.add("library", "lib/libpython3.11.so.1.0");
    EXPECT_FALSE(prefix.find()) << name;
  }
  Prefix no_python("program-without", "python3");
  ASSERT_TRUE(no_python.find());
  EXPECT_EQ(no_python.find()->path, "");
  EXPECT_EQ(no_python.find()->why_none, "is no CPython of version 3.8 or newer");
}

TEST(Python, KnowsTheNamesOfTheCommand) {
  for (const char* name :
       {"python", "python3", "python3.11", "python3.13t", "python3.13td", "python3.11-dbg"}) {
    Prefix prefix("program", name);
    prefix.add("library", "lib/libpython3.11.so.1.0");
    ASSERT_TRUE(prefix.find()) << name;
    EXPECT_NE(prefix.find()->path, "") << name;
  }
}

}  // namespace
}  // namespace tasuki::task
