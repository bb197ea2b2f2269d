#!/usr/bin/env python3
"""The randomised type test: the same cases with plain MPI and under Tasuki, compared byte for byte by their hashes.

    compare.py --mpi openmpi --mpirun /usr/bin/mpirun.openmpi --tasuki build/bin/tasuki --program random_types-openmpi
               --cases 10000 [--seed 1]

The cases are spread over jobs of 2, 3 and 4 ranks. The program judges each receive by itself as well; see there.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HARNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi_run.py")
# What plain MPI is given; under Tasuki every case runs. Beyond these sizes the libraries cut messages inside an element and
# fail by themselves (random_types.cpp says how).
PLAIN_MOST_BYTES = {"openmpi": 900, "mpich": 900}
SHARES = [(2, 0.5), (3, 0.3), (4, 0.2)]


def run(options, ranks, first, cases, out, tasuki):
    command = [sys.executable, HARNESS, "--mpi", options.mpi, "--mpirun", options.mpirun, "--ranks", str(ranks),
               "--timeout", str(options.timeout)]
    if tasuki:
        command += ["--tasuki", options.tasuki]
    command += ["--", options.program, "--seed", str(options.seed), "--first", str(first), "--cases", str(cases),
                "--out", out]
    if not tasuki:
        command += ["--most-bytes", str(PLAIN_MOST_BYTES[options.mpi])]
    code = subprocess.run(command, stdout=subprocess.DEVNULL if not options.verbose else None).returncode
    if code != 0:
        print(f"compare: {ranks} ranks {'under Tasuki' if tasuki else 'with plain MPI'}: failed ({code}); again with\n  "
              + " ".join(command), file=sys.stderr)
        sys.exit(1)


def hashes(path):
    with open(path) as file:
        rows = [line.split() for line in file]
    return {int(row[0]): row[1] if len(row) > 1 else None for row in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--tasuki", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    compared = judged = first = 0
    with tempfile.TemporaryDirectory() as folder:
        for ranks, share in SHARES:
            cases = round(options.cases * share)
            plain, shared = os.path.join(folder, f"plain-{ranks}"), os.path.join(folder, f"tasuki-{ranks}")
            run(options, ranks, first, cases, plain, tasuki=False)
            run(options, ranks, first, cases, shared, tasuki=True)
            left, right = hashes(plain), hashes(shared)
            for number in range(first, first + cases):
                if right[number] is None:
                    print(f"compare: case {number} did not run under Tasuki", file=sys.stderr)
                    return 1
                judged += 1
                if left[number] is None:
                    continue
                compared += 1
                if left[number] != right[number]:
                    print(f"compare: {ranks} ranks, case {number} (seed {options.seed}): plain {left[number]}, "
                          f"Tasuki {right[number]}", file=sys.stderr)
                    return 1
            first += cases
    print(f"{judged} cases judged, {compared} of them compared with plain MPI: the same bytes")
    # A comparison of next to nothing would be no comparison.
    return 0 if compared > options.cases // 3 else 1


if __name__ == "__main__":
    sys.exit(main())
