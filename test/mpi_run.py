#!/usr/bin/env python3
"""Run one program under an MPI launcher, plainly or under `tasuki run`, and judge the outcome.

    mpi_run.py --mpi openmpi --mpirun /usr/bin/mpirun.openmpi --ranks 2 [--tasuki build/bin/tasuki] -- prog args

Exit code: 0 passed, 77 skipped (the program said so), 124 hung, else failed. Under --tasuki it also fails when a rank
did not report that Tasuki moved its messages: a run in which everything fell through to the MPI library proves nothing.
With --compare the program runs plainly before, and its lines must be the same under Tasuki.
"""
import argparse
import difflib
import os
import re
import signal
import subprocess
import sys
import threading
import time

# What time limits are multiplied by: an emulated machine is slow.
PATIENCE = float(os.environ.get("TASUKI_TEST_PATIENCE", 1))
# Not anchored to the start of a line: a program's unfinished line (a prompt, a progress report) may stand before it.
STATS = re.compile(rb"tasuki: rank (\d+):(.*)$", re.M)
COUNTER = re.compile(rb"\b(sent|received|external_bytes)=(\d+)\b")


def launch_command(options):
    command = [options.mpirun]
    if options.mpi == "openmpi":
        command.append("--oversubscribe")
    command += ["-n", str(options.ranks - options.outside)]
    if options.tasuki:
        command += [options.tasuki, "run"]
    command += options.command
    if options.outside:
        command += [":", "-n", str(options.outside)] + options.command
    return command


def environment(options):
    env = dict(os.environ)
    # The tests decide what is switched on, not the shell they are started from.
    for name in [n for n in env if n.startswith("TASUKI")]:
        del env[name]
    if os.getuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if options.tasuki:
        env["TASUKI_STATS"] = "1"
    for pair in options.env:
        name, _, value = pair.partition("=")
        env[name] = value
    return env


def processes():
    """pid -> (parent, session, state, what it runs)"""
    table = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                before, _, after = file.read().rpartition(")")
            fields = after.split()
            table[int(name)] = (int(fields[1]), int(fields[3]), fields[0], before.partition("(")[2])
        except (OSError, ValueError):
            pass
    return table


def descendants(root):
    """The job's processes: the launcher's children (they may have sessions of their own)."""
    table = processes()
    found = [pid for pid, row in table.items() if row[1] == root or pid == root]
    grown = True
    while grown:
        more = [pid for pid, row in table.items() if row[0] in found and pid not in found]
        found += more
        grown = bool(more)
    return {pid: table[pid] for pid in found if pid in table}


def describe_hang(job):
    for pid, (parent, _, state, name) in sorted(job.items()):
        try:
            with open(f"/proc/{pid}/wchan") as file:
                where = file.read() or "0"
        except OSError:
            where = "?"
        print(f"mpi_run: {pid} (parent {parent}) {name}: state {state}, waits in {where}", file=sys.stderr)


def left_behind(mark):
    """Processes of the job (they carry a mark in their environment) that outlive it by more than two seconds."""
    deadline = time.monotonic() + 2 * PATIENCE
    while True:
        found = []
        for pid, row in processes().items():
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if row[2] != "Z" and mark.encode() in file.read().split(b"\0"):
                        found.append((pid, row[3]))
            except OSError:
                pass
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def run(options):
    mark = f"MPI_RUN_JOB={os.getpid()}.{time.time_ns()}"
    env = environment(options)
    env.update([mark.split("=", 1)])
    process = subprocess.Popen(launch_command(options), env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    output = {}

    def drain(name, stream, to):
        kept = bytearray()
        for line in stream:
            kept += line
            to.write(line)
            to.flush()
        output[name] = bytes(kept)

    threads = [threading.Thread(target=drain, args=("out", process.stdout, sys.stdout.buffer)),
               threading.Thread(target=drain, args=("err", process.stderr, sys.stderr.buffer))]
    for thread in threads:
        thread.start()
    hung = False
    try:
        process.wait(options.timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        hung = True
        job = descendants(process.pid)
        print(f"mpi_run: still running after {options.timeout * PATIENCE} s:", file=sys.stderr)
        describe_hang(job)
        # Programs with test/p2p/check.h answer SIGALRM by naming the step they are in.
        for pid in job:
            if pid != process.pid and not re.match(r"mpirun|hydra|orted|prted", job[pid][3]):
                send(pid, signal.SIGALRM)
        time.sleep(1)
        send(process.pid, signal.SIGTERM)
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            pass
        for pid in job:
            send(pid, signal.SIGKILL)
        process.wait()
    for thread in threads:
        thread.join(5 * PATIENCE)
    orphans = left_behind(mark)
    for pid, name in orphans:
        print(f"mpi_run: {name} ({pid}) was left behind", file=sys.stderr)
        send(pid, signal.SIGKILL)
    if orphans and not hung:
        return 1, b"", b""
    return (124 if hung else process.returncode), output.get("out", b""), output.get("err", b"")


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def lines_of(options, **changes):
    return run(argparse.Namespace(**{**vars(options), **changes}))[1]


def compares(options, plain, tasuki):
    """Open MPI 5.0.7's launcher now and then puts a piece of a line on stderr where the statistics go: without them if they differ."""
    return same_lines(plain, tasuki) or same_lines(plain, lines_of(options, env=[*options.env, "TASUKI_STATS=off"]))


def same_lines(plain, tasuki):
    differences = list(difflib.unified_diff(plain.decode().splitlines(), tasuki.decode().splitlines(), "plain", "tasuki", n=0,
                                            lineterm=""))
    for line in differences[:20]:
        print(f"mpi_run: {line}", file=sys.stderr)
    return not differences and plain != b""


def missing_evidence(options, text):
    """Why this run does not prove that Tasuki handled the messages; empty if it does."""
    ranks, moved = set(), 0
    for match in STATS.finditer(text):
        ranks.add(int(match.group(1)))
        moved += sum(int(value) for _, value in COUNTER.findall(match.group(2)))
    absent = set(range(options.ranks - options.outside)) - ranks
    if absent:
        return f"no statistics line from rank {', '.join(map(str, sorted(absent)))}"
    if moved == 0 and not options.no_traffic:
        return "no message was moved by Tasuki itself"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--tasuki")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--env", action="append", default=[], metavar="K=V")
    parser.add_argument("--expect-exit", default="0", metavar="N[,N...]", help="the launcher's exit code; several: any of them")
    parser.add_argument("--compare", action="store_true", help="the lines must be those of a plain run")
    parser.add_argument("--outside", type=int, default=0, help="that many of the ranks run without Tasuki")
    parser.add_argument("--no-traffic", action="store_true", help="the program sends no message that Tasuki handles")
    parser.add_argument("--no-stats", action="store_true", help="the program does not reach MPI_Finalize")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    plain = lines_of(options, tasuki=None) if options.compare and options.tasuki else None
    code, out, err = run(options)
    if code == 77:
        return 77
    if plain is not None and not compares(options, plain, out):
        return 1
    if str(code) not in options.expect_exit.split(","):
        print(f"mpi_run: exit code {code}, expected {options.expect_exit}", file=sys.stderr)
        return 124 if code == 124 else 1
    if options.tasuki and not options.no_stats:
        why = missing_evidence(options, out + err)
        if why:
            print(f"mpi_run: {why}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
