// Lines over time: throughput of the links, use of the buffers. A click marks the moment.
function timeLines(host, {series, high, title, right, height = 260, format, legend = true, label}) {
  const u = timeUnit(D.end), center = b => Math.min(D.end, (b + .5) * D.bin_width) / u.size;
  const mark = chart(host, {label, height, right, legend, pick: x => setMoment(x * u.size),
    x: {label: `simulated time, ${u.name}`, low: 0, high: D.end / u.size, text: v => momentText(v * u.size)},
    y: {label: title, low: 0, high, text: format},
    series: series.map(s => ({...s, points: s.values.map((v, b) => [center(b), v])}))});
  watchers.push(() => mark(moment == null ? null : moment / u.size));
}

function throughputSection() {
  if (!D.series.use.length) return;
  const s = section("Throughput of the links over time",
    `Headers and padding included; each class is the average over its links. ${D.bins} intervals of ${timeText(D.bin_width)}. A click marks a moment in all pictures.`);
  const unit = D.bandwidth / 1e9;
  const series = D.series.use.map((u, c) => c < D.classes.length
    ? {name: u.name, ...classStyle(c), values: u.values.map(v => v * unit)}
    : {name: "average of all", color: "var(--text)", wide: true, values: u.values.map(v => v * unit)});
  timeLines(s, {series, high: unit, title: "throughput of a link, GB/s", right: {high: 100, label: "link busy, %"},
    format: v => `${v.toFixed(2)} GB/s`, label: "Throughput of the links over time"});
}

function bufferSection() {
  const all = D.series.buffers;
  if (!all.length) return;
  const s = section("Use of the virtual channels' buffers over time",
    `Average over the input buffers (${bytesText(D.buffer_bytes)} each) at the ends of a class of links, by virtual channel.`);
  s.append(legend(D.classes.map((k, c) => [lineKey(classStyle(c)), k.name])));
  const grid = node("div", {class: "pair"});
  s.append(grid);
  for (let v = 0; v < D.channels; v++) {
    const mine = all.filter(b => b.channel === v), used = mine.some(b => b.values.some(x => x > 0)), host = node("div", {});
    grid.append(host);
    host.append(node("figcaption", {}, node("b", {}, `virtual channel ${v}`), used ? "" : ": never used"));
    timeLines(host, {series: mine.map(b => ({name: D.classes[b.link_class].name, ...classStyle(b.link_class), values: b.values.map(x => x / D.buffer_bytes * 100)})),
      high: 100, title: "buffer in use, %", height: 220, legend: false, format: x => `${x.toFixed(1)} %`, label: `Use of the buffers of virtual channel ${v}`});
  }
}
