// The driver's side of a measuring job. A shell script stands in for launcher, program and rank.
#include "bench/driver/jobs/measuring_job.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tasuki::bench {
namespace {

// `body` obeys the one command.
JobSpec script(const std::string& body) {
  JobSpec spec{"test",
               {"sh", "-c", "exec 3<$1/command.0 4>$1/answer.0; echo ok >&4; read -r command <&3; " + body},
               {},
               "program"};
  spec.ranks = 1;
  return spec;
}

TEST(MeasuringJob, ProgressCountsAsLife) {
  Job job(
      script("for i in 1 2 3 4 5 6 7 8; do sleep 1; echo progress >&4; done; printf 'ok\\tmedian=5\\n' >&4"));
  Answer answer;
  ASSERT_TRUE(job.start(60, &answer).ok());
  const Status status = job.ask("time", 5, &answer);  // more than it waits without a sign of life
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(number(answer.values[0], "median"), 5);
  EXPECT_TRUE(answer.rows.empty());
}

TEST(MeasuringJob, SilenceIsNone) {
  Job job(script("exec sleep 60"));
  Answer answer;
  ASSERT_TRUE(job.start(60, &answer).ok());
  const Status status = job.ask("time", 1, &answer);
  EXPECT_EQ(status.err(), ETIMEDOUT);
  EXPECT_NE(status.message().find("for 1 seconds"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace tasuki::bench
