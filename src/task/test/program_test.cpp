#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "elf/machine.h"
#include "task/examine/preload.h"
#include "task/examine/program.h"

namespace tasuki::task {
namespace {

TEST(Program, FindsAsExecvpDoes) {
  EXPECT_EQ(find_program({"true"}, "/nowhere:/bin").path, "/bin/true");
  EXPECT_EQ(find_program({"no-such-program"}, "/bin").error, ENOENT);
  EXPECT_EQ(find_program({"/bin"}, nullptr).error, EACCES);
  EXPECT_EQ(find_program({"/etc/passwd"}, nullptr).error, EACCES);
  EXPECT_EQ(find_program({""}, nullptr).error, ENOENT);
  const Program p = find_program({"/bin/true", "x"}, nullptr);
  EXPECT_TRUE(p.can_share()) << p.why_plain;
  EXPECT_EQ(p.argv, (std::vector<std::string>{"/bin/true", "x"}));
}

// A script in a file of its own.
class Script {
 public:
  explicit Script(const std::string& first_line) {
    const int fd = mkstemp(path_);
    const std::string text = first_line + "\n";
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    fchmod(fd, 0755);
    close(fd);
  }
  ~Script() { unlink(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/tasuki-test-XXXXXX";
};

TEST(Program, DoesTheWorkOfEnvInScripts) {
  using Words = std::vector<std::string>;
  const auto run = [](const std::string& line) {
    const Script script(line);
    Program p = find_program({script.path(), "x"}, "/nowhere:/usr/bin:/bin");
    for (std::string& word : p.argv)
      if (word == script.path()) word = "SCRIPT";
    return std::pair(p.path, p.argv);
  };
  EXPECT_EQ(run("#!/usr/bin/env dash"),
            std::pair(std::string("/usr/bin/dash"), Words({"dash", "SCRIPT", "x"})));
  EXPECT_EQ(run("#!/usr/bin/env -S dash -e  -u "),
            std::pair(std::string("/usr/bin/dash"), Words({"dash", "-e", "-u", "SCRIPT", "x"})));
  // What only env can do, and what it reports.
  for (const std::string argument :
       {"-i dash", "A=b", "-S A=b dash", "-S \"dash\" -e", "-S -i dash", "no-such-program", "dash -e"})
    EXPECT_EQ(run("#!/usr/bin/env " + argument),
              std::pair(std::string("/usr/bin/env"), Words({"/usr/bin/env", argument, "SCRIPT", "x"})));
}

TEST(Program, KnowsTheGlibcOfALoader) {
  EXPECT_TRUE(can_preload(elf::kLoader));
  EXPECT_FALSE(can_preload("/bin/true"));
  EXPECT_FALSE(can_preload("/nowhere/ld-99.1.so"));
  // A glibc that does not say which one it is: its file does, to which a link leads.
  char folder[] = "/tmp/tasuki-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string link = std::string(folder) + "/ld-linux-x86-64.so.2";
  for (const auto& [name, expected] : {std::pair("ld-99.1.so", true), std::pair("ld-2.27.so", false),
                                       std::pair("ld-99.1.so.old", false), std::pair("ld-musl.so", false)}) {
    const std::string file = std::string(folder) + "/" + name;
    std::ofstream(file) << "not said";
    ASSERT_EQ(symlink(name, link.c_str()), 0);
    EXPECT_EQ(can_preload(link), expected) << name;
    unlink(link.c_str());
    unlink(file.c_str());
  }
  rmdir(folder);
}

TEST(Program, KnowsTheMpisByTheirLibraries) {
  EXPECT_EQ(mpi_abi_of({"libc.so.6", "libmpi.so.40"}), MpiAbi::openmpi);
  EXPECT_EQ(mpi_abi_of({"libmpi_mpifh.so.40"}), MpiAbi::openmpi);
  EXPECT_EQ(mpi_abi_of({"/opt/mpich/lib/libmpi.so.12"}), MpiAbi::mpich);
  EXPECT_EQ(mpi_abi_of({"libmpich.so.12", "libm.so.6"}), MpiAbi::mpich);
  EXPECT_EQ(mpi_abi_of({"libmpi_gnu_123.so.12"}), MpiAbi::mpich);
  EXPECT_EQ(mpi_abi_of({"libmpi_abi.so.1"}), MpiAbi::standard);
  EXPECT_EQ(mpi_abi_of({"/opt/lib/libmpi_abi.so.0", "libmpi.so.40"}), MpiAbi::standard);
  EXPECT_EQ(mpi_abi_of({"libm.so.6"}), MpiAbi::none);
  EXPECT_EQ(mpi_abi_of({"libmpi.so.40", "libmpich.so.12"}), MpiAbi::unknown);
}

TEST(Program, TheShimOfEachAbiIsPreloaded) {
  std::string folder = testing::TempDir() + "shims_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  constexpr std::pair<MpiAbi, const char*> kShims[] = {{MpiAbi::openmpi, "/libtasuki-openmpi.so"},
                                                       {MpiAbi::mpich, "/libtasuki-mpich.so"},
                                                       {MpiAbi::standard, "/libtasuki-abi.so"}};
  for (const auto& [abi, name] : kShims) {
    std::vector<std::string> environment;
    EXPECT_NE(add_preload(&environment, folder, abi, false).find(folder + name + " is missing"),
              std::string::npos);
    EXPECT_TRUE(environment.empty());
    std::ofstream(folder + name) << "";
    EXPECT_EQ(add_preload(&environment, folder, abi, false), "");
    EXPECT_EQ(environment, std::vector<std::string>{"LD_PRELOAD=" + folder + name});
  }
  for (const MpiAbi abi : {MpiAbi::none, MpiAbi::unknown}) {
    std::vector<std::string> environment;
    EXPECT_EQ(add_preload(&environment, folder, abi, false), "");
    EXPECT_TRUE(environment.empty());
  }
  std::filesystem::remove_all(folder);
}

TEST(Program, GetsTheShimOfItsLauncherWhereItHasNoMpi) {
  const Program p = find_program({"/bin/true"}, nullptr);
  const auto decide = [&p](MpiAbi direct, MpiAbi launcher, const std::vector<std::string>& environment) {
    return decide_abi(direct, launcher, p.loader, p.canonical, environment);
  };
  EXPECT_EQ(decide(MpiAbi::none, MpiAbi::none, {}), MpiAbi::none);
  EXPECT_EQ(decide(MpiAbi::none, MpiAbi::mpich, {}), MpiAbi::mpich);
  EXPECT_EQ(decide(MpiAbi::mpich, MpiAbi::openmpi, {}), MpiAbi::mpich);
  EXPECT_EQ(decide(MpiAbi::standard, MpiAbi::mpich, {}), MpiAbi::standard);
  EXPECT_EQ(decide(MpiAbi::none, MpiAbi::none, {"PMIX_RANK=0"}), MpiAbi::openmpi);  // srun --mpi=pmix
  EXPECT_EQ(decide(MpiAbi::none, MpiAbi::mpich, {"PMIX_RANK=0"}), MpiAbi::mpich);
}

}  // namespace
}  // namespace tasuki::task
