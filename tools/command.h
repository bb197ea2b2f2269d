// A subcommand of `tasuki`. One file of each defines a function that adds it to the command line; the
// main.cpp of its program lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tasuki::tool {

// Adds the subcommand to `app`. Its callback sets *exit_code, the exit status of the whole command.
void add_run(CLI::App& app, int* exit_code);
void add_check_layout(CLI::App& app, int* exit_code);
void add_gdb(CLI::App& app, int* exit_code);
void add_settings(CLI::App& app, int* exit_code);
void add_doctor(CLI::App& app, int* exit_code);
void add_layout(CLI::App& app, int* exit_code);
void add_bench(CLI::App& app, int* exit_code);
void add_sim(CLI::App& app, int* exit_code);
void add_tune(CLI::App& app, int* exit_code);
void add_simcc(CLI::App& app, int* exit_code);
void add_mem(CLI::App& app, int* exit_code);
void add_lend(CLI::App& app, int* exit_code);

// What --help of `tasuki` and of the parts says (command_line.h).
inline constexpr const char* kAboutBench =
    "Measure Tasuki beside plain MPI, plot measurements, compare them.";
inline constexpr const char* kAboutSim =
    "Simulate MPI programs and collective schedules on a network that you do not own.";
inline constexpr const char* kAboutTune =
    "Measure what moving data between two cores costs here. Tasuki uses the result to choose how it copies a "
    "message.";

// `tasuki bench startup`, a subcommand of `bench`.
void add_bench_startup(CLI::App* bench, int* exit_code);

// The program and its arguments that follow a subcommand's own options, without a "--" before them. False
// when there is none: `usage` has been printed then.
bool take_program(const CLI::App& cmd, const char* usage, std::vector<std::string>* command);

// Says why a program cannot be executed; the exit code that a failure of the launcher's own execvp gives.
int exec_failure(const char* launcher, const std::string& name, int error);

inline constexpr int kMostTasks = 1000000;  // of one command; the kernel's limits come first

}  // namespace tasuki::tool
