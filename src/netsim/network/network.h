// What a network and its users say to each other. A network knows nodes and messages, no ranks and no MPI:
// who sends what, and when, is a Driver's affair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netsim/machine/machine.h"

namespace tasuki::netsim {

// How a network is simulated: models/.
//
//   packet   every packet in every router: virtual cut-through, credits, virtual channels, pacing
//   flow     messages share links max-min fairly: coarse, for a quick look and as a cross-check
enum class Model { packet, flow };

// What a driver asks a node's NIC to send.
struct Message {
  uint32_t to = 0;      // node; the sender itself is allowed: a copy in memory
  uint64_t bytes = 0;   // payload; 0: a packet that is all header
  uint32_t gap = 0;     // pacing: time between two packets, in 1/kGapUnit of a full packet's time on the link
  uint32_t nic = 0;     // which one sends; a NIC's messages leave one after the other
  uint32_t to_nic = 0;  // which one of the receiver takes them
  uint64_t tag = 0;     // the driver's own; comes back in Driver::sent and Driver::delivered
};

// One node, as its driver may use it during a call for it.
class Node {
 public:
  uint32_t id() const { return id_; }
  Time now() const { return now_; }
  // Hands a message to the NIC now. Precondition: valid node and NIC numbers.
  virtual void send(const Message& message) = 0;
  // Driver::timer will be called at that time (not before now).
  virtual void set_timer(Time at, uint64_t tag) = 0;
  // Ends the simulation as soon as every thread has noticed; `why` becomes the error of simulate(). The first
  // by (time, node) counts.
  virtual void fail(const std::string& why) = 0;

 protected:
  ~Node() = default;
  uint32_t id_ = 0;
  Time now_ = 0;
};

// Reacts to what happens at nodes. Calls for one node come one at a time and in a fixed order: by time; at
// the same time delivered before sent before timer, each by tag. Calls for different nodes may come from
// different threads at the same time; so a driver keeps its state by node.
class Driver {
 public:
  virtual ~Driver() = default;
  // Whether the calls for a node may come from one thread now and from another one later. If not, a node has
  // the same thread for the whole run, and a thread without a core holds up all the others.
  virtual bool any_thread() const { return false; }
  virtual void start(Node& node) = 0;  // once for each node, at time 0
  // All bytes of a message of this node have been read: its buffer may be used again.
  virtual void sent(Node& node, uint64_t tag) = 0;
  // All bytes of a message from `from` are in this node's memory. Messages with the same `from` may overtake
  // each other.
  virtual void delivered(Node& node, uint32_t from, uint64_t bytes, uint64_t tag) = 0;
  virtual void timer(Node& node, uint64_t tag) = 0;
};

struct Progress {
  Time now;
  uint64_t events;
  double wall_s;
};

struct Options {
  Model model = Model::packet;
  uint32_t threads = 1;
  uint64_t seed = 1;
  uint32_t bins = 512;     // of time, for what is recorded over time; their width grows with the run
  bool link_bins = false;  // record each link over time, not only each class of links
  // Called about twice a second by one thread; may be null.
  void (*progress)(const Progress& progress, void* context) = nullptr;
  void* progress_context = nullptr;
};

}  // namespace tasuki::netsim
