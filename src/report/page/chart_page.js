// A page of charts; the data are those of chart_page.cpp.
if (D.tiles.length) document.getElementById("main").append(tiles(D.tiles.map(([value, text], i) => [value, text, i ? "" : "lead"])));
if (D.numbers.length)
  section("The paper's numbers and ours", "").append(table(["", "paper", "here", ""], D.numbers, "words"));
for (const c of D.charts) {
  const x = c.series.flatMap(s => s.points.map(p => p[0]));
  chart(section(c.title, c.note), {label: c.title, bars: c.bars, stacked: c.stacked, series: c.series,
    x: c.groups.length ? {label: c.x, names: c.groups} : {label: c.x, low: Math.min(...x), high: Math.max(...x)},
    y: {label: c.y, log: c.log, one: c.ratio, low: c.zero && !c.log ? Math.min(0, ...c.series.flatMap(s => s.points.map(p => p[1]))) : undefined,
      text: c.ratio ? ratioText : v => String(Number(v.toPrecision(4)))}});
}
redraw();
