#!/usr/bin/env python3
"""Rounds of a program in cluster memory that loses servers, room on its disk, or memory, at random moments.

    fault_rounds.py --mpi openmpi --mpirun /usr/bin/mpirun.openmpi --tasuki build/bin/tasuki --program fault_program
                    --dlm-program dlm_fault_program-openmpi --fault libdlm_fault-openmpi.so
                    [--wheel DIRECTORY] [--rounds 6] [--seed 1] [--kinds server,disk,cgroup] [--only-round K]
                    [--limit SECONDS] [--logs DIRECTORY]

The program (fault_program.c) verifies all of its data, all the time. The seed and the number of a round decide everything about it
but the times that things take; --only-round runs one of them. Kinds:

server  Servers of two to four are lost, one, two at once, or one after the other. With --wheel, Open MPI 5 from a Python package
        goes on without them, and they are killed. Else the failure is made up (see failover_test.py), or the server is stopped,
        or it is killed and the launcher ends the job. One lost of two copies: the program ends as if nothing had happened, and
        so when another one is lost after the copies of the first were made again. All copies lost: an error that says so.
disk    The store is on a small tmpfs that others fill and empty again. Allocations fail with ENOMEM, or the program does not
        start and says why; whoever was given memory keeps it.
cgroup  A server, the program, or all of the job is in a memory cgroup that is too small, or just large enough. The program does
        not start, is refused memory, or is right. What the kernel kills there is counted, and fails the round if --strict.

After each round no process is left, nothing in the folder of the store or on its file system, in /dev/shm, or in TMPDIR. A round
that takes longer than --limit hangs: it fails with the stacks of its processes. The folder --logs keeps the output of failed rounds.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import killed_test
from killed_test import Failure, processes

MIB = 1 << 20
GONE, MAPPED = "it is not used any more", "rank 0 has its memory mapped"
LOST = "cluster memory is lost: memory server rank"
RESTORED = re.compile("all of it has (two copies|all parts) again")
ONE_COPY = re.compile("have (one copy|less than all their parts) now")
VERIFIED = re.compile(r"^verified at the end: (\d+) bytes, sum (\w+), expected (\w+), (\d+) refusals$", re.MULTILINE)
FAULTS = ["auto", "auto", "userfault", "userfault-user", "signal", "userfault-copy", "userfault-sigbus"]
STEP = 0.02


class Skip(Exception):
    pass


def size(value):
    return f"{value // 1024}KiB"


class Group:
    """A memory cgroup with a limit, of version 1 or 2."""

    def __init__(self, name):
        self.folder = None
        reason = "no control groups with a memory limit are mounted"
        for folder, version in self.places():
            group = folder / name
            try:
                group.mkdir()
                limit = group / ("memory.limit_in_bytes" if version == 1 else "memory.max")
                limit.write_text(str(1 << 40))
                test = ["sh", "-c", 'echo $$ > "$0"', str(group / "cgroup.procs")]
                done = subprocess.run(test, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    raise OSError(done.stderr.strip())
            except OSError as error:
                reason = str(error)
                if group.exists():
                    group.rmdir()
                continue
            self.folder, self.version, self.limit = group, version, limit
            return
        raise Skip(f"no limit of memory can be set here: {reason}")

    @staticmethod
    def places():
        mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
        own = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
        for _, where, kind, flags, *_ in mounts:
            version = {"cgroup": 1, "cgroup2": 2}.get(kind)
            if version is None or (version == 1 and "memory" not in flags.split(",")):
                continue
            for _, controllers, path in own:
                if "memory" in controllers.split(",") if version == 1 else controllers == "":
                    yield pathlib.Path(where + path), version
            yield pathlib.Path(where), version

    def set(self, value):
        self.limit.write_text(str(value))

    def killed(self):
        text = (self.folder / ("memory.oom_control" if self.version == 1 else "memory.events")).read_text()
        return int(re.search(r"^oom_kill (\d+)", text, re.MULTILINE).group(1))

    def most(self):
        file = self.folder / ("memory.max_usage_in_bytes" if self.version == 1 else "memory.peak")
        return int(file.read_text()) if file.exists() else 0

    def enter(self):
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs")]

    def end(self):
        deadline = time.monotonic() + 10
        while True:
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise Failure(f"{self.folder} cannot be removed: {(self.folder / 'cgroup.procs').read_text()}") from None
                time.sleep(0.1)


class Job:
    """A job that is under way, and what it has printed."""

    def __init__(self, command, env, mark, limit):
        self.mark, self.text = mark, []
        self.begin = time.monotonic()
        self.deadline = self.begin + limit
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.text.append(line)

    def output(self):
        return "".join(self.text)

    def ended(self):
        return self.process.poll() is not None

    def wait_for(self, condition, seconds=1e9):
        """False: the job has ended before, or the time is over. A hang is a failure."""
        until = time.monotonic() + seconds
        while not condition():
            if self.ended() or time.monotonic() > until:
                return condition()
            if time.monotonic() > self.deadline:
                raise Failure("the job hangs")
            time.sleep(STEP)
        return True

    def says(self, *words):
        return any(word.search(line) if isinstance(word, re.Pattern) else word in line for line in list(self.text) for word in words)

    def victims(self, rank):
        return [pid for pid, r in processes(self.mark).items() if r == rank]

    def stacks(self):
        text = ""
        for pid, rank in sorted(processes(self.mark).items()):
            command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"]
            text += f"--- rank {rank}: {shlex.join(command)}\n"
            if shutil.which("gdb"):
                try:
                    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
                    text += done.stdout + done.stderr[-2000:]
                except subprocess.TimeoutExpired:
                    text += "gdb did not end\n"
        return text

    def end(self):
        for pid in processes(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not self.ended():
            self.process.kill()
        self.process.wait()
        self.reader.join(10)


class Round:
    """What is drawn for one round; run() carries it out."""

    def __init__(self, options, number):
        self.options, self.number = options, number
        self.random = random.Random(f"{options.seed}:{number}")
        self.kind = self.random.choice(options.kinds)
        self.settings, self.strikes = {}, []
        self.code = self.random.choice([0, 0, 5])
        self.early_victim = self.restored = self.launcher_crashed = False
        self.draw()
        getattr(self, "draw_" + self.kind)()

    def draw(self):
        """What all kinds have in common."""
        r = self.random
        self.mib = r.randint(8, 32)
        self.threads = r.randint(1, 3)
        self.arrays = r.randint(2, 8)
        self.program_seed = r.randrange(1 << 30)
        self.servers = r.randint(2, 4)
        self.preload = r.random() < 0.4  # tasuki mem, else dlm.h
        page = r.choice(["auto", "auto", "4KiB", "16KiB", "64KiB", "256KiB"])
        local = int(self.mib * MIB * r.uniform(0.08, 0.4))
        self.settings = {"local": size(max(local, 2 * MIB if page != "256KiB" else 4 * MIB)), "page-size": page,
                         "faults": r.choice(FAULTS), "protocol": r.choice(["ahead"] * 4 + ["cs", "cross", "as1", "as2"]),
                         "replacement": r.choice(["clock", "clock", "fifo", "address"]),
                         "prefetch": r.choice(["auto", "auto", "off", "sequential", "strided", "majority"]),
                         "copies": r.choice(["auto", "auto", "cache", "exclusive"]), "fill": r.choice(["rank", "interleave"]),
                         "threads": r.choice(["1", "1", "2"])}
        if r.random() < 0.25:
            self.settings["compress"] = "lz4"
        if r.random() < 0.25:
            self.settings["checksum"] = None
        if r.random() < 0.25:
            self.settings["compressed-cache"] = size(int(self.mib * MIB * r.uniform(0.05, 0.25)))
        self.group = None
        self.whom = None
        self.store_mib, self.fills, self.store = 0, [], r.random() < 0.3
        self.fork = r.random() < 0.4

    def draw_memory(self, copies):
        """Servers that are all needed, with some room to spare."""
        each = self.mib * copies / self.servers * self.random.uniform(1.15, 1.6) + 2
        self.settings["memory"] = size(int(each * MIB))

    def draw_server(self):
        r = self.random
        # So many servers have something of each page, and so many of these give it.
        self.copies, self.needed = r.choices([(1, 1), (2, 1), (3, 2), (4, 2), (5, 4), (6, 4)], [2, 10, 2, 2, 2, 2])[0]
        if self.needed > 1:
            self.settings["erasure-code"] = f"{self.needed}+{self.copies - self.needed}"
            self.settings.pop("compress", None)
            self.servers = self.copies + r.randint(0, 2)
        else:
            self.settings["replicas"] = str(self.copies)
        self.draw_memory(self.copies / self.needed)
        # With fault tolerance nothing ends a rank that is stopped: MPI_Abort of Open MPI 5.0.11 does not end the job then, in a plain
        # program either (four ranks, or exit code 0).
        self.how = "kill" if self.options.wheel else r.choice(["error"] * 4 + ["stop", "kill"])
        self.settings["window"] = "on" if self.how == "kill" and r.random() < 0.25 else "off"
        self.settings["timeout"] = "1" if self.how == "stop" else "60"
        if self.how == "error":
            self.preload = False
        # Forked children need windows.
        self.fork = self.fork and self.settings["window"] == "on" and self.settings["faults"] not in ("signal",) and self.needed == 1
        order = r.sample(range(1, self.servers + 1), self.servers)
        plan = r.choices(["one", "one by one", "two", "all", "early"], [6, 3, 2, 1, 1])[0]
        if plan == "early" and self.how != "kill":  # nobody looks for one who is silent in MPI_Init
            plan = "one"
        groups = {"one": [order[:1]], "one by one": [order[:1], order[1:2]], "two": [order[:2]], "all": [order], "early": [order[:1]]}
        self.strikes = [(r.uniform(0, 1.2), ranks) for ranks in groups[plan]]
        if plan == "one by one" and self.servers > 2 and r.random() < 0.7:  # room for copies that are made again
            self.settings["memory"] = size(int(self.mib * 1.6 * self.copies / self.needed / (self.servers - 1) * MIB) + 4 * MIB)
        self.early_victim = plan == "early"
        self.rest = r.uniform(0, 0.6)

    def draw_disk(self):
        r = self.random
        self.alone = r.random() < 0.6
        self.preload = self.preload or self.alone
        self.store = True
        if not self.alone:
            self.servers = r.randint(1, 2)
            self.settings["memory"] = size(int(self.mib * MIB * r.uniform(0.1, 0.4)))
            self.settings["window"] = r.choice(["on", "off"])
        self.fork = self.fork and self.settings["faults"] != "signal" and self.settings.get("window") != "off"
        self.store_mib = int(self.mib * r.uniform(0.3, 1.7)) + 4
        if r.random() < 0.2:
            self.settings["store-size"] = size(int(self.store_mib * MIB * r.uniform(0.3, 1)))
        # When, and how many bytes are to remain; None: all of them.
        for _ in range(r.randint(0, 5)):
            self.fills.append((r.choice([0, 0.1, 0.3, 0.6]) * r.random(), r.choice([None, 0, 4096, 65536, MIB, 4 * MIB])))
        self.filled_before = r.random() < 0.15
        self.rest = r.uniform(0, 1)
        self.fills_later = r.random() < 0.6  # when the program has begun to allocate

    def draw_cgroup(self):
        r = self.random
        self.whom = r.choice(["server", "program", "all", "alone"])
        self.limit_mib = r.randint(16, 120)
        self.settings["replicas"] = r.choice(["1", "2"])
        self.settings["window"] = r.choice(["on", "off"])
        self.fork = self.fork and self.settings["window"] == "on" and self.settings["faults"] != "signal"
        self.preload = self.preload or self.whom == "alone"
        self.draw_memory(int(self.settings["replicas"]))
        if r.random() < 0.4:
            self.settings["memory"] = "auto"
        if r.random() < 0.3:
            self.settings["local"] = "auto"
        if self.whom == "alone":
            for name in ("replicas", "window", "memory"):
                del self.settings[name]
            self.store = True
        self.rest = r.uniform(0.2, 1)

    def title(self):
        words = [self.kind]
        if self.kind == "server":
            words += [self.how, "early" if self.early_victim else "",
                      " then ".join(" and ".join(map(str, ranks)) for _, ranks in self.strikes), f"of {self.servers}"]
        if self.kind == "disk":
            words += [f"{self.store_mib} MiB", "alone" if self.alone else f"with {self.servers}", f"{len(self.fills)} fills"]
        if self.kind == "cgroup":
            words += [self.whom, f"{self.limit_mib} MiB", "" if self.whom == "alone" else f"of {self.servers}"]
        words += ["tasuki mem" if self.preload else "dlm.h", f"{self.mib} MiB", f"{self.threads} threads"]
        return " ".join(word for word in words if word) + ": " + " ".join(self.arguments())

    def arguments(self, store=None):
        words = []
        for name, value in self.settings.items():
            if name == "faults" and value in self.options.no_faults:
                value = "auto"
            words.append(f"--{name}" + ("" if value is None else f"={value}"))
        return words + ([f"--store={store}"] if store else ["--store"] if self.store else [])

    def command(self, end, store):
        words = [str(end)] + [f"{name}={value}" for name, value in (
            ("seed", self.program_seed), ("mib", self.mib), ("arrays", self.arrays), ("threads", self.threads), ("code", self.code),
            ("fork", int(self.fork)))]
        arguments = self.arguments(store)
        if self.preload:
            alone = self.whom == "alone" or (self.kind == "disk" and self.alone)
            one = [self.options.tasuki, "mem", *([] if alone else ["--mpi", self.options.mpi]), *arguments, self.options.program, *words]
            if alone:
                return (self.group.enter() if self.group else []) + one
        else:
            one = [self.options.dlm_program, *words, "--", *arguments]
        launch = [self.options.mpirun, *self.options.launch]
        if self.kind == "server" and self.how == "error":
            one = ["env", f"LD_PRELOAD={self.options.fault}", *one]
        if self.group is None:
            return [*launch, "-n", str(self.servers + 1), *one]
        inside = {"all": range(self.servers + 1), "program": [0], "server": [1]}[self.whom]
        parts = []
        for rank in range(self.servers + 1):
            parts += [":"] * (rank > 0) + ["-n", "1"] + (self.group.enter() if rank in inside else []) + one
        return launch + parts

    # --- carrying it out

    def run(self):
        """What the round has come to, in words; Failure, Skip."""
        if reason := self.options.impossible.get(self.kind):
            raise Skip(reason)
        self.log = ""
        with tempfile.TemporaryDirectory(prefix="fr.") as folder:
            scratch = pathlib.Path(folder, "tmp")
            store = pathlib.Path(folder, "store") if self.store else None
            scratch.mkdir()
            mounted = False
            try:
                if store:
                    store.mkdir()
                if self.kind == "disk":
                    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.store_mib}m", "tmpfs", str(store)], check=True)
                    mounted = True
                if self.whom is not None:
                    self.group = Group(f"tasuki-faults-{os.getpid()}-{self.number}")
                    self.group.set(self.limit_mib * MIB)
                return self.run_job(pathlib.Path(folder), scratch, store)
            finally:
                if self.group:
                    self.group.end()
                if mounted:
                    subprocess.run(["umount", "--lazy", str(store)], check=True)

    def run_job(self, folder, scratch, store):
        mark, end, flag = f"{os.getpid()}.{time.time_ns()}", folder / "end", folder / "flag"
        env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI")}
        env.update({"DLM_TEST_JOB": mark, "TMPDIR": str(scratch), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "DLM_FAULT_FLAG": str(flag)})
        if not (self.preload and (self.whom == "alone" or (self.kind == "disk" and self.alone))):
            env.update(self.options.env)
        command = self.command(end, store)
        self.log = f"{shlex.join(command)}\n"
        if self.kind == "disk" and self.filled_before:
            self.fill(store, 0)
        job = Job(command, env, mark, min(self.options.limit, 15) if self.early_victim and self.options.wheel else self.options.limit)
        try:
            try:
                {"server": self.strike, "disk": self.fill_and_empty, "cgroup": lambda *_: None}[self.kind](job, flag, store)
                job.wait_for(lambda: job.says("swapping\n"))
                job.wait_for(lambda: False, self.rest)
                end.touch()
                job.wait_for(job.ended)
            except Failure:
                self.log += job.stacks()
                if reason := self.library_waits(job):
                    return reason
                raise
            finally:
                self.log += f"after {time.monotonic() - job.begin:.1f} s: exit code {job.process.poll()}\n"
            job.reader.join(10)
            outcome = self.judge(job)
            self.look_for_leftovers(job, folder, scratch, store)
            return outcome
        finally:
            job.end()
            self.log += job.output()

    def library_waits(self, job):
        """A hang that is the MPI library's own: somebody was killed while it began, which nothing can be done about here."""
        if not self.early_victim or job.says("started\n"):
            return None
        # Open MPI 4.1's launcher now and then waits, for ever, for a rank that died in MPI_Init. The ranks must be gone.
        if all(rank is None for rank in processes(job.mark).values()):
            return "the launcher waits for ever for a server that was killed in MPI_Init"
        # Open MPI 5 does so in MPI_Init of the other ranks, with fault tolerance.
        if self.options.wheel and not re.search("MpiJob::(look_around|assemble|serve)", self.log):
            return "MPI_Init waits for ever for a server that was killed in it"
        return None

    def say(self, text):
        self.log += text + "\n"

    def strike(self, job, flag, _):
        struck = []
        for delay, ranks in self.strikes:
            if self.early_victim:
                job.wait_for(lambda: job.victims(ranks[0]), 20)
            elif not job.wait_for(lambda: job.says("swapping\n")):
                raise Failure("the program did not get there")
            job.wait_for(lambda: False, delay)
            if struck:
                job.wait_for(lambda: job.says(RESTORED, ONE_COPY), 10)
            if job.ended():
                return
            self.restored = job.says(RESTORED) and not job.says(ONE_COPY)
            struck += ranks
            before = sum(GONE in line or MAPPED in line for line in job.text)
            if self.how == "error":
                flag.with_suffix(".new").write_text(" ".join(map(str, struck)))
                flag.with_suffix(".new").rename(flag)
            else:
                for rank in ranks:
                    for pid in job.victims(rank):
                        os.kill(pid, signal.SIGSTOP if self.how == "stop" else signal.SIGKILL)
            self.say(f"at {time.monotonic() - job.begin:.2f} s: {self.how} {ranks}")
            # Whoever has no page there does not notice.
            noticed = before + len(ranks)
            job.wait_for(lambda: sum(GONE in line or MAPPED in line for line in list(job.text)) >= noticed, 5)

    def fill(self, store, left):
        filler = store / "filler"
        if left is None:
            filler.unlink(missing_ok=True)
        else:
            free = os.statvfs(store).f_bavail * os.statvfs(store).f_frsize
            with open(filler, "ab") as file:
                before = os.fstat(file.fileno()).st_size
                try:
                    if free > left:
                        os.posix_fallocate(file.fileno(), before, free - left)
                    else:
                        os.truncate(file.fileno(), max(0, before - left))
                except OSError as error:
                    self.say(f"filler: {error}")

    def fill_and_empty(self, job, _, store):
        if self.fills_later:
            job.wait_for(lambda: job.says("started\n"))
        for delay, left in self.fills:
            if not job.wait_for(lambda: False, delay) and job.ended():
                return
            self.fill(store, left)
            self.say(f"at {time.monotonic() - job.begin:.2f} s: {'emptied' if left is None else f'{left} bytes are left'}")

    # --- the verdict

    def judge(self, job):
        code, output = job.process.returncode, job.output()
        if "WRONG DATA" in output:
            raise Failure("wrong data")
        # A program whose memory is lost must not see its system calls fail with EFAULT before the error ends it.
        if "fault_program:" in output:
            raise Failure("the program complains")
        verified = VERIFIED.search(output)
        if verified and verified[2] != verified[3]:
            raise Failure("another sum")
        # Open MPI 4.1's launcher now and then does not survive the end of a job that was aborted: it reads through a null pointer in
        # PMIx_server_finalize (PMIx 4.2), when all processes of the job have ended.
        if self.options.mpi == "openmpi" and code == -signal.SIGSEGV and "PMIx_server_finalize" in output and "MPI_ABORT" in output:
            self.launcher_crashed = True
            return "the launcher crashed at its own end" + (", after all was right" if verified else "")
        return {"server": self.judge_server, "disk": self.judge_disk, "cgroup": self.judge_cgroup}[self.kind](code, output, verified)

    def expect_code(self, code, more=()):
        if code not in {self.code, *more}:
            raise Failure(f"exit code {code}, not {self.code}")

    def judge_server(self, code, output, verified):
        struck = {rank for _, ranks in self.strikes for rank in ranks}
        if self.how == "kill" and not self.options.wheel:
            if code == 0:
                raise Failure("the launcher lost a rank and ended with 0")
            return "ended by the launcher"
        mapped = self.settings["window"] == "on"
        # Of two that are lost, the second one when the copies of the first had been made again.
        restored = self.restored and len(self.strikes) == len(struck) == 2 and not ONE_COPY.search(GONE.join(output.split(GONE)[:2]))
        spare = self.copies - self.needed
        must_be_right = mapped or len(struck) <= spare or (spare == 1 and restored)
        must_be_lost = not mapped and self.servers - len(struck) < self.needed
        if self.early_victim:
            must_be_right = must_be_lost = False
        if verified:
            if must_be_lost:
                raise Failure("too few servers are left, and the program does not notice")
            # MPICH's launcher reports one of the ranks: the program, or another that it had to kill. So does Open MPI 4.1's
            # where a server was stopped: that ends with 1 when it goes on, and is told to end.
            self.expect_code(code, (1, 9) if self.options.mpi == "mpich" else (1,) if self.how == "stop" and not self.options.wheel else ())
            return "right" if len(struck) == 1 or mapped else f"right, more than one lost{', copies made again' if restored else ''}"
        if must_be_right:
            raise Failure("what was left is enough, and the program did not go on")
        if code == 0:
            raise Failure("not verified, but exit code 0")
        if LOST in output:
            return "lost, and says so"
        if self.early_victim and "swapping\n" not in output:
            return "error at the start"
        raise Failure("it ended without a word")

    def started_not(self, code, output):
        """An error before the program began."""
        return code not in (0, None) and "started\n" not in output and re.search(r"^tasuki: ", output, re.MULTILINE)

    def judge_disk(self, code, output, verified):
        if verified:
            self.expect_code(code)
            return "right" if verified[4] == "0" else "right, some allocations refused"
        if code == 3 and "no memory at all" in output:
            return "all allocations refused"
        if self.started_not(code, output):
            return "error at the start"
        raise Failure("it did not end well")

    def judge_cgroup(self, code, output, verified):
        killed = self.group.killed()
        self.say(f"the group had {self.group.most() / MIB:.1f} MiB at most, {killed} killed")
        if killed:
            if verified:
                raise Failure("somebody was killed, and the program is right")
            if code == 0:
                raise Failure("somebody was killed, and the exit code is 0")
            where = "before the start" if "started\n" not in output else "later"
            if where == "later" and self.options.strict:
                raise Failure("killed by the limit after it had promised memory")
            return f"{self.whom}: killed by the limit {where}"
        if verified:
            self.expect_code(code)
            return f"{self.whom}: right" + ("" if verified[4] == "0" else ", some allocations refused")
        if code == 3 and "no memory at all" in output:
            return f"{self.whom}: all allocations refused"
        if self.started_not(code, output):
            return f"{self.whom}: error at the start"
        if code != 0 and re.search(r"^tasuki: .*(no memory|Cannot allocate)", output, re.MULTILINE):
            return f"{self.whom}: error later, and says so"
        raise Failure("it did not end well")

    def blocks_in_use(self, store):
        there = os.statvfs(store)
        return there.f_blocks - there.f_bfree if self.kind == "disk" else 0

    def look_for_leftovers(self, job, folder, scratch, store):
        deadline = time.monotonic() + 15
        while (left := processes(job.mark)) and time.monotonic() < deadline:
            time.sleep(0.1)
        if left:
            raise Failure(f"left behind: {left}")
        if killed_test.INSIDE in os.environ:
            # What the libraries themselves leave when a rank is killed: see killed_test.py.
            mine = ("mpich_shar_tmp", "ucx_shm_posix") if self.kind != "disk" else ()
            if self.options.wheel:
                mine += ("sm_segment",)
            if self.launcher_crashed:
                mine += ("vader_segment",)
            if names := [name for name in os.listdir("/dev/shm") if not name.startswith(mine)]:
                raise Failure(f"left in /dev/shm: {names}")
            for name in os.listdir("/dev/shm"):
                self.options.libraries_left.add(re.sub(r"[0-9a-fA-F]{3,}.*", "...", name))
                pathlib.Path("/dev/shm", name).unlink()
        if names := [name for name in os.listdir(scratch) if not name.startswith(("ompi.", "pmix-", "prte."))]:
            raise Failure(f"left in TMPDIR: {names}")
        if store:
            (store / "filler").unlink(missing_ok=True)
            if names := os.listdir(store):
                raise Failure(f"left in the store's folder: {names}")
            # The kernel ends the rings of io_uring, which refer to the file, some time after their process.
            while (in_use := self.blocks_in_use(store)) and time.monotonic() < deadline:
                time.sleep(0.05)
            if in_use:
                raise Failure(f"{in_use} blocks of the store's file system are in use")
        if names := {path.name for path in folder.iterdir()} - {"tmp", "store", "end", "flag"}:
            raise Failure(f"left beside: {names}")


def look_around(options):
    """What is not possible here, and why."""
    options.impossible, options.no_faults, options.libraries_left = {}, set(), set()
    with tempfile.TemporaryDirectory() as folder:
        if "disk" in options.kinds:
            mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder]
            # Nobody else sees what is mounted in a namespace of its own.
            if killed_test.INSIDE not in os.environ or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
                options.impossible["disk"] = "no right to mount a file system"
            else:
                subprocess.run(["umount", folder], check=True)
        if "cgroup" in options.kinds:
            try:
                Group(f"tasuki-faults-{os.getpid()}").end()
            except Skip as skip:
                options.impossible["cgroup"] = str(skip)
        if "server" in options.kinds and not options.wheel and not options.fault:
            options.impossible["server"] = "neither --wheel nor --fault"
        for way in sorted(set(FAULTS) - {"auto"}):
            command = [options.tasuki, "mem", f"--faults={way}", "--local=4MiB", f"--store={folder}", "true"]
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                options.no_faults.add(way)
    if options.no_faults:
        print("not possible here: --faults " + ", ".join(sorted(options.no_faults)))
    for kind, reason in options.impossible.items():
        print(f"SKIP: {kind}: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--wheel", type=pathlib.Path, help="where Open MPI 5 is installed")
    parser.add_argument("--fault", help="the library that makes failures up")
    parser.add_argument("--tasuki", required=True)
    parser.add_argument("--program", required=True, help="fault_program.c, for tasuki mem")
    parser.add_argument("--dlm-program", required=True, help="fault_program.c with FAULT_DLM")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--first-round", type=int, default=0)
    parser.add_argument("--only-round", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kinds", default="server,disk,cgroup")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a round may take")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir(), "tasuki-fault-rounds"))
    parser.add_argument("--keep", action="store_true", help="keep the output of all rounds")
    parser.add_argument("--strict", action="store_true", help="a process that the limit of a cgroup kills is a failure")
    options = parser.parse_args()
    options.kinds = options.kinds.split(",")
    options.launch, options.env = (["--oversubscribe"] if options.mpi == "openmpi" else []), {}
    if options.wheel:
        if not (options.wheel / "installed").exists():
            print("SKIP: Open MPI 5 is not installed: see wheels.install")
            return 77
        options.mpirun = str(options.wheel / "bin" / "mpirun")
        options.launch += ["--with-ft", "ulfm"]
        # The same interface for programs as Open MPI 4. Without the hash store PMIx cannot work as root in a container.
        options.env = {"LD_LIBRARY_PATH": str(options.wheel / "lib"), "PMIX_MCA_gds": "hash"}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through all that cleans up
    look_around(options)
    counts, failed, skipped = collections.Counter(), {}, 0
    numbers = [options.only_round] if options.only_round is not None else range(options.first_round, options.first_round + options.rounds)
    for number in numbers:
        this = Round(options, number)
        print(f"round {number}: {this.title()}", flush=True)
        begin = time.monotonic()
        try:
            outcome = this.run()
        except Skip as skip:
            outcome = f"skipped: {skip}"
            skipped += 1
        except Failure as failure:
            outcome = f"FAILED: {failure}"
            failed[number] = str(failure)
        print(f"  {outcome} ({time.monotonic() - begin:.1f} s)", flush=True)
        if number in failed or options.keep:
            options.logs.mkdir(parents=True, exist_ok=True)
            log = options.logs / f"{options.mpi}{'5' if options.wheel else ''}-{this.kind}-{options.seed}-{number}.log"
            log.write_text(f"round {number}: {this.title()}\n{outcome}\n{this.log}")
            if number in failed:
                print(f"  again: {shlex.join([sys.executable, *sys.argv])} --only-round {number}\n  output: {log}\n" +
                      "".join("  | " + line + "\n" for line in this.log.splitlines()[-30:]), flush=True)
        counts[this.kind, outcome if number not in failed else "FAILED"] += 1
    for (kind, outcome), n in sorted(counts.items()):
        print(f"{n:5d} {kind}: {outcome}")
    if options.libraries_left:
        print(f"MPI libraries left in /dev/shm: {', '.join(sorted(options.libraries_left))}")
    if failed:
        for number, reason in failed.items():
            print(f"FAILED: round {number} of seed {options.seed}: {reason}")
        return 1
    return 77 if skipped == sum(counts.values()) else 0


if __name__ == "__main__":
    killed_test.with_own_shm()
    sys.exit(main())
