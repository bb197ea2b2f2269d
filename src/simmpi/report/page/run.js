// What all pictures of a run share: the moment that is marked in each of them, names, and the axis of time.
function momentText(s) {
  const u = timeUnit(D.end), v = s / u.size, end = D.end / u.size;
  return `${v.toFixed(end < 10 ? 3 : end < 100 ? 2 : 1)} ${u.name}`;
}
function rampLegend(text = "link busy") {
  return node("span", {}, `${text}: 0 %`, node("span", {class: "ramp", style: "background:linear-gradient(90deg,var(--heat))"}), "100 %");
}

// A class of links as a line: directions of one dimension share a colour, the negative one is dashed.
function classStyle(c) {
  const name = D.classes[c].name, paired = D.classes.every(k => /^[+-]/.test(k.name));
  return paired ? {color: series(c >> 1, D.classes.length / 2).color, dash: name[0] === "-" ? "5 3" : ""} : series(c, D.classes.length);
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

// The moment, and who wants to know.
let moment = null;
const watchers = [];
function setMoment(t) {
  moment = t == null ? null : Math.max(0, Math.min(D.end, t));
  for (const w of watchers) w();
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
