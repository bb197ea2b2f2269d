// The transfers of pages with those who lend their memory, by whatever carries bytes: messages of MPI
// (mpi_courier.h) or streams (lend/socket_courier.h). One thread at a time calls all of it.
//
// A lender is lost when an error of a transfer with it is reported, or when it has not answered for too long.
// If it may not be, that is an error of this object. If it may (`keeps_on`), its transfers are given up at
// once and reported as lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/transport/wire.h"

namespace tasuki::cluster {

class Courier {
 public:
  virtual ~Courier() = default;
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // `token` comes back from progress(): completed when the memory is the caller's again, or lost, with its
  // server.
  virtual Status get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) = 0;
  virtual Status put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from,
                     uint64_t token) = 0;
  // In order with all puts to that server; at most kRangesInMessage ranges. Only when may_release().
  virtual bool may_release(uint32_t server) const = 0;
  virtual Status release(uint32_t server, const Range* ranges, uint32_t count) = 0;

  virtual Status progress(std::vector<uint64_t>* completed, std::vector<uint64_t>* lost) = 0;
  // Until somebody should call progress(), though nothing seems to happen; -1: never.
  virtual int longest_rest_ms() = 0;
  // Can be read when progress() has something to do; -1: it must be called again and again while busy().
  virtual int descriptor() const { return -1; }
  // Nobody is here to give signs of life any more: the servers wait all the same.
  virtual void let_wait() {}
  virtual bool busy() const = 0;

  // By a forked child, one thread at a time, whatever its parent does: see pager/stores/store.h. Allocates
  // nothing as long as all is well.
  virtual bool can_read_aside() const { return false; }
  virtual bool read_aside(uint32_t, uint64_t, uint32_t, std::byte*) { return false; }

  // Waits for transfers: of a program that has ended, so that a lost server is no error.
  virtual void finish() = 0;
  // Waits for all transfers, then tells every server that is there to end with `exit_code`, `abruptly`:
  // without MPI_Finalize. Nothing is needed of the servers then: one that is lost is no error.
  virtual void goodbye(int exit_code, bool abruptly) = 0;

  bool alive(uint32_t server) const { return fate_[server].empty(); }
  // It asks to be rid of what it has, and lose() then; it goes on until that.
  bool leaves(uint32_t server) const { return leaves_[server]; }
  // Servers that are lost, and that asked to leave.
  uint32_t losses() const { return losses_; }
  uint32_t leaving() const { return leaving_; }
  // Why it is lost.
  const std::string& fate(uint32_t server) const { return fate_[server]; }
  // Nothing is sent there any more. Told to the user, once: the server's name, why, what that means.
  void lose(uint32_t server, const std::string& why,
            const std::string& consequence = "it is not used any more");

 protected:
  // names[i]: of server i, for messages: "rank 1 on host".
  Courier(std::vector<std::string> names, bool keeps_on);

  // Its transfers are over, and lost.
  virtual void give_up(uint32_t server) = 0;
  // What an error of a transfer means: the end, or the server's.
  Status failure(uint32_t server, Status status);
  void wants_to_leave(uint32_t server);
  void keep_on() { keeps_on_ = true; }
  bool keeps_on() const { return keeps_on_; }

  uint32_t servers() const { return static_cast<uint32_t>(names_.size()); }
  std::string name(uint32_t server) const { return "memory server " + names_[server]; }
  bool lost_any() const { return losses_ > 0; }

 private:
  std::vector<std::string> names_;
  bool keeps_on_;
  uint32_t losses_ = 0, leaving_ = 0;
  std::vector<bool> leaves_;       // of each server
  std::vector<std::string> fate_;  // of each server; empty: alive
};

}  // namespace tasuki::cluster
