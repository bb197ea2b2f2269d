#include "task/examine/wrapper.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tasuki::task {
namespace {

// The words from the program on, or "" where the command is no wrapper with one.
std::string behind(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string w; in >> w;) words.push_back(w);
  std::string rest;
  const size_t at = behind_wrapper(words);
  for (size_t i = at; at != 0 && i < words.size(); i++) rest += (rest.empty() ? "" : " ") + words[i];
  return rest;
}

TEST(Wrapper, ProgramsBehindCommandsThatBecomeThem) {
  EXPECT_EQ(behind("taskset 3 ./app -c 1"), "./app -c 1");
  EXPECT_EQ(behind("/usr/bin/taskset -c 0,2 ./app"), "./app");
  EXPECT_EQ(behind("taskset -ac 0 ./app"), "./app");
  EXPECT_EQ(behind("taskset --cpu-list 0 ./app"), "./app");
  EXPECT_EQ(behind("numactl --cpunodebind=0 --membind 0 ./app --all"), "./app --all");
  EXPECT_EQ(behind("numactl -N 0 -m0 -l -- ./app"), "./app");
  EXPECT_EQ(behind("numactl ./app"), "./app");
  EXPECT_EQ(behind("env A=1 B=2 ./app C=3"), "./app C=3");
  EXPECT_EQ(behind("env -i -u HOME -C /tmp A=1 ./app"), "./app");
  EXPECT_EQ(behind("env - --unset=HOME ./app"), "./app");
  EXPECT_EQ(behind("nice -n 5 ./app"), "./app");
  EXPECT_EQ(behind("nice -5 ./app"), "./app");
  EXPECT_EQ(behind("nice --adjustment=5 ./app"), "./app");
  EXPECT_EQ(behind("ionice -c2 -n 7 ./app"), "./app");
  EXPECT_EQ(behind("stdbuf -oL -e 0 ./app"), "./app");
  EXPECT_EQ(behind("nohup ./app"), "./app");
  EXPECT_EQ(behind("env taskset 1 ./app"), "taskset 1 ./app");
}

TEST(Wrapper, OtherCommandsAreWhatTheyAre) {
  for (const char* other :
       {"./app taskset 1", "taskset", "taskset 3", "taskset -p 1 77", "taskset --pid 77", "taskset --help",
        "numactl --show", "numactl --hardware", "env", "env A=1", "env -i", "env -S x y", "nice", "nice -n 5",
        "bash -c ./app", "stdbuf -o", "nohup --version"})
    EXPECT_EQ(behind(other), "") << other;
  EXPECT_EQ(behind_wrapper({}), 0u);
  EXPECT_EQ(behind_wrapper({""}), 0u);
}

}  // namespace
}  // namespace tasuki::task
