#!/usr/bin/env python3
"""Constants by distance: how messages between two ranks are copied. distances_test.py MPIRUN TASUKI PROGRAM"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from two_ranks import stderr_of  # noqa: E402

mpirun, tasuki, program = sys.argv[1:]
BYTES = 10 * (512 << 10)
COSTS = {"line": 2.7, "page": 1, "run": 0.8, "byte": 0.02, "staged_byte": 0.105, "handshake": 100, "unit": 30}
# Here the other side's help costs more than the copy.
FAR = {**COSTS, "handshake": 900000}


def text(costs):
    return " ".join(f"{name}={value}" for name, value in costs.items())


def copied(costs):
    """Bytes copied by one side alone, by both, and what was said."""
    said = stderr_of(mpirun, tasuki, program, TASUKI_COSTS=costs, TASUKI_THREADS="0")
    count = {way: sum(map(int, re.findall(rf"\b{way}_bytes=(\d+)", said))) for way in ("alone", "direct", "others")}
    # A rank that waits for something else may help, too.
    return (count["alone"], count["direct"] + count["others"]), said


mine = sorted(os.sched_getaffinity(0))
together = ",".join(map(str, mine))
far = f"{text(COSTS)}; machine: {text(FAR)}"
apart = f"{text(COSTS)}; package: {text(FAR)}"
for what, costs, expected in [
        ("one set", text(COSTS), (0, BYTES)),
        ("one set, far", text(FAR), (BYTES, 0)),
        ("all cores share a cache", f"{far}; caches: {together}; packages: {together}", (0, BYTES)),
        ("all cores share a package", f"{apart}; caches: 8191; packages: {together}", (BYTES, 0)),
        ("the package is near", f"{far}; caches: 8191; packages: {together}", (0, BYTES)),
        ("nothing is known of the cores", f"{far}; caches: 8191; packages: 8191", (BYTES, 0))]:
    got, said = copied(costs)
    if got != expected or "not understood" in said:
        sys.exit(f"FAILED: {what}: {got} by one side and by both, expected {expected}\n{said}")
    print("ok", what)
got, said = copied(f"{text(COSTS)}; machine: {text(FAR)}")
if got != (0, BYTES) or "not understood" not in said:
    sys.exit(f"FAILED: distances without cores: {got}\n{said}")
