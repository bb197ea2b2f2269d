// The shell of a page and what it quotes; what scripts draw is looked at in a browser (test/report).
#include "report/page.h"

#include <gtest/gtest.h>

#include "report/chart_page.h"
#include "report/json.h"

namespace tasuki::report {
namespace {

TEST(Page, QuotesTextsAndData) {
  Page p;
  p.title = "a <b> & \"c\" {{data}}";
  p.notes = {"</script><b>no element</b>"};
  p.facts = {{"Where", {{"CPU", "<CPU>"}}}};
  p.numbers = "the <table>";
  p.data = R"({"text": "</script><!-- {{title}}"})";
  const std::string html = page(p);
  for (const char* part :
       {"<h1>a &lt;b&gt; &amp; &quot;c&quot; {{data}}</h1>", "&lt;/script&gt;&lt;b&gt;no element",
        "<dt>CPU</dt><dd>&lt;CPU&gt;</dd>", "the &lt;table&gt;", R"(\u003c/script>\u003c!-- {{title}})"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  for (const char* part : {"{{lead}}", "{{style}}", "{{scripts}}", "{{notes}}", "</script><"})
    EXPECT_EQ(html.find(part), std::string::npos) << part;
}

TEST(Page, NeedsNothingFromOutside) {
  Page p;
  p.scripts = {charts_js};
  const std::string html = page(p);
  for (const char* outside : {"src=", "href=", "<link", "@import", "url(", "fetch(", "https://"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

TEST(Json, QuotesAndRefusesWhatIsNoNumber) {
  Json inner('['), outer('{');
  inner.add(0.5);
  inner.add(quoted("a\"b\\\n\xff\xc3\xa4"));
  outer.add("list", inner);
  outer.add("yes", true);
  outer.add("count", uint64_t{3});
  outer.add("infinite", 1 / 0.0);
  EXPECT_EQ(outer.done(),
            "{\"list\": [0.5, \"a\\\"b\\\\\\u000a?\xc3\xa4\"], \"yes\": true, \"count\": 3, "
            "\"infinite\": null}");
}

TEST(ChartPage, HoldsChartsAndComparisons) {
  Chart chart;
  chart.title = "t";
  chart.groups = {"<a>"};
  chart.series = {{"low", {{0, 1.5}}}};
  const std::string html =
      chart_page({.about = {}, .tiles = {}, .numbers = {{"what", "1", "2", ""}}, .charts = {chart}});
  for (const char* part :
       {R"(["what", "1", "2", ""])", R"("groups": ["\u003ca>"])", R"("points": [[0, 1.5]])"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace tasuki::report
