// How jobs are started, and what a measurement says about itself: common to all benchmarks of MPI programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/jobs/measuring_job.h"

namespace tasuki::bench {

inline constexpr double kStartTimeout = 60, kAnswerTimeout = 60;  // seconds

struct Mpi {
  std::string name;    // in tables, e.g. "openmpi"
  std::string kind;    // how its launcher is called: "openmpi" or "mpich"
  std::string mpirun;  // the launcher
};

std::vector<int> usable_core_list();
int usable_cores();
// Open MPI refuses to run as root unless told twice; in a container there may be nobody else.
void permit_root();

// Each rank on `cores_each` cores of its own, for it and its helper threads, where there are enough; else,
// and with 0, wherever the kernel puts it.
std::vector<std::string> launch_command(const Mpi& mpi, int ranks, int cores_each,
                                        const std::vector<std::string>& further);

// ---- the document
std::vector<std::string> environment_settings();
std::string utc_time();
nlohmann::json versions(const Fields& hello);
std::string library_of(const Fields& hello);  // e.g. "Open MPI v4.1.4"
double round4(double value);

// What is left without the lines that ranks write with TASUKI_STATS=1. They may stand within other lines:
// launchers join what is written to stdout and stderr as it comes.
std::string without_statistics(const std::string& output, std::vector<std::string>* statistics);
// Splits what a Tasuki job wrote into the statistics lines of its ranks ("tasuki: rank 0: sent=12 ...",
// "tasuki: mappings of rank 0: ..."), of which it returns the sum of one counter, mostly that of messages
// sent, and the rest.
double messages_sent(const std::string& output, std::string* rest, const std::string& counter = "sent");
// A note of what a job wrote, if it wrote anything.
void note_output(const std::string& name, std::string output, std::vector<std::string>* notes);
// A note if the machine was busy before the run (call it first).
std::vector<std::string> load_notes();

}  // namespace tasuki::bench
