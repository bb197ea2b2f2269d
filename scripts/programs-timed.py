#!/usr/bin/env python3
"""Time MPI programs of others, unmodified, on this host: plainly and behind `tasuki run` in turns, by each program's own figure of merit.

    scripts/programs-timed.py [--tasuki build/bin/tasuki] [--mpi openmpi|mpich|both] [--programs lammps hpcc ...] [--rounds N] [--ranks N]
                              [--sources DIRECTORY] [--keep DIRECTORY] [--json FILE]
    scripts/programs-timed.py --list

A table in Markdown, one row for each figure: the medians of the rounds, the gain (plain / Tasuki of a time, Tasuki / plain of a rate, less
one; the median of the rounds' gains, and the lowest and highest one), and which share of the plain program's time its MPI library has,
waiting included (one more plain run, interrupted every 2 ms: test/programs/mpi_share.c). A round in which the program's results differ, or
in which Tasuki moved no message, is an error.

The programs are Debian's (scripts/install-real-programs.sh), or built from checkouts under --sources: see programs-two-hosts.py --list.

Exit code: 0; 1 if a program failed or its results differ.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "test", folder) for folder in ("", "programs")]
import checkouts  # noqa: E402  programs that are built
import real  # noqa: E402  programs on one host: what they are given, and what counts in their output

LIMIT = 600  # seconds of one run


class Program:
    """figures: name -> (pattern with one group, the number, of which the last counts; "time" or "rate", "median rate" of all that are
    printed); facts: pattern of lines that must be the same"""

    def __init__(self, command, figures, facts=None, files=None, output=None):
        self.command, self.figures, self.facts, self.files, self.output = command, figures, facts, files or {}, output


# --- the programs; sizes for two cores and some seconds

def lammps(options):
    """The melt of 16,384 atoms."""
    text = real.MELT.replace("0 8 0 8 0 8", "0 16 0 16 0 16").replace("run 100", "run 1000")
    return Program([real.need("/usr/bin/lmp", "lammps"), "-in", "melt.in"], {"loop": (r"^Loop time of ([\d.]+)", "time")},
                   r"^\s+\d+(?:\s+-?[\d.]+){5}\s*$", {"melt.in": text})


def hpcc(options):
    given = open(real.need("/usr/share/doc/hpcc/examples/_hpccinf.txt", "hpcc"), encoding="utf-8").read()
    text = re.sub(r"^2(\s+Ps)", r"1\1", given, flags=re.M)
    rates = {name: (rf"^{name}=([\d.eE+-]+)", "rate") for name in
             ("PTRANS_GBs", "MPIFFT_Gflops", "HPL_Tflops", "RandomlyOrderedRingBandwidth_GBytes", "NaturallyOrderedRingBandwidth_GBytes")}
    rates["RandomlyOrderedRingLatency_usec"] = (r"^RandomlyOrderedRingLatency_usec=([\d.eE+-]+)", "time")
    return Program([real.need("/usr/bin/hpcc", "hpcc")], rates, r"\|\|Ax-b\|\|.*(?:PASSED|FAILED)$|^Success=", {"hpccinf.txt": text},
                   "hpccoutf.txt")


def npb(kernel, kind):
    def make(options):
        return Program([checkouts.npb(options, kernel, kind, options.ranks)], {"Mop/s": (r"Mop/s total\s*=\s*([\d.]+)", "rate")},
                       r"Verification\s+=\s+\w+")
    return make


def cloverleaf(options):
    path = checkouts.cloverleaf(options)
    text = open(os.path.join(options.sources, "CloverLeaf_MPI/InputDecks/clover_bm_short.in"), encoding="utf-8").read()
    text = re.sub("end_step=87", "end_step=40", re.sub("cells=960", "cells=480", text))
    return Program([path], {"wall clock": (r"(?s).*Wall clock\s+([\d.]+)", "time")}, r"^ step:.*?[\d.E+-]+\n", {"clover.in": text}, "clover.out")


def comd(options):
    size = ["-x", "20", "-y", "20", "-z", "20", "-N", "100", "-i", str(options.ranks), "-j", "1", "-k", "1"]
    return Program([checkouts.comd(options)] + size, {"us/atom": (r"Average all atom update rate:\s+([\d.]+)", "time")},
                   r"(?:Initial|Final) energy.*")


def minimd(options):
    path = checkouts.minimd(options)
    text = open(os.path.join(options.sources, "miniMD/ref/in.lj.miniMD"), encoding="utf-8").read()
    return Program([path, "-i", "in.lj.miniMD", "-s", "16", "-n", "1000", "-t", "1"],
                   {"atoms/s": (r"([\d.]+) [\d.]+ PERF_SUMMARY", "rate")}, r"^\d+ \S+e\S+ \S+e\S+ \S+e\S+", {"in.lj.miniMD": text})


def hpcg(options):
    return Program([checkouts.hpcg(options), "--nx=32", "--ny=32", "--nz=32", "--rt=4"],
                   {"GFLOP/s": (r"HPCG result is VALID with a GFLOP/s rating of=([\d.]+)", "rate")}, r"result is \w+", None, "HPCG-Benchmark*.txt")


def scalapack(options):
    """LU of a matrix as large as the program has memory for, some milliseconds each: twelve times."""
    # No refinement of the solution: ranks that have less memory than others leave it out alone, and all wait.
    text = real.lu_input(12 * [(420, 420)], [32], [(1, options.ranks)], False)
    return Program([real.need(f"{real.SCALAPACK}/{options.mpi}-tests/xdlu", "scalapack-mpi-test")],
                   {"LU Mflop/s": (r"^WALL.* ([\d.]+) PASSED", "median rate")}, r"PASSED|FAILED", {"LU.dat": text})


def petsc(options):
    """Poisson's equation on 600 x 600 points: conjugate gradients, block Jacobi."""
    case = real.petsc4py(options, (600, 600), 1e-6)
    return Program(["env", *case.env, *case.command], {"solve": (r"^solved in ([\d.]+)", "time")}, r"^(?:iteration|norm) .*", case.files)


def tealeaf(options):
    path = checkouts.tealeaf(options)
    text = open(os.path.join(options.sources, "TeaLeaf_ref/tea.in"), encoding="utf-8").read().replace("=1000", "=400")
    return Program([path], {"wall clock": (r"Wall clock\s+([\d.]+)", "time")}, r"^ step:.*", {"tea.in": text}, "tea.out")


def minighost(options):
    size = ["--npx", str(options.ranks), "--nx", "64", "--ny", "64", "--nz", "64", "--num_tsteps", "100", "--report_perf", "2",
            "--stencil", "24", "--percent_sum", "20"]
    return Program([checkouts.minighost(options)] + size, {"GFLOP/s": (r"GFLOPS_Total:\s+([\d.E+-]+)", "rate")}, r"^ FLOPS_Total:.*",
                   None, "results.yaml")


OPENMPI, BOTH = ("openmpi",), ("openmpi", "mpich")
PROGRAMS = {
    "lammps": (lammps, OPENMPI), "hpcc": (hpcc, OPENMPI), "npb-mg": (npb("mg", "A"), BOTH), "npb-cg": (npb("cg", "A"), BOTH),
    "npb-ft": (npb("ft", "W"), BOTH), "npb-lu": (npb("lu", "W"), BOTH), "npb-is": (npb("is", "A"), BOTH),
    "cloverleaf": (cloverleaf, BOTH), "comd": (comd, BOTH), "minimd": (minimd, BOTH), "hpcg": (hpcg, BOTH),
    "scalapack": (scalapack, BOTH), "petsc": (petsc, OPENMPI), "tealeaf": (tealeaf, BOTH), "minighost": (minighost, BOTH),
}


# --- running

class Failed(Exception):
    pass


def run(program, options, tasuki):
    """One run in a fresh folder; what it printed, and wrote to its file."""
    folder = tempfile.mkdtemp(dir=options.scratch)
    for name, text in program.files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1", TASUKI_STATS="1",
               TASUKI_REQUIRE="on")
    oversubscribe = ["--oversubscribe"] if options.mpi == "openmpi" and options.ranks > len(os.sched_getaffinity(0)) else []
    command = [f"mpirun.{options.mpi}", *oversubscribe, "-n", str(options.ranks), *([options.tasuki, "run"] if tasuki else []), *program.command]
    done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=LIMIT, check=False)
    out = done.stdout
    if done.returncode != 0:
        raise Failed(f"exit code {done.returncode}:\n" + out[-1500:])
    if tasuki and not any(int(n) > 0 for n in re.findall(r"tasuki: rank \d+: sent=(\d+)", out)):
        raise Failed("Tasuki moved no message:\n" + out[-1500:])
    if program.output is not None:
        files = [os.path.join(folder, f) for f in os.listdir(folder) if re.fullmatch(program.output.replace("*", ".*"), f)]
        out += "".join(open(f, encoding="utf-8", errors="replace").read() for f in files)
    shutil.rmtree(folder)
    return out


def figures_of(program, out):
    found = {name: re.findall(pattern, out, flags=re.M) for name, (pattern, _) in program.figures.items()}
    missing = [name for name, values in found.items() if not values]
    if missing:
        raise Failed(f"the figure {', '.join(missing)} is not in the output:\n" + out[-1500:])
    return {name: statistics.median(map(float, values)) if program.figures[name][1].startswith("median") else float(values[-1])
            for name, values in found.items()}


def facts_of(program, out):
    return sorted(re.findall(program.facts, out, flags=re.M)) if program.facts else []


def share_of_mpi(program, options):
    """Of all ranks' time; None if it cannot be found out."""
    library = os.path.join(options.keep, "mpi_share.so")
    if not os.path.exists(library):
        source = os.path.join(ROOT, "test", "programs", "mpi_share.c")
        if subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=False).returncode:
            return None
    file = os.path.join(options.scratch, "share")
    if os.path.exists(file):
        os.remove(file)
    # One env: a second one would have the library, too, and its timer would end what it executes.
    rest = program.command[1:] if program.command[0] == "env" else program.command
    wrapped = Program(["env", f"LD_PRELOAD={library}", f"MPI_SHARE={file}", *rest], program.figures, None, program.files, program.output)
    run(wrapped, options, tasuki=False)
    counts = [tuple(map(int, line.split())) for line in open(file, encoding="utf-8")] if os.path.exists(file) else []
    samples = sum(c[0] for c in counts)
    return sum(c[1] for c in counts) / samples if samples else None


def measure(name, program, options):
    plain, tasuki = [], []
    for turn in range(options.rounds):
        for under in (False, True) if turn % 2 == 0 else (True, False):
            print(f"{name} {options.mpi}: round {turn + 1} of {options.rounds}, {'tasuki' if under else 'plain'}", file=sys.stderr, flush=True)
            out = run(program, options, under)
            (tasuki if under else plain).append((figures_of(program, out), facts_of(program, out)))
    for _, facts in tasuki:
        if facts != plain[0][1]:
            raise Failed(f"the results differ:\nplain  {plain[0][1]}\ntasuki {facts}")
    if program.facts and not plain[0][1]:
        raise Failed("no result is in the output")
    share, rows = share_of_mpi(program, options), []
    for figure, (_, kind) in program.figures.items():
        pairs = [(p[0][figure], t[0][figure]) for p, t in zip(plain, tasuki)]
        gains = [(p / t if kind == "time" else t / p) - 1 for p, t in pairs]
        rows.append({"program": name, "mpi": options.mpi, "figure": figure, "kind": kind, "plain": statistics.median(p for p, _ in pairs),
                     "tasuki": statistics.median(t for _, t in pairs), "gain": statistics.median(gains), "gains": gains, "mpi_share": share})
    return rows


def line_of(row):
    share = "" if row["mpi_share"] is None else f"{row['mpi_share']:.0%}"
    return (f"| {row['program']} | {row['mpi']} | {row['figure']} | {row['plain']:.4g} | {row['tasuki']:.4g} | {row['gain']:+.1%} | "
            f"{min(row['gains']):+.1%} to {max(row['gains']):+.1%} | {share} |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasuki", default=os.path.join(ROOT, "build", "bin", "tasuki"))
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--programs", nargs="+", choices=sorted(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sources")
    parser.add_argument("--keep", help="where built programs stay; otherwise they are removed")
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.rounds < 1 or options.ranks < 1:
        parser.error("--rounds and --ranks are at least 1")
    # The programs run in folders of their own.
    for path in ("tasuki", "sources", "keep"):
        if getattr(options, path):
            setattr(options, path, os.path.abspath(getattr(options, path)))
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    return options


def main():
    given = parse()
    if given.list:
        for name, (_, mpis) in PROGRAMS.items():
            print(f"{name:12} {' '.join(mpis)}")
        return 0
    scratch = tempfile.mkdtemp(prefix="tasuki-timed-")
    rows, bad = [], 0
    try:
        for mpi in BOTH if given.mpi == "both" else (given.mpi,):
            options = types.SimpleNamespace(**{**vars(given), "mpi": mpi, "scratch": scratch, "keep": given.keep or scratch})
            for name in given.programs:
                if mpi not in PROGRAMS[name][1]:
                    continue
                try:
                    rows += measure(name, PROGRAMS[name][0](options), options)
                except real.Skip as why:
                    print(f"{name} {mpi}: skipped: {why}", file=sys.stderr)
                except (Failed, subprocess.TimeoutExpired) as why:
                    print(f"{name} {mpi}: {why}", file=sys.stderr)
                    bad += 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("| program | MPI | figure | plain | under Tasuki | gain | of the rounds | share of MPI, plain |\n|---|---|---|--:|--:|--:|--:|--:|")
    for row in rows:
        print(line_of(row))
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
