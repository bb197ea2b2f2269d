// In every page: the data, elements, texts of numbers, colours, and what is drawn anew when the window or the theme changes.
const D = JSON.parse(document.getElementById("data").textContent);
const kSvg = ["svg", "g", "rect", "line", "path", "text", "title", "polyline", "circle"];

function node(name, attributes, ...children) {
  const e = kSvg.includes(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
// An array of numbers that came as base64.
function unpack(text, Type) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Type(bytes.buffer);
}

// Times: a unit for an axis, and text for a single one.
function timeUnit(most) {
  for (const [name, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) if (most >= size) return {name, size};
  return {name: "ns", size: 1e-9};
}
function timeText(s, digits = 4) {
  if (s === 0) return "0 s";
  const u = timeUnit(Math.abs(s)), v = s / u.size;
  return `${v >= 1000 ? v.toFixed(0) : String(Number(v.toPrecision(digits)))}\u00a0${u.name}`;
}
function countText(n) {
  for (const [name, size] of [["G", 1e9], ["M", 1e6], ["k", 1e4]]) if (n >= size) return (n / (size === 1e4 ? 1e3 : size)).toPrecision(4).replace(/\.?0+$/, "") + "\u00a0" + name;
  return String(n);
}
function bytesText(n, digits = 4) {
  for (const [name, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) if (n >= size) return Number((n / size).toPrecision(digits)) + "\u00a0" + name;
  return n + "\u00a0B";
}
function percent(share, digits = 1) { return (100 * share).toFixed(digits) + "\u00a0%"; }
// A quotient: two decimals, more of a small one, fewer of a large one.
function ratioText(v) {
  return v < .01 ? String(Number(v.toPrecision(2))) : v.toFixed(v < 10 ? 2 : v < 100 ? 1 : 0);
}

// Some five round numbers from low to high.
function ticks(low, high, wanted = 5) {
  const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(f => f * power).find(s => s >= raw * .999), out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}
// 1, 2 and 5 times powers of ten, of a long range powers of ten alone, of a short one round numbers.
function logTicks(low, high) {
  const out = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++) for (const m of [1, 2, 5]) out.push(Number(`${m}e${p}`));
  const inside = out.filter(v => v >= low * .999 && v <= high * 1.001), powers = inside.filter(v => /^1(e|0*$)|^0\.0*1$/.test(String(v)));
  return inside.length < 3 ? ticks(low, high, 4).filter(v => v > 0) : inside.length > 9 && powers.length > 2 ? powers : inside;
}
function tickText(v) { return String(Number(v.toPrecision(6))); }

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
// The i-th of n things that are told apart by colour: no two are alike. Lines have a dash besides.
const kColours = 10;
function series(i, n) {
  if (n <= kColours) return {color: `var(--c${i})`, dash: ""};
  return {color: `oklch(var(--tone${i % 2 ? "2" : ""}) .15 ${Math.round(360 * i / n)})`, dash: i % 2 ? "6 3" : ""};
}
// 256 colours of a share, as [r, g, b]; made anew for each theme.
let ramp = [];
function makeRamp() {
  const stops = css("--heat").split(",").map(c => [1, 3, 5].map(i => parseInt(c.trim().slice(i, i + 2), 16)));
  ramp = Array.from({length: 256}, (_, i) => {
    const at = i / 255 * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(at)), f = at - k;
    return stops[k].map((v, j) => Math.round(v + (stops[k + 1][j] - v) * f));
  });
}
makeRamp();
function shade(byte) { return `rgb(${ramp[byte].join(",")})`; }

// Everything is drawn anew when the width or the theme changes.
const drawers = [];
function redraw() {
  makeRamp();
  for (const d of drawers) d();
}
let waiting = 0, lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(redraw);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// A figure with a tip that follows the pointer; `about` gives its text, or null.
function figureWithTip(about) {
  const tip = node("div", {class: "tip"}), figure = node("figure", {}, tip);
  figure.addEventListener("pointermove", e => {
    const box = figure.getBoundingClientRect(), text = about(e);
    tip.style.visibility = text ? "visible" : "hidden";
    if (!text) return;
    tip.textContent = text;
    const x = e.clientX - box.left, y = e.clientY - box.top;
    tip.style.left = (x + 16 + tip.offsetWidth > box.width ? Math.max(0, x - 16 - tip.offsetWidth) : x + 16) + "px";
    tip.style.top = Math.max(0, Math.min(box.height - tip.offsetHeight, y + 12)) + "px";
  });
  figure.addEventListener("pointerleave", () => { tip.style.visibility = "hidden"; });
  return figure;
}
// A canvas as wide as its place, sharp on any display. draw(context, width, height) in CSS pixels.
function addCanvas(figure, height, label, draw) {
  const canvas = node("canvas", {role: "img", "aria-label": label});
  figure.append(canvas);
  const paint = () => {
    const width = Math.max(280, figure.clientWidth || 1000), scale = devicePixelRatio || 1;
    const high = typeof height === "function" ? height(width) : height;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(high * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(high * scale);
      canvas.style.height = high + "px";
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, high);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    draw(context, width, high);
  };
  drawers.push(paint);
  return {canvas, paint};
}
// Where the pointer is in an element.
function place(e, element) {
  const box = element.getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
}
function verticalText(context, text, x, y) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(text, 0, 0);
  context.restore();
}

function section(title, text, ...tools) {
  const s = node("section", {}, node("div", {class: "head"}, node("h2", {}, title), node("div", {class: "tools"}, ...tools)));
  if (text) s.append(node("p", {class: "soft"}, text));
  document.getElementById("main").append(s);
  return s;
}
// Figures that stand alone: [[value, text, "lead" or "bad" or nothing]].
function tiles(list) {
  return node("ul", {class: "figures"}, ...list.map(([value, text, kind]) =>
    node("li", {class: kind || ""}, node("b", {}, value), node("span", {}, text))));
}
function facts(list) {
  return node("dl", {class: "facts"}, ...list.flatMap(([k, v]) => [node("dt", {}, k), node("dd", {}, v)]));
}
function table(head, rows, kind = "") {
  return node("div", {class: "scroll"}, node("table", {class: kind}, node("tr", {}, ...head.map(t => node("th", {}, t))),
    ...rows.map(r => node("tr", {}, ...r.map(t => node("td", {}, String(t)))))));
}
function lineKey({color, dash = "", wide = false}) {
  return node("svg", {viewBox: "0 0 26 10"}, node("line", {x1: 0, x2: 26, y1: 5, y2: 5, stroke: color, "stroke-width": wide ? 3 : 2, "stroke-dasharray": dash}));
}
function barKey(color) { return node("i", {style: `background:${color}`}); }
// [[key, text]]: what colours and lines mean.
function legend(list) {
  return node("div", {class: "legend"}, ...list.map(([key, text]) => node("span", {}, key, text)));
}
function choice(label, options, chosen, onChange) {
  const group = node("div", {class: "switch", role: "group", "aria-label": label});
  for (const [key, text] of options) {
    const b = node("button", {type: "button", "aria-pressed": key === chosen}, text);
    b.onclick = () => {
      for (const other of group.children) other.setAttribute("aria-pressed", other === b);
      onChange(key);
    };
    group.append(b);
  }
  return group;
}
