#!/usr/bin/env python3
"""Runs a program with the reissuing shim preloaded and compares what the shim counted on rank 0 with what is expected.

    check_calls.py --mpi openmpi --mpirun FILE --shim FILE --expected FILE [--with NAME] -- program [arguments]

The expected counts, one line each: "<delegate> <number>", "+" in place of a number that depends on timing. Lines after
"[NAME]" count only with --with NAME. The program must end with 0. A delegate that is not listed must not be called.
"""

import argparse
import os
import subprocess
import sys


def read_expected(file, with_sections):
    expected, use = {}, True
    for line in open(file):
        line = line.split("#")[0].strip()
        if line.startswith("["):
            use = line[1:-1] in with_sections
        elif line and use:
            name, number = line.split()
            expected[name] = number
    return expected


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--expected", required=True)
    parser.add_argument("--with", action="append", default=[], dest="sections")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    command = [options.mpirun, "-n", "2"]
    if options.mpi == "openmpi":
        command += ["--oversubscribe"]
    command += ["env", "LD_PRELOAD=" + options.shim, *options.program]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    try:
        job = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired as e:
        sys.exit(f"did not end: {command}\n{e.stdout}\n{e.stderr}")
    output = job.stdout + job.stderr
    if job.returncode != 0:
        sys.exit(f"exit code {job.returncode}: {command}\n{output}")
    counted = dict(line.split()[1:] for line in output.splitlines() if line.startswith("calls "))
    expected = read_expected(options.expected, options.sections)
    wrong = [
        f"{name}: called {counted.get(name, 0)} times, expected {expected.get(name, 0)}"
        for name in sorted(counted.keys() | expected.keys())
        if counted.get(name) != expected.get(name) and not (name in counted and expected.get(name) == "+")
    ]
    if wrong:
        sys.exit("\n".join(wrong + [output]))


if __name__ == "__main__":
    main()
