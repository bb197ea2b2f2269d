#!/usr/bin/env python3
"""Coarrays on two hosts, by windows of the MPI library: the programs of this folder, with plain MPI and under `tasuki run`, where images of
one host reach each other by their addresses. Called like ../task/test_run.py; exits with 77 where two hosts cannot be made."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "task"))
import test_hosts  # noqa: E402
import test_run  # noqa: E402
from test_run import check, equal  # noqa: E402

# Those that call MPI_Init themselves, before Tasuki can choose how Open MPI makes windows.
START_MPI = {"distributed", "gmove", "reductions", "shadows"}
PROGRAMS = ["scalars", "sections", "sync", "atomics", "allocated", *sorted(START_MPI)]


def scenario_hosts(b):
    # MPICH does not give the core away while it waits.
    ranks = (2, 2) if b.launcher == "openmpi" else (1, 1)
    with tempfile.TemporaryDirectory() as folder:
        host = test_hosts.SecondHost(folder)
        try:
            launch = test_hosts.launch_options(b, host, ranks)
            for name in PROGRAMS:
                env = dict(b.env)
                if name in START_MPI:
                    env["OMPI_MCA_osc"] = "^ucx"
                arguments = {"sections": ["1"], "shadows": ["5"], "gmove": ["150"]}.get(name, [])
                program = [b.program(f"coarray_{name}-{b.launcher}"), *arguments]
                # With one rank on each host the address space makes no difference to the transfers.
                for tasuki in (False, True) if ranks[0] > 1 or name == "sections" else (False,):
                    done = b.run(sum(ranks), program, tasuki=tasuki, launch=launch, env=env, timeout=100)
                    equal(done.returncode, 0, f"{name}, tasuki: {tasuki}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
            if b.launcher == "openmpi":
                refuses(b, launch, sum(ranks))
            b.wait_until_gone()
        finally:
            host.end()


def refuses(b, launch, ranks):
    """The user has switched off what makes windows of messages."""
    done = b.run(ranks, [b.program("coarray_sync-openmpi")], tasuki=False, launch=launch, env=dict(b.env, OMPI_MCA_osc="^ucx,pt2pt"))
    check(done.returncode != 0 and "makes no windows" in done.stderr and "--mca osc ^ucx" in done.stderr, done.stderr[-2000:])


if __name__ == "__main__":
    test_hosts.enter_first_host()
    sys.exit(test_run.main(globals()))
