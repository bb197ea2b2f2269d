#!/usr/bin/env python3
"""MPI_Bcast between hosts (TASUKI_EVERYWHERE): the program `span` judges what arrives. Called like ../task/test_run.py."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "task"))
import test_hosts  # noqa: E402
import test_run  # noqa: E402
from test_run import check, equal  # noqa: E402


def scenario_hosts(b):
    """Two ranks on each of two hosts: handled with the promise, the library's without."""
    with tempfile.TemporaryDirectory() as b.folder:
        host = test_hosts.SecondHost(b.folder)
        try:
            launch = test_hosts.launch_options(b, host)
            for promise in ("on", "off"):
                env = dict(b.env, TASUKI_STATS="1", TASUKI_THREADS="0", TASUKI_EVERYWHERE=promise)
                result = b.run(4, [b.program(f"span-{b.launcher}")], launch=launch, env=env, timeout=120)
                check(result.returncode == 0, f"{promise}: {result.returncode}\n{result.stdout}\n{result.stderr}")
                counts = dict(re.findall(r"tasuki: rank (\d+):.*\bspanning=(\d+)", result.stderr))
                equal(sorted(counts), list("0123"), "ranks with statistics")
                for rank, count in counts.items():
                    check((int(count) > 50) == (promise == "on"), f"{promise}: rank {rank} took part in {count}")
        finally:
            host.end()


def scenario_promise(b):
    """A rank that does not keep the promise: the job ends with a line that says why, and no rank gets wrong data."""
    program = b.program(f"span-{b.launcher}")
    env = dict(b.env, TASUKI_EVERYWHERE="on", TASUKI_JOIN_TIMEOUT="1")
    command = [b.args.mpirun, "-n", "1", b.args.tasuki, "run", program, ":", "-n", "1", program]
    result = test_run.subprocess.run(command, env=env, text=True, capture_output=True, timeout=60,
                                     stdin=test_run.subprocess.DEVNULL)
    check(result.returncode != 0, "the job was to fail")
    check("TASUKI_EVERYWHERE is on, but some rank did not confirm it" in result.stderr, result.stderr)
    check("FAIL" not in result.stdout + result.stderr, result.stdout + result.stderr)
    # Confirmed by a rank that cannot take part: the library's, as without the setting.
    for settings in ({"TASUKI": "off"}, {"TASUKI_EVERYWHERE": "off"}):
        result = b.run(2, [program], env=dict(env, TASUKI_MAPPINGS="60000", **settings), timeout=60)
        equal((result.returncode, result.stdout), (0, "passed\n"), result.stderr)


if __name__ == "__main__":
    if "hosts" in sys.argv[1:2]:
        test_hosts.enter_first_host()
    sys.exit(test_run.main(globals()))
