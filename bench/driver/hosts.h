// Two hosts on one machine: two network namespaces, each with a hostname and a /dev/shm of its own, joined by
// a pair of virtual network devices; a script stands in for ssh. They end with this process, however it ends.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/launch.h"

namespace tasuki::bench {

class TwoHosts {
 public:
  TwoHosts() = default;
  ~TwoHosts();
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  // Fails with EPERM and a text for the user where namespaces are not permitted.
  Status make();

  // One rank on each host. The words start a launcher on the first host.
  std::vector<std::string> launch_command(const Mpi& mpi, const std::vector<std::string>& further) const;
  std::vector<std::string> environment(const Mpi& mpi) const;

 private:
  std::vector<std::string> enter(pid_t holder) const;
  Status hold(const std::vector<std::string>& words, const std::string& script, pid_t* holder,
              int* its_input);

  bool user_namespace_ = false;
  pid_t first_ = -1, second_ = -1;          // processes that keep the namespaces alive
  int ends_[2] = {-1, -1};                  // they wait until these are closed
  std::string first_cores_, second_cores_;  // each host has half of the machine's, e.g. "0,1"
  std::string folder_;                      // holds the script
};

}  // namespace tasuki::bench
