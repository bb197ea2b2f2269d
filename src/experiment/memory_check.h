// Whether a run fits into this host's memory: to be known before it begins, not after an hour, and not by the
// kernel's end of the process.
#pragma once

#include "netsim/network/network.h"
#include "schedule/schedule.h"

namespace tasuki::experiment {

// `more`: what the caller knows of beyond the network. The error says what needs how much and what to do.
Status check_memory(const netsim::Machine& machine, const netsim::Options& options, uint64_t more = 0);

// What the ranks of a schedule hold at a time, about: the steps of a round and the messages that it begins.
uint64_t memory_of(const schedule::Schedule& schedule);

}  // namespace tasuki::experiment
