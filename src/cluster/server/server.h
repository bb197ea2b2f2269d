// A memory server: a rank that keeps slots for rank 0 and does nothing else.
//
// Messages of rank 0 arrive in order; each names a run of slots. An operation starts at once unless an
// earlier one that touches the same slots has not ended: then it waits for that one. So a get that follows a
// put sees what was put, although rank 0's send may complete before this side has received.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/status.h"
#include "cluster/transport/idle.h"
#include "cluster/transport/wire.h"

namespace tasuki::cluster {

class Server {
 public:
  // `memory`: slots * unit bytes; nullptr if rank 0 uses it itself and only goodbye will come.
  // `private_memory`: it may be given back with os::discard. else it is a memory file, `file`.
  struct Memory {
    std::byte* at = nullptr;
    size_t unit_bytes = 0;
    uint64_t slots = 0;
    int file = -1;
    bool packed = false;      // units are kept as they come: compressed, or not
    uint32_t patience_s = 0;  // with a silent rank 0, until it says otherwise; 0: endless
  };
  Server(MPI_Comm comm, const Memory& memory, Idle idle);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Until goodbye; the exit code. An error: of MPI, or the process that started this one is gone.
  Result<int> run();
  // Rank 0 said so: this process is to end without MPI_Finalize.
  bool abruptly() const { return abruptly_; }

 private:
  static constexpr int kHeaders = 32;  // receives that are posted ahead
  struct Operation {
    Header header;
    std::vector<std::byte> packed = {};  // under way
    bool writes() const { return header.op != Op::get; }
    bool conflicts(const Operation& other) const {
      return (writes() || other.writes()) && header.slot < other.header.slot + other.header.units &&
             other.header.slot < header.slot + header.units;
    }
  };

  Status poll(bool* found);
  Status handle(const std::byte* message);
  Status enqueue(Operation operation);
  Status start(Operation operation);
  Status start_deferred();
  void gather(Operation* operation) const;
  Status scatter(const Operation& operation);
  void release(const Header& header);
  void give_back(size_t offset, size_t bytes);
  Status close();
  Status check_silence();

  MPI_Comm comm_;
  Memory memory_;
  Idle idle_;
  uint32_t* lengths_ = nullptr;  // of the packed units; 0: never put
  std::vector<std::byte> headers_;
  int next_header_ = 0;
  bool arrived_[kHeaders] = {};
  std::vector<MPI_Request> requests_;  // the headers' receives, then those of active_
  std::vector<Operation> active_;
  std::deque<Operation> deferred_;
  std::vector<int> indices_;
  bool goodbye_ = false, abruptly_ = false;
  RunningTime time_;
  int64_t patience_ns_, heard_ns_ = -1;  // heard_ns_: when rank 0 fell silent; -1: it has not
  int exit_code_ = 0;
};

}  // namespace tasuki::cluster
