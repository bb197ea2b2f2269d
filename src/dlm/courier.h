// Rank 0's side of the transfers by messages. MPI_ERRORS_RETURN is set on the communicator.
//
// Budget: a get is one small send, one receive that is posted before it, straight to where the page goes, and
// nothing else; no allocation once enough transfers have been under way.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "dlm/wire.h"

namespace tasuki::dlm {

class Courier {
 public:
  struct Options {
    size_t unit_bytes = 0;
    bool packed = false;  // data travel as packed.h says
    bool crowded =
        false;  // fewer cores than threads that want to run: a poll that finds nothing gives its core away
    uint64_t timeout_s = 0;  // 0: none
  };
  // names[i]: of the server that is rank i + 1, for messages: "rank 1 on host".
  Courier(MPI_Comm comm, std::vector<std::string> names, const Options& options);
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // `token` comes back from progress() when the memory is the caller's again. At most kMostTransfers at once: more
  // wait here, in get() or put(), for one to end.
  Status get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token);
  Status put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from, uint64_t token);
  // In order with everything else to that server; at most kRangesInMessage ranges. Only when may_release().
  bool may_release(uint32_t server) const { return releasing_[server] < kMostReleases; }
  Status release(uint32_t server, const Range* ranges, uint32_t count);

  Status progress(std::vector<uint64_t>* completed);
  bool busy() const { return moving_ > 0 || !done_.empty(); }

  // Waits for all transfers, then tells every server to end with `exit_code`.
  Status goodbye(int exit_code);

 private:
  static constexpr uint32_t kMostReleases = 4;
  struct Transfer {
    alignas(8) std::byte message[sizeof(Header)];
    std::vector<std::byte> extra;  // of a release: the whole message; of packed units: what travels
    std::byte* to = nullptr;       // of a get of packed units
    uint64_t slot = 0;
    uint32_t units = 0;
    uint32_t index = 0;
    uint32_t server = 0;
    bool release = false;
    uint64_t token = 0;
    int64_t begin_ns = 0;
  };

  Result<Transfer*> take(uint32_t server);
  Status start(Transfer* transfer, MPI_Request request, int rc, const char* call);
  Status send_header(Transfer* transfer, const Header& header);
  Status poll();
  Status unpack_into_place(const Transfer& transfer, const MPI_Status& status) const;
  Status check_time();
  Status failed(const Status& status, uint32_t server) const;

  MPI_Comm comm_;
  std::vector<std::string> names_;
  size_t unit_;
  bool packed_;
  bool crowded_;
  int64_t timeout_ns_;
  std::vector<std::unique_ptr<Transfer>> transfers_;  // all that ever were; their data's tag is their index
  std::vector<Transfer*> free_;
  std::vector<MPI_Request> requests_;  // of what is under way
  std::vector<Transfer*> owners_;      // whose they are
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::vector<uint32_t> releasing_;
  std::vector<uint64_t> done_;
  uint64_t moving_ = 0;  // gets and puts under way
  uint64_t empty_polls_ = 0;
};

}  // namespace tasuki::dlm
