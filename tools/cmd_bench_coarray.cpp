// `tasuki bench coarray`: puts and gets of coarrays, in one piece and of sections, against the MPI library's messages and windows.
#include <memory>

#include "bench/driver/coarray.h"
#include "tools/bench_common.h"

namespace tasuki::tool {
namespace {

struct CoarrayCommand {
  bench::CoarrayOptions options;
  BenchCommon common;
};

int run_coarray(CoarrayCommand* c) {
  bench::CoarrayOptions& o = c->options;
  if (Status s = check_pattern(o.pattern); !s.ok()) return fail(s);
  if (Status s = prepare(c->common, "coarray", &o); !s.ok()) return fail(s);
  return measure_and_report(c->common,
                            [&o](const auto& progress) { return bench::run_coarray(o, progress); });
}

}  // namespace

void add_bench_coarray(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand("coarray",
                                        "Puts and gets of coarrays: by `tasuki run`, by the host's memory, "
                                        "by windows; and MPI's messages and windows.");
  auto c = std::make_shared<CoarrayCommand>();
  bench::CoarrayOptions& o = c->options;
  for (uint64_t bytes = 8; bytes <= 8 << 20; bytes *= 4) o.sizes.push_back(bytes);
  add_common(cmd, &c->common);
  cmd->add_option(
         "--sizes", o.sizes,
         "Bytes of the transfers in one piece, multiples of 8 (default: powers of 4 times 8, up to 8 MiB)")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{8}, uint64_t{1} << 28))
      ->check([](const std::string& text) {
        return std::stoull(text) % 8 == 0 ? std::string() : text + " is not a multiple of 8";
      });
  cmd->add_option("--pattern", o.pattern,
                  "Rows whose PATTERN/BYTES this regular expression finds, e.g. '^put ping-pong|ij plane'");
  cmd->add_option("--seconds", o.seconds, "Time for everything (default: a second a row)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--rounds", o.rounds, "Turns of each job in a row")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  cmd->callback([c, exit_code] { *exit_code = run_coarray(c.get()); });
}

}  // namespace tasuki::tool
