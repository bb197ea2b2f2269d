#include "bench/driver/jobs/whole_program.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include "bench/driver/figures/text.h"
#include "bench/driver/jobs/child.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

// Runs to its end; fails when it cannot be started, takes too long, or the user interrupts.
Status run_to_end(Child* child, const std::vector<std::string>& command,
                  const std::vector<std::string>& environment, double timeout) {
  if (Status s = child->start(command, environment); !s.ok()) return s;
  for (const double deadline = monotonic_seconds() + timeout; !child->ended();
       std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    if (interrupted() != 0) {
      child->end();
      return Status::error(EINTR, "interrupted");
    }
    if (monotonic_seconds() > deadline) {
      child->end();
      return Status::error(ETIMEDOUT, "not finished after " + std::to_string(std::lround(timeout)) + " s");
    }
  }
  return Status();
}

// The last line that `print_result` of the examples prints, or null.
json result_in(const std::string& output) {
  std::vector<std::string> statistics;
  std::istringstream lines(without_statistics(output, &statistics));
  json found;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("{\"program\"")) found = json::parse(line, nullptr, false);
  return found.is_object() ? found : json();
}

// What is not in it as it should be; empty if all is.
std::string what_lacks(const json& result, json expected) {
  expected["verified"] = true;
  for (const auto& [key, value] : expected.items())
    if (!result.contains(key) || result[key] != value)
      return "its result has no `" + key + "` " + value.dump() + ": " + result.dump();
  for (const char* key : {"seconds_per_iteration", "compute", "communication", "reduction", "performance"})
    if (!result.contains(key) || !result[key].is_number())
      return std::string("its result has no `") + key + "`: " + result.dump();
  return "";
}

}  // namespace

Status compile_program(const std::string& name, const std::vector<std::string>& command,
                       const std::vector<std::string>& environment, double timeout, std::string* failure,
                       std::vector<std::string>* notes) {
  Child child;
  Status s = run_to_end(&child, command, environment, timeout);
  if (s.err() == EINTR) return s;
  if (!s.ok())
    *failure = "not compiled: " + s.message();
  else if (!child.ended_well())
    *failure = "not compiled by '" + joined(command) + "': " + child.how_it_ended();
  else if (const std::string output = child.output(); !output.empty())
    notes->push_back("the compiler said of " + name + ": " + output.substr(0, 500));
  return Status();
}

Status run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                   double timeout, const json& expected, ProgramRun* run) {
  *run = {};
  Child child;
  Status s = run_to_end(&child, command, environment, timeout);
  if (s.err() == EINTR) return s;
  if (!s.ok()) {
    run->failure = s.message();
    return Status();
  }
  run->output = child.output();
  run->result = result_in(run->output);
  if (!child.ended_well() || run->result.is_null()) {
    run->wrong = run->result.is_object() && !run->result.value("verified", false);
    run->failure = (run->wrong ? "wrong result: " : "") + child.how_it_ended();
    return Status();
  }
  run->failure = what_lacks(run->result, expected);
  return Status();
}

}  // namespace tasuki::bench
