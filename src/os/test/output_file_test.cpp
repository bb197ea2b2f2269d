#include "os/files/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tasuki::os {
namespace {

class OutputFile : public testing::Test {
 protected:
  OutputFile() {
    char name[] = "/tmp/tasuki-output-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~OutputFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_;
};

TEST_F(OutputFile, CheckingLeavesEverythingAsItWas) {
  EXPECT_TRUE(check_output("--json", "").ok());
  EXPECT_TRUE(check_output("--json", path("new")).ok());
  EXPECT_FALSE(std::filesystem::exists(path("new")));
  std::ofstream(path("old")) << "measured yesterday";
  EXPECT_TRUE(check_output("--json", path("old")).ok());
  EXPECT_EQ(content(path("old")), "measured yesterday");
  std::filesystem::create_symlink(path("old"), path("link"));
  EXPECT_TRUE(check_output("--json", path("link")).ok());
  EXPECT_EQ(content(path("old")), "measured yesterday");
}

TEST_F(OutputFile, WhatCannotBeWrittenIsNamed) {
  const Status nowhere = check_output("--json", "/nonexistent/x.json");
  EXPECT_EQ(nowhere.err(), ENOENT);
  EXPECT_EQ(nowhere.message(), "--json /nonexistent/x.json: cannot be written: No such file or directory");
  EXPECT_EQ(check_output("--html", folder_).err(), EISDIR);
  std::ofstream(path("file")) << "";
  EXPECT_EQ(check_output("--html", path("file") + "/x").err(), ENOTDIR);
  std::filesystem::create_symlink("/nonexistent/x", path("link"));
  EXPECT_EQ(check_output("--html", path("link")).err(), ENOENT);
}

TEST_F(OutputFile, PipesAreNotOpened) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(check_output("--json", path("pipe")).ok());  // nobody reads it: opening would wait
  EXPECT_TRUE(check_output("--json", "/dev/null").ok());
}

TEST_F(OutputFile, WritingReplaces) {
  std::ofstream(path("old")) << "measured yesterday";
  EXPECT_TRUE(write_output("--json", path("old"), "today").ok());
  EXPECT_EQ(content(path("old")), "today");
  EXPECT_EQ(write_output("--json", "/dev/full", "today").err(), ENOSPC);
  EXPECT_FALSE(write_output("--json", "/nonexistent/x", "today").ok());
}

}  // namespace
}  // namespace tasuki::os
