#include "os/process/executable.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "os/files/temporary_folder.h"
#include "os/files/text_file.h"

namespace tasuki::os {
namespace {

TEST(OwnExecutable, IsThisFile) {
  const std::string path = own_executable();
  EXPECT_EQ(path.substr(path.rfind('/')), "/os_test");
  EXPECT_TRUE(std::filesystem::equivalent(path, "/proc/self/exe"));
  EXPECT_EQ(own_prefix() + "/bin/os_test", path);
}

TEST(SearchFolders, EmptyEntriesAreThisFolder) {
  using List = std::vector<std::string>;
  EXPECT_EQ(search_folders("/a:/b"), (List{"/a", "/b"}));
  EXPECT_EQ(search_folders(":/a::/b:"), (List{".", "/a", ".", "/b", "."}));
  EXPECT_EQ(search_folders(""), (List{"."}));
  EXPECT_EQ(search_folders(nullptr), (List{"/bin", "/usr/bin"}));
}

class InPath : public testing::Test {
 protected:
  InPath() {
    EXPECT_TRUE(folder_.make("tasuki-path").ok());
    for (const char* name : {"first", "second", "third"}) std::filesystem::create_directory(path(name));
    EXPECT_TRUE(write_file(path("first/plain"), "").ok());
    make("second/both", 0755);
    make("third/both", 0755);
    std::filesystem::create_directory(path("first/both"));  // a folder is no program
    list_ = path("first") + ":/nonexistent:" + path("second") + ":" + path("third");
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void make(const std::string& name, mode_t mode) {
    EXPECT_TRUE(write_file(path(name), "#!/bin/sh\n").ok());
    EXPECT_EQ(chmod(path(name).c_str(), mode), 0);
  }
  Result<std::string> find(const std::string& name) const { return find_in_path(name, list_.c_str()); }
  TemporaryFolder folder_;
  std::string list_;
};

TEST_F(InPath, TheFirstThatCanBeExecuted) {
  ASSERT_TRUE(find("both").ok());
  EXPECT_EQ(find("both").value(), path("second/both"));
  EXPECT_EQ(find_in_path("sh", nullptr).value(), "/bin/sh");
}

TEST_F(InPath, WithASlashItIsItself) {
  EXPECT_EQ(find(path("third/both")).value(), path("third/both"));
  EXPECT_EQ(find(path("first/none")).status().err(), ENOENT);
  EXPECT_EQ(find(path("first/plain")).status().err(), EACCES);
}

TEST_F(InPath, WhyThereIsNone) {
  EXPECT_EQ(find("none").status().err(), ENOENT);
  EXPECT_EQ(find("none").status().message(), "none: No such file or directory");
  EXPECT_EQ(find("plain").status().err(), EACCES);
  EXPECT_EQ(find("").status().err(), ENOENT);
}

}  // namespace
}  // namespace tasuki::os
