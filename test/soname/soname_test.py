#!/usr/bin/env python3
"""Programs with cluster memory and with coarrays on an MPICH whose library is libmpi.so.12, its name outside of Debian, in a folder that the
dynamic linker does not know; Tasuki itself was built with whatever name.

    soname_test.py linked|launcher|wrong|python --mpicc mpicc.mpich --mpirun mpirun.mpich --home BUILD --scratch DIRECTORY

linked    programs of tasukicc, linked with that library: plainly and under tasuki run
launcher  a program that no MPI library is linked with, memory servers of tasuki mem: they get the library beside the launcher
wrong     what is said where no library is found, the wrong one is named, or the program has the other family's
python    a library that the interpreter has loaded for itself (RTLD_LOCAL) is the one that `import dlm` uses

Exit code: 0 passed, 77 skipped, with the reason.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN, ELSEWHERE = "libmpich.so.12", "libmpi.so.12"


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def run(command, expect, *, code=0, env=None):
    """The output; it must hold `expect`, and the exit code be 0 or, for code=None, another one."""
    done = subprocess.run([str(word) for word in command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    if (done.returncode != 0 if code == 0 else done.returncode == 0) or expect not in done.stdout:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}, expected {expect!r} in:\n{done.stdout}")
    return done.stdout


def needed(file):
    text = run(["readelf", "-d", file], "")
    return [line.split("[")[1].split("]")[0] for line in text.splitlines() if "(NEEDED)" in line]


class Elsewhere:
    """PREFIX with lib/libmpi.so.12, bin/mpicc and the launcher of the MPICH that is installed."""

    def __init__(self, options):
        self.prefix = options.scratch / "prefix"
        shutil.rmtree(options.scratch, ignore_errors=True)
        (self.prefix / "bin").mkdir(parents=True)
        (self.prefix / "lib").mkdir()
        show = run([options.mpicc, "-show"], "").split()
        probe = options.scratch / "probe"
        (options.scratch / "probe.c").write_text("#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
        run([options.mpicc, options.scratch / "probe.c", "-o", probe], "")
        if DEBIAN not in needed(probe):
            skip(f"{options.mpicc} does not link with {DEBIAN}")
        for line in run(["ldd", probe], "").splitlines():
            if line.split()[0] == DEBIAN:
                original = line.split()[2]
        self.library = self.prefix / "lib" / ELSEWHERE
        content = pathlib.Path(original).read_bytes()
        name = DEBIAN.encode() + b"\0"
        if content.count(name) != 1:
            skip(f"{original} names itself more than once")
        self.library.write_bytes(content.replace(name, ELSEWHERE.encode().ljust(len(name), b"\0")))
        includes = " ".join(word for word in show if word.startswith("-I"))
        self.mpicc = self.prefix / "bin" / "mpicc"
        # For what links nothing the libraries do no harm.
        self.mpicc.write_text(f'#!/bin/sh\nexec {show[0]} {includes} "$@" -L{self.prefix}/lib -l:{ELSEWHERE} -Wl,-rpath,{self.prefix}/lib\n')
        self.mpicc.chmod(0o755)
        folder = pathlib.Path(os.path.realpath(options.mpirun)).parent
        for program in ("mpiexec.hydra", "hydra_pmi_proxy"):
            if not (folder / program).exists():
                skip(f"{folder} has no {program}")
            shutil.copy2(folder / program, self.prefix / "bin" / program)
        self.mpirun = self.prefix / "bin" / "mpiexec.hydra"


def tasukicc(options, mpicc, source, output, *more):
    run([options.home / "bin/tasukicc", "-O1", HERE / source, "-o", output, *more], "", env=options.env | {"MPICC": str(mpicc)})
    return output


def linked(options, there):
    images = tasukicc(options, there.mpicc, "images.c", options.scratch / "images")
    arrays = tasukicc(options, there.mpicc, "arrays.c", options.scratch / "arrays")
    finalize = tasukicc(options, there.mpicc, "finalize.c", options.scratch / "finalize")
    for program in (images, arrays, finalize):
        if ELSEWHERE not in needed(program) or DEBIAN in needed(program):
            sys.exit(f"{program} needs {needed(program)}")
    for tasuki in ([], [options.home / "bin/tasuki", "run"]):
        for how in ("auto", "window"):
            run([there.mpirun, "-n", "3", *tasuki, images], "3 images", env=options.env | {"TASUKI_COARRAY": how})
        run([there.mpirun, "-n", "3", *tasuki, arrays, "--", "--local=2MiB", "--memory=16MiB"], "2 servers", env=options.env)
        # The library's MPI_Finalize comes before MPI's, under the shim, too: the report is written there, not at the end.
        text = run([there.mpirun, "-n", "2", *tasuki, finalize, "--", "--local=1MiB", "--memory=16MiB", "--stats"], "after", env=options.env)
        if not 0 <= text.find("cluster memory of finalize") < text.find("after MPI_Finalize"):
            sys.exit(f"cluster memory did not end in MPI_Finalize:\n{text}")


def unlinked(options):
    """Compiled and linked without any MPI."""
    library, program = options.home / "lib/tasuki/mpich", options.scratch / "unlinked"
    run(["cc", f"-I{options.home}/include/tasuki", HERE / "arrays.c", f"-L{library}", "-ldlmmpi", f"-Wl,-rpath,{library}", "-o", program], "")
    if any("mpi" in name and "dlmmpi" not in name for name in needed(program)):
        sys.exit(f"{program} needs {needed(program)}")
    return program


def launcher(options, there):
    program = unlinked(options)
    settings = ["--", "--local=2MiB", "--memory=16MiB"]
    run([there.mpirun, "-n", "3", program, *settings], "2 servers", env=options.env)
    # The other launcher's library is the one that the dynamic linker finds: the program sees it, and says so.
    run([options.mpirun, "-n", "3", program, *settings], "", code=None, env=options.env)
    named = options.env | {"TASUKI_MPI_LIBRARY": str(there.library)}
    run([options.mpirun, "-n", "3", program, *settings], "2 servers", env=named)
    # Servers and the library that `tasuki mem` preloads into a program without MPI.
    look = f"maps = open('/proc/self/maps').read(); print('/{ELSEWHERE}' in maps, '/libmpich.so' in maps)"
    run([there.mpirun, "-n", "3", options.home / "bin/tasuki", "mem", "--local", "2MiB", "--memory", "16MiB", sys.executable, "-c", look],
        "True False", env=options.env)


def wrong(options, there):
    program = unlinked(options)
    for library, says in (("/nowhere/libmpi.so.12", "TASUKI_MPI_LIBRARY: /nowhere/libmpi.so.12"), ("libm.so.6", "is no MPI library")):
        text = run([program], says, code=None, env=options.env | {"TASUKI_MPI_LIBRARY": library})
        if text.count("\n") != 1:
            sys.exit(f"more than one line: {text}")
    # A program with the library of another family: here one that has what tells Open MPI's.
    fake = options.scratch / "libfake.so.40"
    (options.scratch / "fake.c").write_text("int ompi_mpi_comm_world; double PMPI_Wtime(void) { return 0; }\n")
    run(["cc", "-shared", "-fPIC", options.scratch / "fake.c", "-o", fake, "-Wl,-soname,libfake.so.40"], "")
    for env in ({"LD_PRELOAD": str(fake)}, {"TASUKI_MPI_LIBRARY": str(fake)}):
        text = run([program], "is of Open MPI", code=None, env=options.env | env)
        if str(fake) not in text or text.count("\n") != 1:
            sys.exit(f"one line that names the library: {text}")


PYTHON = """
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1])  # RTLD_LOCAL: nobody else finds its names
import dlm
a = dlm.zeros(100000)
a[:] = 2
flag = ctypes.c_int(0)
mpi.MPI_Initialized(ctypes.byref(flag))
assert flag.value == 1, "import dlm has begun another MPI library"
assert a.sum() == 200000
print("libmpich" in open("/proc/self/maps").read(), dlm.stats()["server_bytes"] >> 24)
"""


def python(options, there):
    script = options.scratch / "script.py"
    script.write_text(PYTHON)
    for interpreter in ("/usr/bin/python3", sys.executable):
        if subprocess.run([interpreter, "-c", "import numpy"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            break
    else:
        skip("no python3 with numpy (Debian package python3-numpy)")
    env = options.env | {"PYTHONPATH": f"{options.home}/lib/tasuki/python", "PYTHONDONTWRITEBYTECODE": "1"}
    # The launcher is the one of the other library: what is loaded counts.
    run([options.mpirun, "-n", "3", interpreter, script, there.library, "--", "--memory=16MiB"], "False 2", env=env)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=["linked", "launcher", "wrong", "python"])
    for name in ("mpicc", "mpirun", "home", "scratch"):
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI") and k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    there = Elsewhere(options)
    {"linked": linked, "launcher": launcher, "wrong": wrong, "python": python}[options.case](options, there)


if __name__ == "__main__":
    main()
