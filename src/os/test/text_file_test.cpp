#include "os/files/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "os/files/temporary_folder.h"

namespace tasuki::os {
namespace {

class TextFile : public testing::Test {
 protected:
  TextFile() { EXPECT_TRUE(folder_.make("tasuki-text").ok()); }
  std::string path(const char* name) const { return folder_.path() + "/" + name; }
  TemporaryFolder folder_;
};

TEST_F(TextFile, WhatIsWrittenIsRead) {
  std::string all;
  for (int i = 0; i < 100000; i++) all += static_cast<char>(i % 256);
  for (const std::string& text : {all, std::string("one\ntwo"), std::string()}) {
    EXPECT_TRUE(write_file(path("file"), text).ok());
    const Result<std::string> read = read_file(path("file"));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value(), text);
    EXPECT_EQ(file_or_empty(path("file")), text);
  }
}

TEST_F(TextFile, FirstLines) {
  EXPECT_TRUE(write_file(path("file"), "one\ntwo\n").ok());
  EXPECT_EQ(first_line(path("file")), "one");
  EXPECT_TRUE(write_file(path("file"), "one").ok());
  EXPECT_EQ(first_line(path("file")), "one");
  EXPECT_TRUE(write_file(path("file"), "\ntwo").ok());
  EXPECT_EQ(first_line(path("file")), "");
}

TEST_F(TextFile, FilesOfTheKernelHaveNoLength) {
  EXPECT_NE(file_or_empty("/proc/self/status").find("\nPid:\t" + std::to_string(getpid()) + "\n"),
            std::string::npos);
}

TEST_F(TextFile, WhatCannotBeReadIsNamed) {
  const Status status = read_file(path("none")).status();
  EXPECT_EQ(status.err(), ENOENT);
  EXPECT_EQ(status.message(), path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(read_file(folder_.path()).status().err(), EISDIR);
  EXPECT_EQ(file_or_empty(path("none")), "");
  EXPECT_EQ(first_line(path("none")), "");
}

TEST_F(TextFile, WhatCannotBeWrittenIsNamed) {
  const Status status = write_file(path("none/file"), "text");
  EXPECT_EQ(status.err(), ENOENT);
  EXPECT_EQ(status.message(), path("none/file") + ": cannot be written: No such file or directory");
  EXPECT_EQ(write_file("/dev/full", "text").err(), ENOSPC);
}

TEST_F(TextFile, AFileIsReplacedAsAWhole) {
  ASSERT_TRUE(write_file(path("file"), "old").ok());
  std::filesystem::create_hard_link(path("file"), path("as it was"));
  EXPECT_TRUE(replace_file(path("file"), "new").ok());
  EXPECT_EQ(file_or_empty(path("file")), "new");
  EXPECT_EQ(file_or_empty(path("as it was")), "old");  // whoever has it open reads on
  EXPECT_FALSE(std::filesystem::exists(path("file.new")));
}

TEST_F(TextFile, WhatCannotBeReplacedStays) {
  const Status status = replace_file(path("none/file"), "new");
  EXPECT_EQ(status.message(), path("none/file") + ": cannot be written: No such file or directory");
  std::filesystem::create_directories(path("folder/in it"));
  EXPECT_EQ(replace_file(path("folder"), "new").err(), EISDIR);
  EXPECT_TRUE(std::filesystem::exists(path("folder/in it")));
  EXPECT_FALSE(std::filesystem::exists(path("folder.new")));
}

TEST_F(TextFile, WhetherItCanBeReplacedIsFoundOutWithoutATrace) {
  EXPECT_TRUE(can_replace(path("file")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_EQ(can_replace(path("none/file")).message(),
            path("none/file") + ": cannot be written: No such file or directory");
}

}  // namespace
}  // namespace tasuki::os
