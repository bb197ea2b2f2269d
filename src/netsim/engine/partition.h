// The packet model: the routers and nodes of one thread.
//
// Time goes in ticks. A tick has three parts, so that its outcome does not depend on the order in which the
// wheel keeps its events, nor on how routers are spread over threads:
//   1. every event of the tick is noted: a packet reaches a buffer, a credit returns, a link falls idle.
//      These commute.
//   2. nodes: the driver is called, in a fixed order, and NICs offer their next packets.
//   3. arbiters of the outputs that something has happened to, router by router, in the order of their ports.
// Routers act on each other with a delay only (Clock::lookahead), so parts of the network run side by side
// for that long.
//
// A packet in a router: it waits in the queue of its input channel; the first of a queue asks the output that
// its route names. An output's arbiter grants its link to one input at a time whose packet fits into the next
// buffer. From then on all is determined: the packet's end follows its header at the link's rate.
//
// Budget: 250 ns a packet and hop with all statistics; 2.6 to 3 events.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "netsim/engine/clock.h"
#include "netsim/engine/recorder.h"
#include "netsim/engine/wheel.h"
#include "netsim/network/network.h"
#include "netsim/network/random.h"
#include "netsim/network/statistics.h"
#include "netsim/topology/topology.h"

namespace tasuki::netsim {

// A message on its way. Made by the sender's thread, freed by the receiver's.
struct Transit {
  uint32_t from, to;
  uint64_t bytes, tag;
  uint64_t sequence;      // of the sender
  uint64_t to_send;       // bytes not yet in a packet; the sender's
  uint64_t packets_sent;  // the sender's
  uint64_t packets_left;  // not yet delivered; the receiver's
  Tick begun;
  Tick finished;  // when the last of the packets so far is in memory; the receiver's
  uint32_t gap;
  uint16_t nic, to_nic;
};

struct alignas(64) Packet {
  uint32_t next;    // behind it in its queue
  uint16_t bytes;   // on a link
  uint16_t output;  // that it asks for
  Route route;
  Transit* message;
  Tick ready;       // at the NIC
  Tick arrived;     // in this router, at its arbiter
  uint32_t tail;    // its end arrives so long after its header
  uint16_t hops;    // a mesh may have tens of thousands
  uint8_t channel;  // of the link behind `output`
  bool reserved;    // the next buffer already counts it (adaptive routing)
};
static_assert(sizeof(Packet) == 64, "one cache line");

// What partitions send each other between two windows.
struct Mail {
  Tick at;
  uint32_t target;
  uint64_t data;
  Packet packet;  // if data says that it is one
};

struct Failure {
  Tick at = kNever;
  uint32_t node = 0;
  std::string why;
};

class Partition {
 public:
  Partition(const Machine& machine, const Topology& topology, const Clock& clock, Driver& driver,
            const Options& options, uint32_t first_router, uint32_t end_router);

  // Bytes that all partitions have from the start.
  static uint64_t memory_of(const Machine& machine, uint64_t routers, uint64_t ports, uint64_t router_nodes,
                            uint64_t nodes);

  void start();  // calls Driver::start for every node
  Tick next() const { return wheel_.next(); }
  // Handles everything before `end`.
  void run_until(Tick end);
  void receive(const Mail& mail);

  std::vector<Mail>* outbox = nullptr;  // by partition, of this window
  Tick first_mail = kNever;             // the earliest in them
  std::vector<uint32_t> ends;           // end router of each partition
  Failure failure;

  // Adds what this partition has seen. Exact, so the order of partitions does not matter.
  void report(Results* results) const;
  Recorder& busy() { return busy_; }
  Recorder& buffered() { return buffered_; }
  Recorder& link_busy() { return link_busy_; }
  int64_t in_network() const { return in_network_; }  // packets that entered minus those that left
  uint64_t events() const { return events_; }
  Tick now() const { return now_; }
  // Channels whose first packet cannot go on, for the message about a deadlock.
  std::string waiting_channels() const;
  // Conservation: every credit is back and every buffer empty.
  bool is_empty() const;
  const std::vector<double>& ideal_load() const { return ideal_load_; }
  double busiest_node() const;

 private:
  enum Kind : uint8_t { kArrival, kCredit, kLinkFree, kExpose, kNic, kSent, kTimer, kDelivered };
  struct Output {
    Tick free_at = 0;
    uint16_t last = 0;   // input that was granted last
    bool woken = false;  // an event for free_at is under way
  };
  struct Input {
    uint32_t head = kNone, tail = kNone;
    uint16_t needs = 0;  // of its head: bytes of credit; and on which channel
    uint8_t channel = 0;
    bool drains = false;  // BufferRead::channel, port: nothing else leaves until the packet before has
  };
  struct Nic {
    std::deque<Transit*> queue;
    Tick free_at = 0;   // may offer its next packet
    Tick dma_free = 0;  // the packet before has left the prefetch buffer
    bool offering = false;
  };
  struct NodeState {
    Tick memory_read_free = 0, memory_write_free = 0;
    uint64_t sequence = 0;
    double sent_bytes = 0, received_bytes = 0;
  };
  struct Call {
    uint32_t node;
    uint8_t kind;
    uint32_t from;
    uint64_t tag, bytes;
  };
  class NodeView;

  // Part 1.
  void note(const Event& event);
  void prefetch(const Event& event) const;
  void enqueue(uint32_t router, uint32_t input, uint32_t packet);
  void ask(uint32_t router, uint32_t input);
  void ask_now(uint32_t router, uint32_t input);
  void touch(uint32_t router);
  void mark(uint32_t router, uint32_t output);
  void exposed(uint32_t router, uint32_t input);
  // Part 2 (partition_node.cpp).
  void serve_nodes();
  void call(const Call& c);
  void send(uint32_t node, const Message& message);
  void copy_locally(uint32_t node, const Message& message);
  void plan_offer(uint32_t node, uint32_t nic);
  void offer(uint32_t node, uint32_t nic);
  void injected(const Packet& packet, Tick busy);
  void deliver(uint32_t packet, Tick busy);
  // Part 3.
  void serve_router(uint32_t router);
  void arbitrate(uint32_t router, uint32_t output);
  uint32_t choose(uint32_t router, uint32_t output) const;
  uint32_t choose_between(uint32_t router, uint32_t output, uint32_t low, uint32_t high) const;
  uint32_t choose_oldest(uint32_t router, uint32_t output) const;
  bool may_go(uint32_t router, uint32_t output, uint32_t input) const;
  void grant(uint32_t router, uint32_t output, uint32_t input);

  void post(Tick at, uint32_t router, uint64_t data);
  void forward(uint32_t router, uint32_t output, uint32_t packet, Tick busy);
  std::vector<Mail>& mailbox_of(uint32_t router);
  bool mine(uint32_t router) const { return router >= first_ && router < end_; }
  uint32_t make_packet();
  void free_packet(uint32_t packet);
  Transit* make_transit();
  uint32_t keep_tag(uint64_t tag);
  uint64_t take_tag(uint32_t index);

  size_t output_at(uint32_t router, uint32_t output) const {
    return size_t{router - first_} * outputs_of_ + output;
  }
  size_t input_at(uint32_t router, uint32_t input) const {
    return size_t{router - first_} * inputs_of_ + input;
  }
  uint32_t network_inputs() const { return ports_ * channels_; }

  const Machine& machine_;
  const Topology& topology_;
  const Clock& clock_;
  Driver& driver_;
  const Options& options_;
  uint32_t first_, end_;
  uint32_t ports_, channels_, nics_, router_nodes_;
  uint32_t inputs_of_, outputs_of_, input_words_, output_words_;

  Wheel wheel_;
  Tick now_ = 0;
  std::vector<Output> outputs_;
  std::vector<uint32_t> credits_;  // [router][port][channel]: bytes free in the next buffer
  std::vector<uint64_t> asking_;   // [router][output]: bits of inputs
  std::vector<Input> inputs_;
  std::vector<Tick> port_free_;   // [router][port]: BufferRead::port
  std::vector<uint64_t> marked_;  // [router]: bits of outputs
  std::vector<uint64_t>
      fresh_;  // [router]: bits of inputs whose head has not chosen its way (adaptive routing)
  std::vector<uint8_t> is_touched_;  // [router]
  std::vector<uint32_t> touched_;    // routers with marks or fresh heads
  std::vector<Nic> nics_state_;
  std::vector<NodeState> nodes_;
  std::vector<Event> batch_;  // of this tick
  std::vector<Call> calls_;
  std::vector<uint64_t> offers_;  // node * nics + nic, of this tick
  std::vector<uint64_t> tags_;    // of timers and sent events under way
  std::vector<uint32_t> free_tags_;
  std::vector<Packet> packets_;
  uint32_t free_packet_ = kNone;
  std::deque<Transit> transits_;
  std::vector<Transit*> free_transits_;

  Recorder busy_, buffered_, link_busy_;
  std::vector<LinkTotals> link_totals_;  // of this partition's routers
  std::vector<Histogram> latency_;
  std::vector<double> ideal_load_;
  uint64_t messages_ = 0, packets_seen_ = 0, packet_hops_ = 0, payload_ = 0, hash_ = 0, events_ = 0;
  int64_t in_network_ = 0;
  bool many_choices_;
};

}  // namespace tasuki::netsim
