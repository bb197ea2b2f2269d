#!/usr/bin/env python3
"""Tests of `tasuki run`: programs are started plainly and under it and must behave alike.

test_run.py SCENARIO --launcher none|openmpi|mpich --mpirun FILE --tasuki FILE --programs DIRECTORY
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

MARK = "TASUKI_TEST_MARK"
# What time limits are multiplied by: an emulated machine is slow.
PATIENCE = float(os.environ.get("TASUKI_TEST_PATIENCE", 1))


class Bench:
    """The launcher under test and what it needs."""

    def __init__(self, args):
        self.args = args
        self.launcher = args.launcher
        self.mark = f"{os.getpid()}-{time.time_ns()}"
        self.env = dict(os.environ, **{MARK: self.mark, "PROBE_VARIABLE": "a value"})
        self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        for name in list(self.env):
            if name.startswith("TASUKI_") and name != MARK:
                del self.env[name]

    def program(self, name):
        return os.path.join(self.args.programs, name)

    def command(self, count, program, tasuki=True, options=(), launch=()):
        """Command line that starts `count` ranks of `program` (a list)."""
        run = [self.args.tasuki, "run"] if tasuki else []
        if self.launcher == "none":
            if not tasuki:
                assert count == 1
                return list(program)
            return run + ["-n", str(count)] + list(options) + list(program)
        mpirun = [self.args.mpirun, *launch, "-n", str(count)]
        return mpirun + run + list(options if tasuki else []) + list(program)

    def run(self, count, program, timeout=40 * PATIENCE, **more):
        tasuki = more.pop("tasuki", True)
        options = more.pop("options", ())
        launch = more.pop("launch", ())
        env = more.pop("env", self.env)
        more.setdefault("stdin", subprocess.DEVNULL)
        # On a busy machine MPICH's mpirun itself dies of SIGPIPE now and then where ranks end at once, with and without Tasuki: once more,
        # and a line of it in the log.
        for _ in range(5):
            result = subprocess.run(self.command(count, program, tasuki, options, launch), env=env, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **more)
            if result.returncode != -signal.SIGPIPE:
                break
            print(f"mpirun died of SIGPIPE: {self.command(count, program, tasuki, options, launch)}")
        result.err = clean(result.stderr)
        return result

    def start(self, count, program, tasuki=True, **more):
        return subprocess.Popen(self.command(count, program, tasuki), env=self.env, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0, **more)

    def processes(self):
        """Living processes of this test: {pid: name}. They carry its mark in their environment."""
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as f:
                    if f"{MARK}={self.mark}".encode() not in f.read():
                        continue
                with open(f"/proc/{entry}/stat") as f:
                    text = f.read()
                name, state = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2]
                if state not in "ZX":
                    found[int(entry)] = name
            except (OSError, ValueError):
                pass
        return found

    def wait_until_gone(self, seconds=10):
        deadline = time.time() + seconds * PATIENCE
        while self.processes():
            check(time.time() < deadline, f"left over: {self.processes()}")
            time.sleep(0.01)
        check_no_sockets()

    def wait_for_a_process(self, names):
        deadline = time.time() + 60 * PATIENCE
        while not set(self.processes().values()) & set(names):
            check(time.time() < deadline, f"nothing starts: {self.processes()}")

    hung_launchers = 0

    def end_of_killed_job(self, process, what):
        """The launcher ends the job, or it goes on (without the task, or with another host if the first one died before
        it had started anything) and is ended here. Time limits are those of a busy machine."""
        try:
            try:
                process.wait(4)
            except subprocess.TimeoutExpired:
                process.terminate()
            process.communicate(timeout=60 * PATIENCE)
        except subprocess.TimeoutExpired:
            alive = self.processes()
            # Open MPI's mpirun now and then waits for ever for a mutex of its own in PMIx_server_finalize, when a process
            # that it started dies early: 3 of 68 jobs, and no process of the job is left then.
            if set(alive.values()) != {"mpirun.openmpi"} or self.hung_launchers == 2:
                raise Failure(f"{what}: the job hangs: {alive}")
            self.hung_launchers += 1
            print(f"{what}: mpirun hangs, alone", flush=True)
            process.kill()
            process.communicate()
        try:
            self.wait_until_gone(30)
        except Failure as f:
            raise Failure(f"{what}: {f}")

    def ready_pids(self, process, count):
        """Pids that `count` probes print when they are ready."""
        pids = []
        while len(pids) < count:
            line = process.stdout.readline()
            if line == "":
                raise Failure(f"the job ended early: {process.stderr.read()}")
            if line.startswith("ready"):
                pids.append(int(line.split()[1]))
        return pids


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


def equal(got, expected, what):
    check(got == expected, f"{what}:\n  got      {got!r}\n  expected {expected!r}")


def clean(stderr):
    """Without the remark that the MPI shim is not built (this test is about processes)."""
    return "".join(line for line in stderr.splitlines(True) if "without the MPI shim" not in line)


def check_no_sockets(seconds=2):
    """Of this user, none whose starter (its pid is in the name) has ended: those of other jobs here may listen."""
    deadline = time.time() + seconds * PATIENCE
    while True:
        with open("/proc/net/unix") as f:
            listening = [line.split()[-1] for line in f
                         if f"@tasuki.{os.getuid()}." in line and "00010000" in line.split()[3]]
        left = [name for name in listening if not os.path.exists(f"/proc/{name.split('.')[2]}")]
        if not left:
            return
        check(time.time() < deadline, f"a rendezvous socket is still listening: {left}")
        time.sleep(0.05)


def lines(text):
    return sorted(text.splitlines())


def scenario_arguments(b):
    for program in (["task_probe", "arguments", "two words", "", "--", "-n", "3", "--require", "*"],):
        command = [b.program(program[0])] + program[1:]
        equal(b.run(1, command).stdout, b.run(1, command, tasuki=False).stdout, "arguments")
    # Found by PATH, argv[0] as given.
    env = dict(b.env, PATH=b.args.programs + ":" + os.environ["PATH"])
    equal(b.run(1, ["task_probe", "arguments"], env=env).stdout, "task_probe|arguments\n", "argv[0]")


def scenario_state(b):
    def prepare():
        os.umask(0o027)
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        import resource
        resource.setrlimit(resource.RLIMIT_CPU, (12345, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        os.nice(3)

    with tempfile.TemporaryDirectory() as directory:
        command = [b.program("task_probe"), "state"]
        plain = b.run(1, command, tasuki=False, cwd=directory, preexec_fn=prepare)
        shared = b.run(1, command, cwd=directory, preexec_fn=prepare)
        check(plain.stdout.startswith("cwd " + directory), plain.stdout)
        equal(shared.stdout, plain.stdout, "state of one rank")
        equal(shared.err, "", "stderr")
        if b.launcher != "none":
            # Bound ranks: each must keep its own core.
            bind = ["--bind-to", "core"] if b.launcher == "openmpi" else ["-bind-to", "core"]
            count = min(2, os.cpu_count())
            plain = b.run(count, command, tasuki=False, cwd=directory, launch=bind)
            shared = b.run(count, command, cwd=directory, launch=bind)
            cores = lambda text: sorted(re.findall(r"cores ([\d ]*) nice", text))
            equal(cores(shared.stdout), cores(plain.stdout), "cores of bound ranks")
    # Descriptors beyond the standard ones.
    if b.launcher == "none":
        with tempfile.TemporaryFile() as f:
            os.set_inheritable(f.fileno(), True)
            os.dup2(f.fileno(), 77)
            plain = b.run(1, command, tasuki=False, pass_fds=(77,))
            shared = b.run(1, command, pass_fds=(77,))
            check(" 77:" in plain.stdout, "the test's descriptor")
            equal(shared.stdout, plain.stdout, "descriptors")


def scenario_executable(b):
    program = b.program("task_probe")
    result = b.run(3, [program, "executable"])
    real = os.path.realpath(program)
    equal(lines(result.stdout), [f"{real} {real} {program} task_probe"] * 3, "/proc/self/exe")
    with tempfile.TemporaryDirectory() as directory:
        link = os.path.join(directory, "another-name")
        os.symlink(program, link)
        equal(b.run(1, [link, "executable"]).stdout, f"{real} {real} {link} another-name\n", "through a link")
        # $ORIGIN is the place of the file, not of a link to it.
        link = os.path.join(directory, "exceptions")
        os.symlink(b.program("task_exceptions"), link)
        equal(b.run(2, [link]).stdout, "caught 1000 plugin 42\n" * 2, "$ORIGIN through a link")
    # Executed again, also by a forked child.
    for how in list(range(7)) + list(range(10, 17)) if b.launcher == "none" else (11, 16):
        result = b.run(2, [program, "itself", str(how)])
        check(result.returncode == 17 or b.launcher == "openmpi", f"/proc/self/exe executed, way {how}: {result.stderr}")


def scenario_children(b):
    result = b.run(3, [b.program("task_probe"), "children"])
    equal((result.returncode, result.stdout), (0, "children ok\n" * 3), "children")


def scenario_stacks(b):
    for program in ("task_probe", "task_probe_execstack"):
        result = b.run(3, [b.program(program), "stacks"])
        equal((result.returncode, result.stdout, result.err), (0, "stacks ok\n" * 3, ""), program)


def scenario_few_descriptors(b):
    """More tasks than the limit of open files has room for when each task's are counted."""
    import resource
    highest = max(int(fd) for fd in os.listdir("/proc/self/fd"))

    def soft():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    def hard():
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 64,) * 2)

    for prepare in (soft, hard):
        plain = subprocess.run([b.program("task_probe"), "state"], env=b.env, preexec_fn=prepare, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        result = b.run(60, [b.program("task_probe"), "state"], preexec_fn=prepare)
        equal((result.returncode, result.stdout, result.err), (0, plain.stdout * 60, ""), prepare.__name__)
    # A descriptor behind the limit cannot be given to a task.
    with open("/dev/null") as f:
        os.dup2(f.fileno(), 300)

        def below():
            resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))

        result = b.run(2, [b.program("task_probe"), "exit", "6"], preexec_fn=below, pass_fds=(300,))
        os.close(300)
    equal(result.returncode, 6, result.stderr)
    check("has descriptors up to 300" in result.stderr, result.stderr)


def scenario_ignored_children(b):
    """A launcher that ignores SIGCHLD, as its ranks then do."""
    ignore = [sys.executable, "-c", "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
              "os.execv(sys.argv[1], sys.argv[1:])", b.args.tasuki, "run", b.program("task_probe"), "state"]
    mpirun = [] if b.launcher == "none" else [b.args.mpirun, "-n", "2"]
    result = subprocess.run(mpirun + ignore, env=b.env, capture_output=True, text=True, timeout=40 * PATIENCE,
                            stdin=subprocess.DEVNULL)
    equal((result.returncode, clean(result.stderr)), (0, ""), result.stdout)
    check("17:ignored" in result.stdout, result.stdout)
    b.wait_until_gone()


def scenario_exceptions(b):
    result = b.run(3, [b.program("task_exceptions")], cwd="/")
    equal((result.returncode, result.stdout, result.err), (0, "caught 1000 plugin 42\n" * 3, ""), "exceptions")


def scenario_exit_codes(b):
    # Open MPI's mpirun takes seconds to end a job that fails.
    for code in (0, 3, 255) if b.launcher == "openmpi" else (0, 1, 3, 77, 255):
        command = [b.program("task_probe"), "exit", str(code)]
        plain, shared = b.run(1, command, tasuki=False), b.run(1, command)
        equal(shared.returncode, plain.returncode, f"exit code {code}")
    equal(b.run(3, ["sh", "-c", "exit ${TASUKI_RANK:-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}}"]).returncode != 0, True,
          "one rank fails")


def scenario_signals(b):
    """Death by a signal reaches the launcher, also when the task says where it died."""
    env = dict(b.env, TASUKI_FAULTS="on")
    for mode in ("raise", "fault"):
        result = b.run(1, [b.program("task_probe"), mode, str(int(signal.SIGSEGV))], env=env)
        plain = b.run(1, [b.program("task_probe"), "raise", str(int(signal.SIGSEGV))], tasuki=False)
        equal(result.returncode, plain.returncode, mode)
        check("dies of signal 11, code" in result.stderr, result.stderr)
        if mode == "fault":
            check("at address 0x10 [nothing is mapped]" in result.stderr, result.stderr)
            check(re.search(r"the instruction at 0x[0-9a-f]+ \[.*/task_probe\]", result.stderr), result.stderr)
    numbers = (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGUSR1)
    for number in numbers[1:3] if b.launcher == "openmpi" else numbers:
        command = [b.program("task_probe"), "raise", str(int(number))]
        plain, shared = b.run(1, command, tasuki=False), b.run(1, command)
        equal(shared.returncode, plain.returncode, f"death by {number.name}")
    b.wait_until_gone()


def find_proxies(b):
    """The processes that the launcher started, of a job that is running: {pid: rank or None}."""
    return [pid for pid, name in b.processes().items() if name == "tasuki"]


def scenario_forwarding(b):
    """What is sent to the process that the launcher knows reaches the program."""
    p = b.start(1, [b.program("task_probe"), "catch"])
    (task,) = b.ready_pids(p, 1)
    (proxy,) = find_proxies(b)
    check(task != proxy, "the task is a process of its own")
    numbers = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM,
               signal.SIGWINCH, signal.SIGURG, signal.SIGSEGV, signal.SIGRTMIN + 3, signal.SIGTERM]
    for number in numbers:
        os.kill(proxy, number)
        equal(p.stdout.readline(), f"signal {int(number)} value 0\n", "forwarded signal")
    rest = p.communicate(timeout=20 * PATIENCE)
    if b.launcher != "openmpi":  # whose mpirun ends with a text and 40
        equal(p.returncode, 40, f"exit code after SIGTERM ({rest})")
    b.wait_until_gone()


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        text = f.read()
    return text[text.rindex(")") + 2]


def wait_for(pid, wanted):
    deadline = time.time() + 10 * PATIENCE
    while state(pid) not in wanted:
        check(time.time() < deadline, f"process {pid} is in state {state(pid)}, not {wanted}")
        time.sleep(0.01)


def scenario_signal_at_end(b):
    """A signal that comes when the task has ended already reaches nobody, and the rank ends as the task did."""
    with tempfile.TemporaryDirectory() as directory:
        end = os.path.join(directory, "end")
        p = b.start(1, ["sh", "-c", f"echo ready $$; until [ -e {end} ]; do sleep 0.05; done"])
        (task,) = b.ready_pids(p, 1)
        (proxy,) = find_proxies(b)
        (host,) = [pid for pid, name in b.processes().items() if name == "tasuki-host"]
        os.kill(host, signal.SIGSTOP)
        wait_for(host, "T")
        open(end, "w").close()
        wait_for(task, "Z")
        os.kill(proxy, signal.SIGUSR1)
        time.sleep(0.2)  # the proxy sends it on
        os.kill(host, signal.SIGCONT)
        rest = p.communicate(timeout=40 * PATIENCE)
        equal((p.returncode, rest[0], clean(rest[1])), (0, "", ""), "the end")
    b.wait_until_gone()


def scenario_stopping(b):
    # Where the launcher gives a rank a session of its own nobody could continue it, so the kernel does not stop it.
    plain = b.start(1, [b.program("task_probe"), "wait"], tasuki=False)
    (rank,) = b.ready_pids(plain, 1)
    stops = os.getsid(rank) != rank
    os.kill(rank, signal.SIGTSTP)
    time.sleep(0.2)
    equal(state(rank) == "T", stops, "a plain rank stops")
    os.kill(rank, signal.SIGCONT)
    os.kill(rank, signal.SIGTERM)
    plain.communicate(timeout=20 * PATIENCE)

    p = b.start(1, [b.program("task_probe"), "wait"])
    (task,) = b.ready_pids(p, 1)
    (proxy,) = find_proxies(b)

    os.kill(proxy, signal.SIGTSTP)
    if stops:
        wait_for(task, "T")
        wait_for(proxy, "T")
    os.kill(proxy, signal.SIGCONT)
    wait_for(task, "S")
    wait_for(proxy, "S")
    # The task itself, as `pkill -STOP app` does it: its proxy, which the launcher sees, goes on with it.
    for pause in (0.2, 0, 0.001, 0):
        os.kill(task, signal.SIGSTOP)
        time.sleep(pause)
        os.kill(task, signal.SIGCONT)
        time.sleep(0.1)
        wait_for(task, "S")
        wait_for(proxy, "S")
    os.kill(proxy, signal.SIGTERM)
    p.communicate(timeout=20 * PATIENCE)
    b.wait_until_gone()


def scenario_fixed_mapping(b):
    result = b.run(3, [b.program("task_probe"), "fixed"])
    equal((result.returncode, lines(result.stdout)), (0, ["mapped", "refused", "refused"]), "fixed mappings")
    equal(len(re.findall(r"tasuki: task \d: mmap at the fixed address 0x600000000000-0x600000100000 refused",
                         result.stderr)), 2, f"messages in {result.stderr}")


def scenario_mpi_mapping(b):
    """The MPI library may replace functions of libc: what keeps tasks from mapping over each other must go on to work."""
    result = b.run(2, [b.program(f"mapping-{b.launcher}")])
    equal((result.returncode, sorted(lines(result.stdout))),
          (0, [f"rank {rank}: refused 0 of its own, none of another's, intact" for rank in (0, 1)]), result.stderr)


def scenario_break(b):
    """All tasks, and the host, have one break: nobody takes memory from another by moving it."""
    count = 48 if b.launcher == "none" else 4
    result = b.run(count, [b.program("task_probe"), "break"], env=dict(b.env, PROBE_BREAK="1"))
    equal((result.returncode, result.stdout, result.err), (0, "break ok\n" * count, ""), "the break")
    b.wait_until_gone()


def scenario_lock(b):
    """mlockall does not fill the stacks of all tasks."""
    def prepare():
        import resource
        resource.setrlimit(resource.RLIMIT_STACK, (300 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    result = b.run(2, [b.program("task_probe"), "lock"], preexec_fn=prepare)
    equal((result.returncode, result.stdout), (0, "locked\n" * 2), result.stderr)


def scenario_mappings(b):
    """Statistics count what each task maps; a task that maps often is named."""
    def counted(number, **env):
        result = b.run(2, [b.program("task_probe"), "map", str(number)], env=dict(b.env, **env))
        equal((result.returncode, result.stdout), (0, ""), result.stderr)
        found = re.findall(r"tasuki: mappings of rank (\d+): (\d+), \d+ a second", result.stderr)
        return {int(rank): int(calls) for rank, calls in found}, result.stderr

    none, _ = counted(0, TASUKI_STATS="1")
    few, text = counted(100, TASUKI_STATS="1")
    equal(sorted(few), [0, 1], text)
    equal([few[rank] - none[rank] for rank in (0, 1)], [201, 201], text)
    check("maps and unmaps often" not in text, text)
    _, text = counted(100000, TASUKI_STATS="1")
    check("rank 0 maps and unmaps often" in text and "rank 1 maps and unmaps often" in text, text)
    equal(counted(100), ({}, ""), "nothing without the setting")


def scenario_forks(b):
    """A task that forks often is told, once, also if it has not asked for statistics."""
    command = [b.program("task_probe"), "fork"]
    few, many = b.run(2, [*command, "20"]), b.run(2, [*command, "1000"])
    equal([few.returncode, many.returncode], [0, 0], few.stderr + many.stderr)
    check("forks often" not in few.stderr, few.stderr)
    equal(many.stderr.count("forks often"), 1, many.stderr)
    asked = b.run(2, [*command, "50"], env=dict(b.env, TASUKI_STATS="1"))
    equal(sorted(re.findall(r"mappings of rank (\d): .*; forks: (\d+)", asked.stderr)), [("0", "50"), ("1", "50")], asked.stderr)


def scenario_keep(b):
    """What a task unmaps may stay mapped for its next mmap: the program cannot tell."""
    def kept(count, *arguments, **env):
        result = b.run(count, [b.program("task_keep"), *arguments], env=dict(b.env, **env))
        equal(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    for seed in range(2):
        equal(kept(3, "random", str(seed)), "random\n" * 3, f"seed {seed}")
    equal(kept(2, "handlers"), "handlers\n" * 2, "handlers that map")
    if b.launcher == "none":
        for env in {}, {"TASUKI_KEEP": "off"}:
            equal(kept(1, "exact", **env), "exact\n", "a task alone")
        equal(kept(1, "again"), "kept\n", "it is kept")
        equal(kept(1, "again", TASUKI_KEEP="off"), "unmapped\n", "it is not kept")
        equal(kept(1, "again", "getting"), "kept\n", "a limit that is only asked for")
        for call in "setrlimit", "prlimit", "vmsplice", "ioctl", "prctl", "mlockall":
            equal(kept(1, "again", call), "unmapped\n", f"nothing is kept after {call}")
        equal(kept(1, "race"), "race\n", "wanted while it is unmapped")
        equal(kept(1, "short"), "short\n", "given back when room is short")
        with tempfile.TemporaryDirectory() as directory:
            equal(kept(2, "ended", os.path.join(directory, "address")), "ended\n", "gone with its task")


def scenario_sessions(b):
    """A session and a process group where the launcher gives a rank one, and so as many shares of a busy machine."""
    command = [b.program("task_probe"), "session"]
    plain, shared = b.run(3, command, tasuki=False), b.run(3, command)
    kinds = lambda text: [line.rsplit(" ", 1)[0] for line in lines(text)]
    equal((kinds(shared.stdout), shared.err), (kinds(plain.stdout), clean(plain.stderr)), "sessions and groups")
    groups = lambda text: len({line.rsplit(" ", 1)[1] for line in lines(text)})
    equal(groups(shared.stdout), groups(plain.stdout), f"autogroups in {shared.stdout} and {plain.stdout}")
    b.wait_until_gone()


def scenario_wrappers(b):
    """Commands that become the program that they are given: `tasuki run` goes behind them."""
    me = os.path.realpath(b.args.tasuki)
    inner = ["sh", "-c", "echo $(readlink /proc/$$/exe) $WRAPPED"]
    core = str(min(os.sched_getaffinity(0)))
    cases = [["taskset", "-c", core], ["env", "-u", "NOTHING", "WRAPPED=yes"], ["nice", "-n", "1", "env", "WRAPPED=yes"]]
    if shutil.which("numactl") and subprocess.run(["numactl", "--physcpubind", core, "true"], capture_output=True).returncode == 0:
        cases.append(["numactl", "--physcpubind", core])
    for wrapper in cases:
        result = b.run(2, wrapper + inner, options=["--require"])
        expected = f"{me} yes" if "WRAPPED=yes" in wrapper else me
        equal((result.returncode, lines(result.stdout), result.err), (0, [expected] * 2, ""), f"{wrapper}")
    result = b.run(1, ["taskset", "-c", core, b.program("task_probe"), "state"])
    check(f" cores {core} nice" in result.stdout, f"what the wrapper sets is kept: {result.stdout}")
    # A program that cannot share is named behind them too, once, and --require holds.
    static = ["taskset", "-c", core, b.program("task_probe_static"), "exit", "5"]
    result = b.run(2, static)
    check("task_probe_static is statically linked" in result.stderr and result.returncode == 5, result.stderr)
    check(b.run(2, static, options=["--require"]).returncode not in (0, 5), "--require behind a wrapper")
    b.wait_until_gone()


def mpi_programs(b):
    names = ["share-openmpi", "share-mpich"] if b.launcher == "none" else [f"share-{b.launcher}"]
    return [b.program(name) for name in names if os.path.exists(b.program(name))]


def scenario_executed(b):
    """An MPI program that a task executes runs plainly: one line says so, and --require does not let it."""
    said = "runs as a process of its own"
    for program in mpi_programs(b):
        for command in (["sh", "-c", f"exec {program}"], ["sh", "-c", f"{program}; true"]):
            result = b.run(2, command)
            equal((result.returncode, result.stderr.count(said)), (0, 1), f"{command}: {result.stderr}")
            check(os.path.basename(program) in result.stderr, result.stderr)
        command = ["sh", "-c", f"exec {program}"]
        for more in ({"options": ["--require"]}, {"env": dict(b.env, TASUKI_REQUIRE="on")}):
            result = b.run(2, command, **more)
            check(result.returncode != 0 and said in result.stderr and "require" in result.stderr, f"{more}: {result.stderr}")
        quiet = b.run(2, command, env=dict(b.env, TASUKI="off"))
        equal((quiet.returncode, quiet.stderr.count(said)), (0, 0), quiet.stderr)
    b.wait_until_gone()


def start_as_slurm(b, command, options=()):
    """Two processes as srun starts them that offers no MPI: their exit codes, and what they say."""
    slurm = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "0", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_NODEID": "0"}
    jobs = [subprocess.Popen([b.args.tasuki, "run", *options, *command], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=dict(b.env, **slurm, SLURM_PROCID=str(i), SLURM_LOCALID=str(i)))
            for i in range(2)]
    text = "".join(job.communicate(timeout=60 * PATIENCE)[1] for job in jobs)
    return [job.returncode for job in jobs], text


def scenario_loaded_late(b):
    """A program that loads its MPI when it runs, as Python does: what is not as its user meant it is said there too."""
    executed, alone = "runs as a process of its own", "alone in its MPI_COMM_WORLD"
    entry = os.path.join(os.path.dirname(b.args.programs), "entry")
    modules = {mpi: [f"{entry}/late", f"{entry}/liblate_module-{mpi}.so"] for mpi in ("openmpi", "mpich")}
    modules = {mpi: command for mpi, command in modules.items() if os.path.exists(command[1])}
    check(modules, f"{entry} has no program for this test")
    for mpi, command in modules.items():
        shell = ["sh", "-c", f"exec {' '.join(command)}"]
        result = b.run(2, shell)
        equal((result.returncode, result.stderr.count(executed)), (0, 1), f"{mpi}: {result.stderr}")
        for more in ({"options": ["--require"]}, {"env": dict(b.env, TASUKI_REQUIRE="on")}):
            result = b.run(2, shell, **more)
            check(result.returncode != 0 and executed in result.stderr and "require" in result.stderr, f"{mpi}: {result.stderr}")
        result = b.run(2, command)
        equal((result.returncode, result.stderr.count(alone)), (0, 0 if mpi == b.launcher else 1), f"{mpi}: {result.stderr}")
        if b.launcher == "none":
            equal(b.run(1, command).err, "", "one program")
            text = start_as_slurm(b, shell)
            equal((text[0], text[1].count(executed)), ([0, 0], 1), f"{mpi}, by srun: {text}")
            text = start_as_slurm(b, shell, ["--require"])
            check(0 not in text[0] and executed in text[1], f"{mpi}, by srun: {text}")
        elif mpi != b.launcher:
            check(re.search("has loaded .* was started by the launcher of .* start it with", result.stderr), result.stderr)
    if b.launcher == "none":
        for program in mpi_programs(b):
            text = start_as_slurm(b, ["sh", "-c", f"exec {program}"], ["--require"])
            check(0 not in text[0] and executed in text[1], f"{program}, by srun: {text}")
    b.wait_until_gone()


def scenario_alone(b):
    """Several programs of one rank each, which their user took for a job."""
    said = "is alone in its MPI_COMM_WORLD"
    for program in mpi_programs(b):
        result = b.run(3, [program])
        equal((result.returncode, result.stdout), (0, "rank 0 of 1 shares with 1\n" * 3), result.stderr)
        equal(result.err.count(said), 1, result.stderr)
        check("mpirun -n N tasuki run" in result.stderr, result.stderr)
        equal(b.run(1, [program]).err, "", "one program")
        # srun --mpi=none.
        text = start_as_slurm(b, [program])[1]
        equal((text.count(said), text.count("srun --mpi=list")), (1, 1), text)
    b.wait_until_gone()


def scenario_slips(b):
    """What is no option, no command and no setting is named, with what was probably meant."""
    probe = [b.program("task_probe"), "exit", "0"]

    def tasuki(*words, code, text, **variables):
        result = subprocess.run([b.args.tasuki, *words], env=dict(b.env, **variables), capture_output=True, text=True,
                                timeout=60 * PATIENCE, stdin=subprocess.DEVNULL)
        check(result.returncode == code and text in result.stderr, f"{words}: {result.returncode} {result.stderr}")
        return result

    tasuki("run", "--requir", *probe, code=2, text="there is no option --requir; is --require meant?")
    tasuki("run", "-n", "2", "--layout-sed=3", *probe, code=2, text="there is no option --layout-sed; is --layout-seed meant?")
    tasuki("run", "--wings", code=2, text="there is no option --wings (")
    tasuki("check-layout", "--rnus", "3", *probe, code=2, text="is --runs meant?")
    tasuki("run", "--", *probe, code=0, text="")
    tasuki("run", "--", "--requir", code=127, text="execvp error on file --requir")
    tasuki("rnu", code=2, text="tasuki: there is no command 'rnu'; is run meant?")
    tasuki("foo", code=2, text="tasuki: there is no command 'foo' (")
    tasuki("help", "foo", code=2, text="tasuki: there is no command 'foo' (")
    for words in (["run"], ["bench", "ddt"], ["sim"], []):
        equal(tasuki("help", *words, code=0, text="").stdout, tasuki(*words, "--help", code=0, text="").stdout, f"help {words}")
    check(len(tasuki(code=2, text="").stdout.splitlines()) == 5, "no words for a newcomer")
    version = tasuki("-V", code=0, text="").stdout
    check(version.startswith("tasuki ") and "\nMPI: " in version and "\ncompiler: " in version, version)
    tasuki("bench", "strtup", code=2, text="tasuki bench: there is no command 'strtup'; is startup meant?")
    tasuki("settings", "--markdwn", code=2, text="is --markdown meant?")
    result = tasuki("run", "-n", "3", *probe, code=0, text="is TASUKI_SPIN meant?", TASUKI_SPIM="1")
    equal(result.stderr.count("TASUKI_SPIM"), 1, "said once")
    equal(tasuki("run", "-n", "2", *probe, code=0, text="", TASUKI_SPIN="1").stderr, "", "a setting")
    for launcher in ("openmpi", "mpich"):
        mpirun = shutil.which(f"mpirun.{launcher}")
        if mpirun is None:
            continue
        env = dict(b.env, TASUKI_SPIM="1")
        result = subprocess.run([mpirun, "-n", "2", b.args.tasuki, "run", "taskset", "-c", str(min(os.sched_getaffinity(0))), *probe],
                                env=env, capture_output=True, text=True, timeout=60 * PATIENCE, stdin=subprocess.DEVNULL)
        equal((result.returncode, result.stderr.count("TASUKI_SPIM is set")), (0, 1), result.stderr)
    b.wait_until_gone()


def scenario_not_shareable(b):
    reasons = {"task_probe_fixed": "is not position independent", "task_probe_static": "is statically linked"}
    with tempfile.TemporaryDirectory() as directory:
        if os.getuid() == 0:
            setuid = os.path.join(directory, "setuid-probe")
            shutil.copy(b.program("task_probe"), setuid)
            os.chmod(setuid, 0o4755)
            reasons[setuid] = "is setuid"
        if b.launcher == "none":
            # As many plain processes as tasks were asked for, with numbers.
            static = b.program("task_probe_static")
            result = b.run(3, ["/usr/bin/env", "-u", "NOTHING", static, "state"])
            equal(result.stdout.count("cwd "), 3, result.stdout)
            result = b.run(3, [static, "number"])
            equal(lines(result.stdout), [f"{i} of 3" for i in range(3)], result.stderr)
            result = b.run(3, [static, "raise", "9"])
            equal(result.returncode, -9, result.stderr)
        # A C library of its own.
        musl = shutil.which("musl-gcc")
        if musl:
            source = os.path.join(directory, "exit5.c")
            with open(source, "w") as f:
                f.write("int main(void) { return 5; }\n")
            target = os.path.join(directory, "musl-program")
            if subprocess.run([musl, "-fPIE", "-pie", "-o", target, source]).returncode == 0:
                reasons[target] = "has a loader whose C library is not glibc"
        for name, reason in reasons.items():
            command = [b.program(name), "exit", "5"]
            result = b.run(2, command, options=[] if b.launcher != "none" else [])
            check(reason in result.stderr and "runs as a process of its own" in result.stderr, result.stderr)
            equal(result.stderr.count("runs as a process of its own"), 1, "said once")
            equal(result.returncode, 5, f"exit code of {name}")
            result = b.run(2, command, options=["--require"])
            check(reason in result.stderr and result.returncode != 5 and result.returncode != 0, result.stderr)
            result = b.run(2, command, env=dict(b.env, TASUKI_REQUIRE="on"))
            check(result.returncode != 5 and result.returncode != 0, "TASUKI_REQUIRE")
    b.wait_until_gone()


def scenario_not_executable(b):
    with tempfile.TemporaryDirectory() as directory:
        def file(name, content, mode=0o755):
            path = os.path.join(directory, name)
            with open(path, "wb") as f:
                f.write(content)
            os.chmod(path, mode)
            return path

        with open(b.program("task_probe"), "rb") as f:
            elf = f.read()
        foreign = bytearray(elf)
        foreign[18:20] = b"\xb7\x00"  # AArch64
        cases = {
            os.path.join(directory, "missing"): "No such file or directory",
            file("not-executable", elf, 0o644): "Permission denied",
            directory: "Permission denied",
            file("no-interpreter", b"#!/no/such/interpreter\n"): "No such file or directory",
        }
        for path, text in cases.items():
            result = b.run(2, [path], timeout=30 * PATIENCE)
            check(text in result.stderr, f"{path}: {result.stderr}")
            check(result.returncode != 0, path)
        # The kernel refuses these with ENOEXEC or kills the process; execvp then tries a shell. Same end, with the
        # program started plainly.
        for path in (file("other-machine", bytes(foreign)), file("truncated", elf[:2000]), file("empty", b""),
                     file("header-only", elf[:64]), file("short", elf[:40])):
            plain = subprocess.run(["env", path], env=b.env, capture_output=True, text=True)
            if b.launcher == "none":
                result = b.run(1, [path])
                equal(result.returncode, plain.returncode, f"{path}: {result.stderr}")
            else:
                check((b.run(2, [path]).returncode != 0) == (plain.returncode != 0), path)
    b.wait_until_gone()


def scenario_scripts(b):
    with tempfile.TemporaryDirectory() as directory:
        inner = os.path.join(directory, "inner.sh")
        with open(inner, "w") as f:
            f.write("#!/bin/sh -e\necho \"$0|$#|$1\"\nreadlink /proc/$$/exe > /dev/null\n")
        outer = os.path.join(directory, "outer")
        with open(outer, "w") as f:
            f.write(f"#! {inner}   with blanks  \n")
        os.chmod(inner, 0o755)
        os.chmod(outer, 0o755)
        by_env = os.path.join(directory, "by-env")
        with open(by_env, "w") as f:
            f.write("#!/usr/bin/env -S sh -e\necho \"$0|$#|$1\"\n")
        os.chmod(by_env, 0o755)
        for command in ([inner, "x y"], [outer, "x"], ["sh", inner, "z"], ["/usr/bin/env", "sh", inner, "q"], [by_env, "y"]):
            plain, shared = b.run(1, command, tasuki=False), b.run(1, command)
            equal((shared.stdout, shared.returncode, shared.err), (plain.stdout, plain.returncode, clean(plain.stderr)),
                  f"{command}")
        # env's work is done by tasuki run: the interpreter is the task itself, in the host's address space.
        with open(by_env, "w") as f:
            f.write("#!/usr/bin/env sh\nreadlink /proc/$$/exe\n")
        equal(b.run(2, [by_env]).stdout, f"{os.path.realpath(b.args.tasuki)}\n" * 2, "interpreter by env")


def scenario_switched_off(b):
    """TASUKI=off is the plain program: no space, no preload."""
    result = b.run(2, ["sh", "-c", "echo ${LD_PRELOAD:-nothing}"], env=dict(b.env, TASUKI="off"))
    equal(result.stdout, "nothing\n" * 2, "TASUKI=off")


def scenario_input(b):
    with tempfile.TemporaryFile("w+") as f:
        f.write("first\nsecond\n")
        f.flush()
        f.seek(0)
        # Hydra gives its other ranks pipes that never end, so only the first rank reads.
        rank = "${TASUKI_RANK:-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}}"
        script = f"[ {rank} != 0 ] || exec {b.program('task_probe')} input"
        result = b.run(3, ["sh", "-c", script], stdin=f)
        equal(result.stdout, "read first\nread second\n", "standard input goes to the first rank")


def scenario_share(b):
    program = b.program(f"share-{b.launcher}")
    for count in (1, 2, 5, 8):
        result = b.run(count, [program], timeout=60 * PATIENCE)
        expected = [f"rank {i} of {count} shares with {count}" for i in range(count)]
        equal((result.returncode, lines(result.stdout), result.err), (0, sorted(expected), ""), f"{count} ranks")
    b.wait_until_gone()


def scenario_two_jobs(b):
    """Jobs of the same user at the same time do not meet."""
    program = b.program(f"share-{b.launcher}")
    jobs = [b.start(3, [program]) for _ in range(3)]
    for job in jobs:
        out, err = job.communicate(timeout=60 * PATIENCE)
        equal((job.returncode, lines(out)), (0, [f"rank {i} of 3 shares with 3" for i in range(3)]), clean(err))
    b.wait_until_gone()


def scenario_pbs(b):
    """Two jobs on one host at once, each in the environment that PBS documents: Hydra reads the file of hosts by itself, Open MPI where
    it has no support for PBS is given it."""
    program = b.program(f"share-{b.launcher}")
    with tempfile.TemporaryDirectory() as folder:
        nodes = os.path.join(folder, "nodes")
        pathlib.Path(nodes).write_text(f"{socket.gethostname()}\n" * 3)
        command = b.command(3, [program], launch=["--hostfile", nodes])
        if b.launcher == "mpich":
            command = [b.args.mpirun, *command[command.index(b.args.tasuki):]]
        jobs = []
        for number in (4711, 4712):
            scratch = os.path.join(folder, str(number))
            os.mkdir(scratch)
            env = dict(b.env, PBS_ENVIRONMENT="PBS_BATCH", PBS_JOBID=f"{number}.server", PBS_NODEFILE=nodes, PBS_O_WORKDIR=folder,
                       PBS_NODENUM="0", PBS_TASKNUM="1", PBS_VNODENUM="0", NCPUS="2", OMP_NUM_THREADS="2", TMPDIR=scratch, PBS_JOBDIR=scratch)
            jobs.append(subprocess.Popen(command, env=env, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE))
        for job in jobs:
            out, err = job.communicate(timeout=60 * PATIENCE)
            equal((job.returncode, lines(out)), (0, [f"rank {i} of 3 shares with 3" for i in range(3)]), clean(err))
    b.wait_until_gone()


def scenario_absent_ranks(b):
    """Ranks that do not run under tasuki, or cannot, do not hold up the others."""
    program = b.program(f"share-{b.launcher}")
    env = dict(b.env, TASUKI_JOIN_TIMEOUT="2")
    mixed = [b.args.mpirun, "-n", "2", b.args.tasuki, "run", program, ":", "-n", "1", program]
    begin = time.time()
    result = subprocess.run(mixed, env=env, capture_output=True, text=True, timeout=60 * PATIENCE, stdin=subprocess.DEVNULL)
    equal((result.returncode, lines(result.stdout)),
          (0, ["rank 0 of 3 shares with 2", "rank 1 of 3 shares with 2", "rank 2 of 3 shares with 1"]), result.stderr)
    check(time.time() - begin >= 2, "the ranks waited")
    # A rank that says that it stays away is not waited for.
    probe = b.program("task_probe_static")
    mixed = [b.args.mpirun, "-n", "2", b.args.tasuki, "run", b.program("task_probe"), "exit", "0", ":", "-n", "1",
             b.args.tasuki, "run", probe, "exit", "0"]
    begin = time.time()
    result = subprocess.run(mixed, env=dict(b.env, TASUKI_JOIN_TIMEOUT="30"), capture_output=True, text=True,
                            timeout=60 * PATIENCE, stdin=subprocess.DEVNULL)
    equal(result.returncode, 0, result.stderr)
    check(time.time() - begin < 20 * PATIENCE, "a rank that stays away was waited for")
    b.wait_until_gone()


def scenario_rank_ends_early(b):
    """The launcher learns of a rank's end although others go on: here it ends them."""
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    for victim in (0, 1):
        result = b.run(2, ["sh", "-c", f"if [ {rank} = {victim} ]; then kill -SEGV $$; else sleep 60; fi"], timeout=30 * PATIENCE)
        check(result.returncode != 0, "the job fails")
    b.wait_until_gone()


def scenario_many(b):
    """240 tasks of a small program in one space."""
    result = b.run(240, ["sh", "-c", "echo $TASUKI_RANK of $TASUKI_SIZE"], timeout=100 * PATIENCE)
    equal((result.returncode, sorted(result.stdout.splitlines()), result.err),
          (0, sorted(f"{i} of 240" for i in range(240)), ""), "240 tasks")
    b.wait_until_gone()


def scenario_layout(b):
    """The test for stray writes finds the planted one, and nothing in a sound program."""
    stray = b.args.stray
    check_layout = [b.args.tasuki, "check-layout", "-n", "4", "--runs"]
    # Most runs are killed, and on a loaded machine the same task may be the first to be: of 5 runs all were alike once.
    found = subprocess.run([*check_layout, "12", stray], env=b.env, capture_output=True, text=True, timeout=60 * PATIENCE)
    equal(found.returncode, 1, found.stdout)
    check("depends on where its tasks are loaded" in found.stdout, found.stdout)
    sound = subprocess.run([*check_layout, "5", stray, "0"], env=b.env, capture_output=True, text=True, timeout=60 * PATIENCE)
    equal(sound.returncode, 0, sound.stdout)
    # What a process has does not depend on the place.
    for seed in ("1", "77"):
        result = b.run(3, [b.program("task_probe"), "children"], options=["--layout-seed", seed])
        equal((result.returncode, result.stdout), (0, "children ok\n" * 3), f"seed {seed}")


def scenario_debugger(b):
    """tasuki gdb knows a task's files; a core file names the program."""
    p = b.start(2, [b.program("task_probe"), "wait"])
    for pid in b.ready_pids(p, 2):
        result = subprocess.run([b.args.tasuki, "gdb", "--print", str(pid)], capture_output=True, text=True)
        equal(result.returncode, 0, result.stderr)
        for file in (os.path.realpath(b.program("task_probe")), "libc.so", "ld-linux"):
            check(re.search(f"add-symbol-file .*{re.escape(file)}.* -o 0x[0-9a-f]+000\n", result.stdout), result.stdout)
    result = subprocess.run([b.args.tasuki, "gdb", "--print", str(os.getpid())], capture_output=True, text=True)
    check(result.returncode == 1 and "is not a task" in result.stderr, result.stderr)
    p.terminate()
    p.communicate(timeout=20 * PATIENCE)
    b.wait_until_gone()
    with open("/proc/sys/kernel/core_pattern") as f:
        if f.read().strip() != "core":
            return
    with tempfile.TemporaryDirectory() as directory:
        import resource

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)

        b.run(1, [b.program("task_probe"), "raise", "6"], cwd=directory, preexec_fn=prepare)
        cores = os.listdir(directory)
        equal(len(cores), 1, "core files")
        with open(os.path.join(directory, cores[0]), "rb") as f:
            check(b"task_probe\0" in f.read(16384), "the name of the program in the core file")


def scenario_startup(b):
    """tasuki bench startup measures and writes what it prints."""
    import json
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "startup.json")
        result = subprocess.run([b.args.tasuki, "bench", "startup", "--tasks", "1,3", "--rounds", "2", "--json", file],
                                env=b.env, capture_output=True, text=True, timeout=60 * PATIENCE)
        equal((result.returncode, result.stderr), (0, ""), result.stdout)
        with open(file) as f:
            rows = json.load(f)["rows"]
        equal([row["tasks"] for row in rows], [1, 3], "rows")
        for row in rows:
            for key in ("task_ms", "plain_ms", "task_private_kib", "plain_private_kib", "task_page_table_kib"):
                check(row[key] > 0, f"{key} in {row}")
    b.wait_until_gone()


def scenario_limits(b):
    """What the kernel counts per address space."""
    # More ranks than mappings: several spaces.
    program = b.program(f"share-{b.launcher}")
    with open("/proc/sys/vm/max_map_count") as f:
        limit = int(f.read())
    env = dict(b.env, TASUKI_MAPPINGS=str((limit - 1000) // 2))
    result = b.run(5, [program], env=env)
    equal(result.returncode, 0, result.stderr)
    shares = sorted(int(line.split()[-1]) for line in result.stdout.splitlines())
    equal(shares, [1, 2, 2, 2, 2], "ranks that share, with room for two in a space")
    check("share 3 address spaces" in result.stderr and "vm.max_map_count" in result.stderr, result.stderr)
    b.wait_until_gone()
    # A limit of a rank's memory would be counted for all together.
    import resource

    def prepare():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 36, resource.getrlimit(resource.RLIMIT_AS)[1]))

    result = b.run(2, [program], preexec_fn=prepare)
    equal(lines(result.stdout), ["rank 0 of 2 shares with 1", "rank 1 of 2 shares with 1"], result.stderr)
    check("ulimit -v unlimited" in result.stderr, result.stderr)


def scenario_guard(b):
    """Stray writes with --guard: on a processor with memory protection keys, else what is said there."""
    with open("/proc/cpuinfo") as f:
        keys = "ospke" in f.read()
    if not keys:
        result = b.run(2, [b.program("task_guard"), "own", "/", "/"], options=["--guard"])
        check(result.returncode != 0 and "memory protection keys" in result.stderr, result.stderr)
        check("can be written" not in result.stdout, result.stdout)
        return
    plugins = b.program("origin")
    for count in (1, 2, 17):  # the last: tasks that share a key
        result = b.run(count, [b.program("task_guard"), "own", "/", plugins], options=["--guard"], timeout=110 * PATIENCE)
        equal(result.returncode, 0, result.stdout + result.stderr)
        equal(result.stdout.count("can be written"), count, result.stdout + result.stderr)
    for kind in ("heap", "large", "global", "bss", "static", "tls", "stack", "libc", "library", "map", "thread"):
        with tempfile.TemporaryDirectory() as directory:
            result = b.run(2, [b.program("task_guard"), kind, directory, plugins], options=["--guard"])
        said = result.stdout + result.stderr
        check(result.returncode != 0 and "was not noticed" not in said, f"{kind}: exit code {result.returncode}: {said}")
        check(re.search(r"tasuki: task 1 \(.*process \d+, .*task_guard\) writes to memory of task 0 \(.*task_guard\)", said), f"{kind}: {said}")
        check(re.search(r"in stray_write\+0x[0-9a-f]+ of .*task_guard \(addr2line", said), f"{kind}: {said}")
    b.wait_until_gone()


def scenario_kill(b):
    """Host, proxies and tasks are killed at random moments, a hundred times: nothing is left."""
    count = 3
    seed = int(os.environ.get("TASUKI_TEST_SEED", str(time.time_ns() % 1000000)))
    print(f"seed {seed}")
    rng = random.Random(seed)
    rounds = {"none": 100, "mpich": 34, "openmpi": 12}[b.launcher]  # a failed job costs mpirun seconds
    victims = {}
    for i in range(rounds):
        program = [b.program("task_probe"), "wait", str(i % 2 if b.launcher != "none" else 0)]
        p = b.start(count, program)
        early = rng.random() < 0.4
        if early:
            time.sleep(rng.random() * 0.06)
        else:
            b.ready_pids(p, count)
        kinds = {"tasuki": "proxy", "tasuki-host": "host", "task_probe": "task"}
        candidates = [(pid, kinds[name]) for pid, name in b.processes().items() if name in kinds]
        if not candidates:
            # Nothing has started yet. (Signals to the launcher at this moment are no test of Tasuki: Hydra hangs when
            # SIGTERM meets it in its first milliseconds, with plain programs too.)
            b.ready_pids(p, count)
            candidates = [(pid, kinds[name]) for pid, name in b.processes().items() if name in kinds]
        kind = rng.choice(sorted({k for _, k in candidates}))
        pid = rng.choice([pid for pid, k in candidates if k == kind])
        victims[kind] = victims.get(kind, 0) + 1
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        b.end_of_killed_job(p, f"round {i}, {kind} killed")
    print(f"killed: {victims}")


def scenario_orphans(b):
    """The launcher, its daemon and one task are killed together, as by the kernel when memory is short, or the task has just ended as by
    MPI_Abort: nobody is left that would tell the other tasks, and nothing waits for the one that is gone."""
    for mode, last in 2 * [("wait", signal.SIGKILL), ("end", signal.SIGUSR1)]:
        p = b.start(3, [b.program("task_probe"), mode, "0"])
        pids = b.ready_pids(p, 3)
        ours = {"tasuki", "tasuki-host", "task_probe"}
        launchers = [pid for pid, name in b.processes().items() if name not in ours]
        check(launchers, f"no launcher among {b.processes()}")
        for pid in launchers:  # none shall see another one end
            os.kill(pid, signal.SIGSTOP)
        for pid in launchers:
            os.kill(pid, signal.SIGKILL)
        os.kill(pids[0], last)
        p.communicate(timeout=60 * PATIENCE)
        b.wait_until_gone(30)


def main(scenarios):
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario")
    parser.add_argument("--launcher", default="none")
    parser.add_argument("--mpirun", default="")
    parser.add_argument("--tasuki", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--stray", default="", help="the example with a planted stray write")
    parser.add_argument("--parts", default="", help="what looks like a Python: src/task/test/python_parts.c")
    bench = Bench(parser.parse_args())
    try:
        scenarios["scenario_" + bench.args.scenario](bench)
    except Failure as failure:
        print(f"{bench.args.scenario} ({bench.launcher}) FAILED: {failure}", file=sys.stderr)
        return 1
    finally:
        for pid in bench.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    print(f"{bench.args.scenario} ({bench.launcher}): ok")
    return 0


if __name__ == "__main__":
    sys.exit(main(globals()))
