// Where a group with a limit of memory might be made, as different machines show it.
#include "bench/driver/jobs/limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tasuki::bench {
namespace {

std::vector<std::string> parents(const std::string& mounts, const std::string& own) {
  std::vector<std::string> all;
  for (const CgroupPlace& p : cgroup_places(mounts, own)) all.push_back(p.parent + " " + p.limit_file);
  return all;
}

TEST(Limit, VersionTwoGoesOutwards) {
  EXPECT_EQ(parents("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", "0::/user.slice/app.slice/x.scope\n"),
            (std::vector<std::string>{"/sys/fs/cgroup/user.slice/app.slice/x.scope memory.max",
                                      "/sys/fs/cgroup/user.slice/app.slice memory.max",
                                      "/sys/fs/cgroup/user.slice memory.max", "/sys/fs/cgroup memory.max"}));
}

TEST(Limit, VersionOneByItsController) {
  const std::string mounts =
      "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
      "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"
      "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n";
  EXPECT_EQ(parents(mounts, "5:cpu,cpuacct:/a\n4:memory:/job/1\n0::/\n"),
            (std::vector<std::string>{"/sys/fs/cgroup/memory/job/1 memory.limit_in_bytes",
                                      "/sys/fs/cgroup/memory/job memory.limit_in_bytes",
                                      "/sys/fs/cgroup/memory memory.limit_in_bytes"}));
}

TEST(Limit, BothVersionsAndNone) {
  const std::string both = "cgroup /cg/memory cgroup rw,memory 0 0\ncgroup2 /cg/unified cgroup2 rw 0 0\n";
  EXPECT_EQ(parents(both, "3:memory:/\n0::/\n"),
            (std::vector<std::string>{"/cg/memory memory.limit_in_bytes", "/cg/unified memory.max"}));
  EXPECT_TRUE(parents("proc /proc proc rw 0 0\n", "0::/\n").empty());
}

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
