function header() {
  const list = [], figure = (...tile) => list.push(tile);
  figure(timeText(D.time), "predicted time", "lead");
  if (D.ideal) figure(percent(D.time / D.ideal), `of the ideal time, ${timeText(D.ideal)}: the links evenly loaded and never idle`);
  const links = D.classes.reduce((n, c) => n + c.links, 0);
  if (links) figure(percent(D.classes.reduce((n, c) => n + c.busy * c.links, 0) / links), `busy, average of ${links} links`);
  if (D.sequences && D.sequences.length) figure(timeText(Math.max(...D.sequences.map(q => q.end[1] - q.end[0])), 3), "worst imbalance of a sequence");
  figure(countText(D.packet_hops), `packet hops of ${countText(D.messages)} messages`);
  if (D.wall) figure(timeText(D.wall, 3), `to simulate: ${countText(Math.round(D.packet_hops / D.wall))} hops/s on ${D.threads} thread${D.threads === 1 ? "" : "s"}`);
  document.getElementById("main").append(tiles(list));
}
function about() {
  const s = section("This run", "");
  const list = [["Machine", `${D.machine}${D.extents ? " (" + D.extents.map((e, i) => e + (D.wraps[i] ? "" : " open")).join(" × ") + ")" : ""}, links of ${D.bandwidth / 1e9} GB/s`],
    ...D.settings.map(([k, v]) => [k, v]), ["Traffic", `${bytesText(D.payload_bytes)} in ${D.messages} messages, ${D.packets} packets`],
    ["Result", `hash ${D.hash}; the same on any number of threads`]];
  if (D.ideal)
    list.push(["Ideal", `${timeText(D.ideal)}: the longer of two times. In one the links carry the bytes, each class of links sharing its load evenly and never pausing; in the other the busiest node moves its own bytes through its NICs. Nothing on this machine is faster.`]);
  if (D.command) list.push(["Command", node("code", {}, D.command)]);
  s.append(facts(list));
  if (!D.classes.some(c => c.links)) return;
  s.append(table(["links", "number", "busy, average", "least", "most"],
    D.classes.map(c => [c.name, c.links, percent(c.busy), percent(c.least), percent(c.most)])));
}
header();
throughputSection();
bufferSection();
pictureSection();
heatSection();
phaseSection();
latencySection();
timelineSection();
about();
redraw();
