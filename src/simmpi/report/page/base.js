// The data, text and colours, and what all pictures share: one moment of the run that is marked everywhere.
const D = JSON.parse(document.getElementById("data").textContent);
const kSvg = ["svg", "g", "rect", "line", "path", "text", "title", "polyline"];

function node(name, attributes, ...children) {
  const e = kSvg.includes(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children);
  return e;
}
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
function momentText(s) {
  const u = timeUnit(D.end), v = s / u.size, end = D.end / u.size;
  return `${v.toFixed(end < 10 ? 3 : end < 100 ? 2 : 1)} ${u.name}`;
}
function countText(n) {
  for (const [name, size] of [["G", 1e9], ["M", 1e6], ["k", 1e4]]) if (n >= size) return (n / (size === 1e4 ? 1e3 : size)).toPrecision(4).replace(/\.?0+$/, "") + "\u00a0" + name;
  return String(n);
}
function bytesText(n) {
  for (const [name, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) if (n >= size) return Number((n / size).toPrecision(4)) + "\u00a0" + name;
  return n + "\u00a0B";
}
function percent(share, digits = 1) { return (100 * share).toFixed(digits) + "\u00a0%"; }

// Some five round numbers from 0 or low to high.
function ticks(low, high, wanted = 5) {
  const raw = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(f => f * power).find(s => s >= raw * .999), out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}
function tickText(v) { return String(Number(v.toPrecision(6))); }

function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
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
function heatColor(byte) { return `rgb(${ramp[byte].join(",")})`; }
function rampLegend(text = "link busy") {
  return node("span", {}, `${text}: 0 %`, node("span", {class: "ramp", style: "background:linear-gradient(90deg,var(--heat))"}), "100 %");
}

// A class of links as a line: directions of one dimension share a colour, the negative one is dashed.
function classStyle(c) {
  const name = D.classes[c].name, paired = D.classes.every(k => /^[+-]/.test(k.name));
  return {color: `var(--c${(paired ? c >> 1 : c) % 6})`, dash: (paired ? name[0] === "-" : c >= 6) ? "5 3" : ""};
}

// The moment, and who wants to know.
let moment = null;
const watchers = [];
function setMoment(t) {
  moment = t == null ? null : Math.max(0, Math.min(D.end, t));
  for (const w of watchers) w();
}
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
function place(e, canvas) {
  const box = canvas.getBoundingClientRect();
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
// Ticks and title of a time axis under a canvas picture.
function timeAxis(context, x0, x1, y, from, to, title = "simulated time") {
  const u = timeUnit(to), soft = css("--soft");
  context.textAlign = "center";
  for (const t of ticks(from / u.size, to / u.size, Math.max(3, (x1 - x0) / 110))) {
    const x = x0 + (t * u.size - from) / (to - from) * (x1 - x0);
    context.fillStyle = css("--line");
    context.fillRect(x - .5, y, 1, 5);
    context.fillStyle = soft;
    context.fillText(tickText(t), x, y + 17);
  }
  context.fillText(`${title}, ${u.name}`, (x0 + x1) / 2, y + 33);
}
function section(title, text, ...tools) {
  const s = node("section", {}, node("div", {class: "head"}, node("h2", {}, title), node("div", {class: "tools"}, ...tools)));
  if (text) s.append(node("p", {class: "soft"}, text));
  document.getElementById("main").append(s);
  return s;
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
function routerText(r) {
  if (!D.extents) return `router ${r}`;
  const c = [];
  for (const e of D.extents) {
    c.push(r % e);
    r = Math.floor(r / e);
  }
  return `(${c.join(",")})`;
}
