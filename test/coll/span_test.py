#!/usr/bin/env python3
"""Who runs Tasuki, and MPI_Bcast between hosts where all do (TASUKI_EVERYWHERE). The program `span` judges what arrives, and `promise` what
comes of mixtures. Called like ../task/test_run.py."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "task"))
import test_hosts  # noqa: E402
import test_run  # noqa: E402
from test_run import check, equal  # noqa: E402

FIRST = ("iallreduce", "send", "dup", "window")  # how the program begins
MISSING = r"tasuki: rank \d+: TASUKI_EVERYWHERE is on, but rank (\d+) does not take part\."
UNCONFIRMED = r"tasuki: rank \d+: TASUKI_EVERYWHERE is on, but (rank \d+|some rank.*) did not confirm it within 12 s"


def scenario_hosts(b):
    """Two ranks on each of two hosts: handled without any setting, the library's where it is off."""
    with tempfile.TemporaryDirectory() as b.folder:
        host = test_hosts.SecondHost(b.folder)
        try:
            launch = test_hosts.launch_options(b, host)
            for everywhere in (None, "on", "off"):
                env = dict(b.env, TASUKI_STATS="1", TASUKI_THREADS="0", **({"TASUKI_EVERYWHERE": everywhere} if everywhere else {}))
                result = b.run(4, [b.program(f"span-{b.launcher}")], launch=launch, env=env, timeout=120)
                check(result.returncode == 0, f"{everywhere}: {result.returncode}\n{result.stdout}\n{result.stderr}")
                counts = dict(re.findall(r"tasuki: rank (\d+):.*\bspanning=(\d+)", result.stderr))
                equal(sorted(counts), list("0123"), "ranks with statistics")
                for rank, count in counts.items():
                    check((int(count) > 50) == (everywhere != "off"), f"{everywhere}: rank {rank} took part in {count}")
            program = [b.program(f"collectives-{b.launcher}"), "--seed", "77", "--seconds", "4", "--large"]
            result = b.run(4, program, launch=launch, env=dict(b.env, TASUKI_STATS="1"), timeout=120)
            check(result.returncode == 0, f"collectives: {result.returncode}\n{result.stdout}\n{result.stderr}")
            check(min(map(int, re.findall(r"\bspanning=(\d+)", result.stderr)), default=0) > 0, "no operation between hosts")
        finally:
            host.end()


class Ranks:
    """Some ranks of a job: how many, whether under Tasuki, with which program and settings."""

    def __init__(self, count, tasuki=True, program="promise", **settings):
        self.count, self.tasuki, self.program, self.settings = count, tasuki, program, settings


def plain(count):
    return Ranks(count, tasuki=False)


def start(b, first, ranks, launch=(), wrapper=(), **settings):
    """Starts a job of such ranks, which begin with the communication `first`."""
    command = [b.args.mpirun, *launch]
    for i, r in enumerate(ranks):
        if i > 0:  # Open MPI's options hold up to the next colon
            command += [":", *(launch if b.launcher == "openmpi" else [])]
        own = ["env", *(f"{k}={v}" for k, v in r.settings.items())] if r.settings else []
        command += ["-n", str(r.count), *wrapper, *own, *([b.args.tasuki, "run"] if r.tasuki else []),
                    b.program(f"{r.program}-{b.launcher}"), first]
    env = dict(b.env, TASUKI_JOIN_TIMEOUT="1", **settings)
    return test_run.subprocess.Popen(command, env=env, text=True, stdout=test_run.subprocess.PIPE,
                                     stderr=test_run.subprocess.PIPE, stdin=test_run.subprocess.DEVNULL)


def expect_right(job, ranks):
    out, err = job.communicate(timeout=60)
    text = f"{job.args}: {job.returncode}\n{out}\n{err}"
    equal(job.returncode, 0, text)
    equal(sorted(line for line in out.splitlines() if "communicated" in line),
          [f"rank {i} communicated, and has 4711; wrong bytes: 0" for i in range(sum(r.count for r in ranks))], text)
    return err


def expect_refusal(job, line):
    out, err = job.communicate(timeout=60)
    text = f"{job.args}: {job.returncode}\n{out}\n{err}"
    check(job.returncode not in (0, None), "the job was to fail: " + text)
    said = re.search(line, err)
    check(said, text)
    # Nothing that the other ranks did was taken for a part of the program's own communication.
    check("communicated" not in out, text)
    return said.group(1)


def mixtures():
    """Jobs in which not all ranks run Tasuki, or not all can share memory or want to; and those of them that `on` refuses."""
    return [([Ranks(1), plain(1)], "1"), ([plain(1), Ranks(1)], "0"), ([Ranks(1), plain(1), Ranks(2)], "1"),
            ([Ranks(2), plain(2)], "2"), ([Ranks(1), Ranks(1, TASUKI="off"), Ranks(1)], "1"),
            ([Ranks(2, TASUKI_MAPPINGS="60000"), Ranks(1, TASUKI_MAPPINGS="60000", TASUKI_EVERYWHERE="off")], "2"), ([Ranks(2), Ranks(1, program="fixed")], None)]


def scenario_mixtures(b):
    """Whichever ranks run Tasuki, a program's data are right; with `on` a line names the first rank that does not."""
    for i, (ranks, missing) in enumerate(mixtures()):
        for first in FIRST[i % 2::2]:
            expect_right(start(b, first, ranks), ranks)
        # What must share memory and cannot is refused before MPI_Init (--require), in words of its own.
        if missing is not None:
            equal(expect_refusal(start(b, "iallreduce", ranks, TASUKI_EVERYWHERE="on"), MISSING), missing, "the rank that is missing")
    # Off for all, one way or the other.
    program = b.program(f"span-{b.launcher}")
    for settings in ({"TASUKI": "off", "TASUKI_EVERYWHERE": "on"}, {"TASUKI_EVERYWHERE": "off"}):
        result = b.run(2, [program], env=dict(b.env, TASUKI_MAPPINGS="60000", **settings), timeout=60)
        equal((result.returncode, result.stdout), (0, "passed\n"), result.stderr)


def scenario_promise(b):
    """A launcher that hands on no keys: `on` is a promise then. Ranks that do not keep it: the job ends with a line that says why."""
    wrapper = ["env", "-u", "MPI_LOCALRANKID"] if b.launcher == "mpich" else ["env", "PMIX_VERSION=another"]
    broken = [("iallreduce", [Ranks(1), plain(1)]), ("dup", [Ranks(1), plain(1), Ranks(2)])]
    jobs = [start(b, first, ranks, wrapper=wrapper, TASUKI_EVERYWHERE="on") for first, ranks in broken]
    for job in jobs:
        expect_refusal(job, UNCONFIRMED)
    ranks = [Ranks(1), plain(1)]
    expect_right(start(b, "iallreduce", ranks, wrapper=wrapper), ranks)
    apart = [Ranks(2, program="span", TASUKI_MAPPINGS="60000", TASUKI_STATS="1")]
    for everywhere in ("on", "auto"):
        job = start(b, "", apart, wrapper=wrapper, TASUKI_EVERYWHERE=everywhere)
        out, err = job.communicate(timeout=60)
        equal((job.returncode, out), (0, "passed\n"), err)
        counts = [int(n) for n in re.findall(r"\bspanning=(\d+)", err)]
        check(len(counts) == 2 and all((n > 50) == (everywhere == "on") for n in counts), f"{everywhere}: {counts}")


def scenario_mixtures_hosts(b):
    """The same mixtures between hosts."""
    with tempfile.TemporaryDirectory() as b.folder:
        host = test_hosts.SecondHost(b.folder)
        try:
            launch = test_hosts.launch_options(b, host, (1, 1))
            for ranks, missing in (([Ranks(1), plain(1)], "1"), ([plain(1), Ranks(1)], "0")):
                for first in ("iallreduce", "send"):
                    expect_right(start(b, first, ranks, launch), ranks)
                equal(expect_refusal(start(b, "iallreduce", ranks, launch, TASUKI_EVERYWHERE="on"), MISSING), missing, "the rank")
        finally:
            host.end()


if __name__ == "__main__":
    if sys.argv[1].endswith("hosts"):
        test_hosts.enter_first_host()
    sys.exit(test_run.main(globals()))
