"""Every kind of page in a headless browser.

    page_test.py CASE --tasuki .. --report-example .. --chart-example .. --cluster-example .. [--keep DIRECTORY]

Each page is opened wide and narrow, light and dark. Nothing may be wider than the window, outside its picture, on
another text or at a place that is no number; nothing may be said on the console.
"""

import argparse
import atexit
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import browser as chromium

parser = argparse.ArgumentParser()
parser.add_argument("case")
parser.add_argument("--report-example")
parser.add_argument("--chart-example")
parser.add_argument("--cluster-example")
parser.add_argument("--tasuki")
parser.add_argument("--keep", help="leave the pages and screenshots here")
args = parser.parse_args()

SKIPPED = 77
HERE = pathlib.Path(__file__).parent
SAMPLES = HERE / "samples"
MOST_BYTES = 5 << 20
WIDE, NARROW = 1400, 380

program = chromium.installed()
if program is None:
    print(
        "skipped: none of", ", ".join(chromium.NAMES), "is installed; scripts/bootstrap.sh --for test does it"
    )
    sys.exit(SKIPPED)

root = pathlib.Path(args.keep or tempfile.mkdtemp()).resolve()
if not args.keep:
    atexit.register(shutil.rmtree, root, ignore_errors=True)
folder = root / args.case
folder.mkdir(parents=True, exist_ok=True)
window = chromium.Browser(program)
atexit.register(window.close)


def check(condition, what, *evidence):
    if not condition:
        print("FAILED:", what, *evidence, sep="\n")
        sys.exit(1)


def started(*words):
    done = subprocess.run(
        [str(w) for w in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    check(done.returncode == 0, f"no page from {words}", done.stdout)


def look(page, width=WIDE, dark=False):
    """What look.js sees of a page that is just loaded."""
    window.open(page, width, dark=dark)
    if args.keep:
        window.screenshot(f"{folder}/{'dark' if dark else 'light'}-{width}.png")
    where = f"{page.name}, {width} wide, {'dark' if dark else 'light'}"
    seen = window.run((HERE / "look.js").read_text())
    check(not window.errors(), f"errors in {where}", *window.errors())
    check(seen["too_wide"] <= 0, f"wider than the window: {where}", seen["too_wide"])
    for label, shapes in seen["charts"]:
        check(shapes > 0, f"an empty chart in {where}: {label}", seen["charts"])
    for key, what in (
        ("broken", "places that are no numbers"),
        ("clipped", "texts outside their picture"),
        ("overlapping", "texts on each other"),
        ("repeated", "a legend in which two colours are alike"),
    ):
        check(not seen[key], f"{what} in {where}", *seen[key])
    return seen


def everywhere(page):
    """The page wide and light, after it was looked at in all forms."""
    size = page.stat().st_size
    check(size < MOST_BYTES, f"a page of {size} bytes")
    code = re.sub(r'<script type="application/json".*?</script>', "", page.read_text(), flags=re.DOTALL)
    check(
        not re.search(r"(?:src|href)=|https?://(?!www\.w3\.org/)", code),
        "the page refers to something outside",
    )
    backgrounds = set()
    for width in (NARROW, WIDE):
        for dark in (True, False):
            seen = look(page, width, dark)
            check(seen["dark"] == dark, "the theme")
            backgrounds.add(seen["background"])
    check(len(backgrounds) == 2, "no dark theme", backgrounds)
    return seen


def labels_of(seen):
    return [label for label, _ in seen["charts"]]


# ---- benchmarks: the page of a sample


def measured(*names):
    page = folder / "page.html"
    started(args.tasuki, "bench", "plot", *[SAMPLES / f"{n}.json" for n in names], "--html", page)
    seen = everywhere(page)
    # Every sample says that its machine was busy.
    check(
        seen["note_top"] is not None and seen["note_top"] < 400,
        "the warning is not near the top",
        seen["note_top"],
    )
    check("the same of the best rounds" in seen["text"], "no mean of the best rounds", seen["text"][:2000])
    check("Versions" in seen["text"] and "Tasuki 0." in seen["text"], "no version", seen["text"][-2000:])
    check(
        "the paper" not in seen["text"].lower() or re.search("paper is |report, whose", seen["text"]),
        "a paper without a name",
    )
    return seen


def ddt():
    seen = measured("ddt")
    check(labels_of(seen) == ["Speed compared with plain MPI"] * 2, "charts", seen["charts"])
    check(
        "0.0031 ×" in seen["text"] and "0.00 ×" not in seen["text"],
        "a speed-up near 0",
        seen["text"][:3000],
    )
    window.run(
        "[...document.querySelectorAll('.switch button')].find(b => b.textContent === 'times').click()"
    )
    seen = window.run((HERE / "look.js").read_text())
    check(labels_of(seen) == ["Times on a logarithmic scale"] * 2, "the switch", seen["charts"])
    check(not seen["broken"] and not seen["clipped"], "times", seen["broken"], seen["clipped"])


def sweep():
    seen = measured("pack")
    check(
        len(seen["charts"]) >= 2 and "bytes of a block" in seen["text"] and "blocks ↓" in seen["text"],
        "axes",
        seen["charts"],
    )


def several():
    """Two measurements on one page: every remark says whose it is."""
    seen = measured("ddt", "pack")
    check(
        "Speed compared with plain MPI" in labels_of(seen) and len(seen["charts"]) >= 4,
        "charts",
        seen["charts"],
    )
    check("Open MPI" in seen["text"].split("the machine was busy")[0], "whose remark", seen["text"][:600])


def memory():
    seen = measured("memory")
    check(any("Relative time by local memory" in s for s in seen["sections"]), "sections", seen["sections"])
    check(
        len(seen["charts"])
        == len([s for s in seen["sections"] if "measured" not in s and "numbers" not in s]),
        "a chart in each section",
        seen["charts"],
        seen["sections"],
    )
    check("Midorikawa" in seen["text"], "the paper's authors")


def coarray():
    seen = measured("coarray")
    check(
        any("bandwidth" in s for s in labels_of(seen)) and any("Sections" in s for s in labels_of(seen)),
        "charts",
        seen["charts"],
    )


def programs():
    seen = measured("programs")
    check(
        any("performance" in s for s in labels_of(seen)) and "Source lines" in labels_of(seen),
        "charts",
        seen["charts"],
    )
    check(
        re.search(r"85 % \(M\), 92 % \(L\) to 102 %\s+.*tasuki run", seen["text"]),
        "the paper's numbers beside ours",
        seen["text"][:3000],
    )


def charts():
    """Where bars and points of charts are: stacked, logarithmic, ratios, many series."""
    page = folder / "page.html"
    started(args.chart_example, page)
    seen = everywhere(page)
    rects = dict(zip(labels_of(seen), seen["rects"]))
    circles = dict(zip(labels_of(seen), seen["circles"]))
    # y grows downwards: the second bar ends where the first one begins, and is three times as high.
    low, high = rects["stacked"]
    check(abs(high[1] + high[3] - low[1]) <= 0.2 and abs(high[3] - 3 * low[3]) <= 0.4, "a stack", low, high)
    y = [c[1] for c in circles["logarithmic"]]
    check(len(y) == 3 and abs((y[0] - y[1]) - (y[1] - y[2])) <= 0.2, "a logarithmic axis", y)
    # Twice as fast is as far from 1 as twice as slow.
    up, down = rects["ratios"]
    check(abs(up[3] - down[3]) <= 0.2 and abs(up[1] + up[3] - down[1]) <= 0.2, "ratios around 1", up, down)
    check(
        len(seen["rects"]) == len(labels_of(seen)) == 5 and "many series" in labels_of(seen),
        "charts",
        seen["charts"],
    )


# ---- the simulator


def simulated(*arguments, zoomed=False):
    started(args.report_example, arguments[0], folder, *arguments[1:])
    page = folder / "report.html"
    seen = everywhere(page)
    common(seen)
    return {**seen, **used(zoomed)}, page


def used(zoomed=False):
    seen = window.run(f"({(HERE / 'probe.js').read_text()})({'true' if zoomed else 'false'})")
    check(not window.errors(), "errors when the page is used", *window.errors())
    for label, colours in seen["canvases"]:
        # In a symmetric exchange all links of a class are equally busy on average.
        check(
            colours >= (2 if label.startswith("The network") else 4),
            f"an empty picture: {label}",
            seen["canvases"],
        )
    return seen


def common(seen):
    check(
        seen["heading"] == 'All-to-all, <b>"quoted"</b> & </script>',
        "the title did not arrive as it is",
        seen["heading"],
    )
    check(seen["figures"] >= 4, "figures at the top", seen)
    check(
        "of the ideal time" in seen["text"] and "the longer of two times" in seen["text"],
        "what is ideal",
        seen["text"][:1000],
    )


def over_time(seen):
    labels = labels_of(seen)
    check(
        "Throughput of the links over time" in labels and "Use of the buffers of virtual channel 1" in labels,
        "charts",
        labels,
    )
    check(
        {c[0] for c in seen["canvases"]}
        >= {"The network with the load of its links", "Links over time", "Latency of packets by hops"},
        "pictures",
        seen["canvases"],
    )
    check(
        seen["slider_moves"] and seen["click_moves"] and "at" in seen["clock"],
        "the moment does not move",
        seen,
    )
    check(seen["loads_shown"] >= 3, "the same load everywhere at a moment", seen["loads_shown"])
    check(seen["legend_hides"] == 1, "the legend", seen)


def torus():
    seen, page = simulated("torus9", 65536)
    over_time(seen)
    check(
        "Sequences and their imbalance" in seen["sections"] and "Ranks over time" not in seen["sections"],
        "sections",
        seen["sections"],
    )
    common(look(page, 500))


def program_run():
    seen, page = simulated("torus8", 16384, "program")
    over_time(seen)
    check(seen["zoom"] > 3 and seen["zoom_ranks"] > 3 and seen["pan"] > 0, "zoom and pan", seen)
    check(
        "rank" in seen["tip"] and seen["messages_show"] and seen["reset"] and seen["same_again"],
        "the timeline",
        seen,
    )
    common(look(page, dark=True))
    used(zoomed=True)


def three_dimensions():
    over_time(simulated("torus3d", 16384)[0])


def fat_tree():
    over_time(simulated("fat_tree", 16384)[0])


def dragonfly():
    over_time(simulated("dragonfly", 16384)[0])


def many_links():
    """16,384 links and 4,096 ranks: averaged, and the page says so."""
    seen, _ = simulated("torus64", 65536, "program")
    over_time(seen)
    for note in ("average of up to 16 neighbouring links", "longest calls of each rank"):
        check(note in seen["text"], f"the page does not say: {note}", seen["text"][:3000])


def only_classes():
    """Links not recorded one by one: no heat map, the network as the average of the run."""
    seen, _ = simulated("plain", 16384)
    labels = [c[0] for c in seen["canvases"]]
    check(
        "The network with the load of its links" in labels and "Links over time" not in labels,
        "pictures",
        labels,
    )
    check("slider_moves" not in seen, "a slider without moments")


def sim_sweep():
    page = folder / "page.html"
    started(
        args.tasuki,
        "sim",
        "sweep",
        "--machine",
        "torus2d-8x8",
        "torus2d-9x9",
        "--schedule",
        "a2at",
        "--bytes",
        "4KiB",
        "--pace",
        "hops-1+0:1:0.25",
        "--html",
        page,
        "--threads",
        2,
    )
    seen = everywhere(page)
    check(
        labels_of(seen)[:2] == ["Time", "Time compared with the ideal"] and len(seen["charts"]) == 3,
        "charts",
        seen["charts"],
    )
    for said in (
        "value of the range in the pace hops-1+0:1:0.25",
        "sim sweep --machine torus2d-8x8",
        "Tasuki 0.",
        "the longer of two times",
    ):
        check(said in seen["text"], f"the page does not say: {said}", seen["text"])


# ---- cluster memory


def cluster():
    page = folder / "page.html"
    started(args.cluster_example, page)
    seen = everywhere(page)
    check(labels_of(seen) == ["The program's threads", "The pager"], "charts", seen["charts"])
    check(seen["heading"] == 'Cluster memory of ./a <b>"program"</b>', "the title", seen["heading"])
    for said in ("waiting for the page", "pages going out", "host-7", "2.5\u00a0GiB", "first touches"):
        check(said in seen["text"], f"the page does not say: {said}", seen["text"])
    # The parts of a bar stand end to end and fill it.
    whole, *parts = seen["rects"][0]
    check(abs(sum(p[2] for p in parts) - whole[2]) < 1, "the parts of a bar", whole, parts)


globals()[args.case]()
