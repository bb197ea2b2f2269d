"""What the tests of `tasuki bench` share: FILE CASE [--mpi openmpi] --tasuki PATH [--corrupt LIBRARY] [--examples FOLDER]."""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("case")
parser.add_argument("--mpi", default="openmpi")
parser.add_argument("--tasuki", required=True)
parser.add_argument("--corrupt")
parser.add_argument("--examples")
args = parser.parse_args()

SKIPPED = 77


def check(condition, what, *evidence):
    if not condition:
        print("FAILED:", what, *evidence, sep="\n")
        sys.exit(1)


def bench(*arguments, code=0, environment=None):
    """Runs to the end; returns stdout and stderr together."""
    done = subprocess.run([args.tasuki, "bench", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=170, env={**os.environ, **(environment or {})})
    if done.returncode == 1 and "two hosts on one machine need the right" in done.stdout:
        print("skipped:", done.stdout)
        sys.exit(SKIPPED)
    check(done.returncode == code, f"exit code {done.returncode}, expected {code}", done.stdout)
    return done.stdout


def measured(*arguments, code=0, environment=None):
    """A run's JSON, what it printed and its page, after what all measurements have in common was checked."""
    with tempfile.TemporaryDirectory() as folder:
        a, table, page = (f"{folder}/a.{kind}" for kind in ("json", "csv", "html"))
        text = bench(arguments[0], "--mpi", args.mpi, "--json", a, "--csv", table, "--html", page, *arguments[1:], code=code,
                     environment=environment)
        m = json.loads(pathlib.Path(a).read_text())
        for key in ("benchmark", "date", "machine", "versions", "settings", "notes"):
            check(key in m, f"no `{key}`", m.keys())
        check(m["verified"] is (code == 0) and m["rows"], "verified, or not", text)
        rows = m["rows"] + m.get("contiguous", [])
        keys = [(r["pattern"], r.get("bytes"), r.get("operation")) for r in rows]
        check(len(set(keys)) == len(keys), "rows with the same key", sorted(keys))
        with open(table, newline="") as f:
            lines = list(csv.DictReader(f))
        for key in ("pattern", "bytes"):
            check([r[key] for r in lines if key in r] == [str(r[key]) for r in rows if key in r], "other rows in the CSV file", lines)
        html = pathlib.Path(page).read_text()
        names = html.replace("http://www.w3.org/", "")  # these are no addresses
        check("http://" not in names and "https://" not in names and "src=" not in html, "the page needs the network")
        bench("plot", a, "--html", f"{folder}/b.html")
        check(html == pathlib.Path(folder, "b.html").read_text(), "`plot` gives another page")
        same = bench("compare", a, a)
        check("only in" not in same and "1.00" in same, "`compare` with itself", same)
        return m, text, html
