#include "bench/plot/chart_page.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace tasuki::bench {
namespace {

constexpr double kWidth = 760, kHeight = 340, kLeft = 64, kRight = 14, kTop = 14, kBottom = 48;
constexpr size_t kColours = 10;

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// 1, 2 or 5 times a power of ten: about `count` steps over the range.
double step_of(double range, int count) {
  if (!(range > 0)) return 1;
  const double rough = range / count, power = std::pow(10, std::floor(std::log10(rough))),
               part = rough / power;
  return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

struct Axis {
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;  // low and high are logarithms then
  double place(double v) const {
    return from + ((log ? std::log10(v) : v) - low) / (high - low) * (to - from);
  }
};

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    bool first = true;
    for (const Curve& s : chart.series)
      for (const auto& [px, py] : s.points) {
        if (first) x_.low = x_.high = px, y_.low = y_.high = py;
        first = false;
        x_.low = std::min(x_.low, px), x_.high = std::max(x_.high, px);
        y_.low = std::min(y_.low, py), y_.high = std::max(y_.high, py);
      }
    if (!chart.groups.empty()) x_.low = -0.5, x_.high = static_cast<double>(chart.groups.size()) - 0.5;
    if (chart.stacked) y_.high = std::max(y_.high, highest_stack());
    y_.log = chart.log_y && y_.low > 0;
    if (y_.log) y_.low = std::floor(std::log10(y_.low) * 3) / 3, y_.high = std::log10(y_.high);
    if (chart.from_zero && !y_.log) y_.low = std::min(0.0, y_.low);
    if (x_.high <= x_.low) x_.high = x_.low + 1;
    if (y_.high <= y_.low) y_.high = y_.low + 1;
    y_.high += 0.04 * (y_.high - y_.low);
    x_.from = kLeft, x_.to = kWidth - kRight;
    y_.from = kHeight - kBottom, y_.to = kTop;
  }

  std::string svg() {
    out_ = text("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">", kWidth, kHeight,
                escaped(chart_.title).substr(0, 300).c_str());
    grid();
    if (chart_.bars)
      bars();
    else
      lines();
    out_ += text("<text class=\"axis\" x=\"%g\" y=\"%g\" text-anchor=\"middle\">", (x_.from + x_.to) / 2,
                 kHeight - 8) +
            escaped(chart_.x_label) + "</text>";
    out_ += text("<text class=\"axis\" transform=\"translate(14 %g) rotate(-90)\" text-anchor=\"middle\">",
                 (y_.from + y_.to) / 2) +
            escaped(chart_.y_label) + "</text></svg>";
    return out_;
  }

 private:
  double highest_stack() const {
    std::vector<double> sums(chart_.groups.size());
    for (const Curve& s : chart_.series)
      for (const auto& [px, py] : s.points) sums[static_cast<size_t>(px)] += py;
    return sums.empty() ? 1 : *std::max_element(sums.begin(), sums.end());
  }
  void line_at(double v) {
    out_ += text("<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>", x_.from, x_.to,
                 y_.place(v), y_.place(v));
    out_ += text("<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g</text>", x_.from - 6, y_.place(v) + 4, v);
  }
  void grid() {
    if (y_.log) {
      for (double power = std::pow(10, std::floor(y_.low)); std::log10(power) <= y_.high; power *= 10)
        for (const double v : {power, 2 * power, 5 * power})
          if (std::log10(v) >= y_.low - 1e-9 && std::log10(v) <= y_.high) line_at(v);
    } else {
      const double ys = step_of(y_.high - y_.low, 6);
      for (double v = std::ceil(y_.low / ys) * ys; v <= y_.high; v += ys)
        line_at(std::abs(v) < ys * 1e-9 ? 0 : v);
    }
    if (!chart_.groups.empty()) {
      for (size_t i = 0; i < chart_.groups.size(); i++)
        out_ += text("<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">", x_.place(static_cast<double>(i)),
                     y_.from + 16) +
                escaped(chart_.groups[i]) + "</text>";
      return;
    }
    const double xs = step_of(x_.high - x_.low, 8);
    for (double v = std::ceil(x_.low / xs) * xs; v <= x_.high + xs * 1e-9; v += xs)
      out_ += text(
          "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/><text x=\"%.1f\" y=\"%g\" "
          "text-anchor=\"middle\">%g</text>",
          x_.place(v), x_.place(v), y_.from, y_.to, x_.place(v), y_.from + 16,
          std::abs(v) < xs * 1e-9 ? 0 : v);
  }
  void lines() {
    for (size_t i = 0; i < chart_.series.size(); i++) {
      out_ += text("<polyline class=\"line c%zu\" points=\"", i % kColours);
      for (const auto& [px, py] : chart_.series[i].points)
        out_ += text("%.1f,%.1f ", x_.place(px), y_.place(py));
      out_ += "\"><title>" + escaped(chart_.series[i].name) + "</title></polyline>";
      if (chart_.groups.empty()) continue;
      for (const auto& [px, py] : chart_.series[i].points)  // few of them: each says its value
        out_ += text("<circle class=\"bar c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"><title>", i % kColours,
                     x_.place(px), y_.place(py)) +
                escaped(chart_.series[i].name) + text(": %.4g</title></circle>", py);
    }
  }
  void bars() {
    const double group = (x_.to - x_.from) / static_cast<double>(std::max<size_t>(1, chart_.groups.size()));
    const double width = chart_.stacked
                             ? 0.6 * group
                             : 0.8 * group / static_cast<double>(std::max<size_t>(1, chart_.series.size()));
    std::vector<double> below(chart_.groups.size());  // where the next bar of a stack begins
    for (size_t i = 0; i < chart_.series.size(); i++)
      for (const auto& [px, py] : chart_.series[i].points) {
        double base = std::max(0.0, y_.low),
               left = x_.place(px) - 0.4 * group + width * static_cast<double>(i);
        if (chart_.stacked) {
          base = below[static_cast<size_t>(px)];
          below[static_cast<size_t>(px)] += py;
          left = x_.place(px) - width / 2;
        }
        const double top = chart_.stacked ? base + py : py;
        out_ += text("<rect class=\"bar c%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
                     i % kColours, left, y_.place(top), width, y_.place(base) - y_.place(top)) +
                escaped(chart_.series[i].name) + text(": %.4g</title></rect>", py);
      }
  }

  const Chart& chart_;
  Axis x_, y_;
  std::string out_;
};

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root { --page: #fff; --panel: #f6f7f9; --text: #1b1f24; --soft: #5d6672; --line: #dfe3e8; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --panel: #1c2026; --text: #e8ebef; --soft: #9aa4b1; --line: #323942; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 54rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .25rem; }
p, .note { color: var(--soft); } .note { font-size: .9rem; margin: .25rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.scroll, pre { overflow-x: auto; } details { margin-top: 2.5rem; } summary { cursor: pointer; }
pre { background: var(--panel); padding: 1rem; border-radius: .5rem; font-size: .78rem; line-height: 1.4; }
svg { display: block; width: 100%; font-size: 12px; } svg text { fill: var(--soft); } svg .axis { fill: var(--text); }
.grid { stroke: var(--line); } .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; }
.legend i { display: inline-block; width: 1.2rem; height: .25rem; vertical-align: middle; margin-right: .35rem; }
)";
constexpr const char* kPalette[kColours] = {"#b3202c", "#1d6fb8", "#1a8f55", "#c77700", "#7a4fc0",
                                            "#0e8f9c", "#c2418f", "#7d8a2e", "#8a5a3c", "#6b7785"};

}  // namespace

std::string chart_page(const std::string& title, const std::string& lead,
                       const std::vector<Comparison>& numbers, const std::vector<Chart>& charts,
                       const std::string& details) {
  std::string page = kHead;
  for (size_t i = 0; i < kColours; i++)
    page += text(".line.c%zu { stroke: %s } .bar.c%zu { fill: %s } .legend .c%zu { background: %s }\n", i,
                 kPalette[i], i, kPalette[i], i, kPalette[i]);
  page += "</style><title>" + escaped(title) + "</title></head><body><h1>" + escaped(title) + "</h1><p>" +
          escaped(lead) + "</p>\n";
  if (!numbers.empty()) {
    page += "<div class=\"scroll\"><table><tr><th></th><th>paper</th><th>here</th><th></th></tr>\n";
    for (const Comparison& c : numbers)
      page += "<tr><td>" + escaped(c.what) + "</td><td>" + escaped(c.paper) + "</td><td>" + escaped(c.ours) +
              "</td><td class=\"note\">" + escaped(c.remark) + "</td></tr>\n";
    page += "</table></div>\n";
  }
  for (const Chart& c : charts) {
    page += "<h2>" + escaped(c.title) + "</h2>\n";
    if (c.series.size() > 1) {
      page += "<div class=\"legend\">";
      for (size_t i = 0; i < c.series.size(); i++)
        page += text("<span><i class=\"c%zu\"></i>", i % kColours) + escaped(c.series[i].name) + "</span>";
      page += "</div>";
    }
    page += Drawing(c).svg();
    if (!c.note.empty()) page += "<p class=\"note\">" + escaped(c.note) + "</p>";
  }
  if (!details.empty())
    page += "<details><summary>The numbers as tables</summary><pre>" + escaped(details) + "</pre></details>";
  return page + "</body></html>\n";
}

}  // namespace tasuki::bench
