// The borrower's side of the transfers with lenders (protocol.h), by streams. Pages go from and to the
// program's memory, without a copy; a transfer with a lender that is lost never touches it any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cluster/lend/outbox.h"
#include "cluster/lend/protocol.h"
#include "cluster/transport/courier.h"
#include "cluster/transport/idle.h"
#include "os/net/sockets.h"

namespace tasuki::cluster::lend {

class SocketCourier final : public Courier {
 public:
  struct Options {
    size_t unit_bytes = 0;
    uint64_t bytes = 0;      // wanted of each lender; 0: all that one borrower may have
    uint32_t parts = 1;      // so many processes as this one share what 0 stands for
    uint64_t timeout_s = 0;  // 0: none
    bool keeps_on = false;   // without lenders that are lost
    Key key = {};
    std::string name;                // of this borrower, for people
    void (*keep)(int fd) = nullptr;  // told of what a forked child opens: the program is not to close it
  };
  // Connects to all of them; *bytes becomes what each one lends. Errors name the lender and what to do.
  static Result<std::unique_ptr<SocketCourier>> connect(const std::vector<os::HostPort>& lenders,
                                                        const Options& options, std::vector<uint64_t>* bytes);

  Status get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) override;
  Status put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from, uint64_t token) override;
  bool may_release(uint32_t) const override { return true; }
  // The memory stays the borrower's: it was promised, and is needed again soon.
  Status release(uint32_t, const Range*, uint32_t) override { return {}; }
  Status progress(std::vector<uint64_t>* completed, std::vector<uint64_t>* lost) override;
  int longest_rest_ms() override;
  int descriptor() const override { return done_.empty() && lost_.empty() ? poller_.descriptor() : -1; }
  bool busy() const override { return moving_ > 0 || !done_.empty() || !lost_.empty(); }
  bool can_read_aside() const override { return true; }
  bool read_aside(uint32_t server, uint64_t slot, uint32_t units, std::byte* to) override;
  void finish() override;
  void goodbye(int exit_code, bool abruptly) override;

 private:
  struct Transfer {  // that waits for its answer
    uint64_t token;
    Request request;
    std::byte* to;  // of a get
    int64_t begin_ns;
  };
  struct Stream {
    os::Fd socket;
    std::deque<Transfer> transfers{};
    Outbox out{};
    Answer answer = {};   // of the first transfer, as far as it is here
    size_t received = 0;  // of it and of its data
    bool awaits_writable = false;
  };
  struct Lender {
    Stream streams[2];  // by lend::Stream
    os::Fd aside;       // of the forked child `aside_of`
    int aside_of = 0;
  };

  SocketCourier(std::vector<std::string> names, const Options& options, os::Poller poller);
  Status join(uint32_t server, const os::HostPort& at, uint64_t* bytes);
  bool open_aside(Lender* lender) const;
  static bool ask_aside(int socket, const Request& request, std::byte* to, size_t bytes);
  Status start(uint32_t server, lend::Stream stream, const Transfer& transfer, const std::byte* data,
               size_t bytes);
  Status flush(uint32_t server, int stream);
  Status drain(uint32_t server, int stream);
  Status check_time();
  void give_up(uint32_t server) override;

  const size_t unit_;
  const uint64_t timeout_s_;
  const int64_t timeout_ns_;
  void (*const keep_)(int fd);
  Hello hello_;  // of this borrower
  const os::Poller poller_;
  RunningTime time_;
  std::vector<Lender> lenders_;
  std::vector<os::Poller::Event> events_;
  std::vector<uint64_t> done_, lost_;
  uint64_t moving_ = 0, polls_ = 0;
};

}  // namespace tasuki::cluster::lend
