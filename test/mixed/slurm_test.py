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
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("", "task", "coll")]
import slurm  # noqa: E402
import test_run  # noqa: E402
from span_test import MISSING, Ranks, expect_refusal, expect_right, plain  # noqa: E402
from test_run import check, equal  # noqa: E402

# What of Slurm's each library understands.
KIND = {"openmpi": "pmix", "mpich": "pmi2"}


def start(b, cluster, program, ranks, **settings):
    """Starts a job of such ranks (span_test.Ranks) by `srun` on the test's cluster."""
    first, lines = 0, []
    for r in ranks:
        lines.append(f"{first}-{first + r.count - 1} " + " ".join([*([b.args.tasuki, "run"] if r.tasuki else []), *program]))
        first += r.count
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=b.folder, delete=False) as file:
        file.write("\n".join(lines) + "\n")
    command = ["srun", f"--mpi={KIND[b.launcher]}", "--overcommit", "--kill-on-bad-exit", "-n", str(first), "--multi-prog", file.name]
    return subprocess.Popen(command, env={**b.env, **cluster.environment, "TASUKI_JOIN_TIMEOUT": "1", **settings}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def expect_nothing_left(b):
    b.wait_until_gone(20)
    equal([name for name in os.listdir("/dev/shm") if "tasuki" in name], [], "left in shared memory")


def scenario_slurm(b):
    if not slurm.installed():
        print("Slurm does not run here: that needs root, and apt-get install slurm-wlm")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as b.folder, slurm.Cluster(os.path.join(b.folder, "slurm")) as cluster:
        expect_nothing_left(b)
        # Two ranks in each space: every communicator spans.
        mixed = [b.program(f"mixed-{b.launcher}"), "--seed", "7", "--seconds", "3"]
        job = start(b, cluster, mixed, [Ranks(4)], TASUKI_MAPPINGS="30000", TASUKI_STATS="1")
        out, err = job.communicate(timeout=120)
        equal(job.returncode, 0, f"{out}\n{err}")
        sent = dict(re.findall(r"tasuki: rank (\d+):.*\bsent=(\d+)", err))
        check(sorted(sent) == list("0123") and all(int(n) > 0 for n in sent.values()), err)
        # What loads its MPI when it runs, as Python does, gets the shim that fits what Slurm offers.
        late = [b.program("../entry/late"), b.program(f"../entry/liblate_module-{b.launcher}.so")]
        out, err = start(b, cluster, late, [Ranks(2)], TASUKI_STATS="1").communicate(timeout=120)
        sent = dict(re.findall(r"tasuki: rank (\d+):.*\bsent=(\d+)", err))
        check(sorted(sent) == list("01") and all(int(n) > 0 for n in sent.values()), err)
        # Some ranks run Tasuki and some do not: right data. Where all promise to, a line says who does not, or that nobody can tell:
        # Slurm's PMI2 hands on no keys of ours and keeps no names.
        for ranks, missing in (([Ranks(1), plain(1)], "1"), ([plain(1), Ranks(2)], "0")):
            for first in ("iallreduce", "window"):
                promise = [b.program(f"../coll/promise-{b.launcher}"), first]
                expect_right(start(b, cluster, promise, ranks), ranks)
            job = start(b, cluster, promise, ranks, TASUKI_EVERYWHERE="on")
            if b.launcher == "openmpi":
                equal(expect_refusal(job, MISSING), missing, "the rank that is missing")
            else:
                err = expect_right(job, ranks)
                check("TASUKI_EVERYWHERE has no effect" in err, err)
        # A job that is cancelled in the middle.
        job = start(b, cluster, [*mixed[:-1], "60"], [Ranks(4)], TASUKI_MAPPINGS="30000")
        b.wait_for_a_process([f"mixed-{b.launcher}"])
        time.sleep(2)
        subprocess.run(["scancel", "--state=RUNNING", "--me"], env={**b.env, **cluster.environment}, check=True)
        out, err = job.communicate(timeout=60)
        check(job.returncode != 0, f"{out}\n{err}")
        expect_nothing_left(b)


if __name__ == "__main__":
    sys.exit(test_run.main(globals()))
