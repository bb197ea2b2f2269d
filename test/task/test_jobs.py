#!/usr/bin/env python3
"""Tests of `tasuki run` with real MPI programs that exchange messages. Called like test_run.py."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import test_run
from test_run import Failure, check, equal, lines

IN_OWN_FILES = "TASUKI_TEST_OWN_FILES"

# What the MPI libraries leave when their processes are killed, also without Tasuki: Open MPI its shared segments and its
# session directories and the file by which it tries out whether shared memory works (open_mpi.0000, unlinked at once); MPICH and UCX
# segments that they have not unlinked yet.
LEFT_BY_MPI = re.compile(r"vader_segment\.|open_mpi\.\d|sm_segment\.|ompi\.|openmpi-sessions|pmix|prte|mpich_shar_tmp|ucx_shm|psm2_shm")


def with_own_files():
    """This script again, with a /dev/shm of its own, where that is permitted."""
    if IN_OWN_FILES in os.environ:
        return
    script = "mount -t tmpfs tmpfs /dev/shm && exec \"$@\""
    for unshare in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run(unshare + ["sh", "-c", script, "sh", "true"], capture_output=True).returncode == 0:
            os.environ[IN_OWN_FILES] = "yes"
            os.execvp("unshare", unshare + ["sh", "-c", script, "sh", sys.executable] + sys.argv)
    os.environ[IN_OWN_FILES] = "no"


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def scenario_messages_kill(b):
    """Tasks, proxies, hosts and launchers die at random moments of jobs that exchange messages: nothing is left."""
    seed = int(os.environ.get("TASUKI_TEST_SEED", str(time.time_ns() % 1000000)))
    rounds = int(os.environ.get("TASUKI_TEST_ROUNDS", {"mpich": "24", "openmpi": "12"}[b.launcher]))
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    kinds = {"tasuki": "proxy", "tasuki-host": "host", f"exchange-{b.launcher}"[:15]: "task",
             f"mpirun.{b.launcher}": "launcher"}
    victims = {}
    own_shm = os.environ[IN_OWN_FILES] == "yes"
    for i in range(rounds):
        with tempfile.TemporaryDirectory() as directory:
            b.env["TMPDIR"] = directory
            p = b.start(3, [b.program(f"exchange-{b.launcher}"), "0"])
            kinds_here = kinds
            if rng.random() < 0.3:
                b.wait_for_a_process(set(kinds) - {f"mpirun.{b.launcher}"})  # while MPI starts, that is
                time.sleep(rng.random() * 0.3)
                kinds_here = {name: kind for name, kind in kinds.items() if kind != "launcher"}
            else:
                b.ready_pids(p, 3)
                time.sleep(rng.random() * 0.1)
            candidates = [(pid, kinds_here[name]) for pid, name in b.processes().items() if name in kinds_here]
            check(candidates, f"round {i}: the job has no processes: {b.processes()}")
            kind = rng.choice(sorted({k for _, k in candidates}))
            pid = rng.choice([pid for pid, k in candidates if k == kind])
            victims[kind] = victims.get(kind, 0) + 1
            number = signal.SIGKILL if kind != "launcher" else rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            kill(pid, number)
            what = f"round {i}, {kind} got {number.name}"
            b.end_of_killed_job(p, what)
            left = [name for name in os.listdir(directory) if not LEFT_BY_MPI.match(name)]
            if own_shm:
                left += [name for name in os.listdir("/dev/shm") if not LEFT_BY_MPI.match(name)]
                for name in os.listdir("/dev/shm"):
                    os.unlink(os.path.join("/dev/shm", name))
            equal(left, [], f"{what}: files")
    print(f"killed: {victims}" + ("" if own_shm else "; /dev/shm was not looked at (no right to mount)"))


def scenario_spaces(b):
    """More than one address space on a node: the MPI library carries what passes between them."""
    with open("/proc/sys/vm/max_map_count") as f:
        limit = int(f.read())
    for room, spaces in ((4, 2), (3, 3), (1, 8)):
        env = dict(b.env, TASUKI_MAPPINGS=str((limit - 1000) // room), TASUKI_STATS="1")
        result = b.run(8, [b.program(f"exchange-{b.launcher}"), "8", "quiet"], env=env, timeout=200 * test_run.PATIENCE)
        equal((result.returncode, lines(result.stdout)), (0, [f"rank {i} of 8 ok, 8 on its node" for i in range(8)]),
              result.stderr)
        check(f"8 ranks of this node share {spaces} address spaces" in result.stderr, result.stderr)
    b.wait_until_gone()


def scenario_interposer(b):
    """A preloaded tool that calls the next MPI_Send sees the calls, and Tasuki sees what it passes on."""
    env = dict(b.env, TASUKI_STATS="1", LD_PRELOAD=b.program(f"libinterposer-{b.launcher}.so"))
    plain = b.run(2, [b.program(f"exchange-{b.launcher}"), "4", "quiet"], env=env, timeout=60 * test_run.PATIENCE, tasuki=False)
    shared = b.run(2, [b.program(f"exchange-{b.launcher}"), "4", "quiet"], env=env, timeout=60 * test_run.PATIENCE)
    seen = lambda result: lines("".join(re.findall(r"interposer: .*\n", result.stderr)))
    equal(len(seen(plain)), 2, plain.stderr)
    equal(seen(shared), seen(plain), "calls that the tool saw")
    sent = [int(n) for n in re.findall(r"\bsent=(\d+)", shared.stderr)]
    check(len(sent) == 2 and min(sent) > 0, shared.stderr)


def scenario_failed_init(b):
    """What MPI_Init ends by itself ends with the same code."""
    setting = {"openmpi": "OMPI_MCA_pml", "mpich": "MPIR_CVAR_BCAST_INTRA_ALGORITHM"}[b.launcher]
    env = dict(b.env, **{setting: "nonsense"})
    for ranks in (1, 4):
        plain = b.run(ranks, [b.program(f"exchange-{b.launcher}"), "4", "quiet"], env=env, timeout=60 * test_run.PATIENCE, tasuki=False)
        shared = b.run(ranks, [b.program(f"exchange-{b.launcher}"), "4", "quiet"], env=env, timeout=60 * test_run.PATIENCE)
        check(plain.returncode != 0, plain.stdout)
        equal(shared.returncode, plain.returncode, shared.stderr)
    b.wait_until_gone()


def scenario_wrong_launcher(b):
    """A program of the other MPI runs as it does without Tasuki, each process alone, and one line says why."""
    other, names = {"openmpi": ("mpich", "MPICH.* launcher of Open MPI"), "mpich": ("openmpi", "Open MPI.* launcher of MPICH")}[b.launcher]
    if not os.path.exists(b.program(f"share-{other}")):
        print("there is no other MPI")
        sys.exit(77)
    plain = b.run(2, [b.program(f"share-{other}")], timeout=60 * test_run.PATIENCE, tasuki=False)
    shared = b.run(2, [b.program(f"share-{other}")], timeout=60 * test_run.PATIENCE)
    equal((shared.returncode, lines(shared.stdout)), (plain.returncode, lines(plain.stdout)), shared.stderr)
    said = re.findall(rf"tasuki: .*share-{other} is linked with {names}: .* alone .*mpirun\n", shared.stderr)
    equal(len(said), 1, shared.stderr)


if __name__ == "__main__":
    with_own_files()
    sys.exit(test_run.main(globals()))
