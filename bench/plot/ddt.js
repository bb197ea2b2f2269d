// The page of `tasuki bench` ddt, pack-ddt and the sweeps; the data are the measurements.
function us(v) { return v == null ? "not measured" : timeText(v * 1e-6, 3); }
function spread(pair) { return pair ? ` (rounds ${us(pair[0])} to ${us(pair[1])})` : ""; }
function verdict(r) {
  return (r.verified ? "every byte verified" : "NOT verified: " + (r.failure || "")) + (r.noisy ? "\nnoisy: the rounds differ by more than half" : "");
}
function verified(rows) {
  const wrong = rows.filter(r => !r.verified).length;
  return wrong ? [`${wrong} wrong`, `of ${rows.length} rows failed verification`, "bad"] : ["all", `${rows.length} rows verified byte for byte`];
}
// The mean of the medians; and of the best rounds, which is the one to trust if the machine was busy.
function means(m, plain, good) {
  const out = [], best = good.filter(r => r.plain_spread_us && r.tasuki_spread_us).map(r => Math.log(r.plain_spread_us[0] / r.tasuki_spread_us[0]));
  const touched = m.geomean_touched, busy = (m.notes || []).some(n => n.includes("best rounds")) ? "lead" : "";
  const add = (mean, what, look) => { if (mean) out.push([ratioText(mean) + " ×", what, look]); };
  add(touched, `as fast as ${plain} with touched buffers, geometric mean of ${m.rows.length} rows`, "lead");
  add(m.geomean_touched_best_rounds, "the same of the best rounds, which other programs disturb least", busy);
  add(m.geomean_limit, "of the speed that the machine permits, touched buffers");
  add(m.geomean, touched ? "as fast with untouched buffers" : `as fast as ${plain}, geometric mean of ${good.length} rows`, touched ? "" : "lead");
  add(m.geomean_best_rounds || (best.length ? Math.exp(best.reduce((a, b) => a + b, 0) / best.length) : 0), "the same of the best rounds" + (touched ? "" : ", which other programs disturb least"), busy);
  return out;
}
// A row as it is drawn: its times with touched or with untouched buffers, and what limits them.
function view(r, touched) {
  if (!touched) return {...r, limit_us: r.direct_us, limit: "hand-written loops"};
  const own = Object.fromEntries(Object.entries(r).filter(([k]) => k.startsWith("touched_")).map(([k, v]) => [k.slice(8), v]));
  return {...r, plain_us: null, tasuki_us: null, ...own, limit: "the machine's limit", memcpy_us: null, noisy: r.touched_noisy};
}

const kRow = 21, kBar = 11, kTop = 26;
// How many times as fast as plain MPI: equal factors are equally far apart, 1 is plain MPI.
function speedScale(rows, names) {
  const all = rows.filter(r => r.plain_us).flatMap(r => [r.tasuki_us, r.limit_us].filter(v => v > 0).map(v => r.plain_us / v));
  const low = 2 ** Math.floor(Math.log2(Math.min(1 / 1.25, ...all) * .98)), high = 2 ** Math.ceil(Math.log2(Math.max(1.25, ...all) * 1.02));
  const span = Math.log2(high / low), step = Math.ceil(span / 7), list = [];
  for (let p = Math.log2(low); p <= Math.log2(high); p++)
    if (p % step === 0) list.push([(p - Math.log2(low)) / span, p < 0 ? `1/${2 ** -p}` : p ? `${2 ** p}` : `1 = ${names}`]);
  return {place: (v, r) => Math.log2(r.plain_us / v / low) / span, ticks: list, one: Math.log2(1 / low) / span};
}
function timeScale(rows) {
  const all = rows.flatMap(r => [r.plain_us, r.tasuki_us, r.limit_us, r.memcpy_us]).filter(v => v > 0);
  const low = Math.floor(Math.log10(Math.min(...all))), high = Math.ceil(Math.log10(Math.max(...all)) + 0.02), list = [];
  for (let t = low; t <= high; t++) list.push([(t - low) / (high - low), timeText(10 ** t * 1e-6)]);
  return {place: v => Math.max(0, (Math.log10(v) - low) / (high - low)), ticks: list, one: null};
}
const kDiamond = (x, y) => `M${x},${y - 6} l4.5,6 l-4.5,6 l-4.5,-6 z`;

// `all` gives the scale: the charts of one measurement share it.
function rowChart(rows, all, relative, width, plain) {
  const narrow = width < 640, label = narrow ? 84 : 190, x0 = label, x1 = width - 62;
  const scale = relative ? speedScale(all, narrow ? "plain" : plain) : timeScale(all);
  const at = f => x0 + Math.max(0, Math.min(1, f)) * (x1 - x0);
  const groups = [];
  for (const r of rows)
    if (groups.length && groups[groups.length - 1][0].pattern === r.pattern) groups[groups.length - 1].push(r);
    else groups.push([r]);
  const gap = narrow ? 25 : 7, height = kTop + rows.length * kRow + groups.length * gap + 8;
  const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": relative ? "Speed compared with plain MPI" : "Times on a logarithmic scale"});
  let free = -1e9;
  scale.ticks.forEach(([f, text]) => {
    svg.append(node("line", {x1: at(f), x2: at(f), y1: kTop - 6, y2: height, class: f === scale.one ? "one" : "grid"}));
    const wide = text.length * kLetter;
    if (f !== scale.one && (at(f) - wide / 2 < free || (scale.one !== null && f < scale.one && at(f) + wide / 2 > at(scale.one) - 40))) return;
    free = at(f) + wide / 2 + 8;
    svg.append(node("text", {x: at(f), y: 13, "text-anchor": f === 0 ? "start" : f > .97 ? "end" : "middle", class: "soft"}, text));
  });
  svg.append(node("text", {x: width, y: 13, "text-anchor": "end", class: "soft"}, "speed-up"));
  let y = kTop;
  for (const group of groups) {
    svg.append(node("text", {x: 0, y: y + 14, "font-weight": 600}, group[0].pattern));
    if (narrow) y += 18;
    for (const r of group) {
      drawRow(svg, r, {y: y + kRow / 2, x0, x1, width, at, scale, relative});
      y += kRow;
    }
    y += 7;
  }
  return svg;
}
function drawRow(svg, r, {y, x0, x1, width, at, scale, relative}) {
  svg.append(node("text", {x: x0 - 12, y: y + 4, "text-anchor": "end", class: "soft number"}, bytesText(r.bytes, 3)));
  if (r.plain_us && r.tasuki_us) {
    const t = scale.place(r.tasuki_us, r), worse = r.tasuki_us > r.plain_us * 1.05, color = worse ? "var(--worse)" : "var(--tasuki)";
    const from = relative ? at(scale.one) : x0, to = at(t);
    if (!relative) svg.append(node("rect", {x: x0, y: y - kBar / 2, width: at(scale.place(r.plain_us, r)) - x0, height: kBar, rx: 2, fill: "var(--plain)"}));
    svg.append(node("rect", {x: Math.min(from, to), y: relative ? y - kBar / 2 : y - kBar / 2 + 3, width: Math.max(1, Math.abs(to - from)), height: relative ? kBar : kBar - 6, rx: 1.5, fill: color}));
    if (r.tasuki_spread_us) {
      const [a, b] = r.tasuki_spread_us.map(v => at(scale.place(v, r)));
      svg.append(node("line", {x1: a, x2: b, y1: y, y2: y, stroke: relative ? "var(--text)" : color, "stroke-width": 1}));
    }
    if (r.limit_us) svg.append(node("path", {d: kDiamond(at(scale.place(r.limit_us, r)), y), fill: "var(--page)", stroke: "var(--limit)", "stroke-width": 1.6}));
    const copy = r.memcpy_us ? scale.place(r.memcpy_us, r) : 2;
    if (copy <= 1) svg.append(node("line", {x1: at(copy), x2: at(copy), y1: y - 8, y2: y + 8, stroke: "var(--limit)", "stroke-width": 2}));
    svg.append(node("text", {x: width, y: y + 4, "text-anchor": "end", class: "number", "font-weight": 600,
      style: worse ? "fill:var(--worse)" : ""}, ratioText(r.plain_us / r.tasuki_us) + " ×"));
  }
  if (!r.verified) svg.append(node("text", {x: x0 + 4, y: y + 4, style: "fill:var(--worse)", "font-weight": 600}, "not verified"));
  const about = `${r.pattern}, ${r.bytes} bytes\n${r.description}\n${r.best_peer ? "best MPI, " + r.best_peer : "plain MPI"} ${us(r.plain_us)}${spread(r.plain_spread_us)}\n` +
    `Tasuki ${us(r.tasuki_us)}${spread(r.tasuki_spread_us)}\n${r.limit} ${us(r.limit_us)}\n` +
    `${r.memcpy_us ? `memcpy ${us(r.memcpy_us)}\n` : ""}${Object.entries(r.peers_us || {}).map(([k, v]) => `${k} ${us(v)}\n`).join("")}${verdict(r)}`;
  svg.append(node("rect", {x: 0, y: y - kRow / 2, width, height: kRow, fill: "transparent", "data-about": about}));
}

let relative = true;
function ddtSection(m) {
  const has = name => [...m.rows, ...m.contiguous].some(r => r[name]), both = has("touched_tasuki_us") && has("tasuki_us");
  let touched = has("touched_tasuki_us");
  const plain = m.peers ? "the best MPI library" : "plain MPI", good = m.rows.filter(r => r.ratio);
  const ratio = touched ? "touched_ratio" : "ratio", ranked = m.rows.filter(r => r[ratio]).sort((a, b) => a[ratio] - b[ratio]);
  const s = section(m.peers ? `Tasuki on ${m.versions.mpi}` : m.versions.mpi, "",
    choice("Scale", [[true, m.peers ? "speed, best MPI is 1" : "speed, plain MPI is 1"], [false, "times"]], true, chosen => { relative = chosen; redraw(); }));
  if (both) s.append(choice("Buffers", [[true, "touched: written before and read after each message"], [false, "untouched"]], true, chosen => { touched = chosen; redraw(); }));
  const list = means(m, plain, good), name = r => `${r.pattern}, ${bytesText(r.bytes, 3)}`;
  if (m.geomean_direct) list.push([ratioText(m.geomean_direct) + " ×", "the speed of hand-written loops, geometric mean"]);
  if (ranked.length) {
    const best = ranked[ranked.length - 1], worst = ranked[0];
    list.push([ratioText(best[ratio]) + " ×", `best row: ${name(best)}`]);
    list.push([ratioText(worst[ratio]) + " ×", `worst row: ${name(worst)}`, worst[ratio] < 0.95 ? "bad" : ""]);
  }
  s.append(tiles([...list, verified([...m.rows, ...m.contiguous])]));
  const mark = shape => { const key = node("svg", {viewBox: "0 0 26 14"}, shape); key.style.height = "14px"; return key; };
  s.append(legend([[barKey("var(--plain)"), m.peers ? "the best MPI library of the row (times only)" : "plain MPI (times only)"],
    [barKey("var(--tasuki)"), "Tasuki; the thin line spans its rounds"], [barKey("var(--worse)"), "Tasuki, slower than that"],
    [mark(node("path", {d: kDiamond(13, 7), fill: "none", stroke: "var(--limit)", "stroke-width": 1.6})),
      touched ? "limit: touched, one core reads what the other one has written, and one copy; untouched, hand-written loops" : "limit: hand-written loops, one process"],
    [mark(node("line", {x1: 13, x2: 13, y1: 0, y2: 14, stroke: "var(--limit)", "stroke-width": 2})), "limit: memcpy of as many bytes, where it is in sight"]]));
  const add = (caption, rows) => {
    if (!rows.length) return;
    const figure = figureWithTip(e => e.target.dataset && e.target.dataset.about), host = node("div", {}), say = node("figcaption", {});
    figure.append(host, say);
    s.append(figure);
    drawers.push(() => {
      const seen = list => list.map(r => view(r, touched));
      host.replaceChildren(rowChart(seen(rows), seen([...m.rows, ...m.contiguous]), relative, Math.max(280, Math.min(1110, figure.clientWidth || 1110)), plain));
      say.textContent = caption(relative ? `How many times as fast as ${plain}, on a logarithmic axis; further right is better. ` : "Shorter is better. ");
    });
  };
  for (const o of new Set(m.rows.map(r => r.operation)))
    add(how => `${o ? `One MPI_${o[0].toUpperCase() + o.slice(1)}` : "Half a round trip"}. ${how}The mean counts these rows.`, m.rows.filter(r => r.operation === o));
  add(how => `Contiguous messages, not in the mean. ${how}`, m.contiguous);
}
for (const m of D) (m.figures ? heatSection : ddtSection)(m);
redraw();
