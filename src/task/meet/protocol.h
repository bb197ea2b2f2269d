// What proxies and host say to each other, one message a struct, over a connection of the abstract socket.
#pragma once

#include <cstdint>

#include "os/process/process.h"

namespace tasuki::task {

inline constexpr uint32_t kProtocolVersion = 4;

enum class Say : uint32_t {
  // proxy to host
  hello = 1,  // a struct Hello: this rank wants to join
  absent,     // the same: this rank runs as a plain process, do not wait for it; answered by `absent`, number
              // 1: the first with this reason, with the descriptor of the node's shared segment (segment.h)
  signal,     // signal: to be delivered to the task
  // host to proxy
  send_request,  // now send the request
  started,       // number: pid of the task; signal.sender: of the host
  refused,       // text: why; run as a plain process
  tasks,         // a struct TaskList follows: every task of the space, before any of them runs
  ended,         // number: wait status of the task
  notice,        // text: for the user
};

struct Message {
  uint32_t version;
  Say say;
  int64_t number;
  os::Signal signal;
  char text[512];
};

// The first message of a connection.
struct Hello {
  uint32_t version;
  Say say;
  int32_t local_rank;
  os::CpuSet cores;
  uint64_t reason;       // of an absent rank: what it says differs from what others say
  char namespaces[512];  // two processes can share an address space if theirs are equal
};

// Sent with as many pids as there are. Every proxy knows all tasks: the first one that sees the host die ends
// what is left of all of them, before its own death lets the launcher kill the other proxies.
struct TaskList {
  static constexpr uint32_t kMax = 8192;
  int32_t session;  // of the tasks whose launcher gave them none of their own
  uint32_t count;
  uint64_t latest;  // when the last of them started, as the kernel counts
  int32_t pids[kMax];
};

inline Message make_message(Say say, int64_t number = 0) {
  Message m = {};
  m.version = kProtocolVersion;
  m.say = say;
  m.number = number;
  return m;
}

}  // namespace tasuki::task
