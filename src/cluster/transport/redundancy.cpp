#include "cluster/transport/redundancy.h"

namespace tasuki::cluster {

std::string too_few(Redundancy redundancy, const std::string& servers, const std::string& who, size_t count) {
  const std::string has = ", but " + who + " " + (count == 1 ? "one" : std::to_string(count));
  if (!redundancy.coded()) return "--replicas 2 needs two " + servers + has;
  return "--erasure-code " + std::to_string(redundancy.needed) + "+" +
         std::to_string(redundancy.copies - redundancy.needed) + " needs " +
         std::to_string(redundancy.copies) + " " + servers + has;
}

}  // namespace tasuki::cluster
