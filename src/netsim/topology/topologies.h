// Every topology, each defined in the file of its name.
#pragma once

#include <memory>

#include "netsim/topology/topology.h"

namespace tasuki::netsim {

std::unique_ptr<const Topology> make_torus(const Machine& machine);
std::unique_ptr<const Topology> make_fat_tree(const Machine& machine);
std::unique_ptr<const Topology> make_dragonfly(const Machine& machine);

}  // namespace tasuki::netsim
