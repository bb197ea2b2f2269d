"""Tests of `tasuki bench` pack, typed, messages, bcast, rma and collectives from outside: sweep_test.py CASE --mpi openmpi --tasuki PATH."""
import math
import pathlib
import subprocess
import sys
import tempfile
import tomllib

from common import SKIPPED, args, bench, check, measured

SHORT = ["--seconds", "1", "--rounds", "3"]
CELLS = ["--blocks", "1,64,4096", "--counts", "1,64", "--max-bytes", "64KiB"]


def measured_sweep(name, *arguments):
    m, text, _ = measured(name, *arguments)
    check("geomean" in m, "no mean", m.keys())
    for r in m["rows"]:
        check(r["plain_us"] > 0 and r["tasuki_us"] > 0 and r["ratio"] > 0 and r["verified"], "no time", r)
    return m, text


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def pack():
    m, text = measured_sweep("pack", *CELLS, *SHORT, "--strides", "2,4", "--threads", "0,1")
    check("MPI_Unpack: plain MPI against Tasuki, 1 helper thread" in text and "4096" not in text.splitlines()[0], "no matrix", text)
    expected = {(o, b, c, s, h) for o in ("pack", "unpack") for b in (1, 64, 4096) for c in (1, 64) for s in (2, 4)
                for h in (0, 1) if b * c <= 65536}
    found = {(r["operation"], r["block"], r["count"], r["stride_ratio"], r["helpers"]) for r in m["rows"]}
    check(found == expected, "other cells", expected ^ found)
    for r in m["rows"]:
        check(r["memcpy_us"] > 0 and r["memcpy2_us"] > 0 and r["single_us"] > 0, "a limit is missing", r)
    check(abs(mean(r["ratio"] for r in m["rows"]) / m["geomean"] - 1) < 0.01, "geometric mean", m["geomean"])


def pack_patterns():
    m, text = measured_sweep("pack", "--ddt", "--pattern", "^NAS_LU_y/480$|^FFT2/65536$|^LAMMPS_full/32768$|^WRF_x_sa/32448$", *SHORT,
                       "--threads", "0,1", "--iters", "50")
    check(m["benchmark"] == "pack-ddt" and "hand-written" in text, "another measurement", text)
    check({r["operation"] for r in m["rows"]} == {"pack", "unpack"} and len(m["rows"]) >= 6, "rows", m["rows"])
    for r in m["rows"]:
        check(r["direct_us"] > 0 and r["memcpy_us"] > 0 and r["helpers_us"]["1"] > 0, "a time is missing", r)
        if "peers_us" in r:
            check(r["plain_us"] == min(r["peers_us"].values()) == r["peers_us"][r["best_peer"]], "not the best peer", r)
    check(m["geomean_direct"] > 0, "no mean against the loops", m)


def pack_every_pattern():
    """The hand-written loops and the type maps agree for all rows up to a size (each is checked by the program)."""
    measured_sweep("pack", "--ddt", "--pattern", "/[0-9]{3,5}$", "--seconds", "3", "--threads", "0", "--iters", "10")


def typed():
    m, text = measured_sweep("typed", *CELLS, *SHORT, "--where", "node", "--threads", "0")
    check("Inside the node: plain MPI against Tasuki" in text, "no matrix", text)
    check(m["tasuki_messages"] > 0, "Tasuki moved nothing", m["notes"])
    for r in m["rows"]:
        check(r["operation"] == "node contiguous" or r["contiguous_us"] > 0, "no contiguous time", r)


def peers():
    m, text = measured_sweep("typed", "--peers", "--pattern", "^NAS_LU_y/480$|^contiguous/8$", *SHORT, "--iters", "100")
    if "peers" not in m:
        print("skipped: one MPI library only")
        sys.exit(SKIPPED)
    r = m["rows"][0]
    check(set(r["peers_us"]) == {"openmpi", "mpich"} == set(m["peers"]), "other peers", r, m["peers"])
    check(r["plain_us"] == r["peers_us"][r["best_peer"]] and r["best_peer"] in text, "the best peer is not named", text)
    check("NAME=MPIRUN,PROGRAM" in bench("typed", "--peers", "--peer", "nonsense", code=1), "a bad peer")
    check("not an executable" in bench("typed", "--peers", "--peer", "a=/nonexistent,/b", code=1), "a missing peer")


def hosts():
    m, text = measured_sweep("typed", "--blocks", "64", "--counts", "64", *SHORT, "--where", "hosts", "--threads", "0")
    check("Between two hosts: plain MPI against Tasuki" in text, "no matrix", text)
    check({r["operation"] for r in m["rows"]} == {"hosts", "hosts contiguous"}, "rows", m["rows"])
    m, text = measured_sweep("bcast", "--sizes", "256KiB", "--chunks", "64KiB,256KiB", "--ranks", "2", "--threads", "0", *SHORT,
                             "--where", "hosts")
    check("Typed broadcast, 2 ranks on two hosts" in text, "no matrix", text)
    check({(r["operation"], r["chunk"], r["where"]) for r in m["rows"]} ==
          {(o, c, "hosts") for o in ("dense", "typed") for c in (65536, 262144)}, "other cells", m["rows"])


def bcast():
    m, text = measured_sweep("bcast", "--sizes", "1KiB,64KiB", "--chunks", "16KiB,64KiB", "--ranks", "2,3", "--threads", "0", *SHORT)
    check("Typed broadcast, 3 ranks: plain MPI against Tasuki" in text, "no matrix", text)
    found = {(r["operation"], r["size"], r["chunk"], r["ranks"]) for r in m["rows"]}
    check(found == {(o, s, c, n) for o in ("dense", "typed") for s in (1024, 65536) for c in (16384, 65536) for n in (2, 3)},
          "other cells", found)


def messages():
    m, text = measured_sweep("messages", "--sizes", "8,300,64KiB", "--threads", "0", *SHORT)
    check("64 messages by MPI_Isend, and an answer: the best plain MPI against Tasuki" in text, "no matrix", text)
    found = {(r["operation"], r["size"]) for r in m["rows"]}
    check(found == {(o, s) for o in ("pingpong", "send", "isend") for s in (8, 300, 65536)}, "other cells", found)


def rma():
    m, text = measured_sweep("rma", "--sizes", "8,64KiB", "--threads", "0", *SHORT)
    check("MPI_Get: the best plain MPI against Tasuki" in text, "no matrix", text)
    found = {(r["operation"], r["size"], r["stride_ratio"]) for r in m["rows"]}
    check(found == {(o, s, d) for o in ("put", "get", "accumulate") for s in (8, 65536) for d in (1, 2)} | {("fetch_and_op", 8, 1)},
          "other cells", found)
    for r in m["rows"]:
        if "peers_us" in r:
            check(r["plain_us"] == min(r["peers_us"].values()) == r["peers_us"][r["best_peer"]], "not the best peer", r)


def collectives():
    operations = ("allreduce", "reduce", "reduce_scatter_block", "scan", "allgather", "alltoall", "alltoallw", "neighbor_alltoallw",
                  "gather", "scatter", "barrier", "iallreduce", "iallgather", "ialltoall", "ialltoallw", "ineighbor_alltoallw",
                  "igather", "iscatter")
    m, text = measured_sweep("collectives", "--sizes", "8,64KiB", "--ranks", "2,3", "--threads", "0", *SHORT)
    check("allreduce: the best plain MPI against Tasuki" in text, "no matrix", text)
    found = {(r["operation"], r["size"], r["ranks"]) for r in m["rows"]}
    check(found == {(o, s, n) for o in operations for s in (8, 65536) for n in (2, 3)}, "other cells", found)


def tune():
    """`tasuki tune --collectives` writes rules, and keeps what else the file has."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "tune.toml")

        def tuned(*arguments, code=0):
            done = subprocess.run([args.tasuki, "tune", "--output", file, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=170)
            check(done.returncode == code, f"exit code {done.returncode}", done.stdout)
            return done.stdout

        quick = ("--collectives", "--mpi", args.mpi, "--ranks", "2", "--sizes", "8,4KiB", "--seconds", "2")
        said = tuned(*quick, "--dry-run")
        check(not file.exists() and ("left to the library" in said or "nothing is left to it" in said), "a dry run", said)
        tuned(*quick)
        first = tomllib.loads(file.read_text())
        check(all(rule.startswith(args.mpi + "/") for rule in first.get("left", [])), "other rules", first)
        check("costs" not in first, "constants", first)
        # Rules for another library, and constants, stay. This library's are measured anew.
        other = "mpich" if args.mpi == "openmpi" else "openmpi"
        first["left"] = [f"{other}/scan:8B", f"{args.mpi}/bcast:77B"]
        costs = dict.fromkeys(("line", "page", "run", "byte", "staged_byte", "handshake", "unit"), 2.5)
        file.write_text(f'format = 1\nleft = {first["left"]}\n[machine]\ncpu = "{first["machine"]["cpu"]}"\n'
                        f'cores = {first["machine"]["cores"]}\n[costs]\n' + "".join(f"{k} = {v}\n" for k, v in costs.items()))
        tuned(*quick)
        second = tomllib.loads(file.read_text())
        check(second["costs"] == costs and f"{other}/scan:8B" in second["left"] and f"{args.mpi}/bcast:77B" not in second["left"],
              "what was there before", second)
        check("--collectives" in tuned("--ranks", "2", code=2), "an option of --collectives by itself")


globals()[args.case]()
