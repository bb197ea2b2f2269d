#!/usr/bin/env python3
"""mpi4py's own test suite, plainly and under `tasuki run`: prints the tests that end differently.

    mpi4py-suite.py --suite CHECKOUT --mpirun mpirun.openmpi --python PYTHON [--tasuki build/bin/tasuki] [--ranks 2 3]
                    [--only REGEX] [--exclude REGEX] [--limit SECONDS] [--library-path DIRECTORY]

CHECKOUT has the suite (test/main.py). PYTHON must be position independent, or the ranks do not share memory, and have an
mpi4py, and numpy where its tests are wanted. Nothing is downloaded or built. mpi4py's wheel looks for the library by the name of
its family (libmpi.so.12, libmpi.so.40): where a distribution calls it otherwise (Debian's MPICH), --library-path names a
folder with a link of that name.

Exit code: 0 where nothing differs, 1 where something does.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

# Each rank writes to a file of its own: what several write to one pipe does not stay in lines.
RANK = """
import os, runpy, sys
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMI_RANK") or "0"
out = os.open(os.path.join(sys.argv[1], rank), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
os.dup2(out, 1)
os.dup2(out, 2)
main = sys.argv[2]
sys.argv = [main] + sys.argv[3:]
sys.path.insert(0, os.path.dirname(main))
runpy.run_path(main, run_name="__main__")
"""
TEST = re.compile(r"^(\w+) \(((\w+)\.[\w.]+)\)", re.M)
RESULT = re.compile(r"(?:^|\.\.\. )(ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b", re.M)


def read_rank(file):
    """{test: result} of one rank, in the order of the tests. A test without a result: the rank did not come to its end."""
    text = file.read_text(errors="replace") if file.exists() else ""
    text = text.split("\n" + "=" * 70)[0]
    starts = list(TEST.finditer(text))
    results = {}
    for i, start in enumerate(starts):
        end = starts[i + 1].start() if i + 1 < len(starts) else len(text)
        found = RESULT.search(text, start.end(), end)
        results[start.group(2)] = found.group(1) if found else "no end"
    return results


def launch(options, ranks, tasuki, modules, folder):
    """Runs some modules in one job. Returns its exit code, or "hung"."""
    command = [options.mpirun, *(["--oversubscribe"] if "openmpi" in options.mpirun else []), "-n", str(ranks)]
    command += [options.tasuki, "run"] if tasuki else []
    main = options.suite / "test" / "main.py"
    command += [options.python, "-c", RANK, folder, str(main), "-v", "-i", "^(" + "|".join(modules) + r")\.py$"]
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PYTHONUNBUFFERED="1")
    # Which of its builds mpi4py's wheel loads: it would take the first library that it finds.
    env.setdefault("MPI4PY_MPIABI", "openmpi" if "openmpi" in options.mpirun else "mpich")
    if options.library_path:
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [options.library_path, env.get("LD_LIBRARY_PATH")]))
    job = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           start_new_session=True)
    try:
        return job.wait(options.limit)
    except subprocess.TimeoutExpired:
        job.send_signal(signal.SIGTERM)
        try:
            job.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        return "hung"


def run(options, ranks, tasuki):
    """{test: "ok ok FAIL"}: the result on each rank. A job that does not end is begun anew behind the module where it stopped."""
    left = sorted(p.stem for p in (options.suite / "test").glob("test_*.py"))
    left = [m for m in left if re.search(options.only, m) and not (options.exclude and re.search(options.exclude, m))]
    results = {}
    while left:
        with tempfile.TemporaryDirectory() as folder:
            code = launch(options, ranks, tasuki, left, folder)
            told = [read_rank(pathlib.Path(folder) / str(rank)) for rank in range(ranks)]
        for test in {t: None for rank in told for t in rank}:
            results[test] = " ".join(rank.get(test, "not begun") for rank in told)
        stopped = [test for test, result in results.items() if test.split(".")[0] in left and "no end" in result]
        if code in (0, 1) and not stopped:
            break
        if not told[0]:
            print(f"  {'tasuki' if tasuki else 'plain'}: {left[0]} ... did not begin: {code}")
            return results
        module = max(stopped or told[0], key=lambda test: left.index(test.split(".")[0])).split(".")[0]
        print(f"  {'tasuki' if tasuki else 'plain'}: ended with {code} in {module}", flush=True)
        left = left[left.index(module) + 1:]
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=pathlib.Path, required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--tasuki", default=str(pathlib.Path(__file__).resolve().parents[1] / "build" / "bin" / "tasuki"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--only", default="", metavar="REGEX", help="these modules (test_rma)")
    parser.add_argument("--exclude", default="", metavar="REGEX", help="not these modules")
    parser.add_argument("--limit", type=float, default=600, help="seconds for a job")
    parser.add_argument("--library-path", default="")
    options = parser.parse_args()
    if not (options.suite / "test" / "main.py").exists():
        parser.error(f"{options.suite}/test/main.py is not there")
    options.suite = options.suite.resolve()
    different = 0
    for ranks in options.ranks:
        print(f"{options.mpirun}, {ranks} ranks", flush=True)
        plain, shared = run(options, ranks, False), run(options, ranks, True)
        passed = sum(set(result.split()) == {"ok"} for result in shared.values())
        for test in sorted(plain.keys() | shared.keys()):
            before, after = plain.get(test, "not begun"), shared.get(test, "not begun")
            if before != after:
                print(f"  {test}: plain: {before}; tasuki: {after}")
                different += 1
        print(f"  {len(plain)} tests plainly, {len(shared)} under Tasuki, {passed} of them passed", flush=True)
    print(f"{different} differ")
    return 1 if different or not shared else 0


if __name__ == "__main__":
    sys.exit(main())
