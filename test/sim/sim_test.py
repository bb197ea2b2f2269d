"""`tasuki sim` as its users call it: sim_test.py CASE --tasuki build/bin/tasuki."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("case")
parser.add_argument("--tasuki", required=True)
parser.add_argument("--mpirun")
args = parser.parse_args()

HERE = pathlib.Path(__file__).parent
A2AT = ["--schedule", "a2at", "--bytes", "16KiB"]


def check(condition, what, *evidence):
    if not condition:
        print("FAILED:", what, *evidence, sep="\n")
        sys.exit(1)


def tasuki(*words, code=0, timeout=200):
    done = subprocess.run([args.tasuki, *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False)
    check(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}", done.stdout, done.stderr)
    return done


def simulate(folder, *words):
    file = pathlib.Path(folder, "result.json")
    tasuki("sim", "--json", file, *words)
    return json.loads(file.read_text())


def refused(*words, says):
    done = tasuki("sim", *words, code=1)
    check(says in done.stderr, f"{words}: the error does not say '{says}'", done.stderr)


def schedule(folder):
    r = simulate(folder, "--machine", "torus2d-9x9", *A2AT)
    for key in ("time_s", "ideal_s", "packet_hops", "messages", "wall_s", "threads", "hash", "links"):
        check(key in r, f"{key} is missing", sorted(r))
    # 81 nodes send to 80 others each; on the shortest ways there are 20/9 hops in each of two dimensions on average, the
    # sender itself counted.
    packets = -(-16384 // 2016)
    check(r["messages"] == 81 * 80, "messages", r["messages"])
    check(r["packet_hops"] == 81 * 81 * 40 // 9 * packets, "packet hops", r["packet_hops"])
    check(r["time_s"] > r["ideal_s"] > 0, "ideal", r["time_s"], r["ideal_s"])
    check(len(r["links"]) == 81 * 4, "links", len(r["links"]))
    # The paper's closed form: n/2 floor(n/2) ceil(n/2) L / B.
    wire = packets * 32 + 16384
    check(abs(r["ideal_s"] - 90 * wire / 4e9) < 1e-6, "T_ideal", r["ideal_s"])
    out = pathlib.Path(folder, "report")
    tasuki("sim", "--machine", "torus2d-8x8", *A2AT, "--out", out)
    for name in ("report.html", "results.json", "links.csv", "throughput.csv", "latency.csv", "trace.perfetto-trace"):
        check((out / name).stat().st_size > 100, f"{name} is empty")


def threads(folder):
    for machine in ("torus2d-9x9", "dragonfly"):
        words = ["--machine", machine, "--schedule", "pairwise" if machine == "dragonfly" else "a2at", "--bytes", "4KiB"]
        hashes = {simulate(folder, *words, "--threads", n)["hash"] for n in (1, 2, 4)}
        check(len(hashes) == 1, f"{machine}: results depend on the threads", hashes)
    seeds = {simulate(folder, "--machine", "torus2d-8x8", *A2AT, "--skew", "1 us", "--seed", n)["hash"] for n in (1, 2)}
    check(len(seeds) == 2, "the seed changes nothing")


def pace(folder):
    words = ["--machine", "torus2d-9x9", "--schedule", "a2at", "--bytes", "64KiB"]
    none = simulate(folder, *words, "--pace", "0")
    check(none["hash"] == simulate(folder, *words)["hash"], "no pace is not 0")
    best = simulate(folder, *words, "--pace", "hops-1+0.5")
    check(best["time_s"] < none["time_s"], "pacing gains nothing", best["time_s"], none["time_s"])
    slow = simulate(folder, *words, "--pace", "hops-1+16")
    check(slow["time_s"] > 1.5 * best["time_s"], "a large gap costs nothing")


def open_choices(folder):
    words = ["--machine", "torus2d-8x8", *A2AT]
    hashes = {simulate(folder, *words)["hash"]}
    for setting in ("router.arbitration=round-robin", "router.arbitration=oldest-first", "router.buffer_read=channel",
                    "routing.ties=split", "nic.injection=shared", "router.buffer=\"16 KiB\"", "topology.extents=[9, 9]"):
        hashes.add(simulate(folder, *words, "--set", setting)["hash"])
    check(len(hashes) == 8, "a setting changes nothing", len(hashes))


def replay(folder):
    file = pathlib.Path(folder, "saved.json")
    file.write_text(json.dumps({"format": "tasuki-schedule-1", "algorithm": "a2at",
                                "parameters": {"ranks": 81, "shape": [9, 9], "wraps": True, "bytes": 16384},
                                "barriers": False, "pace": {"per_hop": 1, "per_sequence": [0.25] * 20}}))
    saved = simulate(folder, "--machine", "torus2d-9x9", "--replay", file)
    typed = simulate(folder, "--machine", "torus2d-9x9", *A2AT, "--pace", "hops-1+1.25")
    check(saved["hash"] == typed["hash"], "a replayed schedule differs from the same one typed")


def build(folder, name):
    program = pathlib.Path(folder, name)
    tasuki("simcc", HERE / f"{name}.c", "-o", program)
    return program


def program(folder):
    ring = build(folder, "ring")
    for ranks in (1, 7, 64):
        done = tasuki("sim", "--machine", "torus2d-8x8", "-n", ranks, ring)
        check(f"sum {ranks * (ranks - 1) // 2}" in done.stdout, f"{ranks} ranks", done.stdout)
        check("simulated" in done.stderr and "simulated" not in done.stdout, "the summary is not beside the program's output")
    done = tasuki("sim", "--machine", "torus2d-64x64", "-n", 4096, ring, "short")
    check(f"sum {4095 + 4094 + 4093}" in done.stdout, "4096 ranks", done.stdout)
    hashes = {simulate(folder, "--machine", "torus2d-8x8", "-n", 64, "--threads", n, ring)["hash"] for n in (1, 2, 4)}
    check(len(hashes) == 1, "results depend on the threads", hashes)
    out = pathlib.Path(folder, "report")
    tasuki("sim", "--machine", "torus2d-8x8", "-n", 16, "--out", out, ring)
    calls = (out / "calls.csv").read_text()
    check(calls.count("MPI_Sendrecv") >= 16, "the log of calls", calls[:500])
    without = tasuki("sim", "--machine", "torus2d-8x8", "-n", 16, "--no-payload", ring, "anything", code=0)
    check("sum" in without.stdout, "--no-payload", without.stdout)


def program_errors(folder):
    ring = build(folder, "ring")
    refused("--machine", "torus2d-8x8", "-n", 4, f"{folder}/none", says="none")
    stuck = tasuki("sim", "--machine", "torus2d-8x8", "-n", 4, ring, "deadlock", code=1)
    check("MPI_Recv" in stuck.stderr and "rank 2" in stuck.stderr, "who waits for whom", stuck.stderr)
    crash = tasuki("sim", "--machine", "torus2d-8x8", "-n", 4, ring, "crash", code=139)
    check("rank 1" in crash.stderr, "which rank crashed", crash.stderr)
    tasuki("sim", "--machine", "torus2d-8x8", "-n", 4, ring, "seven", code=7)
    check(tasuki("sim", "--machine", "torus2d-8x8", code=2).stderr, "neither schedule nor program")


def collectives_by_name(folder):
    all_to_all = build(folder, "alltoall")
    times = {}
    for name in ("a2at", "pairwise", "ring", "bruck", "linear", "spread"):
        r = simulate(folder, "--machine", "torus2d-8x8", "-n", 64, "--collective", f"alltoall={name}", all_to_all)
        times[name] = r["time_s"]
    check(len(set(times.values())) > 3, "the schedules make no difference", times)
    refused("--machine", "torus2d-8x8", "-n", 64, "--collective", "alltoall=nonsense", all_to_all, says="nonsense")


def errors(folder):
    good = ["--machine", "torus2d-8x8"]
    refused("--machine", f"{folder}/none.toml", *A2AT, says="none.toml")
    refused(*good, "--schedule", "nonsense", says="a2at")
    refused(*good, *A2AT, "--pace", "hops-+", says="hops-+")
    refused(*good, "--schedule", "a2at", "--bytes", "lots", says="--bytes")
    refused("--machine", "fat-tree", *A2AT, says="shape")
    refused(*good, *A2AT, "--set", "router.channels=1", says="virtual channels")
    refused(*good, *A2AT, "--set", "topology.extents=[0, 8]", says="extent")
    refused(*good, *A2AT, "--skew", "3", says="--skew")
    refused(*good, *A2AT, "--json", "/nonexistent/x.json", says="/nonexistent/x.json")
    broken = pathlib.Path(folder, "broken.toml")
    broken.write_text("name = 'x'\n[topology]\nkind = 'torus'\nextents = [4, 'four']\n")
    refused("--machine", broken, *A2AT, says="broken.toml:4")
    broken.write_text("name = 'x'\n[topology\n")
    refused("--machine", broken, *A2AT, says="broken.toml:2")


def sweep(folder):
    file, page = pathlib.Path(folder, "sweep.json"), pathlib.Path(folder, "sweep.html")
    done = tasuki("sim", "sweep", "--machine", "torus2d-8x8", "torus2d-9x9", "--schedule", "a2at", "--bytes", "4KiB",
                  "--pace", "hops-1+0:1:0.25", "--json", file, "--html", page, "--threads", 2)
    points = json.loads(file.read_text())["points"]
    check(len(points) == 10 and len(done.stdout.splitlines()) == 11, "10 points", done.stdout)
    alone = simulate(folder, "--machine", "torus2d-9x9", "--schedule", "a2at", "--bytes", "4KiB", "--pace", "hops-1+0.75")
    point = next(p for p in points if p["machine"] == "torus2d-9x9" and p["value"] == 0.75)
    check(point["hash"] == alone["hash"], "a point differs from the same run alone")
    check("<svg" in page.read_text(), "no picture")
    tasuki("sim", "sweep", "--machine", "torus2d-8x8", "--schedule", "a2at", "--pace", "1:0:1", code=1)


def farm(folder):
    words = [args.tasuki, "sim", "sweep", "--machine", "torus2d-8x8", "--schedule", "a2at", "pairwise", "--bytes", "1KiB",
             "--pace", "hops-1+0:2:0.5"]
    alone, spread = (pathlib.Path(folder, name) for name in ("alone.json", "spread.json"))
    table = subprocess.run([*words, "--json", alone], capture_output=True, text=True, timeout=200, check=True).stdout
    done = subprocess.run([args.mpirun, "-n", "3", *words, "--json", spread], capture_output=True, text=True, timeout=200, check=False)
    check(done.returncode == 0, "the farm failed", done.stdout, done.stderr)
    check(done.stdout == table, "the tables differ", table, done.stdout)
    with_walls = [json.loads(f.read_text())["points"] for f in (alone, spread)]
    for points in with_walls:
        for p in points:
            del p["wall_s"]
    check(with_walls[0] == with_walls[1], "the points differ")
    bad = subprocess.run([args.mpirun, "-n", "3", *words[:5], "--schedule", "nonsense"], capture_output=True, text=True,
                         timeout=200, check=False)
    check(bad.returncode != 0 and "nonsense" in bad.stderr, "a wrong point", bad.stderr)


def tune(folder):
    file = pathlib.Path(folder, "tuned.json")
    done = tasuki("sim", "tune", "--machine", "torus2d-9x9", "--set", "topology.extents=[5, 5]", "--schedule", "a2at",
                  "--bytes", "64KiB", "--fine", "0.25", "-o", file)
    check("of ideal" in done.stdout, "no check of the result", done.stdout)
    words = ["--machine", "torus2d-9x9", "--set", "topology.extents=[5, 5]"]
    tuned = simulate(folder, *words, "--replay", file)
    none = simulate(folder, *words, "--schedule", "a2at", "--bytes", "64KiB")
    check(tuned["time_s"] <= none["time_s"], "tuned is slower than not paced", tuned["time_s"], none["time_s"])


def machines(_):
    names = [line.split()[0] for line in tasuki("sim", "machines").stdout.splitlines()]
    check("torus2d-9x9" in names and "dragonfly" in names, "machines", names)


def traffic(_):
    done = tasuki("sim", "traffic", "--help")
    check("--load" in done.stdout or "--offered" in done.stdout, "help", done.stdout)


def flow(folder):
    r = simulate(folder, "--machine", "torus2d-9x9", *A2AT, "--pace", "hops-1+1.25", "--model", "flow")
    packet = simulate(folder, "--machine", "torus2d-9x9", *A2AT, "--pace", "hops-1+1.25")
    check(r["model"] == "flow" and packet["model"] == "packet", "which model")
    check(0.7 < r["time_s"] / packet["time_s"] < 1.3, "the models disagree where nothing collapses", r["time_s"], packet["time_s"])


def paper_resumes(folder):
    words = ["sim", "paper", "--experiments", "2", "--sizes", "8,9", "--step", "1", "--out", folder]
    # With results at hand it must not compute any: a file of results for all points but none that is wanted is refused.
    pathlib.Path(folder, "points.json").write_text("nonsense")
    done = tasuki(*words, code=1)
    check("points.json" in done.stderr, "a broken file of results", done.stderr)


with tempfile.TemporaryDirectory() as scratch:
    globals()[args.case](scratch)
