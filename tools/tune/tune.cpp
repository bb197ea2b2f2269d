// `tasuki tune`: the constants of the cost model on this machine.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "bench/driver/jobs/launch.h"
#include "layout/expression.h"
#include "message/cost/doubt.h"
#include "tools/bench/common.h"
#include "tools/tune/tune.h"

namespace tasuki::tool {
namespace {

using message::Costs;
using message::Way;

constexpr int kAttempts = 3;
constexpr double kLeast = 0.01;  // of a constant

const char* name_of(Way way) {
  switch (way) {
    case Way::alone:
      return "alone";
    case Way::direct:
      return "direct";
    case Way::pipelined:
      break;
  }
  return "pipelined";
}

// What the constants were until now: those of the file, or, without one, the built-in ones.
struct Before {
  Costs costs = message::kBuiltInCosts;
  const char* name = "built-in";
};
Before before_of(const TuneFile& file, message::Distance distance, const char* name) {
  if (!file.costs) return {};
  return {file.costs->at[static_cast<size_t>(distance)], name};
}

void print_costs(const Before& before, const Costs& here) {
  static constexpr const char* kMeaning[message::kCostCount] = {
      "a cache line of another core's, among many",
      "a page that such lines lie on",
      "one run of a layout",
      "a byte copied within a core's own cache",
      "a byte through a small buffer between two cores",
      "a flag from core to core",
      "one unit through that buffer, besides its bytes",
  };
  printf("%-12s %10s %10s %8s  ns for\n", "constant", before.name, "here", "change");
  for (size_t i = 0; i < message::kCostCount; i++) {
    const double was = message::cost_at(before.costs, i), is = message::cost_at(here, i);
    printf("%-12s %10.4g %10.4g %+7.0f%%  %s\n", message::kCostNames[i], was, is, 100 * (is / was - 1),
           kMeaning[i]);
  }
}

Result<layout::Footprint> footprint_of(const std::string& expression) {
  size_t column = 0;
  Result<const layout::Layout*> l = layout::parse(expression, &column);
  if (!l.ok()) return l.status();
  const layout::Footprint f = layout::footprint({nullptr, 1, l.value()});
  layout::release(l.value());
  return f;
}

// A message of one of the patterns of `tasuki layout`.
struct Message {
  const char* name;
  layout::Footprint source, destination;

  Way way(const Costs& c) const { return message::cheapest(c, source, destination); }
  double us(Way way, const Costs& c, bool touched) const {
    return message::time_of(way, c, source, destination, touched) / 1e3;
  }
};

std::vector<Message> messages() {
  std::vector<Message> all;
  for (size_t i = 0; i < layout::kPatternCount; i++) {
    const layout::NamedPattern& p = layout::kPatterns[i];
    Result<layout::PatternExpressions> sides = layout::pattern_expressions(p, {});
    if (!sides.ok()) continue;
    Result<layout::Footprint> source = footprint_of(sides.value().send);
    Result<layout::Footprint> destination = footprint_of(sides.value().receive);
    if (source.ok() && destination.ok()) all.push_back({p.name, source.value(), destination.value()});
  }
  return all;
}

// A message that takes one way by some constants, and another by those of here.
void print_ways(const Message& m, Way was, Way is, const Costs& here) {
  printf("  %-14s %8lu B:", m.name, static_cast<unsigned long>(m.source.bytes));
  printf(" %9s %.1f, %.1f  ->", name_of(was), m.us(was, here, false), m.us(was, here, true));
  printf(" %9s %.1f, %.1f\n", name_of(is), m.us(is, here, false), m.us(is, here, true));
}

// The messages that would take another way.
void print_changes(const Before& before, const Costs& here) {
  int changed = 0;
  for (const Message& m : messages()) {
    const Way was = m.way(before.costs), is = m.way(here);
    if (was == is) continue;
    if (changed++ == 0)
      printf("\nmessages that take another way (untouched and touched buffers, predicted, us):\n");
    print_ways(m, was, is, here);
  }
  const message::Thresholds a = message::thresholds(before.costs), b = message::thresholds(here);
  printf("\n%-44s %10s %10s\n", "from this size on, bytes", before.name, "here");
  const auto line = [](const char* what, uint64_t x, uint64_t y) {
    printf("%-44s %10lu %10lu\n", what, static_cast<unsigned long>(x), static_cast<unsigned long>(y));
  };
  line("both sides copy a dense message", a.share_dense_from, b.share_dense_from);
  line("idle tasks are told of a message", a.announce_from, b.announce_from);
  line("a message is not buffered for a busy receiver", a.buffer_up_to, b.buffer_up_to);
  if (changed == 0)
    printf("\nNone of the patterns of `tasuki layout` takes another way at its default size.\n");
}

// What the model says against what the engine does, for a few messages.
void print_check(TunePair* pair, const Costs& here) {
  static constexpr Pattern kChecks[] = {
      {4096, 8, 528}, {4096, 16, 256}, {1024, 40, 640}, {1, 16 << 10, 0}, {1, 256 << 10, 0}};
  printf("\nmeasured now, half a round trip, us (untouched, touched; * what the model chooses)\n");
  printf("%-22s %18s %18s %18s\n", "runs", "alone", "direct", "pipelined");
  for (const Pattern& p : kChecks) {
    const std::string expression = p.runs == 1 ? "contiguous(" + std::to_string(p.length) + ", char)"
                                               : "hvector(" + std::to_string(p.runs) + ", " +
                                                     std::to_string(p.length) + ", " +
                                                     std::to_string(p.stride) + ", char)";
    Result<layout::Footprint> f = footprint_of(expression);
    if (!f.ok()) continue;
    const Way chosen = message::cheapest(here, f.value(), f.value());
    printf("%-22s", (std::to_string(p.runs) + " x " + std::to_string(p.length) + " B").c_str());
    for (const Way way : {Way::alone, Way::direct, Way::pipelined})
      printf(" %8.2f %8.2f%s", pair->way_us(way, p, false), pair->way_us(way, p, true),
             way == chosen ? "*" : " ");
    printf("\n");
  }
}

struct Measured {
  Costs costs;
  const char* doubt;  // why they cannot be what was to be measured, or nullptr
};

// Again, as long as the machine was too busy.
Measured measure(TunePair& pair) {
  Measured m{};
  for (int attempt = 1; attempt <= kAttempts; attempt++) {
    m.costs = pair.costs([](const std::string& what) { fprintf(stderr, "tune: %s\n", what.c_str()); });
    m.doubt = message::spoiled(m.costs);
    if (m.doubt == nullptr) break;
    fprintf(stderr, "tune: %s: other programs had the cores%s\n", m.doubt,
            attempt < kAttempts ? "; measuring again" : "");
  }
  return m;
}

Status too_busy(const std::string& consequence, const char* doubt) {
  return Status::error(EBUSY, consequence + ": " + doubt + " (measured " + std::to_string(kAttempts) +
                                  " times). The machine is too busy; run this again when nothing else runs");
}

// What is too cheap to be measured.
Costs at_least(Costs costs) {
  for (size_t i = 0; i < message::kCostCount; i++)
    message::cost_at(costs, i) = std::max(kLeast, message::cost_at(costs, i));
  return costs;
}

// A pair of cores and what was measured between them.
struct Measurement {
  TunePlan::Pair cores;
  std::unique_ptr<TunePair> pair;
  Measured measured;
};

// Of all distances, until one is in doubt.
Result<std::vector<Measurement>> measure_all(const TunePlan& plan) {
  std::vector<Measurement> all;
  for (const TunePlan::Pair& cores : plan.pairs) {
    Result<TunePair*> made = TunePair::make(cores.core);
    if (!made.ok()) return made.status();
    all.push_back({cores, std::unique_ptr<TunePair>(made.value()), measure(*made.value())});
    if (all.back().measured.doubt != nullptr) break;
  }
  return all;
}

// Nothing where there is one distance only.
void print_heading(const TunePlan& plan, const TunePlan::Pair& cores) {
  static constexpr const char* kShared[message::kDistances] = {"which share a cache",
                                                               "which share a package but no cache",
                                                               "which share neither a cache nor a package"};
  if (plan.pairs.size() == 1) return;
  printf("%scores %d and %d, %s:\n\n", cores.distance == plan.pairs.front().distance ? "" : "\n",
         cores.core[0], cores.core[1], kShared[static_cast<size_t>(cores.distance)]);
}

// For each distance what was measured there, or at the next nearer one; for the nearest ones the first.
message::CostTexts costs_of(const TunePlan& plan, const std::vector<Measurement>& all) {
  message::CostTexts texts{};
  texts.caches = plan.caches;
  texts.packages = plan.packages;
  for (Costs& c : texts.at) c = at_least(all.front().measured.costs);
  for (const Measurement& m : all)
    for (size_t d = static_cast<size_t>(m.cores.distance); d < message::kDistances; d++)
      texts.at[d] = at_least(m.measured.costs);
  return texts;
}

int tune(const std::string& output, bool dry) {
  const std::string file = output.empty() ? default_tune_file() : output;
  if (!dry && file.empty())
    return fail(
        Status::error(ENOENT, "there is no home directory to keep the constants in: give --output FILE"));
  if (!dry)
    if (Status s = prepare_tune_file(file); !s.ok()) return fail(s);
  const Result<TunePlan> plan = plan_measurement();
  if (!plan.ok()) return fail(plan.status());
  TuneFile content;
  if (Result<TuneFile> stored = read_tune_file(file); stored.ok()) content = stored.value();
  const bool busy = !bench::load_notes().empty();
  const Result<std::vector<Measurement>> all = measure_all(plan.value());
  if (!all.ok()) return fail(all.status());
  const char* const doubt = all.value().back().measured.doubt;
  for (const Measurement& m : all.value()) {
    const Before before = before_of(content, m.cores.distance, "before");
    print_heading(plan.value(), m.cores);
    if (doubt != nullptr && !dry) {
      print_costs(before, m.measured.costs);
      continue;
    }
    const Costs here = at_least(m.measured.costs);
    print_costs(before, here);
    print_changes(before, here);
    print_check(m.pair.get(), here);
  }
  if (doubt != nullptr && !dry) return fail(too_busy("nothing is stored", doubt));
  if (busy || doubt != nullptr)
    printf(
        "\nnote: the machine was busy, and the constants may be far off%s%s; run this again when nothing "
        "else runs\n",
        doubt != nullptr ? ": " : "", doubt != nullptr ? doubt : "");
  if (dry) return 0;
  content.costs = costs_of(plan.value(), all.value());
  if (Status s = write_tune_file(file, content); !s.ok()) return fail(s);
  printf("\nwritten to %s; `tasuki run` uses it%s\n", file.c_str(),
         output.empty() ? " (TASUKI_TUNE=off does not)" : (" with TASUKI_TUNE=" + file).c_str());
  return 0;
}

// A message may take so many times as long as by the best way before constants that make it do so do not fit:
// what `tasuki tune` finds differs by less from run to run.
constexpr double kFits = 1.25;

// How many of the messages would be faster another way than by the file's constants; says which.
int print_slower(const std::vector<Message>& all, const Before& before, const Costs& here) {
  int slower = 0;
  for (const Message& m : all) {
    const Way by_file = m.way(before.costs), best = m.way(here);
    if (m.us(by_file, here, true) <= kFits * m.us(best, here, true)) continue;
    if (slower++ == 0)
      printf("\nmessages that would be faster another way (untouched and touched buffers, predicted, us):\n");
    print_ways(m, by_file, best, here);
  }
  return slower;
}

// As diff: 0 the file fits, 1 it does not, 2 that cannot be told.
int check_file(const std::string& output) {
  constexpr int kDoesNotFit = 1, kCannotTell = 2;
  const std::string file = output.empty() ? default_tune_file() : output;
  const auto cannot_tell = [](const Status& why) {
    fail(why);
    return kCannotTell;
  };
  const Result<TuneFile> stored = read_tune_file(file);
  if (!stored.ok())
    return cannot_tell(Status::error(stored.status().err(),
                                     file + ": " + stored.status().message() + "; `tasuki tune` writes one"));
  if (!stored.value().costs)
    return cannot_tell(Status::error(ENOENT, file + " has no constants; `tasuki tune` measures them"));
  const Result<TunePlan> plan = plan_measurement();
  if (!plan.ok()) return cannot_tell(plan.status());
  const message::CostTexts& costs = *stored.value().costs;
  if (!costs.caches.empty() && !plan.value().caches.empty() &&
      (costs.caches != plan.value().caches || costs.packages != plan.value().packages)) {
    printf(
        "%s does not fit this machine any more: other cores share caches and packages. Run `tasuki tune`\n",
        file.c_str());
    return kDoesNotFit;
  }
  const Result<std::vector<Measurement>> measured = measure_all(plan.value());
  if (!measured.ok()) return cannot_tell(measured.status());
  const char* const doubt = measured.value().back().measured.doubt;
  const std::vector<Message> all = messages();
  int slower = 0;
  for (const Measurement& m : measured.value()) {
    const Before before = before_of(stored.value(), m.cores.distance, "file");
    const Costs here = doubt != nullptr ? m.measured.costs : at_least(m.measured.costs);
    print_heading(plan.value(), m.cores);
    print_costs(before, here);
    if (doubt == nullptr) slower = std::max(slower, print_slower(all, before, here));
  }
  if (doubt != nullptr) return cannot_tell(too_busy("nothing can be said of " + file, doubt));
  if (slower != 0) {
    printf(
        "\n%s does not fit this machine any more: %d of the %zu patterns of `tasuki layout` would be faster "
        "by constants measured now. Run `tasuki tune`\n",
        file.c_str(), slower, all.size());
    return kDoesNotFit;
  }
  printf(
      "\n%s fits this machine: none of the %zu patterns of `tasuki layout` would be more than %.0f %% faster "
      "another way\n",
      file.c_str(), all.size(), 100 * (kFits - 1));
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("tune", kAboutTune);
  auto output = std::make_shared<std::string>();
  auto dry = std::make_shared<bool>(false), check = std::make_shared<bool>(false);
  cmd->add_option("--output", *output,
                  "The file that the result is written to, or that is checked (default: "
                  "~/.config/tasuki/tune.toml, or under $XDG_CONFIG_HOME)");
  CLI::Option* const no_file = cmd->add_flag("--dry-run", *dry, "Write nothing");
  cmd->add_flag(
         "--check", *check,
         "Write nothing, but say whether the file still fits the machine: exit code 0 if it does, 1 if "
         "not, 2 if that cannot be told")
      ->excludes(no_file);
  auto collectives = std::make_shared<TuneCollectives>();
  auto whether = std::make_shared<bool>(false);
  CLI::Option* const measured = cmd->add_flag("--collectives", *whether,
                                              "Measure instead which collective operations of one node the "
                                              "MPI library carries out faster, and leave them to it");
  measured->excludes("--check");
  collectives->common.mpi = default_mpi();
  const auto with = [&](CLI::Option* option) { option->needs(measured); };
  with(cmd->add_option("--mpi", collectives->common.mpi, "With --collectives: the MPI library")
           ->check(CLI::IsMember(mpi_names()))
           ->capture_default_str());
  with(cmd->add_option("--ranks", collectives->ranks, "With --collectives: numbers of ranks")
           ->delimiter(',')
           ->check(CLI::Range(2, 1024))
           ->capture_default_str());
  with(cmd->add_option("--sizes", collectives->sizes, "With --collectives: bytes of a vector or piece")
           ->delimiter(',')
           ->transform(CLI::AsSizeValue(false))
           ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30))
           ->capture_default_str());
  with(cmd->add_option(
              "--seconds", collectives->seconds,
              "With --collectives: seconds for the first pass (default: a quarter of a second for each case)")
           ->check(CLI::PositiveNumber));
  cmd->callback([=] {
    collectives->output = *output;
    collectives->dry = *dry;
    *exit_code = *whether ? tune_collectives(*collectives)
                 : *check ? check_file(*output)
                          : tune(*output, *dry);
  });
}

}  // namespace tasuki::tool
