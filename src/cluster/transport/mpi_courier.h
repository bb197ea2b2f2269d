// Rank 0's side of the transfers by messages of MPI. MPI_ERRORS_RETURN is set on the communicator.
//
// Budget: a get is one small send, one receive that is posted before it, straight to where the page goes, and
// nothing else; no allocation once enough transfers have been under way.
//
// Where servers may be lost all data travel by way of memory that is the transfer's own (a copy for each
// page, at memory speed), as MPI may still use it, whatever becomes of the server: that of lost transfers is
// never used again.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/transport/courier.h"
#include "cluster/transport/idle.h"
#include "cluster/transport/wire.h"

namespace tasuki::cluster {

class MpiCourier final : public Courier {
 public:
  struct Options {
    size_t unit_bytes = 0;
    bool packed = false;  // data travel as packed.h says
    bool crowded =
        false;  // fewer cores than threads that want to run: a poll that finds nothing gives its core away
    uint64_t timeout_s = 0;      // 0: none
    bool keeps_on = false;       // without servers that are lost
    std::vector<bool> far = {};  // servers that wait for a sign of life; one that does not take it is lost
  };
  // Server i is rank i + 1.
  MpiCourier(MPI_Comm comm, std::vector<std::string> names, const Options& options);

  // At most kMostTransfers at once: more wait here for one to end.
  Status get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) override;
  Status put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from, uint64_t token) override;
  bool may_release(uint32_t server) const override { return releasing_[server] < kMostReleases; }
  Status release(uint32_t server, const Range* ranges, uint32_t count) override;

  Status progress(std::vector<uint64_t>* completed, std::vector<uint64_t>* lost) override;
  // Until the next sign of life is due, or, while one is under way, until somebody should look.
  int longest_rest_ms() override;
  void let_wait() override;
  bool busy() const override { return moving_ > 0 || !done_.empty() || !lost_.empty(); }

  void goodbye(int exit_code, bool abruptly) override;
  void finish() override;

 private:
  static constexpr uint32_t kMostReleases = 4;
  enum class Kind { get, put, release, goodbye, beat };
  struct Transfer {
    alignas(8) std::byte message[sizeof(Header)];
    std::vector<std::byte> extra;  // of a release: the whole message; of packed or staged units: what travels
    std::byte* to = nullptr;       // of a get by way of `extra`
    uint64_t slot = 0;
    uint32_t units = 0;
    uint32_t index = 0;
    uint32_t server = 0;
    Kind kind = Kind::get;
    uint64_t token = 0;
    int64_t begin_ns = 0;
  };
  struct Ended {
    Transfer* transfer;
    size_t status;
    int error;
  };

  Result<Transfer*> take(uint32_t server, Kind kind, uint64_t token);
  Status start(Transfer* transfer, MPI_Request request, int rc, const char* call);
  Status send_header(Transfer* transfer, const Header& header);
  Status beat(bool for_ever);
  Status poll();
  Status end(const Ended& ended);
  Status arrive(const Transfer& transfer, const MPI_Status& status) const;
  Status check_time();
  void give_up(uint32_t server) override;
  bool gone(Transfer* transfer);

  MPI_Comm comm_;
  size_t unit_;
  bool packed_;
  bool staged_;  // data travel by way of the transfers' own memory
  bool crowded_;
  int64_t timeout_ns_;
  std::vector<bool> far_, beating_;  // of each server: see Options; a sign of life is under way
  RunningTime time_;
  int64_t beaten_ns_ = 0;
  std::vector<std::unique_ptr<Transfer>> transfers_;  // all that ever were; their data's tag is their index
  std::vector<Transfer*> free_;
  std::vector<MPI_Request> requests_;  // of what is under way
  std::vector<Transfer*> owners_;      // whose they are
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<Ended> ended_;
  std::vector<uint32_t> releasing_;
  std::vector<uint64_t> done_, lost_;
  uint64_t moving_ = 0;  // gets and puts under way
  uint64_t empty_polls_ = 0, calls_ = 0;
};

}  // namespace tasuki::cluster
