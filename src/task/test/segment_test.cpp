// The shared segment: processes of their own that play the ranks of a node.
#include "task/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>

#include "os/memory/mapping.h"

namespace tasuki::task {
namespace {

// Runs the body in a child, which a proxy would become by exec. True: the body has said so.
bool in_child(const os::Fd& segment, uint32_t index, const std::function<bool()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv(kSeatVariable, name_segment(segment, index).c_str(), 1);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

os::Fd segment_for(uint32_t ranks) {
  Result<os::Fd> made = make_segment(ranks);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made.value());
}

TEST(Segment, LiesAtOneAddressInAllProcesses) {
  const os::Fd segment = segment_for(2);
  EXPECT_TRUE(in_child(segment, 0, [] {
    const Seat seat = take_seat();
    if (seat.slot == nullptr || seat.slot->index != 0 || seat.slot->space->task_count != 2) return false;
    strcpy(seat.slice, "here");
    seat.slot->space->roots[kRootMpi].store(seat.slice);
    return true;
  }));
  EXPECT_TRUE(in_child(segment, 1, [] {
    const Seat seat = take_seat();
    if (seat.slot == nullptr || seat.slot->index != 1) return false;
    const char* const others = static_cast<const char*>(seat.slot->space->roots[kRootMpi].load());
    return others + seat.slice_bytes == seat.slice && strcmp(others, "here") == 0 && seat.slice[0] == 0;
  }));
}

TEST(Segment, GoesWhereThereIsRoomForTheFirst) {
  const os::Fd segment = segment_for(3);
  EXPECT_TRUE(in_child(segment, 0, [] {
    // The first place is taken in this process: it goes to the next.
    if (os::reserve(os::page_size(), reinterpret_cast<void*>(0x3000'0000'0000)) == nullptr) return false;
    return take_seat().slot != nullptr;
  }));
  EXPECT_TRUE(in_child(segment, 1, [] { return take_seat().slot != nullptr; }));
  // One in which the place that was chosen is taken stays away.
  EXPECT_TRUE(in_child(segment, 2, [] {
    return os::reserve(os::page_size(), reinterpret_cast<void*>(0x2000'0000'0000)) != nullptr &&
           take_seat().slot == nullptr;
  }));
}

TEST(Segment, IsOnlyForTheProcessThatWasToldOfIt) {
  const os::Fd segment = segment_for(1);
  EXPECT_TRUE(in_child(segment, 0, [] {
    const pid_t pid = fork();
    if (pid == 0) _exit(take_seat().slot == nullptr ? 0 : 1);
    int status = 0;
    return waitpid(pid, &status, 0) == pid && status == 0;
  }));
  EXPECT_TRUE(in_child(segment, 7, [] { return take_seat().slot == nullptr; }));  // no such rank
}

TEST(Segment, LeavesAFileAloneThatHasItsNumber) {
  const os::Fd segment = segment_for(1);
  EXPECT_TRUE(in_child(segment, 0, [&] {
    const int other = open("/dev/zero", O_RDONLY);
    if (dup2(other, segment.get()) < 0) return false;
    return take_seat().slot == nullptr && fcntl(segment.get(), F_GETFD) >= 0;
  }));
}

TEST(Segment, IsNotLockedWithAllOtherMemory) {
  const os::Fd segment = segment_for(2);
  EXPECT_TRUE(in_child(segment, 0, [] {
    if (mlockall(MCL_FUTURE) != 0) return true;  // it may not
    const Seat seat = take_seat();
    unsigned char there = 1;
    return seat.slot == nullptr || (mincore(seat.slice, os::page_size(), &there) == 0 && (there & 1) == 0);
  }));
}

TEST(Segment, HasOneProcessInEachSeat) {
  const os::Fd segment = segment_for(2);
  EXPECT_TRUE(in_child(segment, 1, [] { return take_seat().slot != nullptr; }));
  EXPECT_TRUE(in_child(segment, 1, [] { return take_seat().slot == nullptr; }));
  EXPECT_TRUE(in_child(segment, 0, [] { return take_seat().slot != nullptr; }));
}

TEST(Segment, StaysAwayWithoutRoom) {
  const os::Fd segment = segment_for(2);
  EXPECT_TRUE(in_child(segment, 0, [] {
    for (const uint64_t place : {0x3000'0000'0000, 0x2000'0000'0000, 0x30'0000'0000})
      if (os::reserve(os::page_size(), reinterpret_cast<void*>(place)) == nullptr) return false;
    return take_seat().slot == nullptr;
  }));
}

}  // namespace
}  // namespace tasuki::task
