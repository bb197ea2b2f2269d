// Charts as one HTML page that works offline: every chart an SVG drawn here, no script.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tasuki::simmpi {

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
};

struct Comparison {
  std::string what, paper, ours, remark;
};

std::string chart_page(const std::string& title, const std::string& lead,
                       const std::vector<Comparison>& numbers, const std::vector<Chart>& charts);

}  // namespace tasuki::simmpi
