"""Tests of `tasuki bench ddt` from outside: ddt_test.py CASE --mpi openmpi --tasuki PATH --corrupt LIBRARY."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from common import args, check

FEW = ["--pattern", "^NAS_LU_y/480$|^FFT2/65536$|^LAMMPS_full/32768$|^contiguous/8$", "--iters", "200", "--rounds", "5"]
ONE = ["--pattern", "^contiguous/65536$", "--iters", "200", "--rounds", "5"]
LONG = ["--pattern", "^contiguous/8$", "--seconds", "60", "--rounds", "1000"]  # many short commands


def command(*arguments, mpi=True):
    return [args.tasuki, "bench", "ddt"] + (["--mpi", args.mpi] if mpi else []) + list(arguments)


def ddt(*arguments, code=0):
    """Runs to the end; returns stdout and stderr together."""
    done = subprocess.run(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100)
    check(done.returncode == code, f"exit code {done.returncode}, expected {code}", done.stdout)
    return done.stdout


def faulty(what):
    return ["--runner", f"env LD_PRELOAD={args.corrupt} CORRUPT={what}"]


def ranks(folder):
    """The ranks' processes, known by their argument, a path in our own temporary folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if entry.name.isdigit() and words[0].endswith(b"ddt-" + args.mpi.encode()) and \
                any(w.startswith(folder.encode()) for w in words):
            found.append(int(entry.name))
    return found


def wait_until(condition, seconds, what):
    end = time.time() + seconds
    while not condition():
        check(time.time() < end, what)
        time.sleep(0.05)


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def check_measurement(m, runner):
    for key in ("benchmark", "format", "date", "mpi", "machine", "versions", "settings", "rows", "contiguous", "geomean",
                "verified", "notes"):
        check(key in m, f"no `{key}`", m.keys())
    for key in ("cpu", "cores", "memory_bytes", "kernel"):
        check(m["machine"].get(key), f"machine has no `{key}`", m["machine"])
    for key in ("tasuki", "mpi", "compiler"):
        check(m["versions"].get(key), f"versions has no `{key}`", m["versions"])
    check(("Open MPI" in m["versions"]["mpi"]) == (args.mpi == "openmpi"), "measured another MPI", m["versions"])
    check([(r["pattern"], r["bytes"]) for r in m["rows"]] ==
          [("NAS_LU_y", 480), ("FFT2", 65536), ("LAMMPS_full", 32768)], "other rows", m["rows"])
    check([r["bytes"] for r in m["contiguous"]] == [8], "other contiguous rows", m["contiguous"])
    for r in m["rows"] + m["contiguous"]:
        for key in ("plain_us", "tasuki_us", "memcpy_us", "direct_us", "ratio", "touched_plain_us", "touched_tasuki_us",
                    "touched_ratio", "touching_us"):
            check(r[key] > 0, f"{key} is not a time", r)
        if len(os.sched_getaffinity(0)) > 1:
            check(r["limit_us"] >= r["memcpy_us"] and r["limit_ratio"] > 0, "no limit", r)
        check(r["verified"] is True, "not verified", r)
        for who in ("plain", "tasuki", "touched_plain", "touched_tasuki"):
            low, high = r[f"{who}_spread_us"]
            check(low <= r[f"{who}_us"] <= high, "median outside of its spread", r)
    for prefix, mean in (("", "geomean"), ("touched_", "geomean_touched")):
        product = 1
        for r in m["rows"]:
            product *= r[f"{prefix}plain_us"] / r[f"{prefix}tasuki_us"]
        check(abs(product ** (1 / 3) / m[mean] - 1) < 0.01, mean, m)
    check(m["verified"] is True and m["settings"]["runner"] == runner, "settings", m)
    check(" bench ddt " in m["settings"]["command"], "the command that measured", m["settings"])


def measures(runner, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        files = ["--json", f"{folder}/a.json", "--html", f"{folder}/a.html"]
        text = ddt(*FEW, *files, *arguments)
        check("geometric mean" in text and "LAMMPS_full" in text, "no table", text)
        m = json.loads(pathlib.Path(folder, "a.json").read_text())
        check_measurement(m, runner)
        check("LAMMPS_full" in pathlib.Path(folder, "a.html").read_text(), "the page has no data")
        subprocess.run([args.tasuki, "bench", "plot", f"{folder}/a.json", "--html", f"{folder}/b.html"], check=True)
        check(pathlib.Path(folder, "a.html").read_bytes() == pathlib.Path(folder, "b.html").read_bytes(),
              "`plot` gives another page")
        same = subprocess.run([args.tasuki, "bench", "compare", f"{folder}/a.json", f"{folder}/a.json"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        check("geometric mean" in same and "1.00" in same and "only in" not in same, "`compare` with itself", same)
        return m


def measures_plain():
    m = measures("", "--runner", "")
    check(m["tasuki_messages"] == 0, "Tasuki took part", m)


def measures_tasuki():
    m = measures("tasuki run")
    round_trips = sum(r["tasuki_round_trips"] for r in m["rows"] + m["contiguous"])
    check(m["tasuki_messages"] >= 2 * round_trips, "Tasuki did not move the messages itself", m["tasuki_messages"], m["notes"])


def buffers():
    """Only the column that is asked for is measured."""
    with tempfile.TemporaryDirectory() as folder:
        for which, there, not_there in (("touched", "touched_tasuki_us", "tasuki_us"), ("untouched", "tasuki_us", "touched_tasuki_us")):
            text = ddt(*ONE, "--runner", "", "--buffers", which, "--json", f"{folder}/a.json", "--html", f"{folder}/a.html")
            m = json.loads(pathlib.Path(folder, "a.json").read_text())
            row = m["contiguous"][0]
            check(row[there] > 0 and not_there not in row and m["settings"]["buffers"] == which, "another column", text, row)
    text = ddt(*ONE, "--buffers", "some", code=2)
    check("touched" in text and "untouched" in text, "what is accepted is not named", text)


def counts():
    """Events beside the times; what the machine does not count is named."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "a.json")
        text = ddt(*ONE, "--count", "context-switches,page-faults", "--json", str(file))
        row = json.loads(file.read_text())["contiguous"][0]
        for part in ("counts", "touched_counts"):
            for event in ("context-switches", "page-faults"):
                check(event in text and all(row[part][event][job] >= 0 for job in ("plain", "tasuki")), "not counted", text, row)
        done = subprocess.run(command(*ONE, "--count", "l1d-misses", "--json", str(file)), capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            row = json.loads(file.read_text())["contiguous"][0]
            check(row["touched_counts"]["l1d-misses"]["plain"] > 0, "no line crossed", row)
        else:
            check("l1d-misses" in done.stderr and "perf_event_open" in done.stderr, "no reason", done.stderr)
    check("llc-misses" in ddt("--count", "cycles", code=2), "what is accepted is not named")


def fragments():
    """Open MPI in fragments, beside Open MPI as it is; other libraries have no such setting."""
    text = ddt(*ONE, "--fragments", "4KiB,64KiB", "--buffers", "untouched", "--json", "/dev/stdout", code=0 if args.mpi == "openmpi" else 1)
    if args.mpi == "openmpi":
        check("openmpi, fragments of 64Ki" in text and "peers_us" in text, "no further job", text)
    else:
        check("--mpi openmpi" in text, "no way out is named", text)


def selects():
    text = ddt("--pattern", "no_such_row", "--runner", "", code=1)
    check("matches none" in text and "SPECFEM3D_cm/177672" in text, "the rows are not named", text)
    check("regular expression" in ddt("--pattern", "(", code=1), "a bad expression")
    text = ddt("--pattern", "^NAS_LU_x/480$", "--json", "/nonexistent/a.json", code=1)
    check("/nonexistent/a.json" in text, "an unwritable file", text)


def wrong_data():
    with tempfile.TemporaryDirectory() as folder:
        text = ddt(*ONE, "--json", f"{folder}/a.json", *faulty("data"), code=1)
        check("VERIFICATION FAILED" in text and "of the received message is wrong" in text, "the fault is not named", text)
        m = json.loads(pathlib.Path(folder, "a.json").read_text())
        check(m["verified"] is False and m["contiguous"][0]["verified"] is False, "the file calls it verified", m)


def stray_write():
    text = ddt(*ONE, *faulty("gap"), code=1)
    check("not part of the message" in text, "the stray write is not named", text)


def dying_rank():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        text = ddt(*ONE, *faulty("die"), code=1)
        check("the Tasuki job ended" in text, "the end of the job is not named", text)
        wait_until(lambda: not ranks(folder), 10, "ranks are left over")
        check(not [f for f in os.listdir(folder) if f.startswith("tasuki-bench")], "pipes are left over", os.listdir(folder))


def running(folder):
    """A driver in the middle of a row, with its four ranks."""
    os.environ["TMPDIR"] = folder
    driver = subprocess.Popen(command(*LONG, "--runner", ""), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until(lambda: len(ranks(folder)) == 4, 60, "four ranks do not start")
    time.sleep(1)
    check(not [f for f in os.listdir(folder) if f.startswith("tasuki-bench")], "pipes stay visible", os.listdir(folder))
    return driver


def interrupted():
    with tempfile.TemporaryDirectory() as folder:
        driver = running(folder)
        driver.send_signal(signal.SIGINT)
        text, _ = driver.communicate(timeout=30)
        check(driver.returncode == 130 and "interrupted" in text, f"exit code {driver.returncode}", text)
        wait_until(lambda: not ranks(folder), 10, "ranks are left over")


def killed():
    with tempfile.TemporaryDirectory() as folder:
        driver = running(folder)
        driver.kill()
        driver.communicate()
        wait_until(lambda: not ranks(folder), 20, "ranks are left over")


def idle():
    """With the driver stopped, no rank has anything to do: none may take processor time."""
    with tempfile.TemporaryDirectory() as folder:
        driver = running(folder)
        driver.send_signal(signal.SIGSTOP)
        time.sleep(2)  # what the driver had asked for comes to its end
        pids = ranks(folder)
        before = [cpu_ticks(p) for p in pids]
        time.sleep(2)
        used = [cpu_ticks(p) - b for p, b in zip(pids, before)]
        driver.send_signal(signal.SIGCONT)
        driver.send_signal(signal.SIGINT)
        driver.communicate(timeout=30)
        check(len(pids) == 4 and max(used) <= 4, f"idle ranks took {used} of 200 ticks")


def missing():
    text = subprocess.run([args.tasuki, "bench", "ddt", "--mpi", "mpich", "--mpirun", "/nonexistent/mpirun"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(text.returncode == 1 and "apt-get install mpich" in text.stdout, "the package is not named", text.stdout)


globals()[args.case]()
