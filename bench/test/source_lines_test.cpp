#include "bench/driver/benchmarks/source_lines.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tasuki::bench {
namespace {

TEST(SourceLines, CommentsGoAndStringsStay) {
  EXPECT_EQ(without_comments("a /* b\n c */ d\n"), "a  \n d\n");
  EXPECT_EQ(without_comments("a // b\nc"), "a  \nc");
  EXPECT_EQ(without_comments("f(\"/* \\\" //\"); '\"' // x"), "f(\"/* \\\" //\"); '\"'  ");
  EXPECT_EQ(without_comments("/*/ still */x"), " x");
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/source-lines-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(Files, OwnAndSharedLines) {
  write("common/a.h", "#ifndef A_H\n#define A_H\n\n/* text\n * text */\nint a;\n#endif\n");
  write("p/b.h", "#include \"../common/a.h\"\nint b; // b\n");
  const std::string file = write(
      "p/p.c", "#include <stdio.h>\n#include \"b.h\"\n#include \"../common/a.h\"\n\nint main(void) {\n}\n");
  const Result<SourceLines> lines = count_source_lines(file);
  ASSERT_TRUE(lines.ok()) << lines.status().message();
  EXPECT_EQ(lines.value().own, 5);
  EXPECT_EQ(lines.value().shared, 2 + 4);
}

TEST_F(Files, WhatIsNotCompiledDoesNotCount) {
  write("h.h",
        "#ifndef OWN_KERNELS\nint kernel;\n#ifdef NEVER\nint never;\n#endif\n#else\nint other;\n#endif\n#if "
        "1\nint always;\n#endif\n");
  Result<SourceLines> lines = count_source_lines(write("plain.c", "#include \"h.h\"\n"));
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines.value().shared, 9);  // not `never`, not `other`
  lines = count_source_lines(write("own.c", "#define OWN_KERNELS\n#include \"h.h\"\n"));
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines.value().shared, 7);  // #ifndef, #else, other, #endif, and the three behind
}

TEST_F(Files, AMissingFileIsNamed) {
  const Result<SourceLines> lines = count_source_lines(write("p.c", "#include \"missing.h\"\n"));
  ASSERT_FALSE(lines.ok());
  EXPECT_NE(lines.status().message().find("missing.h"), std::string::npos);
}

}  // namespace
}  // namespace tasuki::bench
