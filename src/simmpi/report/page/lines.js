// Lines over time: throughput of the links, use of the buffers.
//   series  [{name, color, dash, wide, values by bin}], right: a second scale {most, title}
function lineChart(host, {series, most, title, right, height = 260, format, legend = true, label}) {
  const hidden = new Set();
  let geometry = null;
  const binAt = x => Math.max(0, Math.min(D.bins - 1, Math.floor((x - geometry.x0) / (geometry.x1 - geometry.x0) * D.end / D.bin_width)));
  const figure = figureWithTip(e => {
    const [x, y] = place(e, svgHost);
    if (!geometry || x < geometry.x0 || x > geometry.x1 || y > geometry.y0) return null;
    const b = binAt(x);
    return `${momentText(b * D.bin_width)}\n` + series.filter(s => !hidden.has(s)).map(s => `${s.name}: ${format(s.values[b])}`).join("\n");
  });
  if (legend) {
    const bar = node("div", {class: "legend"});
    for (const s of series) {
      const b = node("button", {type: "button", "aria-pressed": true, title: "show or hide"},
        node("svg", {viewBox: "0 0 26 10"}, node("line", {x1: 0, x2: 26, y1: 5, y2: 5, stroke: s.color, "stroke-width": s.wide ? 3 : 2, "stroke-dasharray": s.dash || ""})), s.name);
      b.onclick = () => {
        hidden.has(s) ? hidden.delete(s) : hidden.add(s);
        b.setAttribute("aria-pressed", !hidden.has(s));
        draw();
      };
      bar.append(b);
    }
    host.append(bar);
  }
  const svgHost = node("div", {});
  figure.append(svgHost);
  host.append(figure);
  let mark = null;

  function draw() {
    const width = Math.max(280, figure.clientWidth || 1000), x0 = 62, x1 = width - (right ? 62 : 14), y0 = height - 40, y1 = 10;
    geometry = {x0, x1, y0};
    const X = t => x0 + t / D.end * (x1 - x0), Y = v => y0 - v / most * (y0 - y1);
    const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, style: `height:${height}px`, role: "img", "aria-label": label});
    for (const v of ticks(0, most)) {
      svg.append(node("line", {x1: x0, x2: x1, y1: Y(v), y2: Y(v), class: "grid"}));
      svg.append(node("text", {x: x0 - 8, y: Y(v) + 4, "text-anchor": "end", class: "soft"}, tickText(v)));
    }
    if (right) {
      for (const v of ticks(0, right.most)) svg.append(node("text", {x: x1 + 8, y: Y(v / right.most * most) + 4, class: "soft"}, tickText(v)));
      svg.append(node("text", {transform: `translate(${width - 8},${(y0 + y1) / 2}) rotate(-90)`, "text-anchor": "middle", class: "soft"}, right.title));
    }
    svg.append(node("text", {transform: `translate(13,${(y0 + y1) / 2}) rotate(-90)`, "text-anchor": "middle", class: "soft"}, title));
    const u = timeUnit(D.end);
    for (const t of ticks(0, D.end / u.size, Math.max(3, (x1 - x0) / 110)))
      svg.append(node("line", {x1: X(t * u.size), x2: X(t * u.size), y1: y0, y2: y0 + 5, class: "grid"}),
        node("text", {x: X(t * u.size), y: y0 + 18, "text-anchor": "middle", class: "soft"}, tickText(t)));
    svg.append(node("text", {x: (x0 + x1) / 2, y: y0 + 35, "text-anchor": "middle", class: "soft"}, `simulated time, ${u.name}`));
    for (const s of [...series].sort((a, b) => (b.wide ? 1 : 0) - (a.wide ? 1 : 0))) {  // wide ones below
      if (hidden.has(s)) continue;
      const points = s.values.map((v, b) => `${X(Math.min(D.end, (b + .5) * D.bin_width)).toFixed(1)},${Y(Math.min(v, most * 1.02)).toFixed(1)}`);
      svg.append(node("polyline", {points: points.join(" "), fill: "none", stroke: s.color, "stroke-width": s.wide ? 3 : 1.5,
        "stroke-dasharray": s.dash || "", opacity: s.wide ? .6 : 1, "stroke-linejoin": "round"}));
    }
    mark = node("line", {y1, y2: y0, class: "moment"});
    svg.append(mark);
    svgHost.replaceChildren(svg);
    showMoment();
  }
  function showMoment() {
    if (!mark) return;
    mark.style.display = moment == null ? "none" : "";
    const x = geometry.x0 + (moment || 0) / D.end * (geometry.x1 - geometry.x0);
    mark.setAttribute("x1", x);
    mark.setAttribute("x2", x);
  }
  svgHost.addEventListener("click", e => {
    const [x] = place(e, svgHost);
    setMoment((x - geometry.x0) / (geometry.x1 - geometry.x0) * D.end);
  });
  drawers.push(draw);
  watchers.push(showMoment);
}

function throughputSection() {
  if (!D.series.use.length) return;
  const s = section("Throughput of the links over time",
    `Headers and padding included; each class is the average over its links. ${D.bins} intervals of ${timeText(D.bin_width)}. A click marks a moment in all pictures.`);
  const unit = D.bandwidth / 1e9;
  const series = D.series.use.map((u, c) => c < D.classes.length
    ? {name: u.name, ...classStyle(c), values: u.values.map(v => v * unit)}
    : {name: "average of all", color: "var(--text)", wide: true, values: u.values.map(v => v * unit)});
  lineChart(s, {series, most: unit, title: "throughput of a link, GB/s", right: {most: 100, title: "link busy, %"},
    format: v => `${v.toFixed(2)} GB/s`, label: "Throughput of the links over time"});
}

function bufferSection() {
  const all = D.series.buffers;
  if (!all.length) return;
  const s = section("Use of the virtual channels' buffers over time",
    `Average over the input buffers (${bytesText(D.buffer_bytes)} each) at the ends of a class of links, by virtual channel.`);
  const key = node("div", {class: "legend"});
  D.classes.forEach((k, c) => {
    const style = classStyle(c);
    key.append(node("span", {}, node("svg", {viewBox: "0 0 26 10"}, node("line", {x1: 0, x2: 26, y1: 5, y2: 5, stroke: style.color, "stroke-width": 2, "stroke-dasharray": style.dash})), k.name));
  });
  s.append(key);
  const grid = node("div", {class: "pair"});
  s.append(grid);
  for (let v = 0; v < D.channels; v++) {
    const mine = all.filter(b => b.channel === v), used = mine.some(b => b.values.some(x => x > 0)), host = node("div", {});
    grid.append(host);
    host.append(node("figcaption", {}, node("b", {}, `virtual channel ${v}`), used ? "" : ": never used"));
    lineChart(host, {series: mine.map(b => ({name: D.classes[b.link_class].name, ...classStyle(b.link_class), values: b.values.map(x => x / D.buffer_bytes * 100)})),
      most: 100, title: "buffer in use, %", height: 220, legend: false, format: x => `${x.toFixed(1)} %`, label: `Use of the buffers of virtual channel ${v}`});
  }
}
