// A measurement (the JSON of run_ddt, run_sweep, run_memory, run_coarray and run_space) as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace tasuki::bench {

// Reads a file that `tasuki bench` ddt, pack, typed, messages, bcast, rma, memory, coarray or space
// wrote with --json; fails with a text that names file and reason.
Result<nlohmann::json> read_measurement(const std::string& path);

std::string table(const nlohmann::json& measurement);

// How `newer` compares with `older`, row by row: values above 1 mean that the newer one is faster.
std::string comparison(const nlohmann::json& older, const nlohmann::json& newer);

}  // namespace tasuki::bench
