// Canvas pictures of many values: link x time, latency x hops.
function heatSection() {
  const h = D.heat;
  if (!h) {
    if (D.bins) section("Links over time", "").append(node("p", {class: "note"}, "Links were not recorded one by one in this run, only by class."));
    return;
  }
  const links = h.row_first_link = unpack(h.row_first_link, Uint32Array), data = unpack(h.data, Uint8Array), P = D.picture;
  const s = section("Links over time", h.together > 1
    ? `A row is the average of up to ${h.together} neighbouring links of a class: ${h.rows} rows of ${D.classes.reduce((n, c) => n + c.links, 0)} links; links.csv has the totals of each.`
    : "A row is a link: class by class, in a class by router. A click marks a moment in all pictures.", rampLegend());
  const image = document.createElement("canvas");
  const x0 = 76, bottom = 40;
  let x1 = 0, y1 = 0;
  const at = e => {
    const [x, y] = place(e, view.canvas);
    if (x < x0 || x >= x1 || y < 2 || y >= y1) return null;
    return [Math.min(h.bins - 1, Math.floor((x - x0) / (x1 - x0) * D.end / D.bin_width)), Math.floor((y - 2) / (y1 - 2) * h.rows)];
  };
  const figure = figureWithTip(e => {
    const cell = at(e);
    if (!cell) return null;
    const [bin, row] = cell, first = links[row], next = row + 1 < h.rows ? links[row + 1] : D.classes.reduce((n, c) => n + c.links, 0);
    const c = h.class_first_row.findIndex((_, i) => row < h.class_first_row[i + 1]);
    const which = P && P.ends ? (next - first > 1 ? `${next - first} links from ${routerText(P.ends[0][first])} on` : `${routerText(P.ends[0][first])} → ${routerText(P.ends[1][first])}`) : `link ${first}`;
    return `${D.classes[c].name}  ${which}\n${momentText(bin * D.bin_width)}: ${percent(data[row * h.bins + bin] / 255, 0)} busy`;
  });
  s.append(figure);
  const view = addCanvas(figure, Math.max(260, Math.min(640, h.rows * 3)) + bottom, "Links over time", (g, width, height) => {
    x1 = width - 14;
    y1 = height - bottom;
    image.width = h.bins;
    image.height = h.rows;
    const pixels = new ImageData(h.bins, h.rows);
    for (let i = 0; i < data.length; i++) {
      const c = ramp[data[i]];
      pixels.data.set([c[0], c[1], c[2], 255], 4 * i);
    }
    image.getContext("2d").putImageData(pixels, 0, 0);
    g.imageSmoothingEnabled = h.rows > y1 * (devicePixelRatio || 1);
    const drawn = Math.min(1, D.end / (h.bins * D.bin_width));  // the last bin may reach beyond the end
    g.drawImage(image, 0, 0, h.bins * drawn, h.rows, x0, 2, x1 - x0, y1 - 2);
    g.imageSmoothingEnabled = true;
    D.classes.forEach((c, i) => {
      const a = 2 + h.class_first_row[i] / h.rows * (y1 - 2), b = 2 + h.class_first_row[i + 1] / h.rows * (y1 - 2);
      if (b <= a) return;
      g.fillStyle = css("--page");
      if (i) g.fillRect(x0, a - 1, x1 - x0, 2);
      g.fillStyle = css("--text");
      g.textAlign = "right";
      g.fillText(c.name, x0 - 8, (a + b) / 2 + 4);
    });
    g.fillStyle = css("--soft");
    verticalText(g, "links by class", 13, y1 / 2);
    timeAxis(g, x0, x1, y1, 0, D.end);
    if (moment != null) {
      const x = x0 + moment / D.end * (x1 - x0);
      g.fillStyle = css("--text");
      g.fillRect(x - .75, 2, 1.5, y1 - 2);
    }
  });
  view.canvas.addEventListener("click", e => {
    const [x] = place(e, view.canvas);
    setMoment((x - x0) / (x1 - x0) * D.end);
  });
  watchers.push(view.paint);
}

function latencySection() {
  const rows = D.latency;
  if (!rows.length) return;
  const s = section("Latency of packets by hops", "From the moment when a packet is ready at its NIC until all of it is in the receiver's memory. The shade is the share of a column's packets.");
  const lines = [["p99", "99 % are faster", "var(--c4)", ""], ["mean", "mean", "var(--c1)", ""], ["p50", "half are faster", "var(--text)", ""], ["unloaded", "full packet in an empty network", "var(--c2)", "5 3"]];
  s.append(legend(lines.map(([, text, color, dash]) => [lineKey({color, dash}), text])));
  const low = Math.log10(Math.min(...rows.map(r => Math.min(r.unloaded || r.min, r.min || r.max)))) - .05, high = Math.log10(Math.max(...rows.map(r => r.max))) + .05;
  const x0 = 76, y1 = 8;
  let step = 0, y0 = 0;
  const figure = figureWithTip(e => {
    const [x, y] = place(e, view.canvas), r = rows[Math.floor((x - x0) / step)];
    if (!r || x < x0 || y > y0) return null;
    return `${r.hops} ${r.hops === 1 ? "hop" : "hops"}: ${countText(r.packets)} packets\nmean ${timeText(r.mean)}\nmedian ${timeText(r.p50)}\n99 % ${timeText(r.p99)}\nmost ${timeText(r.max)}\nleast ${timeText(r.min)}`;
  });
  s.append(figure);
  const view = addCanvas(figure, 340, "Latency of packets by hops", (g, width, height) => {
    y0 = height - 40;
    const x1 = width - 14;
    step = Math.min(130, (x1 - x0) / rows.length);
    const end = x0 + step * rows.length;
    const Y = t => y0 - (Math.log10(Math.max(t, 1e-12)) - low) / (high - low) * (y0 - y1);
    g.fillStyle = css("--soft");
    for (let p = Math.floor(low); p <= high; p++)
      for (const m of [1, 2, 5]) {
        const t = m * 10 ** p;
        if (Math.log10(t) < low || Math.log10(t) > high || (high - low > 3 && m !== 1)) continue;
        g.fillStyle = css("--line");
        g.fillRect(x0, Y(t), end - x0, 1);
        g.fillStyle = css("--soft");
        g.textAlign = "right";
        g.fillText(timeText(t, 3), x0 - 8, Y(t) + 4);
      }
    rows.forEach((r, i) => {
      const most = Math.max(...r.buckets.map(b => b[2]));
      for (const [from, to, n] of r.buckets) {
        g.fillStyle = shade(Math.round(255 * .62 * Math.sqrt(n / most)));
        const top = Math.max(y1, Y(to)), bottom = Math.min(y0, Y(Math.max(from, 1e-12)));
        g.fillRect(x0 + i * step + step * .08, top, step * .84, Math.max(1, bottom - top));
      }
      if (rows.length <= 40 || i % Math.ceil(rows.length / 40) === 0) {
        g.fillStyle = css("--soft");
        g.textAlign = "center";
        g.fillText(r.hops, x0 + (i + .5) * step, y0 + 17);
      }
    });
    for (const [key, , color, dash] of lines) {
      g.strokeStyle = css(color.slice(4, -1));
      g.lineWidth = 2;
      g.setLineDash(dash ? [5, 3] : []);
      g.beginPath();
      rows.forEach((r, i) => {
        const y = Y(r[key]);
        g.moveTo(x0 + i * step + step * .08, y);
        g.lineTo(x0 + (i + .92) * step, y);
      });
      g.stroke();
    }
    g.setLineDash([]);
    g.fillStyle = css("--soft");
    g.textAlign = "center";
    g.fillText("hops (links from sender to receiver)", (x0 + end) / 2, y0 + 35);
    verticalText(g, "latency", 13, (y0 + y1) / 2);
  });
}
