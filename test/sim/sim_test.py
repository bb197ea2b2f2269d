"""`tasuki sim` as its users call it: sim_test.py CASE --tasuki build/bin/tasuki."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("case")
parser.add_argument("--tasuki", required=True)
parser.add_argument("--mpirun")
parser.add_argument("--docs", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
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
        if machine == "dragonfly":  # 9 groups, 72 nodes: a hundredth of the work
            words += ["--set", "topology.group_routers=4", "--set", "topology.global_links=2", "--set", "topology.router_nodes=2"]
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
    # What does not fit the machine is done otherwise, and said once.
    for words in (["--set", "topology.router_nodes=2", "-n", 128], ["--set", "topology.wraps=[true, false]", "-n", 64], ["-n", 63]):
        done = tasuki("sim", "--machine", "torus2d-8x8", *words, "--collective", "alltoall=a2at", all_to_all)
        check(done.stderr.count("done by") == 1 and "alltoall=a2at" in done.stderr, "not said once", done.stderr)


def errors(folder):
    good = ["--machine", "torus2d-8x8"]
    refused("--machine", f"{folder}/none.toml", *A2AT, says="none.toml")
    refused(*good, "--schedule", "nonsense", says="a2at")
    refused(*good, *A2AT, "--pace", "hops-+", says="hops-+")
    refused(*good, "--schedule", "a2at", "--bytes", "lots", says="--bytes")
    refused("--machine", "fat-tree", *A2AT, says="shape of a torus")
    refused(*good, *A2AT, "--set", "router.channels=1", says="virtual channels")
    refused(*good, *A2AT, "--set", "topology.extents=[0, 8]", says="extent")
    refused(*good, *A2AT, "--skew", "3", says="--skew")
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
    check('"charts": [{"title": "Time"' in page.read_text(), "no picture")
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


# Packets of 32 KiB: a sixteenth of the work.
PAPER = ["sim", "paper", "--experiments", "2", "--sizes", "4", "--step", "1", "--set", 'packet.mtu="32 KiB"', "--set", 'router.buffer="64 KiB"']


def paper_resumes(folder):
    def numbers(out, *words):
        done = tasuki(*PAPER, *words, "--out", out)
        return json.loads((out / "paper.json").read_text())["numbers"], done

    one, other = pathlib.Path(folder, "one"), pathlib.Path(folder, "other")
    first, _ = numbers(one)
    check(all("e+" not in n["here"] for n in first), "a number of sizes that are not there", first)
    points = json.loads((one / "points.json").read_text())["points"]
    # Another machine in the same directory gets results of its own, and the first one's are still there.
    oldest = ["--set", "router.arbitration=oldest-first"]
    changed, _ = numbers(one, *oldest)
    check(changed == numbers(other, *oldest)[0], "results of another machine were served", changed)
    check(changed != first, "the setting changes nothing", first)
    # What is kept is used: a result that was changed comes back; those of another version do not.
    both = json.loads((one / "points.json").read_text())["points"]
    check(len(both) == 2 * len(points) and points.items() <= both.items(), "kept results", len(points), len(both))
    for key, value in both.items():
        if key in points:
            value["time_s"] *= 2
    both["0 " + next(iter(points))] = next(iter(points.values()))
    (one / "points.json").write_text(json.dumps({"points": both}))
    again, done = numbers(one)
    check(again != first, "kept results are not used")
    check("1 results of another version" in done.stderr, "results of another version", done.stderr)
    # A broken file is refused before anything is computed.
    (one / "points.json").write_text("nonsense")
    done = tasuki(*PAPER, "--out", one, code=1)
    check("points.json" in done.stderr, "a broken file of results", done.stderr)
    refused("paper", "--set", "topology.extents=[4, 4]", "--out", one, says="topology")
    refused("paper", "--machine", "dragonfly", "--out", one, says="torus")


# The hash of every delivery and every link. Where one changes, results have changed: then netsim::kResultsVersion is raised, so that
# results which `tasuki sim paper` has kept are not used any more, and the hashes are renewed.
GOLDEN = {
    "torus2d-9x9 packet": "27a89ff51316a2a4",
    "torus2d-9x9 flow": "cb8114bffce5280d",
    "dragonfly packet": "abf51273ef441a46",
    "dragonfly flow": "099520e994064803",
    "fat-tree packet": "b6c4b5c60474cb60",
    "fat-tree flow": "b6c4b5c60474cb60",
    "mesh2d-8x8 packet": "1546bc8d42d85cea",
    "mesh2d-8x8 flow": "21fe359f7a0eb461",
    "router.arbitration=oldest-first": "001d9926aed21925",
    "router.buffer_read=port": "809419c75d39f1bd",
    "routing.algorithm=valiant": "c28a93b273065b98",
    "routing.ties=split": "15fce55f5bc4a88d"
}


def golden_runs(folder):
    for machine in ("torus2d-9x9", "dragonfly", "fat-tree", "mesh2d-8x8"):
        for model in ("packet", "flow"):
            words = ["--machine", machine, "--schedule", "spread", "--bytes", "100", "--model", model]
            if machine in ("dragonfly", "fat-tree"):
                words[3] = "recursive-doubling"
            yield f"{machine} {model}", simulate(folder, *words, "--skew", "1 us")["hash"]
    for setting in ("router.arbitration=oldest-first", "router.buffer_read=port", "routing.algorithm=valiant", "routing.ties=split"):
        words = ["--set", setting, *(["--set", "router.channels=4"] if "valiant" in setting else [])]
        yield setting, simulate(folder, "--machine", "torus2d-8x8", *words, *A2AT, "--pace", "hops-1+1")["hash"]


def golden(folder):
    now = dict(golden_runs(folder))
    check(now == GOLDEN, "results have changed: raise kResultsVersion (src/netsim/simulate.h) and renew GOLDEN with", json.dumps(now, indent=4))


# What a user pastes from the README and the pages on the simulator, with short messages.
def commands(folder):
    shutil.copy(HERE / "ring.c", pathlib.Path(folder, "heat.c"))
    folders = {**os.environ, "PATH": f"{pathlib.Path(args.tasuki).parent}:{os.environ['PATH']}"}
    ran = []
    for page in ("README.md", "docs/simulator.md", "docs/simulator-programs.md"):
        for line in (args.docs / page).read_text().splitlines():
            command = line.split("  #")[0].strip()
            if not line.startswith("    ") or "tasuki sim" not in command or "mpirun" in command or "sim paper" in command:
                continue
            command = command.replace("build/bin/tasuki", "tasuki").replace("1MiB", "1KiB").replace("0:6:0.125", "0:1:0.5")
            command += " --bytes 1KiB" if "sim tune" in command else " --load 0.1" if "sim traffic" in command else ""
            done = subprocess.run(command, shell=True, cwd=folder, env=folders, capture_output=True, text=True, timeout=200, check=False)
            check(done.returncode == 0, f"{page}: {command}", done.stdout, done.stderr)
            ran.append(command)
    check(len(ran) >= 8, "commands of the documentation", *ran)


# What would change nothing, what cannot work and what cannot be written is said before the run.
def refusals(folder):
    torus = ["--machine", "torus2d-8x8"]
    small = [*torus, "--schedule", "a2at", "--bytes", "64"]
    ring = build(folder, "ring")
    refused("--machine", "dragonfly", "--schedule", "pairwise", "--set", "routing.algorithm=adaptive", says="no effect")
    refused(*small, "--model", "flow", "--set", "routing.algorithm=adaptive", "--set", "router.channels=3", says="no effect")
    refused(*small, "--model", "flow", "--threads", "2", says="--threads has no effect")
    refused("--machine", "fat-tree", "--schedule", "pairwise", "--set", "routing.ties=split", says="routing.ties")
    refused("--machine", "mesh2d-8x8", "--schedule", "halo", "--set", "routing.channels=balanced", says="routing.channels")
    refused(*small, "--set", "topology.wraps=[true, false]", says="topology.wraps")
    refused(*torus, "--schedule", "pairwise", "--pace", "hops", "--set", "topology.wraps=[false, true]", says="topology.wraps")
    refused(*small, "--set", "topology.router_nodes=2", says="one node on each router")
    refused(*small, "--root", "3", says="no root")
    refused(*small, "--segment", "4KiB", says="does not cut")
    for sequences in ("30", "30:31", "2:99"):
        refused(*small, "--sequences", sequences, says="16 sequences")
    refused(*torus, "--schedule", "a2at", "--bytes", "0", says="does nothing")
    refused(*small, "--no-payload", says="--no-payload has no effect without a program")
    refused(*torus, "--bytes", "64", ring, says="--bytes has no effect with a program")
    refused(*torus, "--collective", "alltoall=ring", "--collective", "alltoall=linear", ring, says="before")
    refused("traffic", *torus, "--hot-node", "1", says="--hot-node has no effect")
    refused("traffic", *torus, "--gap", "1", says="no effect on messages of one packet")
    refused("tune", *small, "--skew", "1 us", says="--tolerate")
    refused("tune", *small, "--low", "2", "--high", "1", says="least bias")
    refused("tune", *small, "--fine", "0", says="last step")
    # A schedule file is for one shape.
    saved = pathlib.Path(folder, "saved.json")
    saved.write_text(json.dumps({"format": "tasuki-schedule-1", "algorithm": "a2at", "parameters": {"shape": [9, 9], "bytes": 64}}))
    refused(*torus, "--replay", saved, says="9x9")
    refused(*torus, "--replay", saved, "--bytes", "64", says="--bytes has no effect with --replay")
    # Before the work: this would take hours.
    long = ["--machine", "torus2d-64x64", "--bytes", "1MiB"]
    nowhere = "/dev/null/x"
    for words in (["--json", nowhere], ["--out", nowhere], ["--out", "/dev/null"]):
        refused(*long, "--schedule", "a2at", *words, says=words[1])
    for option in ("--json", "--csv", "--html"):
        refused("sweep", *long, "--schedule", "a2at", option, nowhere, says=nowhere)
    refused("tune", *long, "--schedule", "a2at", "-o", nowhere, says=nowhere)
    refused("traffic", *long[:2], "--json", nowhere, says=nowhere)
    refused("paper", "--out", "/dev/null", says="/dev/null")
    # More memory than any host of today has for it.
    huge = ["--set", "topology.extents=[4096, 4096]", "--set", "nic.count=64", "--set", "router.channels=8"]
    for words in (["--schedule", "dissemination"], [ring]):
        refused(*torus, *huge, *words, says="of memory, and this host has")
    refused("traffic", *torus, *huge, says="of memory, and this host has")


# A mesh with more than 255 hops counts them all.
def long_way(folder):
    r = simulate(folder, "--machine", "mesh2d-8x8", "--set", "topology.extents=[300]", "--schedule", "linear", "--bytes", "1")
    check(max(l["hops"] for l in r["latency"]) == 299, "hops", [l["hops"] for l in r["latency"]])
    r = simulate(folder, "--machine", "torus2d-8x8", *A2AT, "--set", "routing.channels=crossing", "--set", "nic.injection=shared")
    check(r["machine"]["channel_use"] == "crossing", "the machine in the results", r["machine"])
    check(r["settings"]["set"] == "routing.channels=crossing, nic.injection=shared", "all settings", r["settings"])


# Fortran programs and others that bring a real MPI with them.
def other_mpi(folder):
    hello = pathlib.Path(folder, "hello.f90")
    hello.write_text("program hello\n include 'mpif.h'\n integer e\n call MPI_INIT(e)\n call MPI_FINALIZE(e)\nend program\n")
    for compiler in ("mpifort.openmpi", "mpifort.mpich"):
        if shutil.which(compiler) is None:
            print("skipped, not there:", compiler)
            continue
        subprocess.run([compiler, hello, "-o", hello.with_suffix("")], check=True, timeout=100, cwd=folder)
        refused("--machine", "torus2d-8x8", "-n", "2", hello.with_suffix(""), says="MPI library of its own kind")


with tempfile.TemporaryDirectory() as scratch:
    globals()[args.case](scratch)
