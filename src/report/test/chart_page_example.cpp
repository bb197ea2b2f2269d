// chart_page_example FILE: charts of which the test of the pages knows where bars and points must be.
#include <cstdio>
#include <fstream>

#include "report/chart_page.h"

using namespace tasuki::report;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Chart stacked, logarithmic, ratios, many, longs;
  stacked.title = "stacked";
  stacked.bars = stacked.stacked = true;
  stacked.groups = {"a"};
  stacked.series = {{"low", {{0, 1}}}, {"high", {{0, 3}}}};
  logarithmic.title = "logarithmic";
  logarithmic.log_y = true;
  logarithmic.groups = {"a", "b", "c"};
  logarithmic.series = {{"s", {{0, 1}, {1, 10}, {2, 100}}}};
  ratios.title = "ratios";
  ratios.bars = ratios.ratio = true;
  ratios.groups = {"twice", "half"};
  ratios.series = {{"", {{0, 2}, {1, 0.5}}}};
  many.title = "many series";
  for (int i = 0; i < 20; i++) {
    many.series.push_back({"sequence " + std::to_string(i + 1), {}});
    for (int x = -3; x <= 3; x++) many.series.back().points.emplace_back(x, 1e-3 * (x * x + i));
  }
  longs.title = "long names";
  longs.bars = longs.ratio = true;
  for (int i = 0; i < 8; i++) {
    longs.groups.push_back("pair of columns " + std::to_string(i) + " of an array of 1024 x 1024");
    for (size_t s = 0; s < 3; s++) {
      if (i == 0) longs.series.push_back({"way " + std::to_string(s), {}});
      longs.series[s].points.emplace_back(i, i == 3 ? 0.004 : 0.25 + static_cast<double>(s) * i);
    }
  }
  for (Chart* c : {&stacked, &logarithmic, &ratios, &many, &longs}) c->x_label = "x", c->y_label = "y";
  ChartPage page{.about = {}, .tiles = {{"1.25 ×", "a tile"}}, .numbers = {}, .charts = {}};
  page.about.title = "Charts";
  page.charts = {stacked, logarithmic, ratios, many, longs};
  std::ofstream(argv[1]) << chart_page(page);
  return 0;
}
