// A process that lends its memory to programs anywhere that have the key: `tasuki lend`. One thread serves
// all borrowers in turns of 1 MiB, so that none waits for another one's burst; who connects and does not say
// who it is, is cut off.
//
// Memory is taken from the system before it is promised, so that no lender is ended for lack of it: a
// borrower hears of its grant when every page of it is there. When it goes, its memory goes back to the
// system.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/lend/outbox.h"
#include "cluster/lend/protocol.h"
#include "os/clock.h"
#include "os/files/wakeup.h"
#include "os/net/sockets.h"

namespace tasuki::cluster::lend {

struct LenderOptions {
  os::HostPort listen;
  uint64_t bytes = 0;  // to lend, to all borrowers together
  uint64_t quota = 0;  // to one at most; 0: all
  Key key;
  std::function<void(const std::string&)> say = [](const std::string&) {};  // who comes and goes, a line each
};

class LenderProcess {
 public:
  // EADDRINUSE and others of the socket; ENOMEM: the host has less memory, or its control group.
  static Result<std::unique_ptr<LenderProcess>> open(const LenderOptions& options);
  ~LenderProcess();
  LenderProcess(const LenderProcess&) = delete;
  LenderProcess& operator=(const LenderProcess&) = delete;

  uint16_t port() const { return port_; }

  // Until leave(), and then until the last borrower has ended, or has moved its pages to others; or until
  // leave() again.
  Status serve();
  // Any thread, and handlers of signals.
  void leave();

 private:
  struct Borrower {
    uint64_t id;
    std::string name;
    std::byte* memory = nullptr;
    uint64_t bytes = 0, ready = 0;  // granted; of them taken from the system
    int64_t told_ns = 0;            // when it heard last how far that is
    uint64_t unit_bytes = 0;
    std::vector<uint64_t> streams{};  // of connections_
  };
  enum class Reading { hello, request, data };
  struct Connection {
    os::Fd socket;
    std::string from;
    Borrower* borrower = nullptr;
    Stream stream = Stream::gets;
    Reading reading = Reading::hello;
    std::vector<std::byte> buffer{};  // of a hello or a request
    std::byte* to = nullptr;          // where what is read goes
    size_t left = 0;
    Request request = {};
    Outbox out{};
    int64_t since_ns = os::monotonic_ns();
    size_t turn = 0;                    // bytes that it may still be sent before others
    bool reads = true, writes = false;  // waits for
  };

  LenderProcess(const LenderOptions& options, os::Fd listener, uint16_t port, os::Poller poller);

  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...);
  void accept_all();
  void read(uint64_t id);
  void write(uint64_t id, Connection* connection);
  bool take(uint64_t id, Connection* connection);
  bool begin(uint64_t id, Connection* connection);
  bool serve_request(Connection* connection);
  void expect(Connection* connection, Reading what, size_t bytes);
  void welcome(Connection* connection, int error, const std::string& text, uint64_t bytes);
  void drop_strangers(bool oldest);
  void fill_grants();
  void ask_to_go(uint64_t id, Connection* connection);
  void ask_all_to_go();
  void close(uint64_t id, const std::string& why);
  void drop(Borrower* borrower);

  static constexpr size_t kMostWaiting = 256;  // answers, before no more requests are read
  static constexpr size_t kTurnBytes = 1 << 20;
  static constexpr size_t kFillBytes = 16 << 20;
  // Connections of whom nothing is known, and how long they may stay so.
  static constexpr size_t kMostStrangers = 128;
  static constexpr int64_t kStrangerNs = 10'000'000'000;

  const LenderOptions options_;
  const os::Fd listener_;
  const uint16_t port_;
  const os::Poller poller_;
  os::Wakeup left_;
  std::atomic<int> leaves_{0};
  uint64_t lent_ = 0, next_ = kFirst;
  bool listens_ = true;  // else there were no more descriptors
  int64_t looked_ns_ = 0;
  static constexpr uint64_t kListener = 0, kLeave = 1, kFirst = 2;
  std::map<uint64_t, Connection> connections_;
  std::set<uint64_t> strangers_;  // of these, who has not said yet who it is; oldest first
  std::vector<std::unique_ptr<Borrower>> borrowers_;
};

}  // namespace tasuki::cluster::lend
