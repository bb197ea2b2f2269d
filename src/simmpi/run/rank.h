// The ranks of a simulated program: the nouns of this part.
//
//   rank      one process of the MPI program: its own copy of the program, its queues, its time
//   task      a fiber of a rank: its main(), or a collective operation that progresses beside it
//   clock     a task's simulated time. It may be ahead of the network's: local work and call overheads are added up, and the
//             task waits for the network's time to catch up only before it does something that others can
//             notice (settle()).
//   packet    a message of MPI, or of the rendezvous protocol, as it goes through the network: owned by its sender until it is
//             delivered, then by its receiver
//   context   the number that separates the messages of communicators. Every member derives the same one by itself from
//             what it derives it for the others: there is no table that ranks share.
//
// Nodes may run on different threads, a node always on the same. A rank touches its own state only; what
// another rank needs travels in packets.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "netsim/network/network.h"
#include "simmpi/objects/request.h"
#include "simmpi/program/fiber.h"
#include "simmpi/program/program.h"
#include "simmpi/run/output.h"
#include "simmpi/run/rank_log.h"
#include "simmpi/run/run_program.h"

namespace tasuki::simmpi {

using netsim::Time;

class Rank;
class Simulation;
struct Comm;
struct MpiState;  // what MPI calls keep by rank (mpi_state.h)

struct Task {
  Rank* rank = nullptr;
  Fiber fiber;
  std::function<void()> body;
  uint32_t slot = 0;  // in Rank::tasks
  Time clock = 0;
  bool queued = false, ended = false;
  void* exceptions[2] = {};  // of the program's C++ library, while the task does not run
};

// Resumes its task when that many of its requests have been completed.
struct Waiter {
  Task* task;
  uint64_t needed;
};

struct Packet {
  enum class Kind : uint8_t {
    eager,    // payload without asking
    request,  // rendezvous: may I send?
    grant,    // yes; from the receiver
    data,     // the payload that was granted
  };
  Kind kind = Kind::eager;
  uint32_t from = 0, to = 0;  // ranks of the world
  int source = 0;             // the sender in its communicator
  int tag = 0;
  uint64_t context = 0;
  uint64_t bytes = 0;  // of the message
  uint32_t sequence =
      0;  // of eager and request, counted for each pair of ranks: the network may let them overtake
  int64_t record = -1;  // in the sender's log
  std::unique_ptr<char[]> payload;
  Request* sender = nullptr;  // of rendezvous; each is touched by its own rank only
  Request* receiver = nullptr;
};

// What waits to be matched in one context.
struct MatchQueue {
  std::unordered_map<int, std::list<Request*>> posted;  // by source
  std::list<Request*> posted_any;
  std::map<uint64_t, Packet*> arrived;  // by stamp
  std::unordered_map<int, std::map<uint64_t, Packet*>> arrived_from;
};

struct NodeState {
  uint32_t id = 0;
  std::vector<Rank*> ranks;
  netsim::Node* network = nullptr;  // during a call of the driver
  std::deque<Task*> ready;
  std::mutex mutex;  // of `outgoing`: receivers take their packets from there
  std::unordered_map<uint64_t, Packet*> outgoing;
};

class Rank {
 public:
  Rank(Simulation& simulation, NodeState& node, uint32_t number);
  ~Rank();

  Simulation& simulation;
  NodeState& node;
  const uint32_t number;  // in MPI_COMM_WORLD
  LoadedProgram loaded;
  std::vector<std::unique_ptr<Task>> tasks;  // [0]: main()
  std::unique_ptr<MpiState> mpi;
  PendingOutput output;
  RankLog log;
  CallRecord call{};  // the one that main() is in; name is null outside
  struct Waiting {    // what it is about, for the report of a deadlock
    const Comm* comm = nullptr;
    int peer = 0, tag = 0;
    const char* relation = nullptr;  // "from", "to", "with"; null: there is no peer
  } waiting;
  bool ended = false;
  int exit_code = 0;

  // ---- the program's own copy of what belongs to a process (process.cpp)
  std::vector<std::pair<std::string, std::string>> changed_environment;
  std::vector<std::unique_ptr<char[]>> kept_texts;  // what getenv and main() got
  struct ExitFunction {
    void (*plain)(void*);
    void* argument;
    void* library;
  };
  std::vector<ExitFunction> exit_functions;
  uint64_t random_state = 1;
  uint64_t random48_state = 0x1234abcd330e;
  char* token = nullptr;         // strtok's
  struct OptionPlace {           // getopt's
    const char* next = nullptr;  // within a word of short options
    int passed = 0;              // operands between the option and what follows it
  } option_place;
  // getopt's variables, those that the program itself does not use.
  char* optarg = nullptr;
  int optind = 1, opterr = 1, optopt = '?';

  // ---- tasks (rank.cpp)
  Time now() const { return node.network->now(); }
  // Starts a task beside the running one, at its time.
  Task* start_task(std::function<void()> body);
  void make_ready(Task* task);

  // ---- messages (messages.cpp)
  void start_send(Request* request);
  void start_receive(Request* request);
  bool cancel_receive(Request* request);  // false: it has been matched
  // The first that matches, still in the queue; null: none yet. take() removes it.
  Packet* find_arrived(uint64_t context, int source, int tag);
  void take(Packet* packet);
  void receive_taken(Request* request, Packet* packet);
  void delivered(std::unique_ptr<Packet> packet);
  void sent(uint64_t tag);
  void complete(Request* request);
  // Resumed when a message arrives that nobody has posted a receive for.
  std::vector<Task*> probing;
  // Of the sends that follow: tasuki_sim_set_nic, tasuki_sim_set_gap.
  int32_t next_nic = -1;
  int64_t next_gap = -1;
  // Who delivered what, for the log: the sender's rank, its record, when.
  struct Delivery {
    uint32_t from;
    int64_t record;
    Time at;
  };
  std::vector<Delivery> deliveries;

 private:
  struct Channel {  // from one rank
    uint32_t next = 0;
    std::map<uint32_t, Packet*> early;
  };
  void post(std::unique_ptr<Packet> packet, uint64_t bytes, Request* done, const Request& hints);
  void arrive(Packet* packet);
  void match(Request* request, Packet* packet);
  void deliver(Request* request, const Packet& packet);
  void send_data(Request* request, Request* receiver);
  int64_t log_message(const Request& request);

  std::unordered_map<uint64_t, MatchQueue> queues_;   // by context
  std::unordered_map<uint32_t, Channel> from_;        // by rank
  std::unordered_map<uint32_t, uint32_t> sequences_;  // to each rank
  std::unordered_map<uint64_t, Request*> sending_;    // by the network's tag
  uint64_t stamp_ = 0;
  uint32_t posted_ = 0;
};

// The rank and task that run on this thread; null outside.
Rank* running_rank();
Task* running_task();

// ---- for code that runs on a task
void suspend();             // until somebody makes the task ready
void settle();              // until the network's time is the task's clock
void spend(Time duration);  // local time
void yield(Time duration);  // at least that long, and everything that happens before has happened
// Waits for all or for any.
void wait_all(Request* const* requests, size_t n);
void wait_any(Request* const* requests, size_t n);
// Ends the running rank; does not return.
[[noreturn]] void end_rank(int exit_code);
// Ends the simulation with an error of the running rank; does not return.
[[noreturn]] void fail_rank(int exit_code, const std::string& why);

}  // namespace tasuki::simmpi
