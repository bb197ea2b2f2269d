// The network with the load of its links at a moment. A torus of two dimensions: its links as lanes, traffic keeps to the
// right. Anything else: its routers as cells, coloured by the load of the links that leave them.
function pictureSection() {
  const P = D.picture;
  if (!P) {
    if (D.classes.some(c => c.links)) section("The network", "").append(node("p", {class: "note"}, `A machine of ${D.routers} routers is too large for this picture.`));
    return;
  }
  const X = unpack(P.x, Uint16Array), Y = unpack(P.y, Uint16Array), from = unpack(P.from, Uint32Array), to = unpack(P.to, Uint32Array);
  const kind = unpack(P.link_class, Uint8Array), average = unpack(P.average, Uint8Array), data = unpack(P.data, Uint8Array);
  P.ends = [from, to];
  const n = from.length, lanes = P.kind === "torus";
  const columns = Math.max(...X) + 1, rows = Math.max(...Y) + 1;
  const about = {
    torus: "Each router with the links that leave it; traffic keeps to the right of a cable. Links that close a ring end at the margin.",
    planes: "Each router is a cell with a field for each link that leaves it: from above X, Y, Z, …, left the positive direction, right the negative one. Planes of the first two dimensions, side by side for the third, above each other for the fourth.",
    fat_tree: "Each switch is a cell with a field for each link that leaves it, up links above down links. The lowest level, with the nodes, is at the bottom.",
    dragonfly: "Each router is a cell with a field for each link that leaves it, local links above global ones. A row is a group.",
  }[P.kind];
  const moments = P.moments, width_s = P.together * D.bin_width;
  const s = section("The network at a moment", about + (P.together > 1 ? ` Of ${D.bins} intervals, ${P.together} are averaged for a moment.` : "") +
    (moments ? "" : " Links were not recorded over time: this is the average of the run."), rampLegend());
  let load = average, shown = -1, wanted = -1;  // class to show; -1: all
  const outgoing = [];
  for (let i = 0; i < n; i++) (outgoing[from[i]] ||= []).push(i);

  const controls = node("div", {class: "tools", style: "margin-top:.75rem"});
  s.append(controls);
  const clock = node("span", {class: "clock"}, "average of the run");
  let slider = null, timer = 0;
  if (moments) {
    slider = node("input", {type: "range", min: 0, max: moments - 1, step: 1, value: 0, "aria-label": "moment"});
    slider.oninput = () => setMoment((Number(slider.value) + .5) * width_s);
    const play = node("button", {type: "button", class: "press", "aria-label": "play"}, "▶");
    play.onclick = () => {
      if (timer) {
        clearInterval(timer);
        timer = 0;
        play.textContent = "▶";
        return;
      }
      play.textContent = "❚❚";
      let next = shown < 0 || shown === moments - 1 ? 0 : shown + 1;
      const step = Math.max(1, Math.round(moments / 256));
      timer = setInterval(() => {
        setMoment((next + .5) * width_s);
        next += step;
        if (next >= moments) play.click();
      }, 80);
    };
    const whole = node("button", {type: "button", class: "press"}, "average of the run");
    whole.onclick = () => setMoment(null);
    controls.append(play, slider, clock, whole);
  }
  if (!lanes) controls.append(choice("links", [[-1, "all links"], ...D.classes.map((c, i) => [i, c.name])], -1, c => { wanted = c; view.paint(); }));

  let cell = 1, left = 0, top = 0;
  const upwards = lanes || P.kind === "planes", flip = y => upwards ? rows - 1 - y : y;
  const routerAt = new Map();
  for (let r = 0; r < X.length; r++) routerAt.set(flip(Y[r]) * 65536 + X[r], r);
  const routerLoad = r => {
    let sum = 0, count = 0;
    for (const i of outgoing[r] || []) if (wanted < 0 || kind[i] === wanted) { sum += load[i]; count++; }
    return count ? sum / count : null;
  };
  const figure = figureWithTip(e => {
    const [x, y] = place(e, view.canvas), r = routerAt.get(Math.floor((y - top) / cell) * 65536 + Math.floor((x - left) / cell));
    if (r == null) return null;
    const byClass = D.classes.map((c, i) => {
      const mine = (outgoing[r] || []).filter(l => kind[l] === i);
      return mine.length ? `${c.name}: ${percent(mine.reduce((a, l) => a + load[l], 0) / mine.length / 255, 0)}` : null;
    }).filter(Boolean);
    return `${P.kind === "torus" ? "router " : ""}${routerText(r)}\n${byClass.join("\n")}`;
  });
  s.append(figure);
  const size = width => {
    const edge = lanes ? 1 : 0;
    return Math.min(lanes ? 64 : 56, (width - 60) / (columns + edge), 900 / (rows + edge));
  };
  const view = addCanvas(figure, width => size(width) * (rows + (lanes ? 1 : 0)) + 34, "The network with the load of its links", (g, width) => {
    cell = size(width);
    const edge = lanes ? cell / 2 : 0;
    left = (width - cell * columns) / 2;
    top = edge + 4;
    if (lanes) drawLanes(g);
    else
      for (let r = 0; r < X.length; r++) drawCell(g, r);
    g.fillStyle = css("--soft");
    g.textAlign = "center";
    const names = {torus: "X →", planes: D.extents && D.extents.length > 3 ? "X, Z, … →" : "", fat_tree: "switches of a level", dragonfly: "routers of a group"};
    const ups = {torus: "Y →", planes: D.extents && D.extents.length > 3 ? "Y, A, … →" : "Y →", fat_tree: "levels →", dragonfly: "groups"};
    g.fillText(names[P.kind], width / 2, top + rows * cell + edge + 20);
    if (P.kind === "planes" && D.extents.length === 3 && cell > 8)
      for (let z = 0; z < D.extents[2]; z++) g.fillText(`Z ${z}`, left + (z * (D.extents[0] + 1) + D.extents[0] / 2) * cell, top + rows * cell + 10);
    if (rows > 1) verticalText(g, ups[P.kind], left - edge - 12, top + rows * cell / 2);
  });

  // A field for each link where there is room, otherwise their average.
  function drawCell(g, r) {
    const mine = outgoing[r] || [], x = left + X[r] * cell, y = top + flip(Y[r]) * cell, gap = cell > 6 ? Math.max(1, cell * .14) : 0;
    const lines = [];
    for (const i of mine) if (wanted < 0 || kind[i] === wanted) (lines[P.kind === "planes" ? kind[i] >> 1 : kind[i]] ||= []).push(i);
    const filled = lines.filter(Boolean), high = (cell - gap) / filled.length;
    if (!filled.length) {
      g.fillStyle = css("--line");
      g.fillRect(x, y + cell / 2, cell - gap, 1);
    } else if (Math.min(high, (cell - gap) / Math.max(...filled.map(l => l.length))) < 3) {
      g.fillStyle = shade(Math.round(routerLoad(r)));
      g.fillRect(x, y, cell - gap, cell - gap);
    } else {
      filled.forEach((line, row) => line.forEach((i, column) => {
        const wide = (cell - gap) / line.length;
        g.fillStyle = shade(load[i]);
        g.fillRect(x + column * wide, y + row * high, wide - .5, high - .5);
      }));
    }
  }
  function drawLanes(g) {
    const off = cell * .13, dot = Math.max(1, cell * .16);
    g.lineWidth = Math.max(.9, cell * .15);
    for (let i = 0; i < n; i++) {
      const across = kind[i] < 2, sign = kind[i] % 2 === 0 ? 1 : -1;
      const ax = left + (X[from[i]] + .5) * cell, ay = top + (flip(Y[from[i]]) + .5) * cell;
      const bx = left + (X[to[i]] + .5) * cell, by = top + (flip(Y[to[i]]) + .5) * cell;
      const dx = across ? sign : 0, dy = across ? 0 : -sign;  // on the screen
      const ox = -dy * off, oy = dx * off;
      const wraps = across ? X[to[i]] - X[from[i]] !== sign : Y[to[i]] - Y[from[i]] !== sign;
      g.strokeStyle = shade(load[i]);
      g.beginPath();
      if (wraps) {
        g.moveTo(ax + ox + dx * dot, ay + oy + dy * dot);
        g.lineTo(ax + ox + dx * cell * .8, ay + oy + dy * cell * .8);
        g.moveTo(bx + ox - dx * cell * .8, by + oy - dy * cell * .8);
        g.lineTo(bx + ox - dx * dot, by + oy - dy * dot);
      } else {
        g.moveTo(ax + ox + dx * dot, ay + oy + dy * dot);
        g.lineTo(bx + ox - dx * dot, by + oy - dy * dot);
      }
      g.stroke();
    }
    g.fillStyle = css("--soft");
    g.globalAlpha = .7;
    if (cell > 12)
      for (let r = 0; r < X.length; r++)
        g.fillRect(left + (X[r] + .5) * cell - dot, top + (flip(Y[r]) + .5) * cell - dot, 2 * dot, 2 * dot);
    g.globalAlpha = 1;
  }
  watchers.push(() => {
    if (!moments) return;
    shown = moment == null ? -1 : Math.min(moments - 1, Math.floor(moment / width_s));
    load = shown < 0 ? average : data.subarray(shown * n, (shown + 1) * n);
    if (shown >= 0) slider.value = shown;
    clock.textContent = shown < 0 ? "average of the run" : `at ${momentText(shown * width_s)} … ${momentText(Math.min(D.end, (shown + 1) * width_s))}`;
    view.paint();
  });
}
