"""Tests of `tasuki bench memory` from outside: memory_test.py CASE --mpi openmpi --tasuki PATH."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from common import SKIPPED, args, bench, check, measured

LIBEXEC = pathlib.Path(args.tasuki).parent.parent / "libexec" / "tasuki"
SMALL = {"stream": "3MiB", "himeno": "XS", "himeno-double": "XS", "matvec": "400", "is": "S", "cg": "S", "mg": "S", "ft": "S",
         "bt": "S", "sp": "S", "random-update": "1MiB", "random-read": "1MiB"}
SHORT = ["--transport-seconds", "0.02"]
PARTS = ["copy", "scale", "add", "triad"]


def measured_memory(*arguments, **more):
    m, text, html = measured("memory", *SHORT, *arguments, **more)
    check(m["benchmark"] == "memory" and "transport" in m and "peers" in m and '"charts": [{' in html, "another measurement", m.keys())
    return m, text


def check_row(r):
    check(r["verified"] is True and r["finished"] is True and "failure" not in r, "not verified", r)
    low, high = r["spread_seconds"]
    check(0 < r["best_seconds"] == low <= r["seconds"] <= high, "no times", r)
    check(r["relative"] > 0 and r["gbps"] > 0 and r["bytes"] > 0, "no rates", r)
    if r["kind"] == "cluster":
        for key in ("faults", "swaps_in", "swaps_out", "bytes_in", "bytes_out", "wait_page", "wait_previous"):
            check(r["counters"][key] >= 0, f"no {key}", r)
        check(set(r["components"]) == {"compute", "wait_previous", "wait_page", "in", "out", "map"}, "components", r)
        check(r["mechanism"], "it does not say how faults are caught", r)
        check(r["local_bytes"] >= r["bytes"] if r["ratio"] == 100 else r["local_bytes"] <= max(256 << 10, r["bytes"] * r["ratio"] / 100),
              "local memory", r)


def kernels():
    return ",".join(f"{k}:{s}" for k, s in SMALL.items())


def measures():
    """Every kernel, with all of its data in local memory and with a quarter."""
    m, text = measured_memory("--kernels", kernels(), "--ratios", "100,25", "--reps", "2", "--page-sizes", "4KiB")
    expected = {(k, p, kind, ratio) for k in SMALL for p in (PARTS if k == "stream" else [""])
                for kind, ratio in (("plain", None), ("cluster", 100), ("cluster", 25))}
    found = {(r["kernel"], r["part"], r["kind"], r["ratio"]) for r in m["rows"]}
    check(found == expected, "other rows", expected ^ found)
    for r in m["rows"]:
        check_row(r)
        check(r["kind"] != "plain" or r["relative"] == 1, "plain malloc beside itself", r)
        # Some sweep all of their data in a repetition: with a quarter of it, pages must have travelled.
        if r["kind"] == "cluster" and r["ratio"] == 25 and r["kernel"] in ("himeno", "himeno-double", "mg", "ft", "bt", "sp"):
            check(r["counters"]["swaps_in"] > 0 and r["counters"]["bytes_in"] > 0, "no page came", r)
            check(r["share"] > 0 and r["moved_gbps"] > 0, "no share of the transport", r)
        if r["kind"] == "cluster" and r["ratio"] == 100:
            check(r["counters"]["swaps_in"] == 0, "pages left although all fit", r)
    check("himeno XS" in text and "with plain malloc" in text and "Moving pages without a pager" in text, "no table", text)
    (t,) = m["transport"]
    check([s["page"] for s in t["sizes"]] == [4096, 16384, 65536, 262144, 1048576, 2097152], "transport", t)
    for s in t["sizes"]:
        check(all(s[k] > 0 for k in ("fetch", "fetch4", "swap", "window", "copy")), "a rate is missing", s)


def varies():
    """Page sizes, protocols, numbers of servers, settings and threads."""
    m, _ = measured_memory("--kernels", "himeno:XS", "--ratios", "25", "--reps", "1", "--protocols", "ahead,cs,cross,as1,as2",
                    "--page-sizes", "auto,16KiB", "--servers", "1,2")
    rows = [r for r in m["rows"] if r["kind"] == "cluster"]
    check({(r["protocol"], r["page"], r["servers"]) for r in rows} ==
          {(p, s, n) for p in ("ahead", "cs", "cross", "as1", "as2") for s in ("auto", 16384) for n in (1, 2)}, "rows", rows)
    for r in m["rows"]:
        check_row(r)
    m, _ = measured_memory("--kernels", "random-update:1MiB,mg:S", "--ratios", "25", "--reps", "1", "--threads", "1,4", "--settings",
                    "prefetch=off replacement=fifo")
    check({(r["kernel"], r["threads"], r["kind"]) for r in m["rows"]} ==
          {(k, t, m) for k in ("random-update", "mg") for t in (1, 4) for m in ("plain", "cluster")}, "rows", m["rows"])
    for r in m["rows"]:
        check_row(r)
        check(r["kind"] == "plain" or r["settings"] == "prefetch=off replacement=fifo", "settings", r)


def wrong_data():
    """A byte of each kernel's results changes on cluster memory: by the kernels' own checks, and by the checksum."""
    # Open MPI's launcher waits before it kills what is left of a job that failed.
    os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    with_error = {"TASUKI_BENCH_CORRUPT": "dlm"}
    m, text = measured_memory("--kernels", kernels(), "--ratios", "100", "--reps", "1", code=1, environment=with_error)
    for r in m["rows"]:
        wrong = r["kind"] == "cluster"
        check(r["verified"] is not wrong and ("failure" in r) is wrong, "the fault is not seen", r)
    check("VERIFICATION FAILED: mg S, cluster 100 %" in text and "norm of the residual" in text, "it is not named", text)
    m, text = measured_memory("--kernels", "himeno:XS", "--ratios", "100", "--reps", "1", code=1,
                       environment={"TASUKI_BENCH_CORRUPT": "dlm:low"})
    check("differ from those with plain malloc" in text, "the checksum is not compared", text)
    check(m["rows"][0]["verified"] is True, "plain malloc's are right", m["rows"])


def run_kernel(name, *arguments, corrupt=""):
    done = subprocess.run([LIBEXEC / "memory-plain", name, "--size", SMALL[name], "--reps", "2", *arguments],
                          stdout=subprocess.PIPE, text=True, env={**os.environ, "TASUKI_BENCH_CORRUPT": corrupt}, timeout=100)
    return done.returncode, json.loads(done.stdout)


def kernels_alone():
    """Results are the same on any memory and with any number of threads, and a wrong one is noticed."""
    with tempfile.TemporaryDirectory() as folder:
        for name in SMALL:
            code, plain = run_kernel(name)
            check(code == 0 and plain["verified"] and plain["kind"] == "plain", f"{name} alone", plain)
            code, file = run_kernel(name, "--folder", folder)
            check(code == 0 and file["checksum"] == plain["checksum"] and file["kind"] == "file", f"{name} on a file", file)
            code, threads = run_kernel(name, "--threads", "3")
            check(code == 0 and threads["checksum"] == plain["checksum"], f"{name} with three threads", threads)
            code, wrong = run_kernel(name, corrupt="plain")
            check(code == 4 and not wrong["verified"] and wrong["failure"], f"{name}: a wrong byte is not noticed", wrong)
            code, low = run_kernel(name, corrupt="plain:low")
            check(low["checksum"] != plain["checksum"], f"{name}: the checksum does not change", low)
            code, other = run_kernel(name, corrupt="file")
            check(code == 0, f"{name}: another kind's fault", other)
        check(not os.listdir(folder), "files are left over", os.listdir(folder))
    # The published values: after the iterations of the class.
    for name, reps in (("mg", "3"), ("ft", "6")):
        code, m = run_kernel(name, "--reps", reps, "--warm", "1")
        check(code == 0 and m["verified"], f"{name} does not have the published result", m)
    for wrong in (["himenno"], ["himeno", "--size", "XXL"], ["stream", "--parts", "tetrad"], ["himeno", "--reps", "0"], []):
        done = subprocess.run([LIBEXEC / "memory-plain", *wrong], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(done.returncode == 2 and "usage:" in done.stdout, f"{wrong}: exit code {done.returncode}", done.stdout)


def peers():
    """What else there is: measured and verified, or the reason is said; nothing is left behind."""
    before = leftovers()
    kinds = ["swap-disk", "swap-zram", "file-ram", "umap"]
    m, text = measured_memory("--kernels", "stream:24MiB:triad", "--ratios", "25", "--reps", "1", "--warm", "0", "--peers",
                       ",".join(kinds))
    check(set(m["peers"]) == set(kinds), "peers", m["peers"])
    rows = {r["kind"]: r for r in m["rows"]}
    for kind in kinds:
        if m["peers"][kind] == "measured":
            check_row(rows[kind])
            if kind.startswith("swap"):
                check(rows[kind]["faults"]["major"] > 0, "nothing was swapped", rows[kind])
        else:
            check(kind not in rows and any(kind in n for n in m["notes"]), "it does not say why", m["peers"][kind], m["notes"])
            print(f"{kind} not tested: {m['peers'][kind]}")
    check(leftovers() == before, "left behind", before, leftovers())
    if all(v != "measured" for v in m["peers"].values()):
        sys.exit(SKIPPED)


def leftovers():
    swaps = pathlib.Path("/proc/swaps").read_text().count("\n")
    mounts = [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if "tasuki" in line]
    groups = [str(p) for p in pathlib.Path("/sys/fs/cgroup").rglob("tasuki-bench-*")]
    return swaps, mounts, groups


def hosts():
    command = ["--kernels", "himeno:XS", "--ratios", "25", "--reps", "1", "--where", "node,hosts", "--servers", "1,2"]
    m, _ = measured_memory(*command)
    rows = [r for r in m["rows"] if r["kind"] == "cluster"]
    check({(r["where"], r["servers"]) for r in rows} == {(w, n) for w in ("node", "hosts") for n in (1, 2)}, "rows", rows)
    for r in rows:
        check_row(r)
    check([t["where"] for t in m["transport"]] == ["node", "hosts"], "transport", m["transport"])
    check(m["transport"][1]["sizes"][0]["window"] is None, "memory shared between hosts", m["transport"][1])


def gives_up():
    """A start that takes too long is a failure of cluster memory, and the table says so."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        text = bench("memory", "--mpi", args.mpi, *SHORT, "--kernels", "random-update:64MiB", "--ratios", "2", "--reps", "400",
                     "--page-sizes", "4KiB", "--limit", "8", code=1)
        check("not finished in 8 seconds" in text and "NOT FINISHED: random-update 64MiB, cluster 2 %" in text, "no limit", text)
        check(not os.listdir(folder), "files are left over", os.listdir(folder))


def interrupted():
    with tempfile.TemporaryDirectory() as folder:
        before = leftovers()
        driver = subprocess.Popen([args.tasuki, "bench", "memory", "--mpi", args.mpi, *SHORT, "--kernels", "random-update:64MiB",
                                   "--ratios", "2", "--reps", "400", "--page-sizes", "4KiB"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env={**os.environ, "TMPDIR": folder})
        program = f"memory-dlm-{args.mpi}".encode()

        def ranks():
            found = []
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if words[0].endswith(program) and any(w.startswith(folder.encode()) for w in words):
                    found.append(int(entry.name))
            return found

        end = time.time() + 60
        while len(ranks()) < 2:
            check(time.time() < end, "the ranks do not start", driver.poll())
            time.sleep(0.1)
        driver.send_signal(signal.SIGINT)
        text, _ = driver.communicate(timeout=60)
        check(driver.returncode == 130 and "interrupted" in text, f"exit code {driver.returncode}", text)
        end = time.time() + 20
        while ranks():
            check(time.time() < end, "ranks are left over", ranks())
            time.sleep(0.1)
        check(not [f for f in os.listdir(folder) if f.startswith("tasuki-bench")], "files are left over", os.listdir(folder))
        check(leftovers() == before, "left behind", before, leftovers())


def refuses():
    check("random-read" in bench("memory", "--kernels", "himenno", code=1), "the kernels are not named")
    check("multiple of 4 KiB" in bench("memory", "--page-sizes", "5000", code=1), "a page size that cannot be")
    check("neither `auto`" in bench("memory", "--page-sizes", "big", code=1), "not a page size")
    text = bench("memory", "--mpi", args.mpi, "--kernels", "himeno:XXL", "--ratios", "50", code=1)
    check("a size that this kernel does not know: XXL" in text, "a size that there is not", text)
    check("/nonexistent/a.json" in bench("memory", "--json", "/nonexistent/a.json", code=1), "an unwritable file")


globals()[args.case]()
