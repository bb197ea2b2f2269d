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
  const svg = node("svg", {viewBox: `0 0 480 ${head + ys.length * line + 2}`, role: "img", "aria-label": f.title});
  svg.append(node("text", {x: 0, y: 12, class: "soft"}, `${kAxis[f.y] || f.y} ↓   ${kAxis[f.x] || f.x} →`));
  xs.forEach((v, i) => svg.append(node("text", {x: left + (i + .5) * cell, y: head - 6, "text-anchor": "middle", class: "soft number"}, short(v))));
  ys.forEach((v, i) => svg.append(node("text", {x: left - 8, y: head + (i + .5) * line + 4, "text-anchor": "end", class: "soft number"}, short(v))));
  for (const r of mine) {
    const value = heatValue(r, f), x = left + xs.indexOf(r[f.x]) * cell, y = head + ys.indexOf(r[f.y]) * line;
    const times = Object.entries(r).filter(([k, v]) => k.endsWith("_us") && typeof v === "number")
      .map(([k, v]) => `${k.slice(0, -3).replace(/_/g, " ")} ${microseconds(v)}`).join("\n");
    svg.append(node("g", {},
      node("title", {}, `${r.pattern}\n${r.bytes} bytes\n${times}\n${r.verified ? "every byte verified" : "NOT verified: " + (r.failure || "")}${r.noisy ? "\nnoisy: the rounds differ by more than half" : ""}`),
      node("rect", {x: x + .5, y: y + .5, width: cell - 1, height: line - 1, rx: 2, style: `fill:${heatColor(value, f, top)}`}),
      node("text", {x: x + cell / 2, y: y + line / 2 + 4, "text-anchor": "middle", class: "number", style: r.verified ? "" : "text-decoration:line-through"},
        value < 10 ? value.toFixed(cell < 34 ? 1 : 2) : value.toFixed(value < 100 ? 1 : 0))));
  }
  return node("figure", {class: "heat"}, node("figcaption", {}, node("b", {}, f.title), ` ${f.caption}${f.kind === "rate" ? " GB/s." : ""}`), svg);
}
function heatSection(m) {
  const section = node("section", {}), ratios = m.rows.filter(r => r.ratio), worse = ratios.filter(r => r.ratio < .95).length;
  const names = {pack: "MPI_Pack and MPI_Unpack", typed: "Typed ping-pong", bcast: "MPI_Bcast"};
  section.append(node("div", {class: "head"}, node("h2", {}, `${names[m.benchmark] || m.benchmark}: ${m.versions.mpi}`)));
  const list = node("ul", {class: "figures"});
  if (m.geomean) list.append(figure(m.geomean.toFixed(2) + " ×", `as fast as plain MPI, geometric mean of ${ratios.length} rows`, "lead"));
  list.append(figure(String(worse), `of ${ratios.length} rows slower than plain MPI by more than 5 %`, worse ? "bad" : ""));
  const wrong = m.rows.filter(r => !r.verified).length;
  list.append(figure(wrong ? `${wrong} wrong` : "all", wrong ? `of ${m.rows.length} rows failed verification` : `${m.rows.length} rows verified byte for byte`, wrong ? "bad" : ""));
  section.append(list);
  for (const n of m.notes || []) section.append(node("p", {class: "note"}, n));
  const key = node("div", {class: "legend"});
  for (const [v, text] of [[.25, "4 times slower"], [1, "equal"], [2, "2 times faster"], [8, "8 times and more"]])
    key.append(node("span", {}, node("i", {class: "bar", style: `background:${heatColor(v, {kind: "ratio"}, 1)};outline:1px solid var(--line)`}), text));
  section.append(key);
  const top = Math.max(0, ...m.figures.filter(f => f.kind === "rate").flatMap(f => m.rows.map(r => heatValue(r, f) || 0)));
  const grid = node("div", {class: "maps"});
  for (const f of m.figures) {
    const map = heatMap(f, m.rows, top);
    if (map) grid.append(map);
  }
  section.append(grid, facts(m));
  return section;
}
