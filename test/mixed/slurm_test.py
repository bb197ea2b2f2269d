#!/usr/bin/env python3
"""Slurm's own launcher, on a cluster that is this machine: messages on communicators of several spaces, jobs in which only some ranks run
Tasuki, and what a job that is cancelled leaves. Called like ../task/test_run.py."""
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "task")]
import slurm  # noqa: E402
import test_run  # noqa: E402
from test_run import check, equal  # noqa: E402

# What of Slurm's each library understands.
KIND = {"openmpi": "pmix", "mpich": "pmi2"}


class Job:
    """`srun` on the test's cluster. `ranks` is a list of (count, whether under Tasuki)."""

    def __init__(self, b, cluster, program, ranks, **settings):
        first, lines = 0, []
        for count, tasuki in ranks:
            run = [b.args.tasuki, "run"] if tasuki else []
            lines.append(f"{first}-{first + count - 1} " + " ".join([*run, *program]))
            first += count
        b.jobs += 1
        self.text = "\n".join(lines)
        configuration = os.path.join(b.folder, f"{b.jobs}.conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(self.text + "\n")
        command = ["srun", f"--mpi={KIND[b.launcher]}", "--overcommit", "--kill-on-bad-exit", "-n", str(first), "--multi-prog", configuration]
        self.process = subprocess.Popen(command, env={**b.env, **cluster.environment, "TASUKI_JOIN_TIMEOUT": "1", **settings}, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(self, timeout):
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err, f"{self.text}: {self.process.returncode}\n{out}\n{err}"


def left(b):
    """What still lives of the test's jobs, and files of Tasuki's in shared memory."""
    return sorted(b.processes().values()) + [name for name in os.listdir("/dev/shm") if "tasuki" in name]


def expect_nothing_left(b):
    end = time.monotonic() + 20
    while left(b) and time.monotonic() < end:
        time.sleep(0.2)
    equal(left(b), [], "left by the jobs")


def scenario_slurm(b):
    if not slurm.installed():
        print("Slurm does not run here: that needs root, and apt-get install slurm-wlm")
        sys.exit(77)
    b.jobs = 0
    with tempfile.TemporaryDirectory() as b.folder, slurm.Cluster(os.path.join(b.folder, "slurm")) as cluster:
        expect_nothing_left(b)
        # Two ranks in each space: every communicator spans.
        mixed = [b.program(f"mixed-{b.launcher}"), "--seed", "7", "--seconds", "3"]
        code, _, err, text = Job(b, cluster, mixed, [(4, True)], TASUKI_MAPPINGS="30000", TASUKI_STATS="1").end(120)
        equal(code, 0, text)
        sent = dict(re.findall(r"tasuki: rank (\d+):.*\bsent=(\d+)", err))
        check(sorted(sent) == list("0123") and all(int(n) > 0 for n in sent.values()), text)
        # Some ranks run Tasuki and some do not: right data. Where all promise to, a line says who does not, or that nobody can tell:
        # Slurm's PMI2 hands on no keys of ours and keeps no names.
        for ranks in ([(1, True), (1, False)], [(1, False), (2, True)]):
            for first in ("iallreduce", "window"):
                promise = [b.program(f"../coll/promise-{b.launcher}"), first]
                code, out, _, text = Job(b, cluster, promise, ranks).end(60)
                equal(code, 0, text)
                equal(out.count("communicated, and has 4711; wrong bytes: 0"), sum(count for count, _ in ranks), text)
            code, out, err, text = Job(b, cluster, promise, ranks, TASUKI_EVERYWHERE="on").end(90)
            if b.launcher == "openmpi":
                check(code != 0 and "communicated" not in out, text)
                check("TASUKI_EVERYWHERE is on, but" in err, text)
            else:
                check(code == 0 and out.count("communicated, and has 4711; wrong bytes: 0") == sum(count for count, _ in ranks), text)
                check("TASUKI_EVERYWHERE has no effect" in err, text)
        # A job that is cancelled in the middle.
        job = Job(b, cluster, [*mixed[:-1], "60"], [(4, True)], TASUKI_MAPPINGS="30000")
        end = time.monotonic() + 30
        while sum("mixed" in name for name in b.processes().values()) < 4 and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(2)
        subprocess.run(["scancel", "--state=RUNNING", "--me"], env={**b.env, **cluster.environment}, check=True)
        code, _, _, text = job.end(60)
        check(code != 0, text)
        expect_nothing_left(b)


if __name__ == "__main__":
    sys.exit(test_run.main(globals()))
