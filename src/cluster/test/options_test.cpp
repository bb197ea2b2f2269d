#include "cluster/settings/command_line.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/settings.h"

namespace tasuki::cluster {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() {
    for (const Setting& s : settings()) unsetenv(s.name);
    char directory[] = "/tmp/tasuki-options-XXXXXX";
    directory_ = mkdtemp(directory);
  }
  ~OptionsTest() override {
    for (const Setting& s : settings()) unsetenv(s.name);
    std::filesystem::remove_all(directory_);
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  // The error's text, which must contain all of `parts`.
  void refused(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
    const Result<Options> options = read_options(arguments, 3);
    ASSERT_FALSE(options.ok());
    for (const std::string& part : parts)
      EXPECT_NE(options.status().message().find(part), std::string::npos) << options.status().message();
  }
  std::string directory_;
};

TEST_F(OptionsTest, DefaultsAreTheTables) {
  const Result<Options> given = read_options({}, 1);
  ASSERT_TRUE(given.ok()) << given.status().message();
  const Options& o = given.value();
  EXPECT_EQ(o.pager.local_bytes, 0u);
  EXPECT_EQ(o.pager.page_bytes, 0u);
  EXPECT_EQ(o.pager.protocol, pager::Protocol::ahead);
  EXPECT_EQ(o.redundancy.copies, 1u);
  EXPECT_EQ(o.timeout_s, 60u);
  EXPECT_FALSE(o.stats);
  // What the table says is the default is what an empty command line gives.
  for (const Setting& s : settings()) {
    if (std::string_view(s.name).substr(0, 11) == "TASUKI_DLM_" && *s.default_value != 0)
      setenv(s.name, s.default_value, 1);
  }
  const Result<Options> table = read_options({}, 1);
  ASSERT_TRUE(table.ok()) << table.status().message();
  const Options& t = table.value();
  EXPECT_EQ(t.pager.local_bytes, o.pager.local_bytes);
  EXPECT_EQ(t.pager.page_bytes, o.pager.page_bytes);
  EXPECT_EQ(t.pager.protocol, o.pager.protocol);
  EXPECT_EQ(t.pager.replacement, o.pager.replacement);
  EXPECT_EQ(t.pager.prefetch, o.pager.prefetch);
  EXPECT_EQ(t.pager.copies, o.pager.copies);
  EXPECT_EQ(t.pager.faults, o.pager.faults);
  EXPECT_EQ(t.memory, o.memory);
  EXPECT_EQ(t.fill, o.fill);
  EXPECT_EQ(t.redundancy.copies, o.redundancy.copies);
  EXPECT_EQ(t.redundancy.needed, o.redundancy.needed);
  EXPECT_EQ(t.compress, o.compress);
  EXPECT_EQ(t.checksum, o.checksum);
  EXPECT_EQ(t.window, o.window);
  EXPECT_EQ(t.timeout_s, o.timeout_s);
  EXPECT_EQ(t.stats, o.stats);
}

// The enums and the table's choices are one list.
TEST_F(OptionsTest, EveryChoiceIsTheOneItIsCalled) {
  const auto pager_of = [](const std::string& name, const std::string& value) {
    const Result<Options> o = read_options({"--" + name, value}, 1);
    EXPECT_TRUE(o.ok()) << o.status().message();
    return o.ok() ? o.value() : Options();
  };
  EXPECT_EQ(pager_of("protocol", "cs").pager.protocol, pager::Protocol::cs);
  EXPECT_EQ(pager_of("protocol", "cross").pager.protocol, pager::Protocol::cross);
  EXPECT_EQ(pager_of("protocol", "as1").pager.protocol, pager::Protocol::as1);
  EXPECT_EQ(pager_of("protocol", "as2").pager.protocol, pager::Protocol::as2);
  EXPECT_EQ(pager_of("replacement", "fifo").pager.replacement, pager::ReplacementPolicy::fifo);
  EXPECT_EQ(pager_of("replacement", "address").pager.replacement, pager::ReplacementPolicy::address);
  EXPECT_EQ(pager_of("prefetch", "off").pager.prefetch, pager::Prefetch::off);
  EXPECT_EQ(pager_of("prefetch", "sequential").pager.prefetch, pager::Prefetch::sequential);
  EXPECT_EQ(pager_of("prefetch", "strided").pager.prefetch, pager::Prefetch::strided);
  EXPECT_EQ(pager_of("prefetch", "majority").pager.prefetch, pager::Prefetch::majority);
  EXPECT_EQ(pager_of("copies", "cache").pager.copies, pager::Copies::cache);
  EXPECT_EQ(pager_of("copies", "exclusive").pager.copies, pager::Copies::exclusive);
  EXPECT_EQ(pager_of("faults", "userfault").pager.faults, pager::Faults::userfault);
  EXPECT_EQ(pager_of("faults", "userfault-user").pager.faults, pager::Faults::userfault_user_mode);
  EXPECT_EQ(pager_of("faults", "signal").pager.faults, pager::Faults::signal);
  EXPECT_EQ(pager_of("faults", "userfault-copy").pager.faults, pager::Faults::userfault_copy);
  EXPECT_EQ(pager_of("fill", "interleave").fill, Fill::interleave);
  EXPECT_EQ(pager_of("compress", "lz4").compress, Compress::lz4);
  EXPECT_EQ(pager_of("window", "on").window, Window::on);
  EXPECT_EQ(pager_of("window", "off").window, Window::off);
}

TEST_F(OptionsTest, CommandLineCountsMoreThanEnvironmentMoreThanFile) {
  const std::string file = write("a.toml", "page-size = \"16KiB\"\nlocal = 1048576\nchecksum = true\n");
  setenv("TASUKI_DLM_CONFIG", file.c_str(), 1);
  setenv("TASUKI_DLM_PAGE_SIZE", "64KiB", 1);
  setenv("TASUKI_DLM_LOCAL", "2MiB", 1);
  const Result<Options> o = read_options({"--page-size=128KiB"}, 1);
  ASSERT_TRUE(o.ok()) << o.status().message();
  EXPECT_EQ(o.value().pager.page_bytes, 128u << 10);
  EXPECT_EQ(o.value().pager.local_bytes, 2 * kMiB);
  EXPECT_TRUE(o.value().checksum);
  const std::string other = write("b.toml", "checksum = false\n");
  EXPECT_FALSE(read_options({"--config", other}, 1).value().checksum);
}

TEST_F(OptionsTest, StatsAloneAndWithAFile) {
  EXPECT_TRUE(read_options({"--stats"}, 1).value().stats);
  EXPECT_EQ(read_options({"--stats=x.json"}, 1).value().stats_file, "x.json");
  EXPECT_EQ(read_options({"--stats", "--checksum"}, 1).value().stats_file, "");
  EXPECT_TRUE(read_options({"--stats", "--checksum"}, 1).value().checksum);
  refused({"--stats=x.txt"}, {"--stats", "x.txt", ".json"});
}

TEST_F(OptionsTest, WrongValuesAreNamedWithTheirPlace) {
  refused({"--page-size", "5000"}, {"--page-size", "5000", "multiple of 4KiB"});
  refused({"--page-size", "4MiB"}, {"--page-size", "2MiB"});
  refused({"--local", "much"}, {"--local", "much"});
  refused({"--local", "0"}, {"--local"});
  refused({"--protocol", "as3"}, {"--protocol", "as3", "ahead|cs|cross|as1|as2"});
  refused({"--replicas", "3"}, {"--replicas", "1 to 2"});
  for (const char* code : {"4", "4+", "+2", "3+1", "4+0", "4+5", "8+2x", "4+2+1", "16+2", "-4+2"})
    refused({"--erasure-code", code}, {"--erasure-code", "K+M", code});
  refused({"--erasure-code", "4+2", "--replicas", "2"}, {"--erasure-code", "--replicas 2"});
  refused({"--erasure-code", "4+2", "--compress", "lz4"}, {"--erasure-code", "--compress"});
  refused({"--pagesize", "4096"}, {"--pagesize", "--help"});
  refused({"stray"}, {"stray"});
  setenv("TASUKI_DLM_FILL", "odd", 1);
  refused({}, {"TASUKI_DLM_FILL", "odd", "rank|interleave"});
  unsetenv("TASUKI_DLM_FILL");
  refused({"--config", write("c.toml", "# settings\nfil = \"rank\"\n")}, {"c.toml:2", "fil"});
  refused({"--config", write("d.toml", "\n\nfill = \"odd\"\n")}, {"d.toml:3", "odd"});
  refused({"--config", write("e.toml", "fill = [\n")}, {"e.toml:"});
  refused({"--config", write("f.toml", "fill = 1.5\n")}, {"f.toml:1"});
  refused({"--config", directory_ + "/none.toml"}, {"none.toml", "No such file"});
}

// What `tasuki mem` preloads reads nothing else, and not the file of sizes while the number of ranks is
// unknown.
TEST_F(OptionsTest, TheEnvironmentAlone) {
  setenv("TASUKI_DLM_PAGE_SIZE", "64KiB", 1);
  const Result<Options> o = environment_options({"--page-size=128KiB"}, 1);
  ASSERT_TRUE(o.ok()) << o.status().message();
  EXPECT_EQ(o.value().pager.page_bytes, 64u << 10);
  setenv("TASUKI_DLM_MEMFILE", (directory_ + "/none").c_str(), 1);
  EXPECT_TRUE(environment_options({}, 0).ok());
  EXPECT_FALSE(environment_options({}, 1).ok());
}

TEST_F(OptionsTest, MemoryFile) {
  const std::string good = write("mem", "100   # rank 0\n\n 2GiB\n300\r\n");
  const Result<Options> o = read_options({"-f", good}, 3);
  ASSERT_TRUE(o.ok()) << o.status().message();
  EXPECT_EQ(o.value().memfile, (std::vector<uint64_t>{100 * kMiB, 2048 * kMiB, 300 * kMiB}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_options({"-f", good}, 2).value().memfile.size(), 2u);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("3 sizes"), std::string::npos);
  refused({"-f", write("short", "100\n200\n")}, {"short:2", "2 sizes", "3 ranks"});
  refused({"-f", write("bad", "100\n20O\n300\n")}, {"bad:2", "20O"});
  refused({"-f", write("zero", "0\n")}, {"zero:1"});
  refused({"-f", directory_ + "/none"}, {"none", "No such file"});
}

// `tasuki mem` reads the file, and the program's library has what it says.
TEST_F(OptionsTest, MemoryFileInTheEnvironment) {
  const std::string good = write("7 sizes", "100\n2GiB\n\n300\n");
  const Result<MemorySizes> read = read_memory_sizes(good);
  ASSERT_TRUE(read.ok()) << read.status().message();
  setenv("TASUKI_DLM_MEMFILE", good.c_str(), 1);
  setenv(kSizesVariable, handed_over(read.value()).c_str(), 1);
  const Result<Options> o = environment_options({}, 3);
  ASSERT_TRUE(o.ok()) << o.status().message();
  EXPECT_EQ(o.value().memfile, (std::vector<uint64_t>{100 * kMiB, 2048 * kMiB, 300 * kMiB}));
  const Result<Options> more = environment_options({}, 4);
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.status().message().find("7 sizes:4: the file ends after 3 sizes"), std::string::npos)
      << more.status().message();
  // No sizes, and those of another file.
  setenv(kSizesVariable, handed_over({good, 0, {}}).c_str(), 1);
  EXPECT_FALSE(environment_options({}, 1).ok());
  const std::string other = write("other", "1\n");
  setenv("TASUKI_DLM_MEMFILE", other.c_str(), 1);
  for (const char* text : {"2:1,2, /no/such", "2:1,2,", "x", ""}) {
    setenv(kSizesVariable, text, 1);
    const Result<Options> refused = environment_options({}, 1);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.status().message().find("has not read it"), std::string::npos)
        << refused.status().message();
  }
  unsetenv(kSizesVariable);
}

TEST_F(OptionsTest, HelpNamesEverySetting) {
  const std::string help = read_options({"--help"}, 1).value().help;
  for (const char* name : {"-f,", "--page-size", "--protocol", "--stats", "--replicas", "--window"})
    EXPECT_NE(help.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace tasuki::cluster
