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


def broken_promise(b, first, ranks, launch=()):
    """Starts a job; `ranks`: (how many, under Tasuki?). Those that are not begin with the communication `first`."""
    program = b.program(f"promise-{b.launcher}")
    command = [b.args.mpirun, *launch]
    for i, (n, tasuki) in enumerate(ranks):
        if i > 0:  # Open MPI's options hold up to the next colon
            command += [":", *(launch if b.launcher == "openmpi" else [])]
        command += ["-n", str(n)] + ([b.args.tasuki, "run"] if tasuki else []) + [program, first]
    env = dict(b.env, TASUKI_EVERYWHERE="on", TASUKI_JOIN_TIMEOUT="1")
    return test_run.subprocess.Popen(command, env=env, text=True, stdout=test_run.subprocess.PIPE,
                                     stderr=test_run.subprocess.PIPE, stdin=test_run.subprocess.DEVNULL)


def expect_refusal(job):
    out, err = job.communicate(timeout=60)
    text = f"{job.args}: {job.returncode}\n{out}\n{err}"
    check(job.returncode not in (0, None), "the job was to fail: " + text)
    check(re.search(r"tasuki: rank \d+: TASUKI_EVERYWHERE is on, but (rank \d+|some rank.*) did not confirm it within 12 s", err), text)
    # Nothing that the other ranks did was taken for a part of the program's own communication.
    check("communicated" not in out, text)


def scenario_promise(b):
    """Ranks that do not keep the promise: the job ends with a line that says why, and no rank gets wrong data."""
    jobs = [broken_promise(b, "iallreduce", [(1, True), (1, False)]), broken_promise(b, "send", [(1, False), (1, True)]),
            broken_promise(b, "dup", [(1, True), (1, False), (2, True)]), broken_promise(b, "window", [(2, True), (2, False)])]
    for job in jobs:
        expect_refusal(job)
    # Confirmed by a rank that cannot take part: the library's, as without the setting. Not made by all: as if by none.
    program = b.program(f"span-{b.launcher}")
    env = dict(b.env, TASUKI_EVERYWHERE="on", TASUKI_MAPPINGS="60000")
    for settings in ({"TASUKI": "off"}, {"TASUKI_EVERYWHERE": "off"}):
        result = b.run(2, [program], env=dict(env, **settings), timeout=60)
        equal((result.returncode, result.stdout), (0, "passed\n"), result.stderr)


def scenario_promise_hosts(b):
    """The same between hosts."""
    with tempfile.TemporaryDirectory() as b.folder:
        host = test_hosts.SecondHost(b.folder)
        try:
            launch = test_hosts.launch_options(b, host, (1, 1))
            for first, ranks in (("iallreduce", [(1, True), (1, False)]), ("send", [(1, False), (1, True)])):
                expect_refusal(broken_promise(b, first, ranks, launch))
        finally:
            host.end()


if __name__ == "__main__":
    if sys.argv[1].endswith("hosts"):
        test_hosts.enter_first_host()
    sys.exit(test_run.main(globals()))
