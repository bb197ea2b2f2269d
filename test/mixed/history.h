// Which histories of one receiver MPI allows.
//
// Each message that was received, each receive that was cancelled and each probe that named a message is one event at some moment. These
// must have come before others:
//
// - *Order of messages* (3.5: "If a sender sends two messages in succession to the same destination, and both match the same receive, then
//   this operation cannot receive the second message if the first one is still pending"): m2 went to receive R, m1 was sent earlier by the
//   same sender on the same communicator, and R's pattern accepts m1 too: m1 was matched before R was.
// - *Order of receives* (3.5: "If a receiver posts two receives in succession, and both match the same message, then the second receive
//   operation cannot be satisfied by this message, if the first one is still pending"): m went to R2, R1 was posted before R2 and its
//   pattern accepts m: R1 was matched, or was cancelled, before R2 was matched. A matched probe counts as a receive (3.8.2), and a probe
//   finds what a receive at its place would receive (3.8.1).
// - *Time*: what was seen to be complete before a receive was posted was matched before it. What was complete before MPI_Cancel was called
//   was matched before the cancellation (3.8.4: the receive is cancelled, or it completes; never both).
// - *A probe* comes before the receive of the message that it found (3.8.1).
//
// If these relations have a cycle, there is no order in which the events can have happened, and one of the rules was broken. Receives that
// different threads post are concurrent (3.5), so the order of receives counts within one thread only.
#pragma once

#include "mixed.h"

namespace mixed {

struct Event {
  enum Kind { receive, matched_probe, probe, cancelled };
  Kind kind = receive;
  Pattern pattern;
  int thread = 0;
  // Ticks of this rank's own count: when the call began, when it had posted the receive, when the end was seen, when MPI_Cancel was called.
  long begun = 0, posted = LONG_MAX, ended = LONG_MAX, cancel = LONG_MAX;
  int message = -1;
  double at = 0;  // begun, by the clock
};

// "" or what is wrong.
std::string judge(const Plan& plan, const std::vector<Event>& events);
std::string describe(const Plan& plan, const Event& e);

}  // namespace mixed
