// Heat maps of a sweep: each of its figures names the rows and columns that make one.
const kAxis = {block: "bytes of a block", count: "blocks", chunk: "segment, bytes", size: "message bytes"};
function short(n) {
  return n >= 1048576 && n % 1048576 === 0 ? n / 1048576 + "Mi" : n >= 1024 && n % 1024 === 0 ? n / 1024 + "Ki" : String(n);
}
function heatValue(r, f) {
  const a = r[f.of[0]], b = f.of.length > 1 ? r[f.of[1]] : null;
  if (f.kind === "rate") return a > 0 ? r.bytes / a / 1e3 : null;
  return a > 0 && b > 0 ? a / b : null;
}
function heatColor(value, f, top) {
  const part = f.kind === "rate" ? Math.min(1, value / top) : Math.max(-1, Math.min(1, Math.log2(value) / 3));
  const hue = f.kind === "rate" ? "--limit" : part < 0 ? "--worse" : "--good";
  return `color-mix(in oklab, var(${hue}) ${(Math.abs(part) ** 0.7 * 72).toFixed(0)}%, var(--panel))`;
}
function heatMap(f, rows, top) {
  const mine = rows.filter(r => Object.entries(f.where).every(([k, v]) => r[k] === v) && heatValue(r, f) != null);
  if (!mine.length) return null;
  const axis = name => [...new Set(mine.map(r => r[name]))].sort((a, b) => a - b);
  const xs = axis(f.x), ys = axis(f.y), left = 62, cell = Math.min(60, (480 - left) / xs.length), line = 21, head = 34;
  const cells = new Map();  // by its place
  const figure = figureWithTip(e => {
    const [x, y] = place(e, svg), scale = 480 / svg.clientWidth, r = cells.get(`${Math.floor((x * scale - left) / cell)},${Math.floor((y * scale - head) / line)}`);
    if (!r) return null;
    const times = Object.entries(r).filter(([k, v]) => k.endsWith("_us") && typeof v === "number").map(([k, v]) => `${k.slice(0, -3).replace(/_/g, " ")} ${us(v)}`);
    return [r.pattern, bytesText(r.bytes), ...times, verdict(r)].join("\n");
  });
  figure.append(node("figcaption", {}, node("b", {}, f.title), ` ${f.caption}${f.kind === "rate" ? " GB/s." : ""}`));
  const svg = node("svg", {viewBox: `0 0 480 ${head + ys.length * line + 2}`, role: "img", "aria-label": f.title});
  svg.append(node("text", {x: 0, y: 12, class: "soft"}, `${kAxis[f.y] || f.y} ↓   ${kAxis[f.x] || f.x} →`));
  xs.forEach((v, i) => svg.append(node("text", {x: left + (i + .5) * cell, y: head - 6, "text-anchor": "middle", class: "soft number"}, short(v))));
  ys.forEach((v, i) => svg.append(node("text", {x: left - 8, y: head + (i + .5) * line + 4, "text-anchor": "end", class: "soft number"}, short(v))));
  for (const r of mine) {
    const value = heatValue(r, f), column = xs.indexOf(r[f.x]), row = ys.indexOf(r[f.y]);
    cells.set(`${column},${row}`, r);
    svg.append(node("rect", {x: left + column * cell + .5, y: head + row * line + .5, width: cell - 1, height: line - 1, rx: 2, style: `fill:${heatColor(value, f, top)}`}),
      node("text", {x: left + (column + .5) * cell, y: head + (row + .5) * line + 4, "text-anchor": "middle", class: "number", style: r.verified ? "" : "text-decoration:line-through"},
        cell < 34 && value >= 1 && value < 10 ? value.toFixed(1) : ratioText(value)));
  }
  figure.append(svg);
  return figure;
}
function heatSection(m) {
  const names = {pack: "MPI_Pack and MPI_Unpack", typed: "Typed ping-pong", messages: "Contiguous messages", bcast: "MPI_Bcast", rma: "One-sided communication"};
  const s = section(`${names[m.benchmark] || m.benchmark}: ${m.versions.mpi}`, "");
  const ratios = m.rows.filter(r => r.ratio), worse = ratios.filter(r => r.ratio < .95).length;
  s.append(tiles([...means(m, "plain MPI", ratios),
    [String(worse), `of ${ratios.length} rows slower than plain MPI by more than 5 %`, worse ? "bad" : ""], verified(m.rows)]));
  s.append(legend([[.25, "4 times slower"], [1, "equal"], [2, "2 times faster"], [8, "8 times and more"]].map(([v, text]) =>
    [barKey(heatColor(v, {kind: "ratio"}, 1) + ";outline:1px solid var(--line)"), text])));
  const top = Math.max(0, ...m.figures.filter(f => f.kind === "rate").flatMap(f => m.rows.map(r => heatValue(r, f) || 0)));
  const maps = m.figures.map(f => heatMap(f, m.rows, top)).filter(Boolean);
  s.append(node("div", {class: "maps"}, ...maps));
}
