#!/usr/bin/env python3
"""Tests of `tasuki run` where containers restrict: what runs plainly there must run, and share memory. Called like test_run.py."""
import os
import re
import subprocess
import sys

import test_run
from test_run import check, equal, lines

FILTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seccomp_filter.py")
ROUNDS = "4"


def filtered():
    """A Python with the bindings of libseccomp, and the filter."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import seccomp"], capture_output=True).returncode == 0:
            return [python, FILTER]
    print("skipped: no Python here has seccomp (Debian: apt-get install python3-seccomp)")
    sys.exit(77)


def mounts(script):
    return ["unshare", "--mount", "sh", "-c", script + ' && exec "$@"', "sh"]


def ring(b, inside, tasuki, options=()):
    program = [b.program(f"exchange-{b.launcher}"), ROUNDS, "quiet"]
    command = inside + b.command(2, program, tasuki, options)
    return subprocess.run(command, env=b.env, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def skip_unless_permitted(inside):
    tried = subprocess.run(inside + ["true"], capture_output=True, text=True)
    if tried.returncode != 0:
        print(f"skipped: this user may not: {' '.join(inside)}: {tried.stderr}")
        sys.exit(77)


def works(b, inside):
    """Plainly and under Tasuki, whose tasks share memory there."""
    skip_unless_permitted(inside)
    expected = [f"rank {i} of 2 ok, 2 on its node" for i in range(2)]
    b.env.pop("TASUKI_STATS", None)
    plain = ring(b, inside, False)
    equal((plain.returncode, lines(plain.stdout)), (0, expected), f"plain: {plain.stderr}")
    b.env["TASUKI_STATS"] = "1"
    shared = ring(b, inside, True, ["--require"])
    equal((shared.returncode, lines(shared.stdout)), (0, expected), shared.stderr)
    sent = [int(n) for n in re.findall(r"tasuki: rank \d+: sent=(\d+)", shared.stderr)]
    check(len(sent) == 2 and min(sent) > 0, f"Tasuki moved nothing: {shared.stderr}")
    b.wait_until_gone()


def doctor(b, inside):
    return subprocess.run(inside + [b.args.tasuki, "doctor"], env=b.env, text=True, capture_output=True, timeout=60).stdout


def scenario_seccomp(b):
    """The system calls that Docker and Podman refuse; `tasuki doctor` says what is missing."""
    inside = filtered()
    refused = subprocess.run(inside + ["unshare", "--mount", "true"], capture_output=True, text=True)
    check(refused.returncode != 0, "the filter refuses nothing")
    works(b, inside)
    said = doctor(b, inside)
    check("they share an address space" in said and re.search(r"note +pages on a disk +io_uring", said), said)


def scenario_user_namespace(b):
    works(b, ["unshare", "--user", "--map-current-user", "--mount", "--ipc"])


def scenario_pid_namespace(b):
    works(b, ["unshare", "--pid", "--fork", "--mount-proc"])


def scenario_read_only(b):
    """Nothing can be written but TMPDIR and /dev/shm, which are empty. (The tests themselves may be in /tmp.)"""
    works(b, mounts("mount -t tmpfs tmpfs /var/tmp && mount -t tmpfs tmpfs /dev/shm && mount -o remount,bind,ro / && export TMPDIR=/var/tmp"))


def scenario_small_shared_memory(b):
    """Docker's 64 MiB, which `tasuki doctor` names."""
    inside = mounts("mount -t tmpfs -o size=64m tmpfs /dev/shm")
    works(b, inside)
    check("64.0 MiB free of 64.0 MiB" in doctor(b, inside), "doctor does not name the size")


def scenario_no_shared_memory(b):
    """Where not even the library can make a segment, what it says is what is said under Tasuki: no hang, no task left."""
    inside = mounts("mount -t tmpfs -o ro tmpfs /dev/shm")
    skip_unless_permitted(inside)
    plain, shared = ring(b, inside, False), ring(b, inside, True)
    equal(shared.returncode == 0, plain.returncode == 0, f"plain: {plain.stderr}\nTasuki: {shared.stderr}")
    if plain.returncode == 0:
        equal(lines(shared.stdout), lines(plain.stdout), shared.stderr)
    b.wait_until_gone()
    check(re.search(r"/dev/shm", doctor(b, inside)), "doctor does not name it")


if __name__ == "__main__":
    sys.exit(test_run.main(globals()))
