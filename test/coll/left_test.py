#!/usr/bin/env python3
"""TASUKI_LEFT: which operations of a program Tasuki carries out, and which the MPI library. left_test.py MPI MPIRUN TASUKI PROGRAM"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from two_ranks import stderr_of  # noqa: E402

mpi, mpirun, tasuki, program = sys.argv[1:]
OTHER = {"mpich": "openmpi", "openmpi": "mpich"}[mpi]
KINDS = ("collectives", "broadcasts", "barriers")


def counted(left):
    """What rank 0 counted, and what was said."""
    said = stderr_of(mpirun, tasuki, program, TASUKI_LEFT=left, TASUKI_TUNE="off")
    statistics = re.search(r"tasuki: rank 0: .*", said).group()
    return tuple(int(re.search(rf"\b{kind}=(\d+)", statistics).group(1)) for kind in KINDS), said


own, said = counted("off")
if own[:2] != (20, 10) or own[2] < 10 or "TASUKI_LEFT" in said:
    sys.exit(f"FAILED: by Tasuki: {own}\n{said}")
for rules, fewer in {
        "auto": (0, 0, 0),
        "allreduce": (10, 0, 0),
        "allreduce:512,gather:512B@2": (20, 0, 0),
        "allreduce:8-511,gather:513-1MiB,bcast:8,barrier@3": (0, 0, 0),
        "gather:1-1KiB,bcast:512,barrier": (10, 10, 10),
        f"{OTHER}/allreduce,{mpi}/gather": (10, 0, 0),
        "alltoall,alltoallv,scan": (0, 0, 0)}.items():
    got, said = counted(rules)
    if got != tuple(a - b for a, b in zip(own, fewer)) or "TASUKI_LEFT" in said:
        sys.exit(f"FAILED: {rules}: {got}, {own} without rules\n{said}")
    print("ok", rules)
got, said = counted("allreduce,gater")
if got != own or '"gater" is no rule' not in said:
    sys.exit(f"FAILED: a wrong rule: {got}, {own} without rules\n{said}")
