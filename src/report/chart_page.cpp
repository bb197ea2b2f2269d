#include "report/chart_page.h"

#include "report/json.h"

namespace tasuki::report {

extern const char chart_page_js[];

namespace {

Json strings(const std::vector<std::string>& texts) {
  Json out('[');
  for (const std::string& t : texts) out.add(quoted(t));
  return out;
}

Json series(const Chart& chart) {
  Json out('[');
  for (const Curve& c : chart.series) {
    Json curve('{'), points('[');
    for (const auto& [x, y] : c.points) {
      Json point('[');
      point.add(x);
      point.add(y);
      points.add(point);
    }
    curve.add("name", quoted(c.name));
    curve.add("points", points);
    out.add(curve);
  }
  return out;
}

Json json_of(const Chart& chart) {
  Json out('{');
  out.add("title", quoted(chart.title));
  out.add("note", quoted(chart.note));
  out.add("x", quoted(chart.x_label));
  out.add("y", quoted(chart.y_label));
  out.add("groups", strings(chart.groups));
  out.add("zero", chart.from_zero);
  out.add("bars", chart.bars);
  out.add("stacked", chart.stacked);
  out.add("log", chart.log_y);
  out.add("ratio", chart.ratio);
  out.add("series", series(chart));
  return out;
}

}  // namespace

std::string chart_page(const ChartPage& p) {
  Json data('{'), tiles('['), numbers('['), charts('[');
  for (const Tile& t : p.tiles) tiles.add(strings({t.value, t.text}));
  for (const Comparison& c : p.numbers) numbers.add(strings({c.what, c.paper, c.ours, c.remark}));
  for (const Chart& c : p.charts) charts.add(json_of(c));
  data.add("tiles", tiles);
  data.add("numbers", numbers);
  data.add("charts", charts);
  Page page = p.about;
  page.data = data.done();
  page.scripts = {charts_js, chart_page_js};
  return report::page(page);
}

}  // namespace tasuki::report
