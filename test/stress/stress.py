#!/usr/bin/env python3
"""The stress command: random programs that know what must come out, in turns, for as long as you like.

    stress.py --tree build --minutes 10 [--seed N] [--kind mpi|pager|coarray] [--jobs 2]
    stress.py --tree build --seed N --run K          run number K of that seed again

Every run follows from the seed and its number: the program, the MPI, the number of ranks, the settings of Tasuki. A run has failed when it
says that something is wrong, ends with another exit code than it must, does not end in time, or leaves a process or a file behind.
What a failed run printed is kept, with the command that repeats it and, where gdb is there, a trace of each process that hung.
The last line is `N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import sys
import threading
import time

import job
import kinds

FIGURE = re.compile(r"^stress: figures(.*)$", re.M)
PAIR = re.compile(r"\b([a-z_]+)=(\d+)\b")


def symptom(why, outcome):
    """What two failures of one program must have in common to be the same."""
    said = re.search(r"^FAIL rank \d+, (seed .*)$", outcome.output, re.M)
    return why.split(":")[0], said.group(1) if said else ""


class Session:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.next = {kind: 0 for kind in options.kinds}
        self.passed, self.failed, self.skipped = collections.Counter(), collections.Counter(), collections.Counter()
        self.figures = collections.Counter()
        self.running = {}
        self.start = time.monotonic()
        self.end = self.start + 60 * options.minutes
        self.turn = 0
        self.stop = False

    def take(self):
        """The next run, the kinds in turns; None when the time is over."""
        with self.lock:
            left = self.end - time.monotonic()
            if self.stop or left < 2 or sum(self.failed.values()) >= self.options.most_failures:
                return None
            kind = self.options.kinds[self.turn % len(self.options.kinds)]
            self.turn += 1
            number = self.next[kind]
            self.next[kind] += 1
        return kinds.make(kind, number, self.options, left)

    def work(self):
        while run := self.take():
            try:
                self.carry_out(run)
            except Exception as error:  # a defect of this command must not look like a quiet minute
                with self.lock:
                    self.failed[run.kind] += 1
                print(f"stress: {run.title}: {type(error).__name__}: {error}", flush=True)

    def carry_out(self, run):
        folder = self.options.out / f"{run.kind}-{self.options.seed}-{run.number}"
        shutil.rmtree(folder, ignore_errors=True)
        with self.lock:
            self.running[run.title] = time.monotonic()
        outcome = job.carry_out(run, folder, self.options)
        with self.lock:
            del self.running[run.title]
        why = "skip" if self.stop else run.judge(outcome)
        if why and why != "skip" and self.is_theirs(run, why, outcome, folder / "plain"):
            print(f"stress: the MPI library's own: {run.title}: {why}: it fails in the same way without Tasuki\n  alone:  {run.shell()}", flush=True)
            why = "skip"
        with self.lock:
            for match in FIGURE.finditer(outcome.output):
                for name, value in PAIR.findall(match.group(1)):
                    self.figures[name] += int(value)
            self.figures["ranks"] += run.ranks
            if why == "skip":
                self.skipped[run.kind] += 1
            elif why:
                self.failed[run.kind] += 1
            else:
                self.passed[run.kind] += 1
            if why and why != "skip":
                self.report(run, outcome, why, folder)
            else:
                shutil.rmtree(folder, ignore_errors=True)

    def is_theirs(self, run, why, outcome, folder):
        """Whether the same program fails in the same way without Tasuki."""
        if run.without and not run.tasuki:
            return True
        at = re.search(r"^(?:FAIL|HUNG) rank \d+, seed \d+ round (\d+)", outcome.output, re.M)
        for number, control in enumerate(run.controls(at.group(1) if at else None)):
            other = job.carry_out(control, folder / str(number), self.options)
            if symptom(control.judge(other), other) == symptom(why, outcome):
                return True
        return False

    def report(self, run, outcome, why, folder):
        again = f"make stress SEED={self.options.seed} KIND={run.kind} RUN={run.number}"
        (folder / "command").write_text(f"# {why}\n# {again}\n{run.shell()}\n")
        print(f"stress: FAILED {run.title}: {why}\n  again:  {again}\n  alone:  {run.shell()}\n  kept:   {folder}")
        for line in outcome.output.splitlines()[-self.options.lines:]:
            print("  | " + line)
        sys.stdout.flush()

    def progress(self):
        minutes = (time.monotonic() - self.start) / 60
        counts = ", ".join(f"{kind} {self.passed[kind] + self.failed[kind]}" for kind in self.options.kinds)
        print(f"stress: {minutes:.1f} of {self.options.minutes:g} min, runs: {counts}; failed: {sum(self.failed.values())}", flush=True)
        with self.lock:
            slow = [(time.monotonic() - since, title) for title, since in self.running.items()]
        for seconds, title in slow:
            if seconds > 60:
                print(f"stress: for {seconds:.0f} s: {title}", flush=True)

    def closing(self):
        if self.figures:
            print("stress: " + ", ".join(f"{value} {name}" for name, value in sorted(self.figures.items())))
        if skipped := sum(self.skipped.values()):
            print(f"stress: {skipped} runs skipped")
        passed, failed = sum(self.passed.values()), sum(self.failed.values())
        if passed + failed == 0:
            print("stress: nothing was run")
        print(f"{passed} passed, {failed} failed", flush=True)
        return 1 if failed or passed == 0 else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, default="build", help="the build tree")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, help="default: from the clock")
    parser.add_argument("--kind", action="append", choices=list(kinds.KINDS), help="only these; default: all")
    parser.add_argument("--run", type=int, help="only the run with this number (of --kind)")
    parser.add_argument("--jobs", type=int, default=max(1, min(4, os.cpu_count() or 1)), help="jobs at the same time")
    parser.add_argument("--out", type=pathlib.Path, help="where failed runs are kept; default: TREE/stress")
    parser.add_argument("--most-failures", type=int, default=10, help="stop after that many")
    parser.add_argument("--lines", type=int, default=15, help="of a failed run's output to print")
    parser.add_argument("--only", default="", help="mpi: only these parts of the program (comma between them)")
    parser.add_argument("--mpi", choices=kinds.MPIS, action="append", help="only these")
    parser.add_argument("--variant", choices=kinds.VARIANTS, action="append", help="only these")
    options = parser.parse_args()
    options.tree = options.tree.resolve()
    options.out = (options.out or options.tree / "stress").resolve()
    options.seed = options.seed if options.seed is not None else time.time_ns() // 1000000 % 1000000000
    options.kinds = options.kind or [kind for kind in kinds.KINDS if kinds.available(kind, options)]
    options.own_mounts = job.own_mounts_permitted()
    return options


def main():
    options = parse()
    session = Session(options)
    print(f"stress: seed {options.seed}, {', '.join(options.kinds)}, {options.jobs} at a time", flush=True)
    if not options.own_mounts:
        print("stress: no mount namespaces here: files left in /dev/shm are not looked for", flush=True)
    if options.run is not None:
        for kind in options.kinds:
            session.carry_out(kinds.make(kind, options.run, options, 60 * options.minutes))
        return session.closing()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    workers = [pool.submit(session.work) for _ in range(options.jobs)]
    try:
        shown = time.monotonic()
        while concurrent.futures.wait(workers, timeout=1).not_done:
            if time.monotonic() - shown >= 30:
                session.progress()
                shown = time.monotonic()
    except KeyboardInterrupt:
        session.stop = True
        print("stress: interrupted", flush=True)
        job.end_all()
        concurrent.futures.wait(workers)
    return session.closing()


if __name__ == "__main__":
    sys.exit(main())
