#include "os/process/command.h"
#include "os/process/environment.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tasuki::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Command shell(const std::string& script) {
  return {.argv = {"sh", "-c", script}};
}

Captured captured(const Command& command, std::optional<milliseconds> limit = {}) {
  Result<Captured> result = capture(command, limit);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? result.value() : Captured();
}

std::string read_all(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  return text;
}

// A shell that has said so is ready for signals.
Child started_shell(Command command) {
  Result<Pipe> pipe = make_pipe();
  EXPECT_TRUE(pipe.ok());
  command.output = pipe.value().write.get();
  Result<Child> child = start(command);
  EXPECT_TRUE(child.ok()) << child.status().message();
  char byte;
  EXPECT_EQ(read(pipe.value().read.get(), &byte, 1), 1);
  return std::move(child.value());
}

TEST(Command, EndsWithItsExitCode) {
  EXPECT_TRUE(captured({.argv = {"true"}}).status.ok());
  const Captured bad = captured(shell("echo x; exit 7"));
  EXPECT_EQ(bad.output, "x\n");
  EXPECT_EQ(bad.status, (ExitStatus{7, 0}));
  EXPECT_FALSE(bad.status.ok());
  EXPECT_EQ(bad.status.text(), "exit code 7");
}

TEST(Command, EndsBySignal) {
  const ExitStatus status = captured(shell("kill -SEGV $$")).status;
  EXPECT_EQ(status, (ExitStatus{0, SIGSEGV}));
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.text(), "killed by signal 11 (Segmentation fault)");
}

TEST(Command, SaysWhatCouldNotBeStartedAndWhy) {
  for (const auto& [name, error] : {std::pair("no-such-program", ENOENT),
                                    std::pair("/no/such/program", ENOENT), std::pair("/tmp", EACCES)}) {
    const Result<Child> child = start({.argv = {name, "x"}});
    ASSERT_FALSE(child.ok());
    EXPECT_EQ(child.status().err(), error);
    EXPECT_EQ(child.status().message(), std::string("cannot start '") + name + "': " + strerror(error));
  }
  EXPECT_FALSE(capture({.argv = {"no-such-program"}}).ok());
  EXPECT_EQ(start({.argv = {"true"}, .input = 1000000}).status().err(), EBADF);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // nothing is left to be waited for
  EXPECT_EQ(errno, ECHILD);
}

TEST(Command, IsFoundInPathAndHasItsEnvironment) {
  EXPECT_EQ(captured({.argv = {"sh", "-c", "echo $A$0"}, .environment = {{"A=17"}}}).output, "17sh\n");
  setenv("TASUKI_COMMAND_TEST", "of the caller", 1);
  EXPECT_EQ(captured(shell("echo $TASUKI_COMMAND_TEST")).output, "of the caller\n");
  Command other = shell("echo $TASUKI_COMMAND_TEST $TASUKI_COMMAND_TEST_2 ${PATH:+path}");
  other.environment =
      environment_with({"TASUKI_COMMAND_TEST=1", "TASUKI_COMMAND_TEST_2=2", "TASUKI_COMMAND_TEST=3"});
  EXPECT_EQ(captured(other).output, "3 2 path\n");
  unsetenv("TASUKI_COMMAND_TEST");
}

TEST(Command, WritesMoreThanAPipeHolds) {
  const Captured all = captured(shell("head -c 1000000 /dev/zero; echo end"), seconds(60));
  EXPECT_TRUE(all.in_time);
  EXPECT_EQ(all.output.size(), 1000004u);
}

TEST(Command, StreamsLeadWhereTheyShould) {
  Command both = shell("echo a; echo b >&2; echo c; cat");
  both.input = kNull;
  both.errors = kAsOutput;
  EXPECT_EQ(captured(both).output, "a\nb\nc\n");
  both.errors = kNull;
  EXPECT_EQ(captured(both).output, "a\nc\n");

  Result<Pipe> input = make_pipe(), errors = make_pipe();
  ASSERT_TRUE(input.ok() && errors.ok());
  Command each = shell("cat; echo error >&2");
  each.input = input.value().read.get();
  each.errors = errors.value().write.get();
  ASSERT_EQ(write(input.value().write.get(), "in\n", 3), 3);
  input.value().write.reset();
  EXPECT_EQ(captured(each).output, "in\n");
  errors.value().write.reset();
  EXPECT_EQ(read_all(errors.value().read.get()), "error\n");
}

// The descriptors of a caller without streams of its own lie in the places of the program's.
TEST(Command, StreamsMayLieInEachOthersPlaces) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (const int stream : {0, 1, 2}) close(stream);
    Command command = shell("echo a; echo b >&2");
    command.errors = kAsOutput;
    const Result<Captured> all = capture(command);
    if (!all.ok() || all.value().output != "a\nb\n") _exit(1);
    Result<Pipe> first = make_pipe(), second = make_pipe();  // 0 1, 2 3
    command = shell("cat; echo c >&2");
    command.input = second.value().read.get();
    command.output = first.value().write.get();
    command.errors = first.value().write.get();
    Result<Child> child = start(command);
    if (!child.ok() || write(second.value().write.get(), "x", 1) != 1) _exit(2);
    second.value().write.reset();
    first.value().write.reset();
    _exit(child.value().wait().ok() && read_all(first.value().read.get()) == "xc\n" ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(Command, LeavesNothingOpen) {
  const std::vector<int> before = open_descriptors(false);
  std::set<std::string> passed_on{"0", "1", "2"}, seen;
  for (const int fd : open_descriptors(true)) passed_on.insert(std::to_string(fd));
  Command command = shell("echo ready; exec sleep 1000");
  command.input = command.errors = kNull;
  Child child = started_shell(command);
  const auto folder = "/proc/" + std::to_string(child.pid()) + "/fd";
  // While it starts, the dynamic linker has a file open now and then.
  for (int i = 0; i < 1000 && seen != passed_on; i++) {
    seen.clear();
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      seen.insert(entry.path().filename());
    if (seen != passed_on) usleep(1000);
  }
  child.end({});
  EXPECT_EQ(seen, passed_on);
  EXPECT_FALSE(capture({.argv = {"no-such-program"}}).ok());
  captured(shell("sleep 100"), milliseconds(50));
  EXPECT_EQ(open_descriptors(false), before);
}

TEST(Command, LimitKillsWhatTheProgramStarted) {
  Result<Pipe> held = make_pipe();  // by all that are alive
  ASSERT_TRUE(held.ok());
  for (const char* script :
       {"sleep 1000 & echo begun; wait",  // as its program waits, has ended, and is silent
        "sleep 1000 & echo begun", "echo begun; exec >/dev/null; sleep 1000 & wait"}) {
    Command command = shell(script);
    command.errors = held.value().write.get();
    const Captured result = captured(command, milliseconds(500));
    EXPECT_FALSE(result.in_time) << script;
    EXPECT_EQ(result.output, "begun\n") << script;
  }
  held.value().write.reset();
  pollfd closed{held.value().read.get(), POLLIN, 0};
  EXPECT_EQ(poll(&closed, 1, 20000), 1);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Child, IsAskedToEndAndThenKilled) {
  Child obeys = started_shell(shell("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"));
  EXPECT_FALSE(obeys.ended());
  EXPECT_TRUE(obeys.running());
  obeys.end(seconds(60));
  EXPECT_FALSE(obeys.running());
  EXPECT_EQ(obeys.status(), (ExitStatus{3, 0}));

  Child refuses = started_shell(shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"));
  refuses.end(milliseconds(100));
  EXPECT_EQ(refuses.status(), (ExitStatus{0, SIGKILL}));

  Child not_asked = started_shell(shell("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"));
  not_asked.end({});
  EXPECT_EQ(not_asked.status(), (ExitStatus{0, SIGKILL}));
}

TEST(Child, HasItsEndSeenOnce) {
  Child none;
  EXPECT_TRUE(none.ended());
  EXPECT_FALSE(none.running());
  Result<Child> child = start({.argv = {"sh", "-c", "exit 4"}});
  ASSERT_TRUE(child.ok());
  EXPECT_GT(child.value().pid(), 0);
  Child moved = std::move(child.value());
  EXPECT_FALSE(child.value().running());  // NOLINT: what is left is a child that has ended
  EXPECT_TRUE(moved.ended(seconds(60)));
  EXPECT_EQ(moved.pid(), 0);
  EXPECT_EQ(moved.wait().code, 4);
  moved.end(seconds(1));
  EXPECT_EQ(moved.status().code, 4);
}

TEST(Child, IsInTheGroupAndSessionThatWereAskedFor) {
  Command command = shell("echo ready; exec sleep 1000");
  Child same = started_shell(command);
  EXPECT_EQ(getpgid(same.pid()), getpgid(0));
  command.group = Group::own;
  Child own = started_shell(command);
  EXPECT_EQ(getpgid(own.pid()), own.pid());
  EXPECT_EQ(getsid(own.pid()), getsid(0));
  command.group = Group::session;
  Child session = started_shell(command);
  EXPECT_EQ(getpgid(session.pid()), session.pid());
  EXPECT_EQ(getsid(session.pid()), session.pid());
  for (Child* child : {&same, &own, &session}) {
    child->end({});
    EXPECT_EQ(child->status().signal, SIGKILL);
  }
}

void handler(int) {}

TEST(Child, SignalsAreTheCallersOrTheDefault) {
  signal(SIGHUP, SIG_IGN);
  signal(SIGUSR1, handler);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  for (const auto& [name, number, kept] :
       {std::tuple("HUP", SIGHUP, true), std::tuple("USR1", SIGUSR1, false),
        std::tuple("USR2", SIGUSR2, true)}) {
    Command command = shell(std::string("kill -") + name + " $$; exit 5");
    EXPECT_EQ(captured(command).status, (kept ? ExitStatus{5, 0} : ExitStatus{0, number})) << name;
    command.default_signals = true;
    EXPECT_EQ(captured(command).status, (ExitStatus{0, number})) << name;
  }
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, &before, &now);
  EXPECT_EQ(sigismember(&now, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&now, SIGTERM), 0);
  EXPECT_EQ(signal(SIGUSR1, SIG_DFL), handler);
  EXPECT_EQ(signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(Child, HearsThatItsCallerHasEnded) {
  Child child;
  std::thread([&child] {
    Command command = shell("echo ready; exec sleep 1000");
    command.ends_with_caller = true;
    child = started_shell(command);
  }).join();
  EXPECT_EQ(child.wait(), (ExitStatus{0, SIGTERM}));
}

// The kernel says nothing then of how a child ended.
TEST(Child, EndsAlsoWhereItsSignalIsIgnored) {
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGCHLD, SIG_IGN);
    const Result<Captured> all = capture(shell("echo a"), seconds(60));
    _exit(all.ok() && all.value().output == "a\n" && all.value().in_time && all.value().status.ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

// A pipe that another thread's program held open would delay its end.
TEST(Child, MayBeStartedByThreadsAtTheSameTime) {
  std::atomic<int> good{0};
  constexpr int kEach = 40;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++)
    threads.emplace_back([t, &good] {
      for (int i = 0; i < kEach; i++) {
        const std::string word = std::to_string(t * kEach + i);
        const Result<Captured> all = capture(shell("echo " + word + "; exit " + word));
        const Result<Child> none = start({.argv = {"no-such-program"}});
        if (all.ok() && all.value().output == word + "\n" && all.value().status.code == t * kEach + i &&
            none.status().err() == ENOENT)
          good++;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good.load(), 2 * kEach);
}

// What a process of its own ends with in which `act` runs.
int code_in_child(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(Become, IsTheProgramFromThenOn) {
  EXPECT_EQ(code_in_child([] { return become({"sh", "-c", "exit 7"}); }), 7);
  EXPECT_EQ(code_in_child([] {
              return become({"sh", "-c", "exit $CODE"}, environment_with({"CODE=8"}));
            }),
            8);
  // A file of its own, whatever the program is told to be.
  EXPECT_EQ(code_in_child([] {
              return become({"its name", "-c", "test \"$0\" = 'its name' && exit 9"}, {}, "/bin/sh");
            }),
            9);
}

TEST(Become, ReturnsWhatAShellWouldEndWith) {
  EXPECT_EQ(become({"no-such-program-of-tasuki"}), 127);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(become({"/etc/passwd"}), 126);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(become({"sh"}, {}, "/nonexistent/sh"), 127);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace tasuki::os
