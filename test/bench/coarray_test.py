"""Tests of `tasuki bench coarray` from outside: coarray_test.py CASE --mpi openmpi --tasuki PATH [--corrupt LIBRARY]."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("case")
parser.add_argument("--mpi", default="openmpi")
parser.add_argument("--tasuki", required=True)
parser.add_argument("--corrupt")
args = parser.parse_args()

SHORT = ["--mpi", args.mpi, "--seconds", "1", "--rounds", "3"]
WAYS = ["rma_us", "host_us", "window_us", "run_us"]


def check(condition, what, *evidence):
    if not condition:
        print("FAILED:", what, *evidence, sep="\n")
        sys.exit(1)


def bench(*arguments, code=0):
    """Runs to the end; returns stdout and stderr together."""
    done = subprocess.run([args.tasuki, "bench", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=150)
    check(done.returncode == code, f"exit code {done.returncode}, expected {code}", done.stdout)
    return done.stdout


def measured(*arguments):
    """The JSON of a run, after what all rows have in common was checked."""
    with tempfile.TemporaryDirectory() as folder:
        a, table, page = (f"{folder}/a.{kind}" for kind in ("json", "csv", "html"))
        text = bench("coarray", *SHORT, "--json", a, "--csv", table, "--html", page, *arguments)
        m = json.loads(pathlib.Path(a).read_text())
        check(m["verified"] is True and m["rows"], "not verified", text)
        for key in ("date", "machine", "versions", "settings", "notes", "geomean"):
            check(key in m, f"no `{key}`", m.keys())
        for r in m["rows"]:
            check(all(r[way] > 0 for way in WAYS) and r["verified"], "no time", r)
            alone = r["operation"] in ("put", "get")
            check(alone == ("send_us" not in r), "Send and Recv where there is no message, or none where there is one", r)
        keys = [(r["pattern"], r["bytes"]) for r in m["rows"]]
        check(len(set(keys)) == len(keys), "rows with the same key", sorted(keys))
        with open(table, newline="") as f:
            check([(r["pattern"], int(r["bytes"])) for r in csv.DictReader(f)] == keys, "other rows in the CSV file")
        html = pathlib.Path(page).read_text()
        check("<svg" in html and "src=" not in html, "no chart, or not only charts", html[:300])
        bench("plot", a, "--html", f"{folder}/b.html")
        check(html == pathlib.Path(folder, "b.html").read_text(), "`plot` gives another page")
        same = bench("compare", a, a)
        check("only in" not in same and "1.00" in same, "`compare` with itself", same)
        return m, text


def sizes():
    m, text = measured("--sizes", "8,1KiB,128KiB", "--pattern", "^(put|get)")
    found = [(r["operation"], r["bytes"]) for r in m["rows"]]
    expected = [(o, n) for o in ("put ping-pong", "get ping-pong", "put", "get") for n in (8, 1024, 131072)]
    check(found == expected, "other rows", found)
    check("windows / MPI RMA" in text and "tasuki run / Send and Recv" in text, "no summary", text)


def sections():
    m, text = measured("--pattern", "section .* of a (column of 64|ik plane of 16|inner square)")
    check(len(m["rows"]) == 6 and {r["operation"] for r in m["rows"]} == {"section put", "section get"}, "other rows", m["rows"])
    check({r["bytes"] for r in m["rows"]} == {512, 2048, 254 * 254 * 8}, "other sizes", m["rows"])
    check("the faster packed transfer" in text, "no summary", text)


def wrong_data():
    for what in ("data", "gap"):
        text = bench("coarray", *SHORT, "--sizes", "64", "--pattern", "^get ping", "--runner",
                     f"env LD_PRELOAD={args.corrupt} CORRUPT={what}", code=1)
        check("VERIFICATION FAILED: coarrays under tasuki run: get of 8 elements" in text, "not noticed: " + what, text)
        check("element 0 of" in text if what == "data" else "element -1 of" in text, "another element", text)


def refuses():
    check("matches none of these rows" in bench("coarray", *SHORT, "--pattern", "nothing like it", code=1), "a useless pattern")
    text = subprocess.run([args.tasuki, "bench", "coarray", "--sizes", "12"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)
    check(text.returncode != 0 and "12 is not a multiple of 8" in text.stdout, "a size that is no multiple", text.stdout)


globals()[args.case]()
