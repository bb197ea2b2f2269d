#!/usr/bin/env python3
"""Run MPI programs of others, unmodified, on two hosts: plainly and behind `tasuki run`, and print where the results differ.

    scripts/programs-two-hosts.py [--tasuki build/bin/tasuki] [--mpi openmpi|mpich|both] [--programs hpcc lammps ...]
                                  [--sources DIRECTORY] [--keep DIRECTORY] [--limit SECONDS]
    scripts/programs-two-hosts.py --list

The hosts are two network namespaces of this machine, which test/task/test_hosts.py makes for each program; each has two ranks. Both runs
have the same arguments, environment and input. What is compared are the numbers and verdicts in the output and in the files that a program
writes, never times and dates. One line each:

    hpcc openmpi: same results, plain 12.3 s, tasuki 11.8 s, messages inside hosts 1234

The programs are Debian's; where they are missing and apt-get as root is at hand, they are installed. --sources names a folder with
checkouts of programs that Debian lacks, by the names of their repositories: they are built there in a copy, with the compilers of each
MPI. Nothing else is downloaded. --list names all programs, their packages and checkouts. The sizes are for two cores that are not busy.
Where cores are few and busy, both MPI libraries hang now and then between hosts, plainly too (MPICH in MPI_Finalize): a run that takes
longer than --limit starts again, twice at most, and the line says so.
A program whose results differ runs plainly once more: what two plain runs disagree on as well is said, and is a difference all the same.

Exit code: 0 all the same, 1 with what differs, 77 where such namespaces are not permitted.
"""
import argparse
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "test", folder) for folder in ("", "task", "programs")]
import checkouts  # noqa: E402  programs that are built
import mpi_run  # noqa: E402  ending processes
import real  # noqa: E402  programs on one host: what they are given, and what counts in their output
import test_hosts  # noqa: E402  the hosts
import test_run  # noqa: E402  how a job is started

RANKS = 4  # two on each host
CHECKOUT = "checkout "


# --- what counts in an output

TIMES = r"(?i)\btimes?\b|time[:=]|second|\bsec\b|\bcpu\b|wall|elapsed|[mg]flop|\bdate\b|\d\d:\d\d:\d\d|/s\b|\brate\b|speed|pid\b"


def number(word):
    """So that 0.0 and -0.0 are the same."""
    return re.sub(r"^-(0*\.?0*(?:[eEdD][-+]?\d+)?)$", r"\1", word)


def facts_of(keep=r"\d", drop=TIMES, words=None, files=()):
    """A function that draws the facts from an output: the lines that match `keep` but not `drop`; of each line the words that match
    `words`. They are sorted, since the lines of several ranks come in any order. `files`: only what the program writes there counts."""
    def facts(out):
        text = out
        if files:
            text = "\n".join(open(path, encoding="utf-8", errors="replace").read() for name in files for path in sorted(glob.glob(name)))
        found = [line for line in real.lines(text, keep) if not re.search(drop, line)]
        return sorted(" ".join(number(w) for w in line.split() if not words or re.search(words, w)) for line in found)
    return facts


def case(command, at_least, inputs=None, env=None, stdin=None, **facts):
    inputs = dict(inputs or {}, **({"stdin": stdin} if stdin is not None else {}))
    return real.Case(command, facts_of(**facts), at_least, inputs, env)


def need(path, package):
    if not os.path.exists(path):
        raise real.Skip(f"{path} is not installed (Debian package {package}) and could not be: that takes apt-get as root")
    return path


def read(path, package):
    with open(need(path, package), encoding="utf-8", errors="replace") as file:
        return file.read()


# --- programs of Debian: functions of the options (mpi, scratch, and those of the command line)

def hpcc(options):
    text = read("/usr/share/doc/hpcc/examples/_hpccinf.txt", "hpcc")
    text = re.sub(r"^80 ", "20 ", re.sub(r"^1000 ", "400 ", text, flags=re.M), flags=re.M)
    found = real.hpcc(options)
    found.files["hpccinf.txt"] = text
    return found


def alignment(taxa=10, length=400):
    """Names and sequences of genes that descend from one another."""
    dice = random.Random(7)
    sequences = ["".join(dice.choice("ACGT") for _ in range(length))]
    while len(sequences) < taxa:
        parent = dice.choice(sequences)
        sequences.append("".join(dice.choice("ACGT") if dice.random() < 0.15 else c for c in parent))
    return [(f"taxon{i:02d}", sequence) for i, sequence in enumerate(sequences)]


def phylip():
    rows = alignment()
    return f" {len(rows)} {len(rows[0][1])}\n" + "".join(f"{name}   {sequence}\n" for name, sequence in rows)


def netpipe(options):
    """With four ranks it hangs, plainly too: one on each host."""
    found = real.netpipe(options)
    found.command[-3:] = ["64", "-n", "5"]
    found.at_least = 8
    found.ranks = (1, 1)
    return found


def phyml(_):
    path = need("/usr/lib/phyml/bin/phyml-mpi", "phyml")
    return case([path, "-i", "genes", "-b", "8", "--r_seed", "5", "--no_memory_check"], 10, {"genes": phylip()},
                files=["genes_phyml_stats*", "genes_phyml_tree*", "genes_phyml_boot_trees*"])


def mplrs(_):
    path = need("/usr/bin/mplrs", "mplrs")
    n = 7
    # A part of a cube: each row is an inequality b + a x >= 0.
    rows = [[1] + [side if i == k else 0 for k in range(n)] for i in range(n) for side in (1, -1)]
    rows.append([2] + [1 if k % 2 else -1 for k in range(n)])
    text = f"cube\nH-representation\nbegin\n{len(rows)} {n + 1} rational\n"
    text += "".join(" ".join(map(str, row)) + "\n" for row in rows) + "end\n"
    return case([path, "cube.ine", "vertices"], 50, {"cube.ine": text}, keep=r"^ *[01] ", files=["vertices"])


def ptscotch(_):
    path = need("/usr/bin/dgord", "ptscotch")
    n = 40
    edges = {}
    for x in range(n):
        for y in range(n):
            near = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
            edges[x * n + y] = [a * n + b for a, b in near if 0 <= a < n and 0 <= b < n]
    text = f"0\n{n * n} {sum(map(len, edges.values()))}\n0 000\n"
    text += "".join(f"{len(near)} {' '.join(map(str, near))}\n" for _, near in sorted(edges.items()))
    return case([path, "grid.grf", "order"], n * n, {"grid.grf": text}, files=["order"])


def elk(_):
    path = need("/usr/bin/elk-lapw", "elk-lapw")
    text = read("/usr/share/doc/elk-lapw/examples/basic/Al/elk.in", "elk-lapw").replace("../../../species/", "/usr/share/elk-lapw/species/")
    return case([path], 10, {"elk.in": text}, files=["TOTENERGY.OUT", "EFERMI.OUT", "EIGVAL.OUT"])


WATER = """#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
"""
RELAXATION = """integrator = steep
nsteps = 8
nstenergy = 10
nstlog = 10
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
"""


def gromacs(options):
    path = need("/usr/bin/gmx_mpi", "gromacs")

    def gmx(*words):
        subprocess.run(["/usr/bin/gmx", "-quiet", "-nobackup"] + list(words), cwd=options.scratch, check=True, capture_output=True)
    for name, text in {"water.top": WATER, "water.mdp": RELAXATION}.items():
        with open(os.path.join(options.scratch, name), "w") as file:
            file.write(text)
    gmx("solvate", "-cs", "spc216", "-box", "2.6", "2.6", "2.6", "-o", "water.gro", "-p", "water.top")
    gmx("grompp", "-f", "water.mdp", "-c", "water.gro", "-p", "water.top", "-o", "water.tpr", "-maxwarn", "2")
    return case([path, "-quiet", "mdrun", "-reprod", "-nb", "cpu", "-ntomp", "1", "-npme", "0", "-pin", "off", "-dlb", "no", "-notunepme",
                 "-s", os.path.join(options.scratch, "water.tpr"), "-g", "out.log", "-c", "out.gro"], 500, keep=r"e[+-]\d\d|SOL",
                drop=r"(?i)total|ns/day|mflop| MB", files=["out.log", "out.gro"])


EXPANSION = """#-
Off Statistics;
Symbols a, b, c, d, e, x;
Local F = (a + b + c + d + e)^12;
id a = b + x;
id x^3 = c - d;
.sort
id b = c - 2*d;
Bracket d;
Print +s;
.end
"""


def parform(_):
    path = need("/usr/bin/parform", "form")
    return case([path, "expand.frm"], 50, {"expand.frm": EXPANSION})


def molds(_):
    path = need("/usr/bin/molds", "molds")
    text = read("/usr/share/doc/molds/examples/ch4_am1_directCIS_singlet.in", "molds")
    return case([path, "methane.in"], 20, {"methane.in": text}, drop=TIMES + r"|MolDS world")


# Not MPI_THREAD_MULTIPLE, mpi4py's default: with that the MPI library carries all messages where there are several hosts.
SUMS = """import sys, mpi4py
mpi4py.rc.thread_level = 'serialized'
from mpi4py import MPI
comm = MPI.COMM_WORLD
n = comm.size
for step in range(200):
    got = comm.sendrecv({'from': comm.rank, 'step': step}, dest=(comm.rank + 1) % n, source=(comm.rank - 1) % n)
    everything = comm.allgather([got['from']] * (step % 7))
    total = comm.allreduce(comm.rank * step)
    if step % 20 == 0:
        comm.barrier()
        sys.stdout.write('rank %d step %d got %r all %r total %d\\n' % (comm.rank, step, sorted(got.items()), everything, total))
"""


def mpi4py(options):
    need("/usr/lib/python3/dist-packages/mpi4py/MPI.pxd", "python3-mpi4py")
    return case([real.PYTHON, "sums.py"], 40, {"sums.py": SUMS}, keep="^rank")


def smaller(text):
    """An input of ScaLAPACK's tests with few sizes, and with one grid, of all four ranks."""
    counts = (("3", "problems? sizes"), ("1", "(NB|NRHS|NBRHS)'s"), ("1", "bandwidths"), ("1", "process(or)? grids"), ("1", "grids"),
              ("2", "precisions"))
    for count, what in counts:
        text = re.sub(rf"(?mi)^ *\d+(\s+number of {what})", rf"{count}\1", text)
    text = re.sub(r"(?m)^[\d ]+(\s+(values of [PQ]|NPROW|NPCOL)\b)", r"2\1", text)
    text = re.sub(r"(?m)^[\d ]+(\s+values of \"Number of Process Columns)", r"4\1", text)
    return re.sub(r"'I' 'S' 'D' 'C' 'Z'", "'D' 'Z'", text)


def scalapack(program, data, folder=""):
    """A test program of ScaLAPACK with the input that comes with it, made smaller."""
    def make(options):
        path = need(f"{real.SCALAPACK}/{options.mpi}-tests/{folder}{program}", "scalapack-mpi-test")
        files = {name: read(f"/usr/share/scalapack/{folder}{name}", "scalapack-test-common") for name in data.split()}
        files = {name: re.sub(r"'T'(\s+Run AUX)", r"'F'\1", smaller(text)) for name, text in files.items()}  # that one calls abort
        # The columns after the sizes and the grid are times and residuals.
        return case([path], 3, files, keep=r"(?i)pass|fail|tests? ", drop=r"^$", words=r"^[^.]*$")
    return make


# --- programs that are built from checkouts

def npb(kernel, kind="S"):
    def make(options):
        path = checkouts.npb(options, kernel, kind, RANKS)
        return case([path], 5, drop=r"(?i)time|mop/s|second|date|verification +=|version|-O2|\bMPI")
    return make


def cloverleaf(options):
    path = checkouts.cloverleaf(options)
    text = read(os.path.join(options.sources, "CloverLeaf_MPI/InputDecks/clover_bm_short.in"), "none")
    text = re.sub("end_step=87", "end_step=30", re.sub("cells=960", "cells=96", text))
    return case([path], 20, {"clover.in": text}, keep=r"^ *(step:|Step)", drop="(?i)clock|per cell", files=["clover.out"])


def comd(options):
    path = checkouts.comd(options)
    return case([path, "-i", "2", "-j", "2", "-k", "1", "-x", "16", "-y", "16", "-z", "8", "-N", "50"], 6,
                keep=r"^ *\d+ +\d+\.\d+ |energy|Atom", drop="^$", words=r"^[^.]*$|^-?\d+\.\d{8,}$")


def minimd(options):
    path = checkouts.minimd(options)
    text = read(os.path.join(options.sources, "miniMD/ref/in.lj.miniMD"), "none")
    return case([path, "-i", "in.lj.miniMD", "-s", "8", "-n", "20", "-t", "1"], 3, {"in.lj.miniMD": text}, keep=r"^\d+ ",
                words=r"^\d+$|e[+-]\d\d$")


SNAP_INPUT = """! For SNAP
&invar
  npey=2
  npez=2
  ichunk=4
  nthreads=1
  ndimen=3
  nx=8
  lx=1.2
  ny=8
  ly=1.2
  nz=8
  lz=1.2
  nmom=2
  nang=4
  ng=2
  mat_opt=1
  src_opt=1
  timedep=0
  epsi=1.0E-4
  iitm=5
  oitm=50
  it_det=1
  fluxp=1
  scatp=0
  fixup=1
/
"""


def snap(options):
    path = checkouts.snap(options)
    # How long each part of the program took.
    parts = r"|^ *[A-Z][A-Za-z ]+ \d\.\d+E[+-]\d+$"
    return case([path, "given", "result"], 20, {"given": SNAP_INPUT}, drop=TIMES + parts, files=["result"])


def hpcg(options):
    path = checkouts.hpcg(options)
    return case([path, "--nx=16", "--ny=16", "--nz=16", "--rt=0"], 20, drop=r"(?i)time|gflop|gb/s|bandwidth|rating|version|date|overhead",
                files=["HPCG-Benchmark*.txt"])


def table():
    """name -> how it is made, for which MPIs, and the Debian package or the checkout"""
    both, openmpi = ("openmpi", "mpich"), ("openmpi",)
    rows = {
        "hpcc": (hpcc, openmpi, "hpcc"),
        "lammps": (real.lammps, openmpi, "lammps"),
        "mumps": (real.mumps, openmpi, "mumps-test"),
        "petsc4py": (real.petsc4py, openmpi, "python3-petsc4py"),
        "mpi4py": (mpi4py, openmpi, "python3-mpi4py"),
        "phyml": (phyml, openmpi, "phyml"),
        "mplrs": (mplrs, openmpi, "mplrs"),
        "ptscotch": (ptscotch, openmpi, "ptscotch"),
        "elk": (elk, openmpi, "elk-lapw"),
        "gromacs": (gromacs, openmpi, "gromacs"),
        "parform": (parform, openmpi, "form"),
        "molds": (molds, openmpi, "molds"),
        "netpipe": (netpipe, both, "netpipe-openmpi"),
    }
    for program in ("dlu LU", "zlu LU", "dqr QR", "dllt LLT", "zinv INV", "dls LS", "dbrd BRD", "dsvd SVD", "zpbllt BLLT"):
        name, data = program.split()
        rows["scalapack-" + name] = (scalapack("x" + name, data + ".dat"), both, "scalapack-mpi-test")
    for name, program in (("blacs-c", "xCbtest"), ("blacs-fortran", "xFbtest")):
        rows[name] = (scalapack(program, "bt.dat sdrv.dat bsbr.dat comb.dat", "BLACS/"), both, "scalapack-mpi-test")
    for name, program, data in (("pblas-d3", "dpb3tst", "PDBLAS3TST.dat"), ("pblas-z2", "zpb2tst", "PZBLAS2TST.dat")):
        rows[name] = (scalapack(program, data, "PBLAS/"), both, "scalapack-mpi-test")
    for kernel in ("cg", "mg", "lu", "ft", "is", "ep", "bt", "sp"):
        rows["npb-" + kernel] = (npb(kernel), both, CHECKOUT + checkouts.NPB_CHECKOUT)
    for function, folder in ((cloverleaf, "CloverLeaf_MPI"), (comd, "CoMD"), (minimd, "miniMD"), (snap, "SNAP"), (hpcg, "hpcg")):
        rows[function.__name__] = (function, both, CHECKOUT + folder)
    return rows


# --- installing

PACKAGES = {
    "hpcc": "/usr/bin/hpcc", "lammps": "/usr/bin/lmp", "mumps-test": "/usr/lib/mumps/dsimpletest", "netpipe-openmpi": "/usr/bin/NPopenmpi",
    "netpipe-mpich2": "/usr/bin/NPmpich2", "scalapack-mpi-test": real.SCALAPACK + "/mpich-tests/xdlu",
    "scalapack-test-common": "/usr/share/scalapack/LU.dat", "python3-mpi4py": "/usr/lib/python3/dist-packages/mpi4py/MPI.pxd",
    "python3-petsc4py": "/usr/lib/python3/dist-packages/petsc4py.pth", "libpython3.11": "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
    "phyml": "/usr/bin/phyml-mpi", "mplrs": "/usr/bin/mplrs", "ptscotch": "/usr/bin/dgord", "elk-lapw": "/usr/bin/elk-lapw",
    "gromacs": "/usr/bin/gmx_mpi", "form": "/usr/bin/parform", "molds": "/usr/bin/molds",
    "gfortran": "/usr/bin/gfortran",
}


def install():
    """Debian's packages that are missing, if that can be done; a program without its package is skipped with a message."""
    wanted = [package for package, file in PACKAGES.items() if not os.path.exists(file)]
    if not wanted or not shutil.which("apt-get") or os.getuid() != 0:
        return
    print(f"apt-get install {' '.join(wanted)}", flush=True)
    apt = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "install", "--no-install-recommends"]
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    if subprocess.run(apt + wanted, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
        return
    # One by one: a package that this distribution lacks must not keep the others away.
    for package in wanted:
        subprocess.run(apt + [package], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)


# --- running

class Job:
    """What a run gave: the facts, or why there are none."""

    def __init__(self, seconds, facts, error="", sent=0, hung=False):
        self.seconds, self.facts, self.error, self.sent, self.hung = seconds, facts, error, sent, hung


def bench(options, tasuki):
    arguments = types.SimpleNamespace(launcher=options.mpi, mpirun=options.mpirun[options.mpi], tasuki=options.tasuki, programs="")
    b = test_run.Bench(arguments)
    b.env["OMP_NUM_THREADS"] = "1"
    if tasuki:
        b.env["TASUKI_STATS"] = "1"
    return b


def ranks_of(program):
    return getattr(program, "ranks", (RANKS // 2, RANKS // 2))


def start(b, host, program, tasuki, limit):
    """Exit code (None: it hung) and seconds; what the job prints goes to files, so that what a hung one had said is kept."""
    ranks = ranks_of(program)
    launch = test_hosts.launch_options(b, host, ranks)
    command = b.command(sum(ranks), program.command, tasuki, launch=launch)
    stdin = "stdin" if os.path.exists("stdin") else os.devnull
    with open("stdout", "w") as out, open("stderr", "w") as err, open(stdin) as given:
        job = subprocess.Popen(command, env=b.env, stdin=given, stdout=out, stderr=err)
        try:
            seconds = wait(job, limit)
        finally:
            code = job.poll()
            kill_all(b)
            job.wait()
    return code, seconds


def wait(job, limit):
    """For the end of the job, or for `limit` seconds. Time in which all of this is stopped (SIGSTOP) does not count."""
    seconds, last = 0, time.monotonic()
    while job.poll() is None and seconds < limit:
        time.sleep(0.05)
        now = time.monotonic()
        seconds, last = seconds + min(now - last, 1), now
    return seconds


def kill_all(b):
    """What is left of a job on both hosts."""
    for _ in range(50):
        left = b.processes()
        for pid in left:
            mpi_run.send(pid, signal.SIGKILL)
        if not left:
            return
        time.sleep(0.1)


def judge(program, code, seconds, tasuki, limit):
    out, err = (open(name, encoding="utf-8", errors="replace").read() for name in ("stdout", "stderr"))
    if code is None:
        return Job(seconds, None, f"still running after {limit} s", hung=True)
    if code:
        return Job(seconds, None, f"exit {code}: {last_words(out, err)}")
    # What the launcher says about itself is no result.
    facts = program.facts("\n".join(line for line in (out + "\n" + err).splitlines() if not re.match(r"\[[\w.-]+:\d+\] ", line)))
    if len(facts) < program.at_least:
        return Job(seconds, None, f"only {len(facts)} results found in the output, expected {program.at_least}")
    sent = dict(re.findall(r"tasuki: rank (\d+):.*\bsent=(\d+)", out + err))
    error = ""
    if tasuki and len(sent) < sum(ranks_of(program)):
        error = f"{len(sent)} of {sum(ranks_of(program))} ranks ran behind Tasuki to their end"
    return Job(seconds, facts, error, sum(map(int, sent.values())))


def last_words(out, err):
    found = [line.strip() for line in (out + "\n" + err).splitlines() if re.search(r"\w", line)]
    return " / ".join(found[-3:])[:300]


def run(name, program, options, label):
    """The first run of three that does not hang, and how many hung before."""
    for hung in range(3):
        job = run_once(name, program, options, label)
        if not job.hung:
            break
    else:
        hung = 3
    return job, hung


def run_once(name, program, options, label):
    directory = os.path.join(options.keep, f"{name}.{options.mpi}", label)
    real.enter(directory, program.files)
    tasuki = label == "tasuki"
    b = bench(options, tasuki)
    b.env.update(pair.partition("=")[::2] for pair in program.env)
    host = test_hosts.SecondHost(directory)
    try:
        code, seconds = start(b, host, program, tasuki, options.limit)
        return judge(program, code, seconds, tasuki, options.limit)
    finally:
        host.end()
        os.chdir(options.keep)


def differing(one, other):
    """Lines that only one has, with marks."""
    rest = list(other)
    for line in one:
        if line in rest:
            rest.remove(line)
            continue
        yield "- " + line
    yield from ("+ " + line for line in rest)


def make(name, options):
    options.scratch = os.path.join(options.keep, f"{name}.{options.mpi}")
    os.makedirs(options.scratch, exist_ok=True)
    try:
        return table()[name][0](options)
    except (real.Skip, subprocess.CalledProcessError) as why:
        print(f"{name} {options.mpi}: skipped: {why}", flush=True)
        return None


def compare(name, options):
    """True if both runs say the same, False if not, None if the program is not there."""
    program = make(name, options)
    if not program:
        return None
    who = f"{name} {options.mpi}"
    plain, hung = run(name, program, options, "plain")
    if plain.error:
        print(f"{who}: plain run: {plain.error}", flush=True)
        return False
    behind, hung_behind = run(name, program, options, "tasuki")
    times = f"plain {plain.seconds:.1f} s, tasuki {behind.seconds:.1f} s, messages inside hosts {behind.sent}"
    if hung or hung_behind:
        times += f", hung before: plain {hung} of {hung + 1} runs, tasuki {hung_behind} of {min(hung_behind + 1, 3)}"
    if behind.error:
        print(f"{who}: behind Tasuki: {behind.error}; {times}", flush=True)
        return False
    if plain.facts == behind.facts:
        print(f"{who}: same results, {times}", flush=True)
        return True
    again, _ = run(name, program, options, "again")
    word = "two plain runs differ as well" if again.facts != plain.facts else "two plain runs agree"
    differences = list(differing(plain.facts, behind.facts))
    print(f"{who}: results differ in {len(differences)} lines, {word}, {times}")
    print("\n".join("  " + line for line in differences[:20]), flush=True)
    return False


def chosen(mpi, options):
    """Programs by name, or all that are for this MPI and whose sources were given."""
    rows = table()
    unknown = set(options.programs or []) - set(rows)
    if unknown:
        raise SystemExit(f"no such programs: {' '.join(sorted(unknown))} (see --list)")
    return [name for name, (_, mpis, source) in rows.items() if mpi in mpis and
            (name in options.programs if options.programs else options.sources or not source.startswith(CHECKOUT))]


def show_list():
    for name, (_, mpis, source) in table().items():
        print(f"{name:18} {' '.join(mpis):14} {source if source.startswith(CHECKOUT) else 'package ' + source}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasuki", default=os.path.join(ROOT, "build", "bin", "tasuki"))
    parser.add_argument("--mpi", choices=["openmpi", "mpich", "both"], default="both")
    parser.add_argument("--programs", nargs="+", metavar="NAME", help="only these; default: all")
    parser.add_argument("--sources", type=os.path.abspath, metavar="DIRECTORY", help="checkouts of programs that are to be built")
    parser.add_argument("--keep", type=os.path.abspath, metavar="DIRECTORY", help="where outputs and builds stay; default: they do not")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS",
                        help="a run that takes longer counts as hung; less than 600, the life of a host")
    parser.add_argument("--list", action="store_true", help="the programs, and what they need")
    options = parser.parse_args()
    options.tasuki = os.path.abspath(options.tasuki)
    options.mpirun = {mpi: shutil.which("mpirun." + mpi) for mpi in ("openmpi", "mpich")}
    return options


def run_all(options):
    outcomes = []
    for mpi in ["openmpi", "mpich"] if options.mpi == "both" else [options.mpi]:
        if not options.mpirun[mpi]:
            print(f"no mpirun.{mpi} here: its programs are left out")
            continue
        options.mpi = mpi
        outcomes += [compare(name, options) for name in chosen(mpi, options)]
    same = outcomes.count(True)
    print(f"{len(outcomes)} programs: {same} same, {outcomes.count(False)} not, {outcomes.count(None)} skipped")
    return 0 if same and False not in outcomes else 1


def main():
    options = parse()
    if options.list:
        show_list()
        return 0
    if test_hosts.INSIDE not in os.environ:
        install()  # on host A there is no network
    test_hosts.enter_first_host()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no job and no host stays behind
    with tempfile.TemporaryDirectory() as directory:
        options.keep = options.keep or directory
        return run_all(options)


if __name__ == "__main__":
    sys.exit(main())
