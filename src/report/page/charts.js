// Lines and bars with axes. chart(host, c) puts a legend and a figure into `host`; of c all but the first four may be left out:
//   label    what it shows, for those who don't see it
//   x        {label, low, high, text(value)}, or {label, names}: the points of series then lie at 0, 1, ...
//   y        {label, low, high, text(value), log, one}: `one`: the values are ratios, 1 is marked and bars begin there
//   series   [{name, points: [[x, y], ...], color, dash, wide}]
//   right    {label, high}: a second scale of the same lines, from 0
//   bars, stacked; height; legend: false; pick(x): what a click does
// Gives back mark(x), which marks a place, or none.
function chart(host, c) {
  c.series = c.series.map((s, i) => ({dash: "", ...series(i, c.series.length), ...s}));
  const hidden = new Set(), text = c.y.text || tickText, xText = v => c.x.names ? c.x.names[v] : (c.x.text || tickText)(v);
  const places = c.x.names ? c.x.names.map((_, i) => i) : [...new Set(c.series.flatMap(s => s.points.map(p => p[0])))].sort((a, b) => a - b);
  const scale = scaleOf(c, places.length);
  let g = null, marked = null, mark = null;

  // The group of bars, or the place of points, that is nearest to the pointer.
  const nearest = e => {
    const [px, py] = place(e, g.svg.parentNode);
    if (!g || (g.flat ? py < g.y1 || py > g.y0 : px < g.x0 - 4 || px > g.x1 + 4 || py > g.y0)) return null;
    const at = g.flat ? py : px;
    let best = 0;
    for (let i = 1; i < places.length; i++) if (Math.abs(g.X(places[i]) - at) < Math.abs(g.X(places[best]) - at)) best = i;
    return places.length ? places[best] : null;
  };
  const figure = figureWithTip(e => {
    const x = nearest(e);
    if (x == null) return null;
    const lines = c.series.filter(s => !hidden.has(s)).map(s => [s, s.points.find(p => p[0] === x)]).filter(([, p]) => p);
    return `${xText(x)}\n` + lines.map(([s, p]) => `${s.name ? s.name + ": " : ""}${text(p[1])}`).join("\n");
  });
  if (c.legend !== false && (c.series.length > 1 || c.legend)) {
    const bar = node("div", {class: "legend"});
    for (const s of c.series) {
      if (c.bars) {
        bar.append(node("span", {}, barKey(s.color), s.name));
        continue;
      }
      const b = node("button", {type: "button", "aria-pressed": true, title: "show or hide"}, lineKey(s), s.name);
      b.onclick = () => {
        hidden.has(s) ? hidden.delete(s) : hidden.add(s);
        b.setAttribute("aria-pressed", !hidden.has(s));
        draw();
      };
      bar.append(b);
    }
    host.append(bar);
  }
  const drawing = node("div", {});
  figure.append(drawing);
  host.append(figure);

  function draw() {
    g = geometry(c, scale, Math.max(280, figure.clientWidth || 1000));
    g.svg = node("svg", {viewBox: `0 0 ${g.width} ${g.height}`, style: `height:${g.height}px`, role: "img", "aria-label": c.label});
    axes(c, scale, g, places);
    (c.bars ? drawBars : drawLines)(c, scale, g, hidden);
    mark = node("line", {y1: g.y1, y2: g.y0, class: "moment"});
    g.svg.append(mark);
    drawing.replaceChildren(g.svg);
    setMark(marked);
  }
  function setMark(x) {
    marked = x;
    if (!mark) return;
    mark.style.display = x == null ? "none" : "";
    const at = g.flat ? 0 : g.X(x || 0);
    mark.setAttribute("x1", at);
    mark.setAttribute("x2", at);
  }
  if (c.pick)
    drawing.addEventListener("click", e => {
      const [x] = place(e, drawing);
      c.pick(c.x.low + (x - g.x0) / (g.x1 - g.x0) * (c.x.high - c.x.low));
    });
  drawers.push(draw);
  return setMark;
}

// From the least to the most that is drawn; place(v) is from 0 to 1.
function scaleOf(c, count) {
  const log = c.y.log || c.y.one, values = c.series.flatMap(s => s.points.map(p => p[1])).filter(v => Number.isFinite(v) && (!log || v > 0));
  if (c.stacked)
    for (let i = 0; i < count; i++) values.push(c.series.reduce((sum, s) => sum + (s.points.find(p => p[0] === i) || [0, 0])[1], 0));
  if (!values.length) values.push(1);
  let low = Math.min(...values), high = Math.max(...values);
  if (log) {
    if (c.y.one) [low, high] = [Math.min(low, 1), Math.max(high, 1)];
    const room = Math.max((high / low) ** .05, 1.05);
    [low, high] = [c.y.one && low === 1 && c.bars ? 1 : low / room, high * room];
  } else {
    low = c.y.low ?? (c.bars ? Math.min(0, low) : low);
    if (high <= low) high = low + (Math.abs(low) || 1);
    high = c.y.high ?? high + .04 * (high - low);
  }
  const from = log ? Math.log10(low) : low, to = log ? Math.log10(high) : high;
  return {low, high, log, place: v => ((log ? Math.log10(Math.max(v, low)) : v) - from) / (to - from),
    ticks: wanted => log ? logTicks(low, high) : ticks(low, high, wanted)};
}

const kLetter = 6.6;  // mean width of a letter
// Where things are. `flat`: bars lie, each group under its name, as the names are too long to stand side by side.
function geometry(c, scale, width) {
  const y1 = 10, names = c.x.names, right = c.right ? 62 : 14;
  const longest = Math.max(...scale.ticks(5).map(v => (c.y.tick || tickText)(v).length));
  let x0 = Math.max(56, 36 + longest * 7.2), x1 = width - right;
  const slot = names ? (x1 - x0) / Math.max(1, names.length) : 0;
  const flat = Boolean(c.bars && names.some(n => n.length * kLetter > slot));
  if (flat) {
    const high = 12, per = c.stacked ? 1 : c.series.length, group = 18 + per * high + 8;
    [x0, x1] = [8, width - 14];
    const top = 4, y0 = top + names.length * group;
    return {width, height: y0 + 40, x0, x1, y0, y1: top, flat, slot: group, bar: high, per, X: i => top + (i + .5) * group,
      V: v => x0 + scale.place(v) * (x1 - x0)};
  }
  const height = c.height || 320, y0 = height - 40, low = names ? -.5 : c.x.low, high = names ? names.length - .5 : c.x.high;
  const per = c.stacked ? 1 : c.series.length;
  return {width, height, x0, x1, y0, y1, flat, slot, per, bar: Math.min(64, (c.stacked ? .6 : .8) * slot / per),
    X: x => x0 + (high > low ? (x - low) / (high - low) : .5) * (x1 - x0), V: v => y0 - scale.place(v) * (y0 - y1)};
}

function axes(c, scale, g, places) {
  const {svg, x0, x1, y0, y1, X, V} = g, soft = (attributes, text) => svg.append(node("text", {class: "soft", ...attributes}, text));
  const line = (v, kind) => svg.append(g.flat ? node("line", {x1: V(v), x2: V(v), y1, y2: y0 + 4, class: kind}) : node("line", {x1: x0, x2: x1, y1: V(v), y2: V(v), class: kind}));
  const tick = c.y.tick || tickText;
  let last = -1e9;
  for (const v of scale.ticks(g.flat ? Math.max(2, (x1 - x0) / 90) : 5)) {
    line(v, "grid");
    if (!g.flat) soft({x: x0 - 8, y: V(v) + 4, "text-anchor": "end"}, tick(v));
    else if (V(v) - last > tick(v).length * kLetter + 10)
      soft({x: last = V(v), y: y0 + 18, "text-anchor": V(v) < 20 ? "start" : V(v) > x1 - 10 ? "end" : "middle"}, tick(v));
  }
  if (c.y.one && scale.low <= 1) line(1, "one");
  if (g.flat) {
    soft({x: (x0 + x1) / 2, y: y0 + 35, "text-anchor": "middle"}, c.y.label);
    c.x.names.forEach((name, i) => svg.append(node("text", {x: x0, y: X(i) - g.slot / 2 + 13, class: "name"}, name)));
    return;
  }
  if (c.right) {
    for (const v of ticks(0, c.right.high)) soft({x: x1 + 8, y: V(v / c.right.high * scale.high) + 4}, tickText(v));
    soft({transform: `translate(${g.width - 8},${(y0 + y1) / 2}) rotate(-90)`, "text-anchor": "middle"}, c.right.label);
  }
  soft({transform: `translate(13,${(y0 + y1) / 2}) rotate(-90)`, "text-anchor": "middle"}, c.y.label);
  soft({x: (x0 + x1) / 2, y: y0 + 35, "text-anchor": "middle"}, c.x.label);
  if (c.x.names) {
    const every = Math.ceil(Math.max(...c.x.names.map(n => n.length), 1) * kLetter / g.slot);
    for (const i of places) if (i % every === 0) soft({x: X(i), y: y0 + 18, "text-anchor": "middle"}, c.x.names[i]);
    return;
  }
  for (const v of ticks(c.x.low, c.x.high, Math.max(3, (x1 - x0) / 110))) {
    svg.append(node("line", {x1: X(v), x2: X(v), y1: y0, y2: y0 + 5, class: "grid"}));
    soft({x: X(v), y: y0 + 18, "text-anchor": "middle"}, tickText(v));
  }
}

function drawLines(c, scale, g, hidden) {
  for (const s of [...c.series].sort((a, b) => (b.wide ? 1 : 0) - (a.wide ? 1 : 0))) {  // wide ones below
    if (hidden.has(s)) continue;
    const points = s.points.filter(p => Number.isFinite(p[1]) && (!scale.log || p[1] > 0))
      .map(([x, y]) => [g.X(x).toFixed(1), g.V(Math.min(y, scale.high)).toFixed(1)]);
    g.svg.append(node("polyline", {points: points.map(p => p.join(",")).join(" "), fill: "none", style: `stroke:${s.color}`,
      "stroke-width": s.wide ? 3 : 1.6, "stroke-dasharray": s.dash, opacity: s.wide ? .6 : 1, "stroke-linejoin": "round"}));
    if (points.length <= 40 && (c.x.names || points.length === 1))
      for (const [x, y] of points) g.svg.append(node("circle", {cx: x, cy: y, r: 3.2, style: `fill:${s.color}`}));
  }
}

function drawBars(c, scale, g) {
  const base = c.y.one ? 1 : scale.log ? scale.low : 0, below = [];
  c.series.forEach((s, k) => {
    for (const [x, y] of s.points) {
      if (!Number.isFinite(y) || (scale.log && y <= 0)) continue;
      const from = c.stacked ? below[x] || 0 : base, to = c.stacked ? from + y : y;
      if (c.stacked) below[x] = to;
      const a = g.V(from), b = g.V(to), start = Math.min(a, b), length = Math.max(Math.abs(a - b), .5);
      const side = g.flat ? g.X(x) - g.slot / 2 + 18 + (c.stacked ? 0 : k * g.bar) : g.X(x) + (k - g.per / 2) * g.bar * (c.stacked ? 0 : 1) - (c.stacked ? g.bar / 2 : 0);
      const box = g.flat ? {x: start, y: side, width: length, height: g.bar - 1} : {x: side, y: start, width: Math.max(1, g.bar - 1), height: length};
      for (const key of Object.keys(box)) box[key] = box[key].toFixed(1);
      g.svg.append(node("rect", {...box, style: `fill:${s.color}`}));
    }
  });
}
