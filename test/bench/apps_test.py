"""Tests of `tasuki bench apps` from outside: apps_test.py CASE --mpi openmpi --tasuki PATH --examples FOLDER."""
import json
import pathlib
import shutil
import subprocess
import tempfile

from common import args, bench, check, measured

SHORT = ["--rounds", "3", "--repetitions", "2", "--flags=-O2"]


def measured_apps(*arguments):
    m, text, html = measured("apps", *SHORT, *arguments)
    check(m["benchmark"] == "apps" and m["mpi"] == args.mpi and '"charts": [{' in html, "another measurement, or no chart", m)
    for r in m["rows"]:
        check(r["verified"] and "failure" not in r and r["mpi"] == args.mpi, "not measured", r)
        check(r["plain_us"] > 0 and r["tasuki_us"] > 0 and abs(r["ratio"] - r["plain_us"] / r["tasuki_us"]) < 1e-2 * r["ratio"], "times", r)
        check(0 < r["plain_communication"] < 1 and 0 < r["tasuki_communication"] < 1, "shares of communication", r)
        check(r["plain_spread_us"][0] <= r["plain_us"] <= r["plain_spread_us"][1], "the spread", r)
    return m, text, html


def measures():
    """Both programs, once right through all that is made of them."""
    m, text, html = measured_apps("--programs", "fft2d:64,wavefront:S", "--ranks", "2,3")
    found = [(r["program"], r["size"], r["ranks"], r["where"], r["paper"]) for r in m["rows"]]
    check(found == [("fft2d", "64", 2, "node", "5 to 27 %"), ("fft2d", "64", 3, "node", "5 to 27 %"),
                    ("wavefront", "S", 2, "node", "4 to 6 %"), ("wavefront", "S", 3, "node", "4 to 6 %")], "other rows", found)
    check(m["tasuki_messages"] > 0, "Tasuki moved no message", m["notes"])
    check("paper: gains on a Xeon Phi" in text and "5 to 27 %" in html, "nothing of the paper", text)


def hosts():
    m, _, html = measured_apps("--programs", "fft2d:64,wavefront:S", "--ranks", "3", "--where", "hosts")
    check([(r["where"], "paper" in r) for r in m["rows"]] == [("hosts", False)] * 2, "other rows", m["rows"])
    check("on two hosts" in html, "the page does not say where")


def fails():
    """A program that computes something wrong or does not compile is a line, and the exit code is 1."""
    with tempfile.TemporaryDirectory() as folder:
        sources, a = f"{folder}/examples", f"{folder}/a.json"
        shutil.copytree(args.examples, sources)
        wavefront, fft2d = pathlib.Path(sources, "wavefront", "wavefront.c"), pathlib.Path(sources, "fft2d", "fft2d.c")
        # The upper sweep takes what it has from the last plane, or so.
        text = wavefront.read_text()
        wrong = text.replace("b.v + at(b.ni + 1, 1, k), 1, b.column", "b.v + at(b.ni + 1, 1, 0), 1, b.column")
        check(text != wrong, "nothing to spoil")
        wavefront.write_text(wrong)
        fft2d.write_text(fft2d.read_text().replace("transpose(a, b)", "transpose(a)"))
        text = bench("apps", "--mpi", args.mpi, *SHORT, "--programs", "fft2d:64,wavefront:S", "--sources", sources, "--json", a, code=1)
        not_compiled, not_verified = json.loads(pathlib.Path(a).read_text())["rows"]
        check("not compiled by" in not_compiled["failure"] and not not_compiled["finished"], "fft2d: another reason", not_compiled)
        check("NOT VERIFIED" in not_verified["failure"] and not_verified["finished"], "wavefront: another reason", not_verified)
        check(text.count("  FAILED\n") == 2 and "see the rows above that FAILED" in text, "no line in the table", text)


def refuses():
    for wrong, what in ((["--programs", "lu"], "the programs are fft2d and wavefront"), (["--programs", "fft2d:1000"], "powers of two"),
                        (["--programs", "wavefront:C"], "has the sizes S W A B"), (["--sources", "/nowhere"], "/nowhere not found"),
                        (["--ranks", "1"], "not in range")):
        done = subprocess.run([args.tasuki, "bench", "apps", "--mpi", args.mpi, *wrong], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60)
        check(done.returncode != 0 and what in done.stdout, f"{wrong}: no word of `{what}`", done.stdout)


globals()[args.case]()
