// A page of line and bar charts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/page.h"

namespace tasuki::report {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Chart {
  std::string title, x_label, y_label;
  std::vector<Curve> series;
  std::string note;       // below the title: what the chart of a paper shows, what differs
  bool from_zero = true;  // the y axis begins at 0
  bool bars = false;      // x are groups 0, 1, ...; their names:
  std::vector<std::string> groups;
  bool stacked = false;  // bars of a group stand on each other
  bool log_y = false;    // all y are above 0
  bool ratio = false;    // y are ratios to something: a logarithmic axis, on which 1 is marked and bars begin
};
// Lines too may have named groups: their points then lie at 0, 1, ...

// A number of a paper beside ours.
struct Comparison {
  std::string what, paper, ours, remark;
};

// A figure that stands alone, and what it is.
struct Tile {
  std::string value, text;
};

struct ChartPage {
  Page about;  // without data and scripts
  std::vector<Tile> tiles;
  std::vector<Comparison> numbers;
  std::vector<Chart> charts;
};

std::string chart_page(const ChartPage& page);

}  // namespace tasuki::report
