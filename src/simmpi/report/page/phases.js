// When the ranks were in each sequence of the schedule.
function phaseSection() {
  const all = D.sequences;
  if (!all || !all.length) return;
  const s = section("Sequences and their imbalance",
    "Dark: every rank is in the sequence. Light: the first ranks have begun, or the last have not ended. Imbalance: the time between the first rank's end and the last one's.");
  const figure = node("figure", {class: "scroll"});
  s.append(figure);
  const row = Math.max(7, Math.min(20, 900 / all.length)), right = 84;
  const left = Math.max(...all.map(q => q.name.length)) * kLetter + 16;
  const draw = () => {
    const width = Math.max(280, figure.clientWidth || 1000), height = all.length * row + 62, x1 = width - right, y0 = height - 40;
    const X = t => left + t / D.end * (x1 - left), u = timeUnit(D.end);
    const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, style: `height:${height}px`, role: "img", "aria-label": "Sequences over time"});
    for (const t of ticks(0, D.end / u.size, Math.max(3, (x1 - left) / 110)))
      svg.append(node("line", {x1: X(t * u.size), x2: X(t * u.size), y1: 18, y2: y0 + 4, class: "grid"}),
        node("text", {x: X(t * u.size), y: y0 + 18, "text-anchor": "middle", class: "soft"}, tickText(t)));
    svg.append(node("text", {x: (left + x1) / 2, y: y0 + 35, "text-anchor": "middle", class: "soft"}, `simulated time, ${u.name}`));
    svg.append(node("text", {x: width - 8, y: 12, "text-anchor": "end", class: "soft"}, "imbalance"));
    const label = Math.ceil(11 / row);
    all.forEach((q, i) => {
      const y = 20 + i * row, high = Math.max(3, row - 4);
      const g = node("g", {}, node("title", {}, `${q.name}\nbegins ${momentText(q.begin[0])} to ${momentText(q.begin[1])}\nends ${momentText(q.end[0])} to ${momentText(q.end[1])}\nimbalance ${timeText(q.end[1] - q.end[0])}`));
      g.append(node("rect", {x: X(q.begin[0]), y, width: Math.max(1, X(q.end[1]) - X(q.begin[0])), height: high, rx: 1.5, fill: "var(--c0)", opacity: .32}));
      if (q.end[0] > q.begin[1]) g.append(node("rect", {x: X(q.begin[1]), y, width: Math.max(.5, X(q.end[0]) - X(q.begin[1])), height: high, fill: "var(--c0)"}));
      if (i % label === 0) {
        g.append(node("text", {x: left - 8, y: y + high / 2 + 4, "text-anchor": "end"}, q.name));
        g.append(node("text", {x: width - 8, y: y + high / 2 + 4, "text-anchor": "end", class: "soft"}, timeText(q.end[1] - q.end[0])));
      }
      svg.append(g);
    });
    figure.replaceChildren(svg);
  };
  drawers.push(draw);
  s.append(node("details", {}, node("summary", {}, "The numbers as a table"),
    table(["sequence", "first begins", "last begins", "first ends", "last ends", "from first to last", "imbalance"],
      all.map(q => [q.name, momentText(q.begin[0]), momentText(q.begin[1]), momentText(q.end[0]), momentText(q.end[1]), timeText(q.end[1] - q.begin[0]), timeText(q.end[1] - q.end[0])]))));
}
