#!/usr/bin/env python3
"""Typed messages that the MPI library moves (TASUKI_REMOTE): the program `remote` prints what arrives; with plain MPI, with
Tasuki on both sides and with Tasuki on one side only the lines must be the same. Called like ../task/test_run.py."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "task"))
import test_hosts  # noqa: E402
import test_run  # noqa: E402
from test_run import check, equal  # noqa: E402


def run(b, launch, sides, program, others=0, **env):
    """Ranks 0 and 1, of which `sides` run under Tasuki, and `others` plain ones."""
    out = os.path.join(b.folder, f"lines-{len(sides)}")
    parts = []
    for rank in range(2 + others):
        prefix = [b.args.tasuki, "run"] if rank in sides else []
        parts += [":"] * (rank > 0) + ["-n", "1"] + prefix + [program, out]
    command = [b.args.mpirun, *launch] + parts
    result = test_run.subprocess.run(command, env=dict(b.env, TASUKI_STATS="1", TASUKI_JOIN_TIMEOUT="2", **{"TASUKI_REMOTE": "always", **env}), text=True, capture_output=True,
                                     stdin=test_run.subprocess.DEVNULL, timeout=150)
    check(result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}")
    lines = {}
    for rank in "01":
        with open(f"{out}.{rank}") as file:
            lines[rank] = file.read().splitlines()
    return lines, dict(re.findall(r"tasuki: rank (\d+):.*\bremote_bytes=(\d+)", result.stderr))


def compare(b, launch, others):
    program = b.program(f"remote-{b.launcher}")
    plain, _ = run(b, launch, (), program, others)
    check(len(plain["1"]) > 300, f"only {len(plain['1'])} lines")
    for sides in ((0, 1), (0,), (1,)):
        lines, moved = run(b, launch, sides, program, others)
        for rank in "01":
            wrong = [pair for pair in zip(plain[rank], lines[rank]) if pair[0] != pair[1]]
            text = "".join(f"\n  plain  {p}\n  Tasuki {t}" for p, t in wrong[:10])
            check(not wrong, f"Tasuki on {sides}: {len(wrong)} lines differ{text}")
            equal(len(lines[rank]), len(plain[rank]), f"Tasuki on {sides}: lines of rank {rank}")
        equal(sorted(moved), [str(side) for side in sides], "ranks with statistics")
        check(all(int(n) > 1_000_000 for n in moved.values()), f"Tasuki on {sides} packed nothing: {moved}")
    _, moved = run(b, launch, (0, 1), program, others, TASUKI_REMOTE="off")
    check(set(moved.values()) == {"0"}, f"switched off, yet: {moved}")
    lines, moved = run(b, launch, (0, 1), program, others, TASUKI_REMOTE="on")
    check(lines == plain and all(int(n) > 1_000_000 for n in moved.values()), f"by default: {moved}")


def scenario_inside(b):
    """On one host: ranks 0 and 1 live in address spaces of their own, so the library moves what they exchange. A third rank is
    plain."""
    with open("/proc/sys/vm/max_map_count") as file:
        b.env["TASUKI_MAPPINGS"] = str(int(file.read()) - 1000)
    with tempfile.TemporaryDirectory() as b.folder:
        compare(b, ["--oversubscribe"] if b.launcher == "openmpi" else [], others=1)


def scenario_hosts(b):
    """One rank on each of two hosts."""
    with tempfile.TemporaryDirectory() as b.folder:
        host = test_hosts.SecondHost(b.folder)
        try:
            launch = test_hosts.launch_options(b, host)
            if b.launcher == "openmpi":
                launch = ["--host", f"{test_hosts.HOST_A}:1,{test_hosts.HOST_B}:1"]
            else:
                launch[launch.index("-ppn") + 1] = "1"
            compare(b, launch, others=0)
        finally:
            host.end()


if __name__ == "__main__":
    if "hosts" in sys.argv[1:2]:
        test_hosts.enter_first_host()
    sys.exit(test_run.main(globals()))
