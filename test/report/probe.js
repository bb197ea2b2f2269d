// Uses the page of a simulation as a reader would and tells what it saw; run by page_test.py. `zoomed`: the timeline stays as it was zoomed.
(async zoomed_stays => {
  const seen = {canvases: []};
  const wait = () => new Promise(done => setTimeout(done, 60));
  await wait();
  const colours = canvas => {
    const copy = document.createElement("canvas");  // the canvas itself would then be drawn without the GPU
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d", {willReadFrequently: true});
    context.drawImage(canvas, 0, 0);
    const {data} = context.getImageData(0, 0, copy.width, copy.height), found = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
    return found.size;
  };
  const named = label => [...document.querySelectorAll("canvas")].find(c => c.getAttribute("aria-label").startsWith(label));
  const picture = canvas => canvas.toDataURL();
  const pointer = (target, kind, x, y, extra) => {
    const box = target.getBoundingClientRect();
    const Kind = kind === "wheel" ? WheelEvent : kind.startsWith("pointer") ? PointerEvent : MouseEvent;
    target.dispatchEvent(new Kind(kind, {bubbles: true, cancelable: true, pointerId: 1, clientX: box.left + box.width * x, clientY: box.top + box.height * y, ...extra}));
  };
  seen.canvases = [...document.querySelectorAll("canvas")].map(c => [c.getAttribute("aria-label"), colours(c)]);
  const slider = document.querySelector("input[type=range]"), network = named("The network"), heat = named("Links over time");
  if (slider) {
    const before = picture(network), marked = picture(heat);
    slider.value = Math.floor(slider.max / 5);
    slider.dispatchEvent(new Event("input"));
    await wait();
    seen.loads_shown = colours(network);
    seen.slider_moves = picture(network) !== before && picture(heat) !== marked;
    seen.clock = document.querySelector(".clock").textContent;
    const value = slider.value;
    pointer(heat, "click", .8, .5);
    await wait();
    seen.click_moves = slider.value !== value;
  }
  const legend = document.querySelector(".legend button");
  if (legend) {
    const count = () => document.querySelector("figure svg").querySelectorAll("polyline").length, all = count();
    legend.click();
    seen.legend_hides = all - count();
    legend.click();
  }
  const time = named("Calls of MPI");
  if (time) {
    time.scrollIntoView();
    setMoment(null);
    await wait();
    const whole = timelineView(), before = picture(time);
    pointer(time, "wheel", .3, .3, {deltaY: -900});
    await wait();
    const zoomed = timelineView();
    seen.zoom = (whole[1] - whole[0]) / (zoomed[1] - zoomed[0]);
    pointer(time, "wheel", .3, .3, {deltaY: -900, shiftKey: true});
    seen.zoom_ranks = (whole[3] - whole[2]) / (timelineView()[3] - timelineView()[2]);
    const at = timelineView()[0];
    time.setPointerCapture = () => {};  // no real pointer to capture
    pointer(time, "pointerdown", .5, .5);
    pointer(time, "pointermove", .4, .5);
    pointer(time, "pointerup", .4, .5);
    seen.pan = timelineView()[0] - at;
    pointer(time, "pointermove", .5, .3);
    seen.tip = [...document.querySelectorAll(".tip")].map(t => t.textContent).filter(t => t.includes("rank")).join();
    const plain = picture(time);
    document.getElementById("lines").click();
    await wait();
    seen.messages_show = picture(time) !== plain;
    if (!zoomed_stays) {
      pointer(time, "dblclick", .5, .5);
      document.getElementById("lines").click();
      await wait();
      seen.reset = JSON.stringify(timelineView()) === JSON.stringify(whole);
      seen.same_again = picture(time) === before;
    }
  }
  scrollTo(0, 0);
  return seen;
})
