#!/usr/bin/env python3
"""Cluster memory on two hosts, made up as in test/task/test_hosts.py: results, and what happens when the network between them
is cut, when rank 0 is killed, and when rank 0 has nothing to say for longer than --timeout.

    hosts_test.py --mpi openmpi --mpirun /usr/bin/mpirun.openmpi program

After each case no process is left on either host, and nothing in its /dev/shm. Exits with 77 where network namespaces are not
permitted."""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "task"))
import test_hosts  # noqa: E402
from killed_test import Failure, processes  # noqa: E402

# Launchers hear of a host that is gone when the kernel has given up its connection: after a quarter of an hour, or, with this
# many attempts, seconds.
ATTEMPTS = "3"
LOST = "cluster memory is lost: memory server rank"
SILENT = "nothing was heard from rank 0 for 2 s"
AWAY, MIXED = (1, 2), (2, 1)

# name, ranks on each host, what happens, the program's arguments, settings, exit code (None: any but 0), words in the output
CASES = [
    ("all servers away", AWAY, None, ["threads"], "--stats", 0, ["verified", "rank 1 on tasuki-b: 64.0 MiB lent, by messages"]),
    ("one here, one away", MIXED, None, ["return"], "--stats --fill=interleave", 0,
     ["verified", "rank 1 on tasuki-a: 64.0 MiB lent, by window", "rank 2 on tasuki-b: 64.0 MiB lent, by messages"]),
    ("a long silence", AWAY, None, ["compute", "4"], "--timeout=1", 0, ["verified at the end"]),
    ("network cut", AWAY, "cut", ["for ever"], "--timeout=2", None, [LOST, "has not answered for 2 s"]),
    ("network cut, mixed", MIXED, "cut", ["for ever"], "--timeout=2 --fill=interleave", None,
     [LOST + " 2 on tasuki-b has not answered for 2 s"]),
    ("network cut in a silence", AWAY, "cut", ["compute", "600"], "--timeout=2", None, [LOST]),
    ("rank 0 killed", AWAY, "kill", ["for ever"], "--timeout=2", None, []),
]


def check_ended(mark, seconds, but=frozenset()):
    deadline = time.monotonic() + seconds
    while (left := processes(mark).keys() - but) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left:
        raise Failure(f"left behind: {left}")


def check_gone(mark, host):
    check_ended(mark, 15)
    for name, enter in (("first", []), ("second", host.enter())):
        files = subprocess.run(enter + ["ls", "/dev/shm"], capture_output=True, text=True, check=True).stdout.split()
        if files:
            raise Failure(f"left in /dev/shm of the {name} host: {files}")


def strike(what, mark):
    if what == "cut":
        subprocess.run(["ip", "link", "set", "veth0", "down"], check=True)
        return
    victims = [pid for pid, rank in processes(mark).items() if rank == 0]
    if not victims:
        raise Failure("no process of rank 0")
    for pid in victims:
        os.kill(pid, signal.SIGKILL)


def run_case(options, case):
    _, ranks, event, arguments, settings, code, expected = case
    with tempfile.TemporaryDirectory() as scratch:
        mark = f"{os.getpid()}.{time.time_ns()}"
        env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI_DLM")}
        env.update({"DLM_TEST_JOB": mark, "TMPDIR": scratch, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        host = test_hosts.SecondHost(scratch)
        job = None
        text = []
        try:
            for enter in ([], host.enter()):
                subprocess.run(enter + ["sh", "-c", f"echo {ATTEMPTS} >/proc/sys/net/ipv4/tcp_retries2"], check=True)
            launch = test_hosts.launch_options(types.SimpleNamespace(launcher=options.mpi, env=env), host, ranks)
            command = [options.mpirun, *launch, "-n", str(sum(ranks)), options.program, *arguments, "--", "--local=4MiB",
                       "--memory=64MiB", *settings.split()]
            job = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
            ready = threading.Event()

            def read():
                for line in job.stdout:
                    text.append(line)
                    if line == "swapping\n":
                        ready.set()
                ready.set()

            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            if event is not None:
                if not ready.wait(30) or "swapping\n" not in text:
                    raise Failure("the program did not get there")
                time.sleep(0.2)
                strike(event, mark)
            if event == "cut" and options.mpi == "mpich":
                # Hydra's mpirun hears nothing of a host that is gone, and waits for it until somebody ends it. Of the job
                # nothing else may be left.
                check_ended(mark, 15, {job.pid})
                job.terminate()
            try:
                job.wait(90)
            except subprocess.TimeoutExpired:
                raise Failure("the job hangs") from None
            check_gone(mark, host)
            reader.join(5)
            output = "".join(text)
            if (job.returncode == 0) if code is None else (job.returncode != code):
                raise Failure(f"exit code {job.returncode}")
            for word in expected:
                if word not in output:
                    raise Failure(f"no '{word}'")
        except Failure as failure:
            raise Failure(f"{failure}\n{''.join(text)}") from None
        finally:
            for pid in processes(mark):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if job is not None:
                job.wait()
            host.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--only", help="cases with this in their name")
    parser.add_argument("program")
    options = parser.parse_args()
    failed = 0
    for case in CASES:
        if options.only and options.only not in case[0]:
            continue
        begin = time.monotonic()
        try:
            run_case(options, case)
            print(f"{case[0]}: as it should ({time.monotonic() - begin:.1f} s)", flush=True)
        except Failure as failure:
            print(f"{case[0]}: FAILED: {failure}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    test_hosts.enter_first_host()
    sys.exit(main())
