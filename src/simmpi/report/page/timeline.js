// The ranks of a program over time: calls of MPI as bars, messages as lines. Zoom and pan.
const kKinds = [
  ["send", /^MPI_(I?[bsr]?send|.*Start(all)?$|P(ready|send))/i, "--c0"],
  ["receive, probe", /^MPI_(I?m?recv|I?m?probe|Precv)/i, "--c2"],
  ["wait, test", /^MPI_(Wait|Test)/, "--c1"],
  ["collective", /^MPI_(I?(Barrier|Bcast|Gather|Scatter|All|Reduce|Scan|Exscan|Neighbor))/i, "--c3"],
  ["other MPI", /./, "--c5"],
];
function timelineSection() {
  const T = D.timeline;
  if (!T) return;
  const C = {rank: unpack(T.call.rank, Uint32Array), name: unpack(T.call.name, Uint16Array), begin: unpack(T.call.begin, Uint32Array),
    end: unpack(T.call.end, Uint32Array), peer: unpack(T.call.peer, Int32Array), bytes: unpack(T.call.bytes, Float32Array)};
  const M = {from: unpack(T.message.from, Uint32Array), to: unpack(T.message.to, Uint32Array), sent: unpack(T.message.sent, Uint32Array),
    delivered: unpack(T.message.delivered, Uint32Array), bytes: unpack(T.message.bytes, Float32Array)};
  const kindOf = T.names.map(n => kKinds.findIndex(k => k[1].test(n)));
  const seconds = v => v / 4294967295 * D.end;
  const byRank = Array.from({length: T.ranks}, () => []);
  for (let i = 0; i < C.rank.length; i++) byRank[C.rank[i]].push(i);

  const notes = [];
  if (T.truncated) notes.push("The simulator kept only the first records of this program.");
  if (C.rank.length < T.all_calls) notes.push(`Shown are the longest calls of each rank, ${C.rank.length} of ${T.all_calls}; calls.csv and the trace have all.`);
  if (M.from.length < T.all_messages) notes.push(`Shown are the slowest messages of each rank, ${M.from.length} of ${T.all_messages}; messages.csv and the trace have all.`);
  const press = (text, label, action) => {
    const b = node("button", {type: "button", class: "press", "aria-label": label, title: label}, text);
    b.onclick = action;
    return b;
  };
  const lines = node("input", {type: "checkbox", id: "lines"});
  const s = section("Ranks over time",
    "Calls of MPI; the ground is time outside MPI. Wheel: zoom in time; with Shift: in ranks. Drag: move. Double click: all. Keys: arrows, + and -.",
    node("label", {for: "lines"}, lines, " messages"),
    press("+", "zoom in", () => zoom(.5, .5)), press("−", "zoom out", () => zoom(2, .5)), press("all", "whole run, all ranks", () => reset()));
  for (const n of notes) s.append(node("p", {class: "note"}, n));
  s.append(legend([...kKinds.filter((_, i) => kindOf.includes(i)).map(([text, , color]) => [barKey(`var(${color})`), text]),
    [barKey("var(--panel);outline:1px solid var(--line)"), "outside MPI"]]));

  const x0 = 62, y1 = 6, bottom = 40;
  let t0 = 0, t1 = 4294967295, r0 = 0, r1 = T.ranks, x1 = 1, y0 = 1;
  const X = t => x0 + (t - t0) / (t1 - t0) * (x1 - x0), Y = r => y1 + (r - r0) / (r1 - r0) * (y0 - y1);
  const finished = unpack(T.finished, Float32Array);
  // Calls of a rank that overlap [a, b], by begin: they do not overlap each other.
  const firstAfter = (list, a) => {
    let low = 0, high = list.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (C.end[list[mid]] < a) low = mid + 1; else high = mid;
    }
    return low;
  };
  const figure = figureWithTip(e => {
    const [x, y] = place(e, view.canvas), r = Math.floor(r0 + (y - y1) / (y0 - y1) * (r1 - r0));
    if (x < x0 || x > x1 || y > y0 || r < 0 || r >= T.ranks || drag) return null;
    const t = t0 + (x - x0) / (x1 - x0) * (t1 - t0), near = (t1 - t0) / (x1 - x0) * 1.5, list = byRank[r], i = list[firstAfter(list, t - near)];
    const at = `rank ${r}, ${momentFine(seconds(t))}`;
    if (i == null || C.begin[i] > t + near) return at;
    const peer = C.peer[i] >= 0 ? `\nrank ${C.peer[i]} at the other end` : C.peer[i] === -2 ? "\nfrom any rank" : "";
    return `${at}\n${T.names[C.name[i]]}${peer}${C.bytes[i] ? "\n" + bytesText(C.bytes[i]) : ""}\n` +
      (C.end[i] === 4294967295 ? "never returned" : timeText(seconds(C.end[i] - C.begin[i])));
  });
  const momentFine = t => {
    const u = timeUnit(D.end), digits = Math.max(2, Math.ceil(-Math.log10(seconds(t1 - t0) / u.size / 1000)));
    return `${(t / u.size).toFixed(Math.min(9, digits))} ${u.name}`;
  };
  s.append(figure);
  const view = addCanvas(figure, Math.max(180, Math.min(560, T.ranks * 18 + 60)), "Calls of MPI by rank over time", (g, width, height) => {
    x1 = width - 14;
    y0 = height - bottom;
    const colors = kKinds.map(k => css(k[2])), row = (y0 - y1) / (r1 - r0), high = row > 4 ? row - 1 : row;
    g.save();
    g.beginPath();
    g.rect(x0, y1, x1 - x0, y0 - y1);
    g.clip();
    for (let r = Math.max(0, Math.floor(r0)); r < Math.min(T.ranks, Math.ceil(r1)); r++) {
      const y = Y(r), until = D.end > 0 && finished[r] > 0 ? finished[r] / D.end * 4294967295 : 4294967295;
      g.fillStyle = css("--panel");
      g.fillRect(X(0), y, X(until) - X(0), high);
      const list = byRank[r];
      let painted = -1;  // right end of the last bar, of bars narrower than a pixel one is enough
      for (let k = firstAfter(list, t0); k < list.length && C.begin[list[k]] <= t1; k++) {
        const i = list[k], a = X(C.begin[i]), b = X(C.end[i]);
        if (b - painted < .5) continue;
        g.fillStyle = colors[kindOf[C.name[i]]];
        g.fillRect(a, y, Math.max(.7, b - a), Math.max(.8, high));
        painted = Math.max(b, a + .7);
        if (b - a > 70 && row > 13) {
          g.fillStyle = css("--page");
          g.textAlign = "left";
          g.fillText(T.names[C.name[i]], Math.max(a, x0) + 4, y + row / 2 + 4);
        }
      }
    }
    if (lines.checked) drawMessages(g, row);
    if (moment != null) {
      g.fillStyle = css("--text");
      g.fillRect(X(moment / D.end * 4294967295) - .75, y1, 1.5, y0 - y1);
    }
    g.restore();
    g.fillStyle = css("--soft");
    g.textAlign = "right";
    const step = Math.max(1, ...ticks(0, r1 - r0, Math.max(2, (y0 - y1) / 28)).slice(1, 2).map(Math.ceil));
    for (let r = Math.ceil(r0 / step) * step; r < Math.min(T.ranks, r1); r += step) g.fillText(r, x0 - 8, Y(r) + row / 2 + 4);
    verticalText(g, "rank", 13, (y0 + y1) / 2);
    timeAxis(g, x0, x1, y0, seconds(t0), seconds(t1));
  });
  function drawMessages(g, row) {
    g.strokeStyle = css("--text");
    g.lineWidth = 1;
    let drawn = 0;
    g.globalAlpha = .7;
    g.beginPath();
    for (let i = 0; i < M.from.length && drawn < 5000; i++) {
      if (M.delivered[i] < t0 || M.sent[i] > t1) continue;
      const low = Math.min(M.from[i], M.to[i]), high = Math.max(M.from[i], M.to[i]);
      if (high < r0 || low > r1) continue;
      g.moveTo(X(M.sent[i]), Y(M.from[i]) + row / 2);
      g.lineTo(X(M.delivered[i]), Y(M.to[i]) + row / 2);
      drawn++;
    }
    g.stroke();
    g.globalAlpha = 1;
  }
  lines.onchange = view.paint;
  watchers.push(view.paint);

  function clamp() {
    const wide = Math.min(4294967295, Math.max(4294967295e-6, t1 - t0)), tall = Math.min(T.ranks, Math.max(Math.min(4, T.ranks), r1 - r0));
    t0 = Math.max(0, Math.min(4294967295 - wide, t0));
    t1 = t0 + wide;
    r0 = Math.max(0, Math.min(T.ranks - tall, r0));
    r1 = r0 + tall;
    view.paint();
  }
  function zoom(factor, at) {
    const t = t0 + (t1 - t0) * at, wide = Math.max(4294967295e-6, (t1 - t0) * factor);
    t0 = t - wide * at;
    t1 = t0 + wide;
    clamp();
  }
  function zoomRanks(factor, at) {
    const r = r0 + (r1 - r0) * at, tall = Math.max(Math.min(4, T.ranks), (r1 - r0) * factor);
    r0 = r - tall * at;
    r1 = r0 + tall;
    clamp();
  }
  function reset() {
    [t0, t1, r0, r1] = [0, 4294967295, 0, T.ranks];
    clamp();
  }
  const canvas = view.canvas;
  canvas.classList.add("grab");
  canvas.tabIndex = 0;
  canvas.addEventListener("wheel", e => {
    e.preventDefault();
    const [x, y] = place(e, canvas), factor = Math.exp((e.deltaY || e.deltaX) * .0015);
    if (e.shiftKey) zoomRanks(factor, Math.max(0, Math.min(1, (y - y1) / (y0 - y1))));
    else zoom(factor, Math.max(0, Math.min(1, (x - x0) / (x1 - x0))));
  }, {passive: false});
  let drag = null;
  canvas.addEventListener("pointerdown", e => {
    drag = {x: e.clientX, y: e.clientY, t0, t1, r0, r1};
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", e => {
    if (!drag) return;
    const dt = (drag.x - e.clientX) / (x1 - x0) * (drag.t1 - drag.t0), dr = (drag.y - e.clientY) / (y0 - y1) * (drag.r1 - drag.r0);
    [t0, t1, r0, r1] = [drag.t0 + dt, drag.t1 + dt, drag.r0 + dr, drag.r1 + dr];
    clamp();
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { drag = null; });
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener("keydown", e => {
    const step = (t1 - t0) / 8, up = Math.max(1, (r1 - r0) / 8);
    const act = {ArrowLeft: () => { t0 -= step; t1 -= step; }, ArrowRight: () => { t0 += step; t1 += step; }, ArrowUp: () => { r0 -= up; r1 -= up; },
      ArrowDown: () => { r0 += up; r1 += up; }, "+": () => zoom(.7, .5), "-": () => zoom(1 / .7, .5)}[e.key];
    if (!act) return;
    e.preventDefault();
    act();
    clamp();
  });
  window.timelineView = () => [t0, t1, r0, r1];
}
