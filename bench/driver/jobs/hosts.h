// Two hosts on one machine: two network namespaces, each with a hostname and a /dev/shm of its own, joined by
// a pair of virtual network devices; a script stands in for ssh. They end with this process, however it ends.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/jobs/holder.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

class TwoHosts {
 public:
  TwoHosts() = default;
  ~TwoHosts();
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  // Fails with EPERM and a text for the user where namespaces are not permitted.
  Status make();

  // The first half of the ranks on the first host, or `on_first` of them. The words start a launcher there.
  std::vector<std::string> launch_command(const Mpi& mpi, int ranks, const std::vector<std::string>& further,
                                          int on_first = 0) const;
  std::vector<std::string> environment(const Mpi& mpi) const;

 private:
  std::vector<std::string> enter() const;  // the first host

  bool user_namespace_ = false;
  Holder first_, second_;                   // processes that keep the namespaces alive
  std::string first_cores_, second_cores_;  // each host has half of the machine's, e.g. "0,1"
  std::string folder_;                      // holds the script
};

}  // namespace tasuki::bench
