// The page of a program with cluster memory; the data are those of --stats FILE.json.
function bar(title, note, parts) {
  const all = parts.reduce((sum, p) => sum + p[1], 0), s = section(title, note), host = node("div", {});
  const figure = figureWithTip(e => e.target.dataset && e.target.dataset.about);
  figure.append(host);
  s.append(figure, node("div", {class: "legend"}, ...parts.map(([name, seconds, color]) =>
    node("span", {}, barKey(color), name, node("b", {}, timeText(seconds, 3)), percent(all ? seconds / all : 0)))));
  drawers.push(() => {
    const width = Math.max(280, figure.clientWidth || 1000), svg = node("svg", {viewBox: `0 0 ${width} 34`, role: "img", "aria-label": title});
    svg.append(node("rect", {x: 0, y: 2, width, height: 30, style: "fill:var(--panel)"}));
    let x = 0;
    for (const [name, seconds, color] of parts) {
      const wide = all ? seconds / all * width : 0;
      svg.append(node("rect", {x: x.toFixed(2), y: 2, width: wide.toFixed(2), height: 30, style: `fill:${color}`, "data-about": `${name}: ${timeText(seconds)}`}));
      x += wide;
    }
    host.replaceChildren(svg);
  });
}
// What the program's threads wait for, and what the pager's thread does: figures 14 to 18 of the paper on DLM-MPI.
const of = D.seconds_of, known = of.wait_previous + of.wait_page, waited = Math.max(known, D.threads.reduce((sum, t) => sum + t.wait_seconds, 0));
document.getElementById("main").append(tiles([[timeText(D.seconds), "from the start of cluster memory to the end", "lead"],
  [countText(D.faults.all), "page faults"],
  [bytesText(D.swaps.bytes_in), D.disk ? "came back" : "came from servers"], [bytesText(D.swaps.bytes_out), D.disk ? "went away" : "went to servers"]]));
bar("The program's threads", "", [["waiting for the previous swap", of.wait_previous, "var(--c3)"], ["waiting for the page", of.wait_page, "var(--c1)"],
  ["other waiting", waited - known, "var(--c9)"], ["running", Math.max(0, D.seconds * Math.max(1, D.threads.length) - waited), "var(--c2)"]]);
bar("The pager", "Time of its steps; transfers overlap.",
  [["pages coming in", of.in, "var(--c1)"], ["pages going out", of.out, "var(--c4)"], ["mapping", of.map, "var(--c0)"]]);
section("Counters", "").append(facts([["time", timeText(D.seconds)], ["local memory", bytesText(D.memory.local_bytes)],
  ["local beside it", bytesText(D.memory.beside_bytes)],
  [D.disk ? "room beyond it" : "lent by servers", bytesText(D.memory.server_bytes)], ["faults", D.faults.all],
  ["first touches (nothing travels)", D.faults.first_touches],
  ["rescued while leaving", D.faults.rescues], ["first writes to a page the server has", D.faults.write_faults],
  ["swaps in", `${D.swaps.in}, ${bytesText(D.swaps.bytes_in)}`], ["fetched ahead of need", bytesText(D.swaps.prefetched_bytes)],
  ["swaps out", `${D.swaps.out}, ${bytesText(D.swaps.bytes_out)}`], ["left without transfer", D.swaps.drops]]));
if (D.threads.length)
  section("Threads", "").append(table(["thread", "faults", "waiting"], D.threads.map(t => [t.tid, t.faults, timeText(t.wait_seconds)])));
if (D.servers.length)
  section("Servers", "").append(table(["server", "lent", "by", "came from it", "went there"],
    D.servers.map(v => [v.name, bytesText(v.bytes), v.window ? "window" : "messages", bytesText(v.bytes_in), bytesText(v.bytes_out)])));
if (D.disk)
  section("Disk", "").append(table(["a file in", "room for", "came from it", "went there"],
    [[D.disk.directory, bytesText(D.disk.bytes), bytesText(D.disk.bytes_in), bytesText(D.disk.bytes_out)]]));
if (D.cache && D.cache.bytes + D.cache.bytes_uniform > 0)
  section("Compressed pages", "Kept in the memory of rank 0's host before they go on.").append(table(
    ["room", "taken at most", "kept compressed", "of one byte only", "went on", "came back from here"],
    [[D.cache.bytes, D.cache.most_bytes, D.cache.bytes_compressed, D.cache.bytes_uniform, D.cache.bytes_out].map(v => bytesText(v))
      .concat(percent(D.cache.hits / Math.max(1, D.cache.hits + D.cache.misses)))]));
redraw();
