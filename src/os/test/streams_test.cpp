#include "os/files/streams.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "os/files/paths.h"
#include "os/files/temporary_folder.h"
#include "os/files/wakeup.h"
#include "os/memory/memory_file.h"
#include "os/process/command.h"

namespace tasuki::os {
namespace {

TEST(Streams, SaysByWhichDescriptorSomethingCame) {
  Pipe quiet = std::move(make_pipe().value()), busy = std::move(make_pipe().value());
  Awaited list[3] = {Awaited(quiet.read.get()), Awaited(-1), Awaited(busy.read.get())};
  EXPECT_EQ(wait_for(list, 3, 0), 0);
  EXPECT_FALSE(list[2].readable());
  ASSERT_TRUE(write_all(busy.write.get(), "word"));
  EXPECT_EQ(wait_for(list, 3, -1), 1);
  EXPECT_FALSE(list[0].readable());
  EXPECT_FALSE(list[1].readable());
  ASSERT_TRUE(list[2].readable());
  char text[3];
  EXPECT_EQ(read_some(busy.read.get(), text, sizeof text), 3u);
  EXPECT_EQ(read_some(busy.read.get(), text, sizeof text), 1u);
  EXPECT_EQ(text[0], 'd');
  busy.write.reset();
  EXPECT_EQ(wait_for(&list[2], 1, -1), 1) << "the end is something that comes";
  EXPECT_EQ(read_some(busy.read.get(), text, sizeof text), 0u);
}

TEST(Streams, WritesWhatTheOtherEndTakesPieceByPiece) {
  Pipe pipe = std::move(make_pipe().value());
  const std::string sent(1 << 20, 'x');
  std::string received;
  std::thread reader([&] {
    char part[1000];
    for (size_t n; (n = read_some(pipe.read.get(), part, sizeof part)) > 0;) received.append(part, n);
  });
  EXPECT_TRUE(write_all(pipe.write.get(), sent));
  pipe.write.reset();
  reader.join();
  EXPECT_EQ(received, sent);
  EXPECT_FALSE(write_all(-1, "nobody"));
  EXPECT_EQ(errno, EBADF);
}

TEST(Streams, ContentsLeaveTheDescriptorWhereItStands) {
  const Fd file = std::move(memory_file(0).value());
  ASSERT_TRUE(write_all(file.get(), "first"));
  EXPECT_EQ(contents_of(file.get()), "first");
  ASSERT_TRUE(write_all(file.get(), ", second"));
  EXPECT_EQ(contents_of(file.get()), "first, second");
}

TEST(Streams, NamedPipesWaitForNoOtherEnd) {
  TemporaryFolder folder;
  ASSERT_TRUE(folder.make("streams-test").ok());
  const std::string path = folder.path() + "/pipe";
  Result<Fd> pipe = make_named_pipe(path, Reading::does_not_wait);
  ASSERT_TRUE(pipe.ok()) << pipe.status().message();
  char text[8];
  EXPECT_EQ(read_some(pipe.value().get(), text, sizeof text), 0u);
  EXPECT_EQ(errno, EAGAIN);
  std::ofstream(path) << "line\n";
  EXPECT_EQ(read_some(pipe.value().get(), text, sizeof text), 5u);
  const Result<Fd> again = make_named_pipe(path, Reading::waits);
  EXPECT_EQ(again.status().err(), EEXIST);
  EXPECT_EQ(again.status().message(), path + ": File exists");
}

// In a process of its own, whose output is lost.
TEST(Streams, SilenceReturnsWhereTheOutputLed) {
  EXPECT_EXIT(
      {
        Pipe pipe = std::move(make_pipe().value());
        dup2(pipe.write.get(), STDOUT_FILENO);
        const Fd output = silence();
        printf("lost");
        fflush(stdout);
        write_errors("lost too");
        write_all(output.get(), "said");
        char text[16];
        const size_t n = read_some(pipe.read.get(), text, sizeof text);
        _exit(std::string(text, n) == "said" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(Wakeup, IsHeardOnceHoweverOftenItCame) {
  const Wakeup event;
  Awaited awaited(event.descriptor());
  EXPECT_FALSE(event.clear());
  EXPECT_EQ(wait_for(&awaited, 1, 0), 0);
  event.wake();
  event.wake();
  EXPECT_EQ(wait_for(&awaited, 1, 0), 1);
  EXPECT_TRUE(event.clear());
  EXPECT_FALSE(event.clear());
}

TEST(Paths, SaysWhatMayBeReadAndWhatMatches) {
  TemporaryFolder folder;
  ASSERT_TRUE(folder.make("paths-test").ok());
  const std::string plain = folder.path() + "/b.txt";
  std::ofstream(plain) << "text";
  std::ofstream(folder.path() + "/a.txt");
  EXPECT_TRUE(can_read(plain));
  EXPECT_TRUE(can_read(folder.path()));
  EXPECT_FALSE(can_read(folder.path() + "/c.txt"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(paths_like(folder.path() + "/*.txt"),
            (std::vector<std::string>{folder.path() + "/a.txt", plain}));
  EXPECT_TRUE(paths_like(folder.path() + "/*.none").empty());
}

}  // namespace
}  // namespace tasuki::os
