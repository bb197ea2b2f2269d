"""Tests of `tasuki bench coarray` from outside: coarray_test.py CASE --mpi openmpi --tasuki PATH [--corrupt LIBRARY]."""
import json
import pathlib
import shutil
import subprocess
import tempfile

from common import args, bench, check, measured

SHORT = ["--seconds", "1", "--rounds", "3"]
WAYS = ["rma_us", "host_us", "window_us", "run_us"]


def measured_coarray(*arguments):
    m, text, html = measured("coarray", *SHORT, *arguments)
    check("geomean" in m and '"charts": [{' in html, "no mean, or no chart", m.keys())
    for r in m["rows"]:
        check(all(r[way] > 0 for way in WAYS) and r["verified"], "no time", r)
        alone = r["operation"] in ("put", "get")
        check(alone == ("send_us" not in r), "Send and Recv where there is no message, or none where there is one", r)
    return m, text


def sizes():
    m, text = measured_coarray("--sizes", "8,1KiB,128KiB", "--pattern", "^(put|get)")
    found = [(r["operation"], r["bytes"]) for r in m["rows"]]
    expected = [(o, n) for o in ("put ping-pong", "get ping-pong", "put", "get") for n in (8, 1024, 131072)]
    check(found == expected, "other rows", found)
    check("windows / MPI RMA" in text and "tasuki run / Send and Recv" in text, "no summary", text)


def sections():
    m, text = measured_coarray("--pattern", "section .* of a (column of 64|ik plane of 16|inner square)")
    check(len(m["rows"]) == 6 and {r["operation"] for r in m["rows"]} == {"section put", "section get"}, "other rows", m["rows"])
    check({r["bytes"] for r in m["rows"]} == {512, 2048, 254 * 254 * 8}, "other sizes", m["rows"])
    check("the faster packed transfer" in text, "no summary", text)


def hosts():
    """Between two hosts coarrays go by windows; the other ways are not there."""
    m, text, html = measured("coarray", *SHORT, "--where", "hosts", "--sizes", "512", "--pattern", "^put|column of 64")
    check("on two hosts" in text and m["where"] == "hosts", "not on two hosts", text)
    check([r["operation"] for r in m["rows"]] == ["put ping-pong", "put", "section put", "section get"], "other rows", m["rows"])
    for r in m["rows"]:
        check(r["rma_us"] > 0 and r["window_us"] > 0 and r["of_rma"] > 0 and "host_us" not in r and "run_us" not in r, "times", r)
    check("two hosts" in html, "the page does not say where")


def wrong_data():
    for what in ("data", "gap"):
        text = bench("coarray", "--mpi", args.mpi, *SHORT, "--sizes", "64", "--pattern", "^get ping", "--runner",
                     f"env LD_PRELOAD={args.corrupt} CORRUPT={what}", code=1)
        check("VERIFICATION FAILED: coarrays under tasuki run: get of 8 elements" in text, "not noticed: " + what, text)
        check("element 0 of" in text if what == "data" else "element -1 of" in text, "another element", text)


def refuses():
    check("matches none of these rows" in bench("coarray", "--mpi", args.mpi, *SHORT, "--pattern", "nothing like it", code=1), "a useless pattern")
    text = subprocess.run([args.tasuki, "bench", "coarray", "--sizes", "12"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)
    check(text.returncode != 0 and "12 is not a multiple of 8" in text.stdout, "a size that is no multiple", text.stdout)


PROGRAMS = ["--rounds", "3", "--iterations", "20", "--flags=-O2"]


def programs():
    """Every version of both programs, started every way, once right through all that is made of it."""
    m, _, html = measured("coarray", *PROGRAMS, "--programs", "himeno:XS", "cg:S")
    check(m["benchmark"] == "coarray-programs", "another measurement", m["benchmark"])
    ways = {"seq": ["plain"], "mpi": ["plain", "run"], "mpi_get": ["plain", "run"]}
    expected = [(program, size, version, way)
                for program, size, versions in (("himeno", "XS", ["seq", "mpi", "mpi_get", "global", "local", "nonblock"]),
                                                ("cg", "S", ["seq", "mpi", "mpi_get", "global", "local", "nonblock"]))
                for version in versions for way in ways.get(version, ["plain", "windows", "run"])]
    check([(r["program"], r["size"], r["version"], r["way"]) for r in m["rows"]] == expected, "other rows", m["rows"])
    for r in m["rows"]:
        check(r["verified"] and r["performance"] > 0 and "failure" not in r, "not measured", r)
        check(r["ranks"] == (1 if r["version"] == "seq" else 2), "another number of ranks", r)
        check(0 < r["compute"] and r["spread_seconds"][0] == r["best_seconds"] <= r["seconds"] <= r["spread_seconds"][1], "times", r)
        check(("of_send" in r) == (r["version"] != "seq"), "compared with Send/Recv, or not", r)
        check(("of_send_same" in r) == (r["way"] == "run"), "compared with Send/Recv under tasuki run, or not", r)
    lines = {(l["program"], l["version"]): l for l in m["lines"]}
    check(len(lines) == 12 and all(l["own"] > 5 and l["shared"] > 50 for l in lines.values()), "no source lines", m["lines"])
    check(lines["himeno", "mpi"]["paper"] == 398 and "paper" not in lines["cg", "mpi_get"], "the paper's lines", lines)
    check(lines["himeno", "global"]["shared"] < lines["himeno", "mpi"]["shared"], "kernels that are not compiled count", lines)
    check(html.count('"stacked": ') == 5, "not two charts a program and one of lines", html[:300])
    with tempfile.TemporaryDirectory() as folder:
        a = pathlib.Path(folder, "a.json")
        a.write_text(json.dumps(m))
        same = bench("compare", a, a)
    check(same.count(" 1.00     1.00\n") == len(expected) + 1, "`compare` with itself", same)


def programs_fail():
    """A version that is not there, does not compile, computes something wrong or hangs is a line, and the others are measured."""
    with tempfile.TemporaryDirectory() as folder:
        sources, a = f"{folder}/examples", f"{folder}/a.json"
        shutil.copytree(args.examples, sources)
        himeno = pathlib.Path(sources, "himeno")
        (himeno / "himeno_mpi_get.c").unlink()
        for version, old, new in (("global", "reflect (p)", "reflect (q)"), ("local", "update(p, me);", ""),
                                  ("nonblock", "set_up(p, me);", "for (;;);")):
            text = (himeno / f"himeno_{version}.c").read_text()
            check(old in text, f"nothing to spoil in {version}: {old}")
            (himeno / f"himeno_{version}.c").write_text(text.replace(old, new))
        text = bench("coarray", "--mpi", args.mpi, *PROGRAMS, "--timeout", "25", "--programs", "himeno:XS", "--sources", sources, "--pattern", "(plain|get, .*)$",
                     "--json", a, code=1)
        rows = {(r["version"], r["way"]): r for r in json.loads(pathlib.Path(a).read_text())["rows"]}
        check(rows["mpi", "plain"]["verified"] and rows["seq", "plain"]["verified"], "the others are not measured", text)
        for version, why in (("mpi_get", "himeno_mpi_get.c"), ("global", "himeno_global.c:"), ("local", "NOT VERIFIED"),
                             ("nonblock", "not finished after 25 s")):
            r = rows[version, "plain"]
            check(not r["verified"] and "seconds" not in r and why in r["failure"], f"{version}: another reason than {why}", r)
            check(r["finished"] == (version == "local"), "it did finish, or did not", r)
        check(text.count("plain      FAILED: ") + text.count("tasuki run FAILED: ") == 5 and "see the rows above that FAILED" in text, "no line in the table", text)
    text = bench("coarray", "--mpi", args.mpi, *PROGRAMS, "--programs", "cg:S", "--ranks", "3", "--pattern", "Send/Recv, plain", code=1)
    check("as many columns of processes as rows or twice as many" in text, "three processes for CG", text)


def programs_refuses():
    for wrong, what in ((["--programs", "mg"], "the programs are himeno and cg"), (["--programs", "cg:XS"], "has the sizes S W A B C"),
                        (["--programs", "cg", "--sources", "/nowhere"], "/nowhere not found"),
                        (["--programs", "cg", "--mpicc", "no-such-mpicc"], "no-such-mpicc not found"),
                        (["--programs", "cg", "--pattern", "nothing like it"], "matches none of these rows"),
                        (["--programs", "cg", "--sizes", "8"], "excludes"), (["--ranks", "2"], "requires")):
        done = subprocess.run([args.tasuki, "bench", "coarray", "--mpi", args.mpi, *wrong], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        check(done.returncode != 0 and what in done.stdout, f"{wrong}: no word of `{what}`", done.stdout)


globals()[args.case]()
