"""Random command lines and machine files, in range and out of it: sim_fuzz.py --tasuki bin/tasuki [--runs 60] [--seed 1] [--program FILE].

Every run gives a result or a clear error: no signal, no exception, no hang, no time of 0, nothing that is no number. A
failure prints its seed; --seed that and --runs 1 repeat it.
"""
import argparse
import json
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--tasuki", required=True)
parser.add_argument("--runs", type=int, default=60)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--program", help="an MPI program built with tasuki simcc")
parser.add_argument("--limit", type=float, default=60, help="seconds for a run")
args = parser.parse_args()

ALGORITHMS = ["a2at", "pairwise", "ring", "bruck", "linear", "spread", "binomial", "chain", "binary-tree", "trinaryx3", "recursive-doubling",
              "ring-allreduce", "dissemination", "halo", "nonsense", ""]
# By key: values that are often good, and others.
TOPOLOGIES = [
    {"topology.kind": ["torus", "mesh"], "topology.extents": ["[4, 4]", "[3, 3]", "[5]", "[2, 3, 2]", "[1, 1]", "[2, 2]", "[1, 9]", "[4, 1, 2]"],
     "topology.wraps": [None, None, None, "[true, false]", "[false, false]", "[true, true]", "[true]"],
     "topology.router_nodes": [None, None, None, "2", "1"]},
    {"topology.kind": ["fat-tree"], "topology.arity": ["2", "3", "4"], "topology.levels": ["1", "2", "3"]},
    {"topology.kind": ["dragonfly"], "topology.group_routers": ["1", "2", "3", "4"], "topology.global_links": ["1", "2"],
     "topology.router_nodes": [None, "1", "2"]},
]
OTHERS = {
    "routing.algorithm": [None, None, None, "deterministic", "adaptive", "valiant"],
    "routing.ties": [None, None, "positive", "split"],
    "routing.channels": [None, None, "dateline", "balanced", "crossing"],
    "link.bandwidth": ["4 GB/s", "1 B/s", "1 Tbit/s", "0.3 GB/s"],
    "link.cable_delay": ["10 ns", "0 ns", "1 ps", "7.3 ns", "1 s"],
    "router.routing_computation": ["4 ns", "0 ns", "1 us"],
    "router.channel_allocation": ["4 ns", "0 ns"],
    "router.switch_allocation": ["4 ns", "0 ns"],
    "router.switch_traversal": ["4 ns", "0 ns", "3 ps"],
    "router.switch_delay": ["78 ns", "0 ns"],
    "router.channels": ["1", "2", "3", "4", "8"],
    "router.buffer": ["8 KiB", "2 KiB", "1 GiB", "16 KiB"],
    "router.arbitration": [None, "injection-first", "round-robin", "through-first", "oldest-first"],
    "router.buffer_read": [None, "multiple", "channel", "port"],
    "packet.flit": ["16 B", "1 B", "100 B", "2 KiB"],
    "packet.mtu": ["2 KiB", "256 B", "2 B", "33 B"],
    "packet.header": ["32 B", "1 B", "255 B"],
    "nic.count": ["4", "1", "2", "64"],
    "nic.dma": ["16 GB/s", "1 MB/s"],
    "nic.injection": [None, None, "per-nic", "shared"],
    "memory.bandwidth": ["38 GB/s", "1 MB/s"],
    "software.call_overhead": ["200 ns", "0 ns", "1 s"],
    "software.eager": [None, "0 B", "1 B", "4 KiB"],
    "software.compute_scale": [None, "0", "1"],
}
ODD = ["-1", "0", "1e400", "nan", "\"\"", "4294967296", "99999999999999999999", "[]", "true", "1 B", "[0, 4]", "[99999, 99999]", "\"0 GB/s\"", "{}", "x\ny"]
SIZES = ["0", "1", "7", "64", "1KiB", "4KiB", "10 KB", "-1", "lots", "1.5", "20EB", "9e18", ""]
TIMES = ["0", "0 ns", "1 ps", "3 us", "1 ms", "-1 us", "5", "9000000 s", ""]
PACES = ["0", "hops-1+1.25", "1", "1000000", "-5", "hops/0", "1e308*hops", "min(hops,2)", "max(", "hops-1+0:2:0.5", "0:1:0", "nan", ""]


def pick(r, usual, odd=0.15):
    """The first value mostly, else any."""
    return usual[0] if r.random() > odd * 3 else r.choice(usual)


def machine(r):
    keys = {}
    for key, values in {**r.choice(TOPOLOGIES), **OTHERS}.items():
        value = r.choice(values) if key.startswith("topology") else pick(r, values)
        if value is not None:
            keys[key] = value if value[0] in "[0123456789" and " " not in value.replace(", ", "") else f'"{value}"'
    if r.random() < 0.2:
        keys[r.choice(list(keys))] = r.choice(ODD)
    if r.random() < 0.05:
        del keys[r.choice(list(keys))]
    text = 'name = "fuzz"\n'
    for table in sorted({k.split(".")[0] for k in keys}):
        text += f"[{table}]\n" + "".join(f"{k.split('.')[1]} = {v}\n" for k, v in keys.items() if k.startswith(table + "."))
    return text


def maybe(r, words, option, values, chance=0.25):
    if r.random() < chance:
        words += [option, r.choice(values)]


def command(r, folder):
    file = pathlib.Path(folder, "machine.toml")
    file.write_text(machine(r))
    words = ["--machine", str(file if r.random() < 0.9 else "torus2d-8x8")]
    for _ in range(r.choice([0, 0, 1, 2])):
        key, values = r.choice(list(OTHERS.items()))
        value = r.choice([v for v in values if v is not None] + ODD)
        words += ["--set", f"{key}={value}" if r.random() < 0.95 else value]
    kind = r.choice(["schedule"] * 4 + ["sweep", "tune", "traffic", "paper"] + (["program"] * 2 if args.program else []))
    out = {"--json": [f"{folder}/out.json", "/dev/null/x"]}
    maybe(r, words, "--model", ["packet", "flow", "other"])
    maybe(r, words, "--threads", ["1", "2", "3", "0", "1025"])
    maybe(r, words, "--seed", ["1", "2", "18446744073709551615", "-1"])
    if kind == "paper":
        words = [w for w in words if w not in ("--model", "packet", "flow", "other")] if "--seed" not in words else words
        return kind, ["sim", "paper", *words, "--experiments", r.choice(["2", "1", "3", "5"]), "--sizes", r.choice(["2", "4", "3,5", "1"]),
                      "--big-sizes", "2", "--step", r.choice(["1", "0.5", "0"]), "--out", f"{folder}/paper", "--set", 'packet.mtu="32 KiB"',
                      "--set", 'router.buffer="64 KiB"', "--set", 'packet.flit="16 B"']
    if kind == "traffic":
        words += ["--load", r.choice(["0.1", "0.5,1", "0", "nan", "1000"]), "--warm-up", r.choice(["1 us", "0 us", *TIMES[:3]]),
                  "--measure", r.choice(["2 us", "1 us", "0 ns", "1"])]
        maybe(r, words, "--pattern", ["uniform", "transpose", "tornado", "bit-complement", "hot-spot", "none"], 0.7)
        maybe(r, words, "--message", SIZES)
        maybe(r, words, "--gap", ["0", "1", "1e6", "-1", "nan"])
        maybe(r, words, "--hot-node", ["0", "3", "100000"])
        maybe(r, words, "--hot-share", ["0", "1", "2", "nan"])
        maybe(r, words, "--json", out["--json"])
        return kind, ["sim", "traffic", *words]
    if kind == "program":
        maybe(r, words, "-n", ["1", "3", "9", "40", "0", "99999999"], 0.7)
        maybe(r, words, "--collective", ["alltoall=a2at", "alltoall=ring", "allreduce=ring-allreduce", "broadcast=trinaryx3", "barrier=linear", "x", "="], 0.6)
        maybe(r, words, "--stack", SIZES, 0.1)
        maybe(r, words, "--patience", ["20 s", "0 s", "x"], 0.2)
        maybe(r, words, "--bytes", SIZES, 0.05)
        if r.random() < 0.2:
            words.append("--no-payload")
        maybe(r, words, "--json", out["--json"], 0.5)
        return kind, ["sim", *words, args.program]
    many = kind == "sweep"
    words += ["--schedule", r.choice(ALGORITHMS)]
    words += ["--bytes", r.choice(SIZES[:6] if r.random() < 0.8 else SIZES)]
    maybe(r, words, "--skew", TIMES)
    if r.random() < 0.15:
        words.append("--barriers")
    if not many:
        maybe(r, words, "--segment", SIZES)
        maybe(r, words, "--root", ["0", "1", "99999", "-1"], 0.15)
    if kind == "tune":
        maybe(r, words, "--low", ["-1", "0", "3", "-1e9", "nan"])
        maybe(r, words, "--high", ["1", "3", "-2", "1e9", "inf"], 0.5)
        maybe(r, words, "--fine", ["0.125", "0.25", "0", "-1", "1e-9"])
        maybe(r, words, "--rounds", ["1", "2", "0", "-1"], 0.4)
        maybe(r, words, "--tolerate", TIMES[:5])
        maybe(r, words, "--trial-bytes", SIZES)
        if r.random() < 0.3:
            words.append("--alone")
        return kind, ["sim", "tune", *words, "-o", r.choice([f"{folder}/tuned.json"] * 3 + ["/dev/null/x"])]
    maybe(r, words, "--pace", PACES, 0.5)
    maybe(r, words, "--json", out["--json"], 0.7)
    if many:
        maybe(r, words, "--csv", [f"{folder}/out.csv", "/dev/null/x"])
        maybe(r, words, "--html", [f"{folder}/out.html", "/dev/null/x"])
        return kind, ["sim", "sweep", *words]
    maybe(r, words, "--sequences", ["1", "2:4", "30", "0", "4:2", "x", "1:99999"])
    maybe(r, words, "--replay", [f"{folder}/none.json"], 0.05)
    maybe(r, words, "--collective", ["alltoall=a2at"], 0.05)
    maybe(r, words, "--out", [f"{folder}/report", "/dev/null/x"], 0.1)
    return kind, ["sim", *words]


def wrong_of(kind, words, folder):
    try:
        # A session of its own: what hangs is ended with all that it started.
        done = subprocess.run(["timeout", "-k", "5", str(args.limit), args.tasuki, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              check=False, cwd=folder)
    except ValueError:
        return None  # a word with a zero byte: no shell can pass it either
    text = done.stdout + done.stderr
    if done.returncode == 124:
        return "hangs, or takes too long"
    # Without payload the program rightly finds its data wrong.
    if "--no-payload" in words and done.returncode == 3 and "called MPI_Abort with error code 3" in text:
        return None
    # Exit codes of a program that crashed are 128 + signal; the fuzzed one does not.
    if done.returncode not in (0, 1, 2):
        return f"exit code {done.returncode}"
    if re.search(r"terminate called|what\(\):|map::at|vector::|std::|bad_alloc|internal error|Sanitizer", text):
        return "an exception"
    if done.returncode != 0:
        return None if done.stderr.strip() else "an error without a word"
    if re.search(r"(?<![\w/.-])-?(nan|inf)(?![\w/.])", done.stdout, re.IGNORECASE):
        return "a number that is none"
    if "--json" in words:
        result = json.loads(pathlib.Path(words[words.index("--json") + 1]).read_text())
        for one in result.get("points", [result]):
            if "time_s" in one and not 0 < one["time_s"]:
                return f"time {one['time_s']}"
    return None


failed = 0
for number in range(args.seed, args.seed + args.runs):
    with tempfile.TemporaryDirectory() as scratch:
        chosen, line = command(random.Random(number), scratch)
        wrong = wrong_of(chosen, line, scratch)
        if wrong:
            failed += 1
            print(f"--seed {number}: {wrong}\n  {shlex.join(line)}")
            print(pathlib.Path(scratch, "machine.toml").read_text())
            sys.stdout.flush()
print(f"{args.runs} runs from seed {args.seed}, {failed} wrong")
sys.exit(1 if failed else 0)
