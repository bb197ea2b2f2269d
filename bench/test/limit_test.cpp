#include "bench/driver/jobs/limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tasuki::bench {
namespace {

TEST(Holder, UndoesWhatItSetUp) {
  const std::string file = testing::TempDir() + "tasuki-holder-test";
  {
    Holder holder;
    ASSERT_TRUE(holder.start({}, "touch " + quoted(file) + " && echo it is", "rm " + quoted(file)).ok());
    EXPECT_EQ(holder.output(), "it is");
    EXPECT_EQ(access(file.c_str(), F_OK), 0);
  }
  EXPECT_NE(access(file.c_str(), F_OK), 0);
}

TEST(Holder, SaysWhyItFailed) {
  Holder holder;
  const Status s = holder.start({}, "echo no disk; false", "");
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.message(), "no disk");
  EXPECT_LE(holder.pid(), 0);
}

TEST(Holder, Quotes) {
  Holder holder;
  const std::string odd = "a'b \"$HOME\" \\";
  ASSERT_TRUE(holder.start({}, "printf %s " + quoted(odd), "").ok());
  EXPECT_EQ(holder.output(), odd);
}

}  // namespace
}  // namespace tasuki::bench
