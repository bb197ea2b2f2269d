#!/usr/bin/env python3
"""Somebody of a job with cluster memory dies while it swaps: it ends, with an error, and leaves nothing.

    killed_test.py --mpi openmpi --mpirun /usr/bin/mpirun.openmpi program

Each case kills (or stops) the launcher or a rank, while it swaps or while it starts, and then: the launcher ends soon with an exit code that is not 0, no
process of the job is left, and /dev/shm and the temporary directory are as before. /dev/shm is this test's own, as other
jobs of the same machine come and go; where that is not permitted, what is left there is not looked at.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

INSIDE = "DLM_TEST_OWN_SHM"
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")


def processes(mark):
    """pid -> rank (None: a process of the launcher) of the processes that carry the mark."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = dict(pair.split("=", 1) for pair in file.read().decode(errors="replace").split("\0")
                                 if "=" in pair)
            with open(f"/proc/{name}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if variables.get("DLM_TEST_JOB") == mark and state != "Z":
            ranks = [int(variables[v]) for v in RANK_VARIABLES if v in variables]
            found[int(name)] = ranks[0] if ranks else None
    return found


def with_own_shm():
    """This script again, with a /dev/shm that nobody else uses."""
    if INSIDE in os.environ:
        return
    script = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
    for unshare in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run(unshare + ["sh", "-c", script, "sh", "true"], capture_output=True, check=False).returncode == 0:
            os.environ[INSIDE] = "yes"
            os.execvp("unshare", unshare + ["sh", "-c", script, "sh", sys.executable] + sys.argv)
    print("no right to mount a /dev/shm of its own: what is left there is not looked at")


class Failure(Exception):
    pass


def run_case(options, name, victim, number, settings, expect_text, early=None):
    """`early`: strikes so many seconds after the victim has appeared, else in the middle of swapping."""
    shm_before = set(os.listdir("/dev/shm"))
    with tempfile.TemporaryDirectory() as scratch:
        mark = f"{os.getpid()}.{time.time_ns()}"
        env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI")}
        env.update({"DLM_TEST_JOB": mark, "TMPDIR": scratch, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        command = [options.mpirun] + (["--oversubscribe"] if options.mpi == "openmpi" else [])
        command += ["-n", "3", options.program, "for ever", "--", "--local=4MiB", "--memory=64MiB"] + settings
        job = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        try:
            if early is None:
                for line in job.stdout:
                    if line == "swapping\n":
                        break
                else:
                    raise Failure(f"the program did not get there: {job.stderr.read()}")
                time.sleep(0.2)
            else:
                deadline = time.monotonic() + 20
                while victim not in processes(mark).values() and time.monotonic() < deadline:
                    time.sleep(0.005)
                time.sleep(early)
            if victim == "launcher":
                os.kill(job.pid, number)
            else:
                pids = [pid for pid, rank in processes(mark).items() if rank == victim]
                if not pids:
                    raise Failure(f"no process of rank {victim}")
                for pid in pids:
                    os.kill(pid, number)
            try:
                _, errors = job.communicate(timeout=40 if early is None else 15)
            except subprocess.TimeoutExpired:
                # Open MPI 4.1's launcher now and then waits, for ever, for a rank that died in MPI_Init. The ranks must be gone.
                if early is None or any(rank is not None for rank in processes(mark).values()):
                    raise Failure("the job hangs") from None
                print(f"{name}: all ranks have ended, the launcher has not: it is ended")
                job.kill()
                return
            # MPICH's launcher now and then ends with 0 when it is interrupted.
            if job.returncode == 0 and not (victim == "launcher" and options.mpi == "mpich"):
                raise Failure("exit code 0")
            if expect_text not in errors:
                raise Failure(f"no '{expect_text}' in:\n{errors}")
            deadline = time.monotonic() + 15
            while (left := processes(mark)) and time.monotonic() < deadline:
                time.sleep(0.1)
            if left:
                raise Failure(f"left behind: {left}")
            grown = set(os.listdir("/dev/shm")) - shm_before if INSIDE in os.environ else set()
            # What the MPI libraries themselves cannot clean up is not ours: Open MPI's when its launcher is killed, MPICH's and UCX's
            # when a rank is killed in MPI_Init (UCX creates its file there and unlinks it 7 ms later, strace says).
            grown = {entry for entry in grown if not (victim == "launcher" and entry.startswith("vader_segment"))
                     and not entry.startswith("mpich_shar_tmp") and not (early is not None and entry.startswith("ucx_shm_posix"))}
            if grown:
                raise Failure(f"left in /dev/shm: {grown}")
            files = [entry for entry in os.listdir(scratch) if not entry.startswith(("ompi.", "pmix-"))]
            if files:
                raise Failure(f"left in the temporary directory: {files}")
        finally:
            for pid in processes(mark):
                os.kill(pid, signal.SIGKILL)
            if job.poll() is None:
                job.kill()
                job.communicate()
    print(f"{name}: ended with {job.returncode}, nothing left")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    failed = 0
    for window in ("on", "off"):
        for name, victim, number, settings, text in (
                ("server killed", 1, signal.SIGKILL, [], ""),
                ("rank 0 killed", 0, signal.SIGKILL, [], ""),
                ("rank 0 terminated", 0, signal.SIGTERM, [], ""),
                ("launcher killed", "launcher", signal.SIGKILL, [], ""),
                ("launcher interrupted", "launcher", signal.SIGINT, [], ""),
                ("server stopped", 1, signal.SIGSTOP, ["--timeout=2"], "memory server rank 1 on")):
            if number == signal.SIGSTOP and window == "on":
                continue  # rank 0 needs nothing of that server
            title = f"{name}, window {window}"
            try:
                run_case(options, title, victim, number, settings + [f"--window={window}"], text)
            except Failure as failure:
                print(f"{title}: FAILED: {failure}")
                failed += 1
    for early in (0, 0.05, 0.1, 0.2):
        for settings in ([], ["--replicas=2"]):
            title = " ".join([f"server killed {early} s after its start", *settings])
            try:
                run_case(options, title, 2, signal.SIGKILL, settings + ["--window=off"], "", early)
            except Failure as failure:
                print(f"{title}: FAILED: {failure}")
                failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    with_own_shm()
    sys.exit(main())
