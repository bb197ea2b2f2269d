"""What the stress command runs: for a kind and a number, the command, its surroundings, and what must come out."""
import os
import pathlib
import random
import shlex
import shutil
import sys

MPIS = ["openmpi", "mpich"]
VARIANTS = ["plain", "tasuki", "settings"]
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent


class Run:
    """One job. `codes`: the exit codes it may end with; `says`: what its output must contain."""

    def __init__(self, kind, number, title, command):
        self.kind, self.number, self.title, self.command = kind, number, f"{kind} {number} ({title})", command
        self.env, self.codes, self.says, self.limit, self.ranks = {}, {0}, "", 120, 0
        self.tasuki = self.answers_alarm = self.may_leave_files = False
        self.without = []  # the same command without Tasuki, for programs that have no defect of ours to find then

    def environment(self):
        # The run decides what is switched on, not the shell that the command is started from.
        env = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI")}
        if os.getuid() == 0:
            env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        return {**env, **self.env}

    def shell(self):
        return " ".join(["env"] * bool(self.env) + [f"{k}={shlex.quote(v)}" for k, v in self.env.items()] +
                        [shlex.join(self.command)])

    def controls(self, round_number):
        """The same run without Tasuki: what fails in it in the same way is the MPI library's own. First the round that failed, if that
        is known: without Tasuki the whole run may not come as far in its time."""
        commands = [self.without] if self.without else []
        if self.without and round_number is not None and "--seconds" in self.without:
            at = self.without.index("--seconds")
            start, end = self.without[:at], self.without[at + 2:]
            # Then all rounds up to it: some of what a library does wrong begins earlier (Open MPI 4.1 gives a communicator's number twice).
            commands = [start + ["--first", round_number, "--rounds", "1"] + end,
                        start + ["--rounds", str(int(round_number) + 1)] + end] + commands
        if "--end" in self.without:
            # Hydra reports 1 instead of the code of a rank that exits while it communicates, plainly too: 2 of 150 on a busy machine.
            commands *= 100
        for command in commands:
            other = Run(self.kind, self.number, "", command)
            other.title, other.codes, other.says, other.ranks = f"{self.title}, without Tasuki", self.codes, self.says, self.ranks
            other.limit, other.answers_alarm = self.limit / 2, self.answers_alarm
            yield other

    def judge(self, outcome):
        """Why the run has failed; empty if it has not."""
        if outcome.hung:
            return f"hung: still running after {self.limit:.0f} s"
        if outcome.code == 77:
            return "skip"
        if outcome.code not in self.codes:
            return f"exit code {outcome.code}, expected {' or '.join(map(str, sorted(self.codes)))}"
        if "FAIL" in outcome.output:
            return "the output says FAIL"
        if self.says and self.says not in outcome.output:
            return f"the output does not say '{self.says}'"
        if outcome.left:
            return "left behind: " + ", ".join(outcome.left[:8])
        return ""


def make(kind, number, options, left):
    r = random.Random(f"{options.seed}/{kind}/{number}")
    return KINDS[kind][1](r, number, options, left)


def available(kind, options):
    return KINDS[kind][0](options)


# ---- MPI programs, plainly and under Tasuki

# Settings that change how bytes travel or where things lie, never what arrives.
SETTINGS = {
    "TASUKI_THREADS": ["0", "1", "2", "3"],
    "TASUKI_PROTOCOL": ["eager", "direct", "pipelined"],
    "TASUKI_EAGER": ["0", "1KiB", "1MiB"],
    "TASUKI_CHUNK": ["4KiB", "16KiB", "1MiB"],
    "TASUKI_SPIN": ["0", "20", "100000"],
    "TASUKI_LAYOUT_SEED": None,
    "TASUKI_EVERYWHERE": ["on", "off"],
    "TASUKI_MAPPINGS": ["4000", "20000"],
    "TASUKI": ["off"],
}


def launch(mpi, ranks):
    return [f"mpirun.{mpi}"] + (["--oversubscribe"] if mpi == "openmpi" else []) + ["-n", str(ranks)]


def mpis(options):
    return [mpi for mpi in options.mpi or MPIS if shutil.which(f"mpirun.{mpi}") and program(options, mpi).exists()]


def program(options, mpi):
    return options.tree / "test" / "stress" / f"stress_mpi-{mpi}"


def tasuki_settings(r):
    chosen = {}
    for name in r.sample(sorted(SETTINGS), r.choice([1, 1, 2, 3])):
        chosen[name] = r.choice(SETTINGS[name] or [str(r.randrange(1, 10000))])
    return chosen


def ending_of(r, mpi, ranks):
    """A way to end (test/stress/endings.cpp), the exit codes of the launcher that fit it, and the way's number."""
    number = r.choice([1, 3, 7, 42])
    ordered = r.choice([0, 0, 3])
    way = r.choice(["all_exit", "all_leave", "at_exit", "finalized_return", "finalized_leave", "finalized_exec", "finalized_kill",
                    "communicating_exit", "mpi_abort", "error", "exit", "leave", "abort", "segv", "kill", "exec", "handler", "thread",
                    "before_init_all", "before_init_one", "before_init_kill"])
    # Plain MPICH waits for ever in MPI_Init for a rank that has ended before with an exit code.
    if mpi == "mpich" and way == "before_init_one":
        way = "before_init_kill"
    if way in ("at_exit", "finalized_return", "finalized_leave", "finalized_exec"):
        number = ordered
    codes = {number}
    if way == "kill":
        number = r.choice([1, 2, 9, 10, 11, 15])
        if mpi == "mpich" and number == 10:
            number = 12  # MPICH has a handler for SIGUSR1 and goes on
    fatal = {"kill": number, "abort": 6, "segv": 11, "finalized_kill": 9, "before_init_kill": 9}.get(way)
    if fatal:
        codes = {128 + fatal} if mpi == "openmpi" else {fatal}
    if way == "error":
        codes = set(range(1, 256))  # the library's own
    if mpi == "mpich":
        # Hydra joins the ranks' codes by a bitwise or, and may count the signals by which it ends the others itself.
        codes |= {code | by for code in codes for by in (0, 9, 15, 6)} | {9, 15} if number or fatal else set()
    return way, codes, number


def mpi_run(r, number, options, left):
    mpi = r.choice(mpis(options))
    # Ranks of MPICH that wait do not give their core away: many of them, plainly, mostly wait for the scheduler.
    ranks = r.choice([1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9])
    variant = r.choice(options.variant or ["plain", "tasuki", "tasuki", "settings", "settings"])
    if variant == "plain" and mpi == "mpich":
        ranks = min(ranks, 5)
    seed = r.randrange(1, 2**31)
    seconds = r.choice([3, 5, 8]) if left > 240 else 4
    pinned = r.random() < 0.12
    command = launch(mpi, ranks)
    if pinned:
        command = ["taskset", "-c", "0"] + command
    env = tasuki_settings(r) if variant == "settings" else {}
    before = list(command)
    if variant != "plain":
        command += [str(options.tree / "bin" / "tasuki"), "run"]
    arguments = len(command)
    command += [str(program(options, mpi)), "--seed", str(seed), "--seconds", str(seconds)]
    if variant != "plain" and env.get("TASUKI") != "off":
        command += ["--tasuki", "1"]
    if options.only:
        command += ["--only", options.only]
    ending = not options.only and r.random() < 0.25
    way = number_of_way = None
    if ending or options.only == "ending":
        way, codes, number_of_way = ending_of(r, mpi, ranks)
        command = command[:command.index("--seconds")] + ["--rounds", str(r.choice([0, 1, 3])), "--end", way, "--number", str(number_of_way)]
    words = [mpi, f"{ranks} ranks", variant] + [f"{k}={v}" for k, v in env.items()] + ["one core"] * pinned
    run = Run("mpi", number, ", ".join(words), command)
    run.env, run.ranks, run.tasuki, run.answers_alarm = env, ranks, variant != "plain", True
    run.says = "stress: figures"
    run.without = before + command[arguments:]
    if way:
        run.title += f" ends by {way} {number_of_way}"
        run.codes, run.says, run.limit = codes, "", 60 + 5 * ranks
    run.limit = 120 + 4 * seconds + 10 * ranks
    return run


# ---- cluster memory

def pager_programs(options):
    folder = options.tree / "test" / "stress"
    return sorted(p for p in folder.glob("stress_pager*") if os.access(p, os.X_OK) and p.is_file())


def pager_run(r, number, options, left):
    seed, seconds = r.randrange(1, 2**31), r.choice([3, 5, 8]) if left > 240 else 4
    programs = pager_programs(options)
    if programs:
        chosen = r.choice(programs)
        run = Run("pager", number, chosen.name, [str(chosen), "--seed", str(seed), "--seconds", str(seconds)])
    else:
        run = Run("pager", number, "unit tests", [str(options.tree / "src" / "pager" / "pager_test"), "--gtest_brief=1", "--gtest_shuffle",
                                                  f"--gtest_random_seed={seed % 99999}"])
    run.ranks, run.limit = 1, 120 + 4 * seconds
    return run


# ---- coarrays

def coarray_run(r, number, options, left):
    seed, seconds = r.randrange(1, 2**31), r.choice([3, 5, 8]) if left > 240 else 4
    mpi = r.choice([mpi for mpi in options.mpi or MPIS if shutil.which(f"mpicc.{mpi}")])
    scripts = sorted(HERE.glob("coarray_*.py"))
    if scripts:
        chosen = r.choice(scripts)
        command = [sys.executable, str(chosen), "--tree", str(options.tree), "--mpi", mpi, "--seed", str(seed), "--seconds", str(seconds)]
        run = Run("coarray", number, f"{chosen.stem}, {mpi}", command)
    else:
        name = r.choice(["random_sections.py", "random_programs.py"])
        command = [sys.executable, str(SOURCE / "compiler" / "test" / name), str(options.tree), f"mpicc.{mpi}", "1", str(seed)]
        run = Run("coarray", number, f"{name}, {mpi}", command)
        run.may_leave_files = True
    run.limit = 180 + 4 * seconds
    return run


KINDS = {
    "mpi": (lambda options: bool(mpis(options)), mpi_run),
    "pager": (lambda options: True, pager_run),
    "coarray": (lambda options: True, coarray_run),
}
