#!/usr/bin/env python3
"""Run an installed MPI program of others, unmodified: plain, then under `tasuki run`; the results must be the same.

What is compared are the program's own verdicts and numbers (never times), drawn from its output by the case below. The run under
Tasuki counts only when every rank reported that Tasuki moved messages (mpi_run.py sees to it). Exit code 77: not installed.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HARNESS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mpi_run.py")
SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack"


class Skip(Exception):
    pass


class Case:
    """command: what follows the launcher; files: written to the working directory, and the one named stdin is rank 0's; facts: what must be equal, from the output;
    at_least: how many of them there must be (a program that printed nothing has shown nothing)"""

    def __init__(self, command, facts, at_least, files=None, env=None, timeout=150):
        self.command, self.facts, self.at_least = command, facts, at_least
        self.files, self.env, self.timeout = files or {}, env or [], timeout


def need(path, package):
    if not os.path.exists(path):
        raise Skip(f"{path} is not installed (Debian package {package}; scripts/install-real-programs.sh)")
    return path


def lines(text, pattern):
    """the lines that match, without what is not the program's own"""
    return [line.strip() for line in text.splitlines() if re.search(pattern, line) and not line.startswith("tasuki:")]


# --- HPC Challenge: its own checks of HPL, PTRANS, STREAM, RandomAccess, FFT; the latency test passes messages in rings

def hpcc(options):
    program = need("/usr/bin/hpcc", "hpcc")
    given = open(need("/usr/share/doc/hpcc/examples/_hpccinf.txt", "hpcc")).read()
    # The example input that comes with it, made small.
    text = re.sub(r"^1000 ", "200 ", given, flags=re.M)
    text = re.sub(r"^80 ", "20 ", text, flags=re.M)
    text = re.sub(r"^2(\s+Ps)", r"1\1", text, flags=re.M)

    def facts(_):
        out = open("hpccoutf.txt").read()
        found = lines(out, r"\|\|Ax-b\|\|.*(PASSED|FAILED)|^Success=|Errors(Fraction)?=|^Found .* errors|Node\(s\) with error|"
                           r"Solution Validates")
        # PTRANS: when, size, blocks, grid, time, verdict. (It leaves out by CPU time what took less than the clock's step.)
        found += [" ".join([f[0]] + f[1:7] + [f[8]]) for f in (l.split() for l in lines(out, r"^WALL .*ED"))]
        return found

    return Case([program], facts, 26, {"hpccinf.txt": text})


# --- NetPIPE in its integrity mode: every byte of every message is checked

def netpipe(options):
    name = {"openmpi": "NPopenmpi", "mpich": "NPmpich2"}[options.mpi]
    program = need(f"/usr/bin/{name}", "netpipe-openmpi" if options.mpi == "openmpi" else "netpipe-mpich2")
    return Case([program, "-i", "-u", "131072", "-n", "30"], lambda out: re.findall(r"Integrity check \w+", out), 25)


# --- LAMMPS: a Lennard-Jones melt; every digit of the thermodynamic output must agree

MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 10
run 100
"""


def lammps(options):
    program = need("/usr/bin/lmp", "lammps")
    return Case([program, "-in", "melt.in"], lambda out: lines(out, r"^\s+\d+(\s+-?[\d.]+){5}\s*$"), 11, {"melt.in": MELT})


# --- MUMPS: a sparse system with the known solution 1 2 3 4 5, Fortran

def mumps(options):
    program = need("/usr/lib/mumps/dsimpletest", "mumps-test")
    given = open("/usr/lib/mumps/input_simpletest_real").read()

    def facts(out):
        solution = re.search(r"Solution is((?:\s+-?\d[\d.E+-]*)+)", out)
        return [f"{float(x):.12f}" for x in solution.group(1).split()] if solution else []

    return Case([program], facts, 5, {"stdin": given})


# --- ScaLAPACK and the BLACS: Fortran and C over point-to-point messages of triangular and trapezoidal types

def scalapack(options, program, files):
    directory = f"{SCALAPACK}/{options.mpi}-tests"
    path = need(f"{directory}/{program}", "scalapack-mpi-test")

    def facts(out):
        # All but the times: sizes, blocks, grid, and the verdict.
        found = [" ".join(w for w in line.split() if "." not in w) for line in lines(out, r"\b(PASSED|FAILED)\b")]
        return found + lines(out, r"tests (completed|skipped)")

    return Case([path], facts, 20, files)


def lu_input(orders, blocks, grids, refines):
    """LU.dat of ScaLAPACK's xdlu. orders: (rows, columns) of the matrices; blocks: their sizes; grids: (rows, columns) of processes."""
    def columns(pairs):
        return [" ".join(map(str, column)) for column in zip(*pairs)]

    right_sides, right_blocks = ("1 9", "1 5") if refines else ("1", "1")
    lines = ["'LU factorization'", "'two ranks'", "'LU.out'", "6", str(len(orders)), *columns(orders), str(len(blocks)), " ".join(map(str, blocks))]
    for values in (right_sides, right_blocks):
        lines += [str(len(values.split())), values]
    return "\n".join([*lines, str(len(grids)), *columns(grids), "1.0", "T" if refines else "F", ""])


def scalapack_lu(options):
    return scalapack(options, "xdlu", {"LU.dat": lu_input([(4, 4), (10, 12), (17, 13), (31, 31)], [2, 5], [(1, 2), (2, 1)], True)})


def scalapack_qr(options):
    return scalapack(options, "xdqr", {"QR.dat": """'QR factorization'
'two ranks'
'QR.out'
6
6
'QR' 'QL' 'LQ' 'RQ' 'QP' 'TZ'
4
2 5 13 15
2 7 8 10
2
4 3
4 5
2
1 2
2 1
3.0
"""})


def blacs(options):
    path = need(f"{SCALAPACK}/{options.mpi}-tests/xCbtest", "scalapack-mpi-test")
    # The inputs that come with it, on grids of two ranks, and without the last test: that one calls abort.
    files = {}
    for name in ("sdrv.dat", "bsbr.dat", "comb.dat"):
        given = open(need(f"/usr/share/scalapack/BLACS/{name}", "scalapack-test-common")).read()
        files[name] = re.sub(r"^\d+\s+Number of grids.*", "2\n1 2\n2 1\n", given, flags=re.M | re.S)
    given = open("/usr/share/scalapack/BLACS/bt.dat").read()
    files["bt.dat"] = re.sub(r"'T'(\s+Run AUX)", r"'F'\1", given)
    return Case([path], lambda out: lines(out, r"PASSED|FAILED|TESTS? "), 10, files)


# --- Python

PYTHON = "/usr/bin/python3"


def python_with_mpi4py(options, needs_mpi4py=True):
    """Debian's own, and what its environment needs to find an mpi4py for this MPI."""
    library = glob.glob("/usr/lib/*/libpython3.*.so.1.0")
    if not library:
        raise Skip("Debian's python3 has no shared library here, without which its ranks share no memory (Debian package libpython3.11)")
    env = ["PYTHONDONTWRITEBYTECODE=1"]
    if not needs_mpi4py:
        return [PYTHON], env
    if options.mpi == "openmpi":
        need("/usr/lib/python3/dist-packages/mpi4py/MPI.pxd", "python3-mpi4py")
    else:
        env.append("PYTHONPATH=" + need(f"{options.installed}/mpi4py-mpich", "none: mpi4py of PyPI, built for MPICH"))
    return [PYTHON], env


def mpi4py(options, selection, tests, timeout):
    suite = need(f"{options.installed}/mpi4py-3.1.4/test/runtests.py", "none: mpi4py's source archive of PyPI")
    python, env = python_with_mpi4py(options)

    def facts(out):
        # Every rank reports on its standard error, and the lines of two ranks may meet.
        failed = re.findall(r"^(?:ERROR|FAIL): .*$", out, re.M)
        return sorted(re.findall(r"Ran \d+ tests", out)) + sorted(failed) + ["OK"] * out.count("OK")

    case = Case(python + [suite, "--no-builddir", "-q"] + selection, facts, 2 * options.ranks, env=env, timeout=timeout)
    case.tests = tests
    return case


def mpi4py_p2p(options):
    return mpi4py(options, ["-i", "p2p"], 136, 100)


def mpi4py_all(options):
    # Without the tests that start further processes: those are not what is shown here, and Debian's MPICH fails some by itself.
    return mpi4py(options, ["-e", "spawn", "-e", "dynproc"], 1000, 190)


POISSON = """import sys, time, petsc4py
petsc4py.init(sys.argv[:1])
from petsc4py import PETSc
nx, ny = int(sys.argv[1]), int(sys.argv[2])
da = PETSc.DMDA().create([nx, ny], stencil_width=1)
a = da.createMatrix()
(xs, xe), (ys, ye) = da.getRanges()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for j in range(ys, ye):
    for i in range(xs, xe):
        row.index = (i, j)
        for (m, n), v in (((i, j), 4.0), ((i - 1, j), -1.0), ((i + 1, j), -1.0), ((i, j - 1), -1.0), ((i, j + 1), -1.0)):
            if 0 <= m < nx and 0 <= n < ny:
                col.index = (m, n)
                a.setValueStencil(row, col, v)
a.assemble()
x, b = a.createVecs()
b.set(1.0)
ksp = PETSc.KSP().create()
ksp.setOperators(a)
ksp.setType('cg')
ksp.getPC().setType('bjacobi')
ksp.setTolerances(rtol=float(sys.argv[3]))
def monitor(_, iteration, residual):
    PETSc.Sys.Print('iteration %d residual %.10e' % (iteration, residual))
ksp.setMonitor(monitor)
start = time.perf_counter()
ksp.solve(b, x)
PETSc.Sys.Print('solved in %.4f' % (time.perf_counter() - start))
PETSc.Sys.Print('norm %.12e converged %d' % (x.norm(), ksp.getConvergedReason()))
"""


def petsc4py(options, points=(40, 30), tolerance=1e-10):
    # Where the package's .pth file finds it too, once the development package has set a link.
    directory = need("/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real", "python3-petsc4py")
    return Case(python_with_mpi4py(options)[0] + ["poisson.py", *map(str, (*points, tolerance))], lambda out: lines(out, r"^(iteration|norm) "), 10, {"poisson.py": POISSON},
                ["PETSC_DIR=" + directory])


ARRAYS = """import sys
import numpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
to, source, n = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, 300
def matrix(rank):
    return numpy.arange(n * n, dtype='d').reshape(n, n) * (rank + 1)
types = {
    'columns': (MPI.DOUBLE.Create_vector(n, 3, n), (slice(None), slice(0, 3))),
    'block': (MPI.DOUBLE.Create_subarray([n, n], [120, 77], [5, 7]), (slice(5, 125), slice(7, 84))),
    'every third row': (MPI.DOUBLE.Create_vector(n // 3, n, 3 * n), (slice(0, n - 2, 3), slice(None))),
}
for name, (datatype, where) in types.items():
    datatype.Commit()
    for blocking in (True, False):
        sent, got, expected = matrix(comm.rank), numpy.zeros((n, n)), numpy.zeros((n, n))
        expected[where] = matrix(source)[where]
        if blocking:
            comm.Sendrecv([sent, 1, datatype], to, 1, [got, 1, datatype], source, 1)
        else:
            MPI.Request.Waitall([comm.Irecv([got, 1, datatype], source, 2), comm.Isend([sent, 1, datatype], to, 2)])
        sys.stdout.write('rank %d %s: %s, sum %.17g\\n' % (comm.rank, name, numpy.array_equal(got, expected), got.sum()))
objects = comm.sendrecv({'from': comm.rank}, dest=to, source=source)
total = comm.allreduce(matrix(comm.rank)[1])
sys.stdout.write('rank %d got %r, sum %.17g, by %s of %s\\n' % (comm.rank, objects, total.sum(), sys.executable, sys.prefix))
"""


def arrays(options, command, env):
    return Case(command + ["arrays.py"], lambda out: sorted(lines(out, r"^rank \d+ .*(True|False|got)")), 7 * options.ranks,
                {"arrays.py": ARRAYS}, env + ["TASUKI_REQUIRE=on"])


def python_arrays(options):
    """numpy's arrays, parts of which derived types describe."""
    return arrays(options, *python_with_mpi4py(options))


def python_venv(options):
    """The same in a virtual environment of Debian's python3, with mpi4py's own wheel, which has one build for each MPI."""
    _, env = python_with_mpi4py(options, needs_mpi4py=False)
    installed = need(f"{options.installed}/venv/installed", "none: mpi4py 4.1 of PyPI")
    env.append(f"MPI4PY_MPIABI={options.mpi}")
    if options.mpi == "mpich":  # which it looks for by the name that MPICH gives it, and not by Debian's
        os.makedirs(f"{options.scratch}/lib", exist_ok=True)
        link = f"{options.scratch}/lib/libmpi.so.12"
        if not os.path.lexists(link):
            os.symlink(need("/usr/lib/x86_64-linux-gnu/libmpich.so.12", "libmpich12"), link)
        env.append(f"LD_LIBRARY_PATH={options.scratch}/lib")
    return arrays(options, [os.path.dirname(installed) + "/bin/python"], env)


CASES = {f.__name__: f for f in (hpcc, netpipe, lammps, mumps, scalapack_lu, scalapack_qr, blacs, mpi4py_p2p, mpi4py_all, petsc4py,
                                 python_arrays, python_venv)}


def enter(directory, files):
    """An empty directory but for these files: name -> text."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    os.chdir(directory)
    for name, text in files.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)


def run(options, case, under_tasuki):
    directory = os.path.join(options.scratch, "tasuki" if under_tasuki else "plain")
    enter(directory, case.files)
    mpirun = options.mpirun
    if "stdin" in case.files:
        # The harness gives a job no input: a launcher that brings its own.
        mpirun = os.path.join(directory, "mpirun")
        with open(mpirun, "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec {options.mpirun} "$@" <stdin\n')
        os.chmod(mpirun, 0o755)
    command = [sys.executable, HARNESS, "--mpi", options.mpi, "--mpirun", mpirun, "--ranks", str(options.ranks),
               "--timeout", str(case.timeout)]
    for pair in case.env + ["OMP_NUM_THREADS=1"]:
        command += ["--env", pair]
    if under_tasuki:
        command += ["--tasuki", options.tasuki]
    # Not through pipes: what a hung run had said is then still to be seen.
    with open("stdout", "w", encoding="utf-8") as out, open("stderr", "w", encoding="utf-8") as err:
        code = subprocess.run(command + ["--"] + case.command, stdout=out, stderr=err, check=False).returncode
    out = open("stdout", encoding="utf-8", errors="replace").read()
    err = open("stderr", encoding="utf-8", errors="replace").read()
    print(f"{'tasuki' if under_tasuki else 'plain'}: exit {code}; output in {directory}")
    for line in err.splitlines():
        if under_tasuki and line.startswith("tasuki:"):
            print(line)
    if code:
        print(out[-3000:], err[-3000:], sep="\n")
        raise SystemExit(f"real: {options.case} failed {'under Tasuki' if under_tasuki else 'without Tasuki'}")
    # Python's unittest and NetPIPE report on standard error
    facts = case.facts(out + "\n" + err)
    if len(facts) < case.at_least:
        print(out[-3000:], err[-3000:], sep="\n")
        raise SystemExit(f"real: only {len(facts)} results found in the output, expected {case.at_least}")
    if hasattr(case, "tests") and min(int(n) for n in re.findall(r"Ran (\d+) tests", " ".join(facts))) < case.tests:
        raise SystemExit(f"real: fewer than {case.tests} tests were run")
    if re.search(r"(?<!\b0 )FAILED|ERROR: |FAIL: |Integrity check failed", "\n".join(facts)):
        raise SystemExit("real: the program reports failures:\n" + "\n".join(facts))
    return facts


def main():
    parser = argparse.ArgumentParser()
    for name in ("case", "mpi", "mpirun", "tasuki", "installed", "scratch"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    options = parser.parse_args()
    for name in ("tasuki", "installed", "scratch"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    os.makedirs(options.scratch, exist_ok=True)
    try:
        case = CASES[options.case](options)
    except Skip as why:
        print(f"skipped: {why}")
        return 77
    plain = run(options, case, False)
    shared = run(options, case, True)
    if plain != shared:
        print("real: results differ")
        for a, b in zip(plain + [""] * len(shared), shared + [""] * len(plain)):
            if a != b:
                print(f"  plain:  {a}\n  tasuki: {b}")
        return 1
    print(f"{len(plain)} results, the same:")
    for fact in plain[:3] + ["..."] + plain[-3:]:
        print("  " + fact)
    return 0


if __name__ == "__main__":
    sys.exit(main())
