"""The report's page in a headless browser: page_test.py CASE --example report_example [--keep DIRECTORY]."""
import argparse
import atexit
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("case")
parser.add_argument("--example", required=True)
parser.add_argument("--keep", help="leave the reports and screenshots here")
args = parser.parse_args()

SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
HERE = pathlib.Path(__file__).parent
MOST_BYTES = 5 << 20

browser = next((b for b in map(shutil.which, BROWSERS) if b), None)
if browser is None:
    print("skipped: none of", ", ".join(BROWSERS), "is installed")
    sys.exit(SKIPPED)


def check(condition, what, *evidence):
    if not condition:
        print("FAILED:", what, *evidence, sep="\n")
        sys.exit(1)


def browse(folder, page, *options):
    """Runs the browser, without network, until the page rests; its standard output."""
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
               "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder}/profile", "--virtual-time-budget=20000",
               *options, page]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=200, check=False).stdout


def probe(folder, hash="", dark=False, size="1240,1000"):
    """What probe.js saw in the page."""
    text = (folder / "report.html").read_text()
    hook = "<script>window.pageErrors = []; addEventListener('error', e => pageErrors.push(e.message));</script>"
    text = text.replace("<head>", "<head>" + hook, 1)
    text = text.replace("</body>", f"<script>{(HERE / 'probe.js').read_text()}</script></body>", 1)
    (folder / "probed.html").write_text(text)
    theme = [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    page = f"file://{folder}/probed.html{hash}"
    if args.keep:
        name = f"{folder}/{'dark' if dark else 'light'}{hash.replace('#', '-')}-{size.split(',')[0]}.png"
        browse(folder, page, *theme, f"--window-size={size.split(',')[0]},5200", f"--screenshot={name}")
    dom = browse(folder, page, *theme, f"--window-size={size}", "--dump-dom")
    found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    check(found, "the page's scripts did not run to their end", dom[-2000:])
    return json.loads(html.unescape(found.group(1)))


def report(*arguments):
    """A page that was used, in light; what was seen and the folder."""
    root = args.keep or tempfile.mkdtemp()
    if not args.keep:
        atexit.register(shutil.rmtree, root, ignore_errors=True)
    folder = pathlib.Path(root).resolve() / args.case
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([args.example, arguments[0], str(folder), *map(str, arguments[1:])], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
    check(done.returncode == 0, "no report", done.stdout)
    size = (folder / "report.html").stat().st_size
    check(size < MOST_BYTES, f"a page of {size} bytes")
    text = (folder / "report.html").read_text()
    code = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
    check(not re.search(r"(?:src|href)=|https?://(?!www\.w3\.org/)", code), "the page refers to something outside")
    seen = probe(folder)
    common(seen)
    return seen, folder


def common(seen):
    check(not seen["errors"], "errors in the page", *seen["errors"])
    check(seen["heading"] == 'All-to-all, <b>"quoted"</b> & </script>', "the title did not arrive as it is", seen["heading"])
    check(seen["figures"] >= 4, "figures at the top", seen)
    for label, shapes in seen["charts"]:
        check(shapes > 0, f"an empty chart: {label}", seen["charts"])
    for label, colours in seen["canvases"]:
        # In a symmetric exchange all links of a class are equally busy on average.
        check(colours >= (2 if label.startswith("The network") else 4), f"an empty picture: {label}", seen["canvases"])
    check(seen["too_wide"] <= 0, "wider than the window", seen["too_wide"])


def over_time(seen):
    labels = [c[0] for c in seen["charts"]]
    check("Throughput of the links over time" in labels and "Use of the buffers of virtual channel 1" in labels, "charts", labels)
    check({c[0] for c in seen["canvases"]} >= {"The network with the load of its links", "Links over time", "Latency of packets by hops"},
          "pictures", seen["canvases"])
    check(seen["slider_moves"] and seen["click_moves"] and "at" in seen["clock"], "the moment does not move", seen)
    check(seen["loads_shown"] >= 3, "the same load everywhere at a moment", seen["loads_shown"])
    check(seen["legend_hides"] == 1, "the legend", seen)


def torus():
    seen, folder = report("torus9", 65536)
    over_time(seen)
    check("Sequences and their imbalance" in seen["sections"] and "Ranks over time" not in seen["sections"], "sections", seen["sections"])
    dark = probe(folder, dark=True)
    common(dark)
    check(dark["dark"] and not seen["dark"] and dark["background"] != seen["background"], "no dark theme", dark["background"])
    common(probe(folder, size="500,900"))


def program():
    seen, folder = report("torus8", 16384, "program")
    over_time(seen)
    check(seen["zoom"] > 3 and seen["zoom_ranks"] > 3 and seen["pan"] > 0, "zoom and pan", seen)
    check("rank" in seen["tip"] and seen["messages_show"] and seen["reset"] and seen["same_again"], "the timeline", seen)
    common(probe(folder, hash="#zoomed", dark=True))


def three_dimensions():
    over_time(report("torus3d", 16384)[0])


def fat_tree():
    over_time(report("fat_tree", 16384)[0])


def dragonfly():
    over_time(report("dragonfly", 16384)[0])


def many_links():
    """16,384 links and 4,096 ranks: averaged, and the page says so."""
    seen, folder = report("torus64", 65536, "program")
    over_time(seen)
    text = browse(folder, f"file://{folder}/report.html", "--dump-dom").split("<main", 1)[1].split("<script", 1)[0]
    for note in ("average of up to 16 neighbouring links", "longest calls of each rank"):
        check(note in text, f"the page does not say: {note}", text[:3000])


def only_classes():
    """Links not recorded one by one: no heat map, the network as the average of the run."""
    seen, _ = report("plain", 16384)
    labels = [c[0] for c in seen["canvases"]]
    check("The network with the load of its links" in labels and "Links over time" not in labels, "pictures", labels)
    check("slider_moves" not in seen, "a slider without moments")


globals()[args.case]()
