#include "shim/hosts/span_choices.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <string>

#include "base/log.h"
#include "base/settings.h"

namespace tasuki::shim {
namespace {

using Shape = std::vector<uint32_t>;

// "4x4"; false: it is none.
bool read_shape(std::string_view text, SpanChoices* c) {
  while (!text.empty()) {
    uint32_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent == 0 || c->dimensions == std::size(c->shape)) return false;
    c->shape[c->dimensions++] = extent;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return true;
    if (text[0] != 'x') return false;
    text.remove_prefix(1);
  }
  return false;
}

// As near to a square, or a cube, as the number of ranks allows.
Shape even_shape(uint32_t ranks, int dimensions) {
  Shape shape;
  for (int d = dimensions; d > 1; d--) {
    auto extent = static_cast<uint32_t>(std::lround(std::pow(ranks, 1.0 / d)));
    while (extent > 1 && ranks % extent != 0) extent--;
    shape.push_back(extent);
    ranks /= extent;
  }
  shape.push_back(ranks);
  return shape;
}

std::vector<Shape> shapes_for(const SpanChoices& c, uint32_t ranks) {
  if (c.dimensions != 0) return {Shape(c.shape, c.shape + c.dimensions)};
  return {even_shape(ranks, 2), even_shape(ranks, 3)};
}

}  // namespace

SpanChoices read_choices() {
  SpanChoices c{};
  c.broadcast = setting_choice("TASUKI_BCAST");
  c.alltoall = setting_choice("TASUKI_ALLTOALL");
  c.segment = setting_bytes("TASUKI_SEGMENT");
  c.pace = setting_bytes("TASUKI_PACE");
  const std::string_view shape = setting_text("TASUKI_SHAPE");
  if (shape == "auto" || read_shape(shape, &c)) return c;
  log(LogLevel::warning,
      "TASUKI_SHAPE=%s is not understood (accepted: auto, or up to four extents such as 4x4 or 2x3x4); using "
      "auto",
      shape.data());
  c.dimensions = 0;
  return c;
}

const schedule::Schedule* chosen_schedule(const SpanChoices& choices, const schedule::Algorithm& algorithm,
                                          schedule::Parameters parameters, bool tells) {
  std::string why;
  const std::vector<Shape> shapes =
      algorithm.needs_shape ? shapes_for(choices, parameters.ranks) : std::vector<Shape>{{}};
  for (const Shape& shape : shapes) {
    parameters.shape = shape;
    Result<schedule::Schedule> made = schedule::make(algorithm, parameters);
    if (made.ok()) {
      if (tells) log(LogLevel::info, "%s: %s", algorithm.operation, algorithm.name);
      return new schedule::Schedule(std::move(made.value()));
    }
    why = made.status().message();
  }
  if (tells)
    log(LogLevel::warning, "%s, and there are %u %s; Tasuki chooses instead", why.c_str(), parameters.ranks,
        std::string_view(algorithm.operation) == "broadcast" ? "hosts" : "ranks");
  return nullptr;
}

}  // namespace tasuki::shim
