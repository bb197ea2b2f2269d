// Pages for people: one HTML file with style, scripts and data inside, which works without a network, in
// light and dark.
//
//   page/page.html      the shell: title, lead, notes, what the scripts draw, facts, numbers
//   page/style.css      the only stylesheet
//   page/base.js        in every page: the data as D, elements, texts of numbers, legends, tips, tables, colours
//   page/charts.js      lines and bars with axes: chart()
//   page/chart_page.js  a page of such charts (chart_page.h)
//
// What only one page draws (heat maps, the picture of a network, the ranks over time) stands beside its
// owner.
//
// Why charts of our own: Debian has no uPlot and no Observable Plot, and what is not in Debian would have to
// be fetched or copied. It has d3 (3.5) and Chart.js (3.9), some 200 KB in every page and in
// libdlmmpi. Either would replace charts.js alone, which also knows how a ratio is drawn, a series
// hidden and a moment marked; the other pictures are canvases that no library draws.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tasuki::report {

// What a reader may ask at the end: {"CPU", "..."}, {"Command", "..."}.
struct Facts {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

// All texts are plain; the page quotes them.
struct Page {
  std::string title, lead;
  std::vector<std::string> notes;    // what must be known before a number is believed
  std::string data = "null";         // JSON
  std::vector<const char*> scripts;  // after base.js, in this order
  std::vector<Facts> facts;
  std::string numbers;  // tables as text
};

std::string page(const Page& page);

extern const char charts_js[];

// Text between the tags of HTML, or in an attribute.
std::string escaped(std::string_view plain);

}  // namespace tasuki::report
