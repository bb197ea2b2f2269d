// Commands that set something and then become the program that they are given: taskset, numactl, env, nice,
// ionice, stdbuf, nohup. A program that a task executes is no task, so `tasuki run` goes behind them: `tasuki
// run taskset -c 0 ./app` is `taskset -c 0 tasuki run ./app`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tasuki::task {

// Where in `command` the program of such a wrapper stands; 0: its first word is none, or is given no program,
// or what it does with its options is not known here.
size_t behind_wrapper(const std::vector<std::string>& command);

}  // namespace tasuki::task
