// What the subcommands of `tasuki bench` share: their common options, the MPI libraries, the output files.
#pragma once

#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/driver/benchmarks/ddt.h"
#include "tools/command.h"

namespace tasuki::tool {

// Options that all measurements have.
struct BenchCommon {
  std::string mpi;  // "openmpi" or "mpich"
  std::string mpirun, launch_args, runner, json_file, csv_file, html_file;
  CLI::Option* has_runner = nullptr;

  bool default_runner() const { return has_runner->count() == 0; }
  std::vector<std::string> runner_words() const;
  static std::vector<std::string> default_runner_words();
};
void add_common(CLI::App* cmd, BenchCommon* c);
void add_files(CLI::App* cmd, BenchCommon* c);  // of them: output files and --launch-args
void add_runner(CLI::App* cmd, BenchCommon* c);
std::vector<std::string> mpi_names();
std::string default_mpi();

// An installed MPI library, with a program of libexec/tasuki for it; says what is missing and how to get it.
struct MpiProgram {
  bench::Mpi mpi;
  std::string program;
};
Result<MpiProgram> find_mpi(const std::string& name, const std::string& mpirun, const std::string& program);
// Its compiler for C: `mpicc`, or mpicc.NAME if that is empty.
Result<std::string> find_mpicc(const std::string& name, const std::string& mpicc);
std::vector<std::string> words_of(const std::string& text);
// Fills in what every measurement starts: library, program, launcher arguments, runner.
template <typename Options>
Status prepare(const BenchCommon& common, const std::string& program, Options* o) {
  Result<MpiProgram> mpi = find_mpi(common.mpi, common.mpirun, program);
  if (!mpi.ok()) return mpi.status();
  o->mpi = mpi.value().mpi;
  o->program = mpi.value().program;
  o->launch_args = words_of(common.launch_args);
  o->default_runner = common.default_runner();
  o->runner = common.runner_words();
  return Status();
}
// The libraries that this tasuki was built for and that are there, but the one named.
std::vector<bench::Peer> other_mpis(const std::string& but, const std::string& program);
// "NAME=MPIRUN,PROGRAM"
Result<bench::Peer> parse_peer(const std::string& text);

// --buffers: which messages of the applications' patterns are timed. `prefix`: of the help text.
void add_buffers(CLI::App* cmd, const std::string& prefix, bench::DdtOptions* options);
// That a regular expression of rows is one.
Status check_pattern(const std::string& pattern);
int fail(const Status& status);
int write_page(const std::vector<nlohmann::json>& measurements, const std::string& file);

// Runs a measurement with a progress line; prints its table and writes the files. Returns the exit code.
using Measure = std::function<Result<nlohmann::json>(const std::function<void(const bench::DdtProgress&)>&)>;
int measure_and_report(const BenchCommon& c, const Measure& measure);
// Only the progress line.
Result<nlohmann::json> with_progress(const Measure& measure);

// Subcommands of `tasuki bench`.
void add_bench_sweeps(CLI::App* bench, int* exit_code);  // pack, typed, messages, bcast, rma, collectives
void add_bench_memory(CLI::App* bench, int* exit_code);
void add_bench_coarray(CLI::App* bench, int* exit_code);
void add_bench_apps(CLI::App* bench, int* exit_code);
void add_bench_space(CLI::App* bench, int* exit_code);

}  // namespace tasuki::tool
