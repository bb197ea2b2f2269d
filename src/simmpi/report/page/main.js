function header() {
  document.title = `Tasuki: ${D.title || D.machine}`;
  document.getElementById("title").textContent = D.title || "Simulation";
  const settings = D.settings.map(([k, v]) => `${k} ${v}`).join(", ");
  document.getElementById("lead").textContent = `${D.machine}, ${D.nodes} nodes, ${D.model} model${settings ? "; " + settings : ""}.`;
  const list = node("ul", {class: "figures"});
  const figure = (value, text, kind) => list.append(node("li", {class: kind || ""}, node("b", {}, value), node("span", {}, text)));
  figure(timeText(D.time), "predicted time", "lead");
  if (D.ideal) figure(percent(D.time / D.ideal), `of the ideal ${timeText(D.ideal)}`);
  const links = D.classes.reduce((n, c) => n + c.links, 0);
  if (links) figure(percent(D.classes.reduce((n, c) => n + c.busy * c.links, 0) / links), `busy, average of ${links} links`);
  if (D.sequences && D.sequences.length) figure(timeText(Math.max(...D.sequences.map(q => q.end[1] - q.end[0])), 3), "worst imbalance of a sequence");
  figure(countText(D.packet_hops), `packet hops of ${countText(D.messages)} messages`);
  if (D.wall) figure(timeText(D.wall, 3), `to simulate: ${countText(Math.round(D.packet_hops / D.wall))} hops/s on ${D.threads} thread${D.threads === 1 ? "" : "s"}`);
  document.getElementById("main").append(list);
}
function facts() {
  const s = section("This run", "");
  const list = [["Machine", `${D.machine}${D.extents ? " (" + D.extents.map((e, i) => e + (D.wraps[i] ? "" : " open")).join(" × ") + ")" : ""}, links of ${D.bandwidth / 1e9} GB/s`],
    ...D.settings.map(([k, v]) => [k, v]), ["Traffic", `${bytesText(D.payload_bytes)} in ${D.messages} messages, ${D.packets} packets`],
    ["Result", `hash ${D.hash}; the same on any number of threads`]];
  if (D.command) list.push(["Command", node("code", {}, D.command)]);
  s.append(node("dl", {class: "facts"}, ...list.flatMap(([k, v]) => [node("dt", {}, k), node("dd", {}, v)])));
  if (!D.classes.some(c => c.links)) return;
  const table = node("table", {}, node("tr", {}, ...["links", "number", "busy, average", "least", "most"].map(t => node("th", {}, t))));
  for (const c of D.classes) table.append(node("tr", {}, ...[c.name, c.links, percent(c.busy), percent(c.least), percent(c.most)].map(t => node("td", {}, String(t)))));
  s.append(table);
}
header();
throughputSection();
bufferSection();
pictureSection();
heatSection();
phaseSection();
latencySection();
timelineSection();
facts();
redraw();
