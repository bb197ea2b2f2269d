// Charts as one HTML page that works offline: every chart an SVG drawn here, no script.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tasuki::bench {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Curve> series;
  std::string note;       // below the chart: what the paper's figure shows, what differs
  bool from_zero = true;  // the y axis begins at 0
  bool bars = false;      // x are groups 0, 1, ...; their names:
  std::vector<std::string> groups;
  bool stacked = false;  // bars of a group stand on each other
  bool log_y = false;    // of lines; all y are above 0
};
// Lines too may have named groups: their points then lie at 0, 1, ...

struct Comparison {
  std::string what, paper, ours, remark;
};

// `details` is preformatted text that a reader may open at the end.
std::string chart_page(const std::string& title, const std::string& lead,
                       const std::vector<Comparison>& numbers, const std::vector<Chart>& charts,
                       const std::string& details = "");

}  // namespace tasuki::bench
