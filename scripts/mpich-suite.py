#!/usr/bin/env python3
"""Run MPICH's test suite plainly and behind `tasuki run`, and print where the two differ.

    scripts/mpich-suite.py --mpi mpich PATH/mpich/test/mpi [--folders pt2pt coll ...] [--tasuki build/bin/tasuki]

The folder is a checkout's test/mpi in which `configure` and `make` have been run with the compilers of that MPI; here nothing is
downloaded or built. What to run is read from the suite's own lists (testlist, testlist.dtp): programs, ranks, arguments, environment,
time limits, the version of MPI that a program needs. Each test runs once plainly and once behind `tasuki run`; where the two say
different things both run again, --rounds times. With --two-hosts the ranks are on two hosts in turns, which are network namespaces of this
machine (exit code 77 where these are not permitted). A difference is an outcome behind `tasuki run` that no plain run had. One line each:

    errors/pt2pt/truncmsg2 2: plain passed x3; tasuki exit 1 x3

Exit code: 0 no difference, 1 differences.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
import types

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "test"), os.path.join(ROOT, "test", "task")]
import mpi_run  # noqa: E402  how programs are started and hung ones ended is the same for the project's own tests
import test_hosts  # noqa: E402  the hosts

# Quick and telling folders first.
FOLDERS = ["errors", "pt2pt", "part", "datatype", "comm", "attr", "topo", "session", "threads", "rma", "coll", "f77", "f90", "f08"]
LISTS = ["testlist", "testlist.dtp"]
VERSIONS = {"mpich": (4, 0), "openmpi": (3, 1)}  # of Debian's libraries; --mpi-version says another

Test = collections.namedtuple("Test", "folder program ranks arguments environment limit fails_on_purpose")


def version(text):
    return tuple(int(part) for part in text.split("."))


def parse_line(line, folder, options):
    """A test, the name of a folder, or why the test is left out; None for an empty line."""
    words = line.split("#")[0].split()
    if not words or words[0].startswith("!"):
        return None
    if len(words) == 1 and os.path.isdir(os.path.join(folder, words[0])):
        return words[0]
    values = collections.defaultdict(list)
    for word in words[2:]:
        key, _, value = word.partition("=")
        values[key].append(value)
    if values["xfail"]:
        return ("expected to fail", words[0])
    if values["mpiversion"] and version(values["mpiversion"][0]) > options.mpi_version:
        return ("needs a later MPI", words[0])
    if values["mpiexecarg"] and options.mpi != "mpich":
        return ("needs an option of MPICH's launcher", words[0])
    if values["mem"] and float(values["mem"][0]) > options.memory:
        return ("needs more memory", words[0])
    limit = int(values["timeLimit"][0]) if values["timeLimit"] else options.default_limit
    return Test(folder, words[0], int(words[1]) if len(words) > 1 else 2, values["arg"], values["env"],
                min(limit, options.longest), bool(values["resultTest"]))


def tests_of(folder, options, left_out):
    for name in LISTS:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            continue
        with open(path) as file:
            lines = file.readlines()
        for line in lines:
            entry = parse_line(line, folder, options)
            if isinstance(entry, Test):
                yield entry
            elif isinstance(entry, str):
                yield from tests_of(os.path.join(folder, entry), options, left_out)
            elif entry:
                left_out[entry[0]] += 1


def name_of(test, options):
    words = [f"{os.path.relpath(test.folder, options.suite)}/{test.program}", str(test.ranks)]
    return " ".join(words + test.arguments + test.environment)


def command_of(test, tasuki, options):
    command = [options.mpirun] + options.launch
    if options.mpi == "openmpi":
        command += ["--oversubscribe"] + (["--map-by", "node"] if options.two_hosts else [])
    command += ["-n", str(test.ranks)]
    if tasuki:
        command += [options.tasuki, "run"]
    return command + ["./" + test.program] + test.arguments


def run_once(test, tasuki, options):
    """What the suite's own rules see: passed, or how not."""
    program = os.path.join(test.folder, test.program)
    env = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI")}
    if os.getuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    env.update(options.launch_env)
    env.update(pair.partition("=")[::2] for pair in test.environment + (options.set if tasuki else []))
    process = subprocess.Popen(command_of(test, tasuki, options), env=env, cwd=os.path.dirname(program),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=test.limit)
    except subprocess.TimeoutExpired:
        for pid in mpi_run.descendants(process.pid):
            mpi_run.send(pid, mpi_run.signal.SIGKILL)
        process.communicate()
        return "timeout", b""
    return outcome(test, process.returncode, output), output


def outcome(test, code, output):
    if code != 0:
        return f"passed with exit {code}" if test.fails_on_purpose else f"exit {code}"
    text = [line for line in output.splitlines() if line.strip() and not re.match(rb"\s*Test Passed\s*$|.*FORTRAN STOP", line)]
    good = [line for line in text if re.match(rb"\s*No [Ee]rrors\s*$", line)]
    if not good:
        return "no word of success"
    return "passed" if len(text) == len(good) else "passed with other output"


def compare(test, options):
    """The outcomes plain and behind `tasuki run`, how often each, and the last output that no plain run had."""
    seen = {False: collections.Counter(), True: collections.Counter()}
    odd = b""
    for _ in range(options.rounds + 1):
        for tasuki in (False, True):
            result, output = run_once(test, tasuki, options)
            seen[tasuki][result] += 1
            if tasuki and result not in seen[False]:
                odd = output
        if set(seen[True]) == set(seen[False]) and len(seen[True]) == 1:
            break
    return seen[False], seen[True], odd


def words_for(counter):
    return ", ".join(f"{result} x{times}" for result, times in sorted(counter.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", help="a built checkout's test/mpi")
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    parser.add_argument("--mpirun", help="default: /usr/bin/mpirun.<mpi>")
    parser.add_argument("--mpi-version", type=version, help="the MPI standard that the library has, as 4.0")
    parser.add_argument("--tasuki", default=os.path.join(ROOT, "build", "bin", "tasuki"))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="for the runs behind Tasuki, e.g. TASUKI_MAPPINGS=30000: two ranks in an address space")
    parser.add_argument("--folders", nargs="+", default=FOLDERS)
    parser.add_argument("--only", type=re.compile, help="tests whose name matches, e.g. 'pt2pt/send'")
    parser.add_argument("--skip", type=re.compile, help="leave out tests whose name matches")
    parser.add_argument("--rounds", type=int, default=3, help="more runs of a test that differs")
    parser.add_argument("--default-limit", type=int, default=180, help="seconds for a test whose list names no limit")
    parser.add_argument("--longest", type=int, default=600, help="no test gets more seconds than that")
    parser.add_argument("--memory", type=float, default=4, help="GB that a test may need")
    parser.add_argument("--two-hosts", action="store_true", help="rank 0 on one host, rank 1 on the other, and so on")
    parser.add_argument("--jobs", type=int, default=1, help="tests at a time")
    parser.add_argument("--verbose", action="store_true", help="also a line for each test, and what a differing one printed")
    options = parser.parse_args()
    if options.two_hosts:
        test_hosts.enter_first_host()
    options.suite = os.path.abspath(options.suite)
    options.tasuki = os.path.abspath(options.tasuki)
    options.mpirun = options.mpirun or f"/usr/bin/mpirun.{options.mpi}"
    options.mpi_version = options.mpi_version or VERSIONS[options.mpi]

    left_out = collections.Counter()
    tests = []
    for folder in options.folders:
        for test in tests_of(os.path.join(options.suite, folder), options, left_out):
            name = name_of(test, options)
            if (options.only and not options.only.search(name)) or (options.skip and options.skip.search(name)):
                left_out["not asked for"] += 1
            elif not os.access(os.path.join(test.folder, test.program), os.X_OK):
                left_out["not built"] += 1
            else:
                tests.append(test)
    if not tests:
        parser.error(f"nothing to run in {options.suite}: is the suite built, and are --folders right?")

    with hosts(options):
        return run_all(tests, left_out, options)


@contextlib.contextmanager
def hosts(options):
    """What the launcher and the ranks are to be told, while there are two hosts."""
    options.launch, options.launch_env = [], {}
    if not options.two_hosts:
        yield
        return
    # In a folder that both see: /dev/shm is each one's own.
    with tempfile.TemporaryDirectory() as directory:
        host = test_hosts.SecondHost(directory, seconds=1_000_000)
        try:
            job = types.SimpleNamespace(launcher=options.mpi, env=options.launch_env)
            options.launch = test_hosts.launch_options(job, host, ranks=(1, 1))
            yield
        finally:
            host.end()


def run_all(tests, left_out, options):
    started = time.monotonic()
    differences, failed_plainly = 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for test, (plain, tasuki, odd) in zip(tests, pool.map(lambda t: compare(t, options), tests)):
            differs = not set(tasuki) <= set(plain)
            differences += differs
            failed_plainly += not any(result.startswith("passed") for result in plain)
            if differs or options.verbose:
                print(f"{name_of(test, options)}: plain {words_for(plain)}; tasuki {words_for(tasuki)}", flush=True)
            if differs and options.verbose:
                sys.stdout.write(odd[-2000:].decode(errors="replace"))
    rest = "".join(f", {count} {why}" for why, count in sorted(left_out.items()))
    print(f"{len(tests)} tests with {options.mpi} in {time.monotonic() - started:.0f} s: {differences} differ, "
          f"{failed_plainly} did not pass plainly; left out:{rest[1:] or ' none'}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
