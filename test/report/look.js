// What can be seen of any page: run by page_test.py.
(() => {
  const numbers = ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "points", "d", "transform", "viewBox"];
  const shapes = svg => [...svg.querySelectorAll("rect,polyline,path,circle,line")];
  const box = e => e.getBoundingClientRect(), label = svg => svg.getAttribute("aria-label");
  const charts = [...document.querySelectorAll("svg[aria-label]")];
  const broken = [], clipped = [], overlapping = [], repeated = [];
  for (const svg of document.querySelectorAll("svg"))
    for (const e of [svg, ...svg.querySelectorAll("*")])
      for (const a of numbers)
        if (/NaN|Infinity|undefined|null/.test(e.getAttribute(a) || "")) broken.push(`${label(svg)}: ${e.tagName} ${a}=${e.getAttribute(a)}`);
  for (const svg of charts) {
    const frame = box(svg), texts = [...svg.querySelectorAll("text")].filter(t => t.textContent);
    const boxes = texts.map(t => [t.textContent, box(t)]);
    for (const [text, b] of boxes)
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1) clipped.push(`${label(svg)}: ${text}`);
    for (let i = 0; i < boxes.length; i++)
      for (let j = i + 1; j < boxes.length; j++) {
        const [a, b] = [boxes[i][1], boxes[j][1]];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) overlapping.push(`${label(svg)}: ${boxes[i][0]} / ${boxes[j][0]}`);
      }
  }
  for (const legend of document.querySelectorAll(".legend")) {
    const keys = [...legend.querySelectorAll("line,i")].map(k => getComputedStyle(k).stroke + getComputedStyle(k).backgroundColor + getComputedStyle(k).strokeDasharray + k.tagName);
    if (new Set(keys).size < keys.length) repeated.push(legend.textContent);
  }
  const note = document.querySelector(".note");
  return {
    sections: [...document.querySelectorAll("h2")].map(h => h.textContent), heading: document.querySelector("h1").textContent,
    text: document.body.innerText, figures: document.querySelectorAll(".figures li").length,
    charts: charts.map(s => [label(s), shapes(s).length]), broken, clipped, overlapping, repeated,
    rects: charts.map(s => [...s.querySelectorAll("rect")].map(r => ["x", "y", "width", "height"].map(a => Number(r.getAttribute(a))))),
    circles: charts.map(s => [...s.querySelectorAll("circle")].map(r => ["cx", "cy"].map(a => Number(r.getAttribute(a))))),
    dark: matchMedia("(prefers-color-scheme: dark)").matches, background: getComputedStyle(document.body).backgroundColor,
    too_wide: Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth,
    note_top: note ? note.getBoundingClientRect().top : null,
  };
})()
