// `tasuki tune`: the constants of the cost model on this machine.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

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

void print_costs(const Costs& built_in, const Costs& here) {
  static constexpr const char* kMeaning[message::kCostCount] = {
      "a cache line of another core's, among many",
      "a page that such lines lie on",
      "one run of a layout",
      "a byte copied within a core's own cache",
      "a byte through a small buffer between two cores",
      "a flag from core to core",
      "one unit through that buffer, besides its bytes",
  };
  printf("%-12s %10s %10s  ns for\n", "constant", "built-in", "here");
  for (size_t i = 0; i < message::kCostCount; i++)
    printf("%-12s %10.4g %10.4g  %s\n", message::kCostNames[i], message::cost_at(built_in, i),
           message::cost_at(here, i), kMeaning[i]);
}

Result<layout::Footprint> footprint_of(const std::string& expression) {
  size_t column = 0;
  Result<const layout::Layout*> l = layout::parse(expression, &column);
  if (!l.ok()) return l.status();
  const layout::Footprint f = layout::footprint({nullptr, 1, l.value()});
  layout::release(l.value());
  return f;
}

// The named patterns whose messages would take another way.
void print_changes(const Costs& built_in, const Costs& here) {
  int changed = 0;
  for (size_t i = 0; i < layout::kPatternCount; i++) {
    const layout::NamedPattern& p = layout::kPatterns[i];
    Result<layout::PatternExpressions> sides = layout::pattern_expressions(p, {});
    if (!sides.ok()) continue;
    Result<layout::Footprint> source = footprint_of(sides.value().send);
    Result<layout::Footprint> destination = footprint_of(sides.value().receive);
    if (!source.ok() || !destination.ok()) continue;
    const Way was = message::cheapest(built_in, source.value(), destination.value());
    const Way is = message::cheapest(here, source.value(), destination.value());
    if (was == is) continue;
    if (changed++ == 0)
      printf("\nmessages that take another way (untouched and touched buffers, predicted, us):\n");
    const auto predicted = [&](Way way) {
      printf(" %9s %.1f, %.1f", name_of(way),
             message::time_of(way, here, source.value(), destination.value(), false) / 1e3,
             message::time_of(way, here, source.value(), destination.value(), true) / 1e3);
    };
    printf("  %-14s %8lu B:", p.name, static_cast<unsigned long>(source.value().bytes));
    predicted(was);
    printf("  ->");
    predicted(is);
    printf("\n");
  }
  const message::Thresholds a = message::thresholds(built_in), b = message::thresholds(here);
  printf("\n%-44s %10s %10s\n", "from this size on, bytes", "built-in", "here");
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

int tune(const std::string& output, bool dry) {
  const std::string file = output.empty() ? default_tune_file() : output;
  if (!dry && file.empty())
    return fail(
        Status::error(ENOENT, "there is no home directory to keep the constants in: give --output FILE"));
  if (!dry)
    if (Status s = prepare_tune_file(file); !s.ok()) return fail(s);
  Result<TunePair*> made = TunePair::make();
  if (!made.ok()) return fail(made.status());
  const std::unique_ptr<TunePair> pair(made.value());
  const bool busy = !bench::load_notes().empty();
  Costs here{};
  const char* doubt = nullptr;
  for (int attempt = 1; attempt <= kAttempts; attempt++) {
    here = pair->costs([](const std::string& what) { fprintf(stderr, "tune: %s\n", what.c_str()); });
    doubt = message::spoiled(here);
    if (doubt == nullptr) break;
    fprintf(stderr, "tune: %s: other programs had the cores%s\n", doubt,
            attempt < kAttempts ? "; measuring again" : "");
  }
  if (doubt != nullptr && !dry) {
    print_costs(message::kBuiltInCosts, here);
    return fail(Status::error(
        EBUSY, std::string("nothing is stored: ") + doubt + " (measured " + std::to_string(kAttempts) +
                   " times). The machine is too busy; run this again when nothing else runs"));
  }
  // What is too cheap to be measured.
  for (size_t i = 0; i < message::kCostCount; i++)
    message::cost_at(here, i) = std::max(kLeast, message::cost_at(here, i));
  print_costs(message::kBuiltInCosts, here);
  print_changes(message::kBuiltInCosts, here);
  print_check(pair.get(), here);
  if (busy || doubt != nullptr)
    printf(
        "\nnote: the machine was busy, and the constants may be far off%s%s; run this again when nothing "
        "else "
        "runs\n",
        doubt != nullptr ? ": " : "", doubt != nullptr ? doubt : "");
  if (dry) return 0;
  if (Status s = write_tune_file(file, here); !s.ok()) return fail(s);
  printf("\nwritten to %s; `tasuki run` uses it%s\n", file.c_str(),
         output.empty() ? " (TASUKI_TUNE=off does not)" : (" with TASUKI_TUNE=" + file).c_str());
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("tune", kAboutTune);
  auto output = std::make_shared<std::string>();
  auto dry = std::make_shared<bool>(false);
  cmd->add_option(
      "--output", *output,
      "Write the result to this file (default: ~/.config/tasuki/tune.toml, or under $XDG_CONFIG_HOME)");
  cmd->add_flag("--dry-run", *dry, "Write nothing");
  cmd->callback([output, dry, exit_code] { *exit_code = tune(*output, *dry); });
}

}  // namespace tasuki::tool
